/** The prepared statements of a client: their names in the session that all clients share, and their Parse messages to repeat. */
import { createHash } from 'node:crypto'
import { closeStatement, FLUSH, message, typeOf, WireError } from './protocol-messages.ts'
import type { Setting } from './startup.ts'

/** What the backend has to remember of a client while others use the engine. */
export type Client = {
  readonly settings: readonly Setting[]
  /** Parse messages by the engine's name of the statement, to repeat them for an engine that has lost them. */
  readonly statements: Map<string, Buffer>
  /** Names of those that the engine has now, if `epoch` is still current. */
  readonly parsed: Set<string>
  epoch: number
}

/** NAMEDATALEN - 1: Postgres truncates longer names, and two with the same beginning would become one. */
const NAME_MAX_BYTES = 63
/** Of Parse messages. Statements beyond that are lost when the engine is opened again. */
const KEPT_BYTES = 8 * 1024 * 1024

export type StatementMessage = {
  readonly bytes: Buffer
  /** What the message does to a statement, if it does something. */
  readonly does?: 'parse' | 'use' | 'close'
  /** Its name as the engine knows it; empty for the unnamed one. */
  readonly statement?: string
}

/**
 * Unnamed statements stay unnamed, and portals keep their names: no portal outlives the transaction, during which its
 * client has the engine to itself, and clients mix those names with cursors they declared in SQL. A message that is a small
 * part of what arrived with it is copied, because it would keep all of that; a large one has that memory to itself.
 */
export function prefixStatementName(received: Buffer, prefix: string): StatementMessage {
  const bytes = received.length * 2 > received.buffer.byteLength ? received : copyOf(received)
  const body = bytes.subarray(5)
  const rename = (start: number, does: 'parse' | 'use' | 'close'): StatementMessage => {
    const end = endOfString(body, start)
    const statement = engineName(prefix, body.subarray(start, end))
    if (statement === '') return { bytes, does, statement }
    return {
      bytes: message(typeOf(bytes), body.subarray(0, start), Buffer.from(statement), body.subarray(end)),
      does,
      statement,
    }
  }
  switch (typeOf(bytes)) {
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

function copyOf(received: Buffer): Buffer {
  const bytes = Buffer.allocUnsafeSlow(received.length)
  received.copy(bytes)
  return bytes
}

const STATEMENT = 'S'.charCodeAt(0)

function engineName(prefix: string, name: Buffer): string {
  if (name.length === 0) return ''
  // As bytes: a name need not be valid UTF-8, and two invalid ones must not become one.
  const text = name.toString('latin1')
  const plain = /^[\x20-\x7e]*$/.test(text) && prefix.length + name.length <= NAME_MAX_BYTES
  return prefix + (plain ? text : createHash('sha256').update(name).digest('hex').slice(0, 40))
}

/** Remembers what a client has prepared. */
export function keepStatements(client: Client) {
  let keptBytes = 0

  function forget(name: string): void {
    keptBytes -= client.statements.get(name)?.length ?? 0
    client.statements.delete(name)
    client.parsed.delete(name)
  }

  return {
    forget,
    remember({ bytes, does, statement = '' }: StatementMessage): void {
      if (does === 'parse' || does === 'close') forget(statement)
      if (does !== 'parse') return
      client.parsed.add(statement)
      if (keptBytes + bytes.length > KEPT_BYTES) return
      keptBytes += bytes.length
      client.statements.set(statement, bytes)
    },
    /** What these messages use and the engine does not have, with the Parse that made it. */
    missing(messages: readonly StatementMessage[]): (readonly [name: string, parse: Buffer])[] {
      const known = new Set(client.parsed)
      return messages.flatMap(({ does, statement = '' }) => {
        const parse = does === 'use' && !known.has(statement) ? client.statements.get(statement) : undefined
        if (does) known.add(statement)
        return parse ? [[statement, parse] as const] : []
      })
    },
  }
}

/** A failure belongs to the client's messages that use it. */
export const repeatParse = (name: string, parse: Buffer): Buffer =>
  Buffer.concat([...(name === '' ? [] : [closeStatement(name)]), parse, FLUSH])

/** The text of a Parse message. */
export function textOfParse(bytes: Buffer): string {
  const start = endOfString(bytes, 5) + 1
  return bytes.toString('utf8', start, endOfString(bytes, start))
}

function endOfString(bytes: Buffer, start: number): number {
  const end = bytes.indexOf(0, start)
  if (end < 0) throw new WireError('08P01', 'invalid string in message', { fatal: true })
  return end
}
