/** Gives the prepared statements of each client names of their own, since all clients share one session of the engine. */
import { createHash } from 'node:crypto'
import { message, WireFailure } from './messages.ts'

/** Longer names are cut off by Postgres, and two that begin alike would become one. */
const NAME_MAX_BYTES = 63

export type Named = {
  readonly bytes: Buffer
  /** What the message does to a statement, if it does something. */
  readonly does?: 'parse' | 'use' | 'close'
  /** Its name as the engine knows it; empty for the unnamed one. */
  readonly statement?: string
}

/**
 * Unnamed statements stay unnamed, and portals keep their names: no portal outlives the transaction, during which its
 * client has the engine to itself, and clients mix those names with cursors they declared in SQL.
 */
export function prefixNames(bytes: Buffer, prefix: string): Named {
  const body = bytes.subarray(5)
  const rename = (start: number, does: 'parse' | 'use' | 'close'): Named => {
    const end = endOfString(body, start)
    const statement = privateName(prefix, body.subarray(start, end))
    if (statement === '') return { bytes, does, statement }
    const type = String.fromCharCode(bytes[0] ?? 0)
    return {
      bytes: message(type, body.subarray(0, start), Buffer.from(statement), body.subarray(end)),
      does,
      statement,
    }
  }
  switch (String.fromCharCode(bytes[0] ?? 0)) {
    case 'P':
      return rename(0, 'parse')
    case 'B':
      return rename(endOfString(body, 0) + 1, 'use')
    case 'D':
      return body[0] === STATEMENT ? rename(1, 'use') : { bytes }
    case 'C':
      return body[0] === STATEMENT ? rename(1, 'close') : { bytes }
    default:
      return { bytes }
  }
}

const STATEMENT = 'S'.charCodeAt(0)

function privateName(prefix: string, name: Buffer): string {
  if (name.length === 0) return ''
  // As bytes: a name need not be UTF-8, and two that are not must not become one.
  const text = name.toString('latin1')
  const plain = /^[\x20-\x7e]*$/.test(text) && prefix.length + name.length <= NAME_MAX_BYTES
  return prefix + (plain ? text : createHash('sha256').update(name).digest('hex').slice(0, 40))
}

/** The text of a Parse message. */
export function textOfParse(bytes: Buffer): string {
  const start = endOfString(bytes, 5) + 1
  return bytes.toString('utf8', start, endOfString(bytes, start))
}

function endOfString(bytes: Buffer, start: number): number {
  const end = bytes.indexOf(0, start)
  if (end < 0) throw new WireFailure('08P01', 'invalid string in message', { fatal: true })
  return end
}
