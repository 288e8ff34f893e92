/**
 * Takes a server's bytes apart into messages. An attached server may be hostile: only the kinds of message that a login
 * and a question need are taken, each in a size that it can have, and everything else ends the connection.
 */
import type { HeldResponse } from './response-memory.ts'

/** Between two ReadyForQuery. Hybrid search reads 100 rows, each value cut to 16 Ki characters in SQL. */
const RESPONSE_MAX_BYTES = 8 * 1024 * 1024
/** Also between two ReadyForQuery: they may be empty, and each takes time. */
const MESSAGES_MAX = 50_000
/** Of a message that is no row: the largest describes 1,664 columns with names of at most 63 bytes. */
const MESSAGE_MAX_BYTES = 256 * 1024

/** Authentication, key data, parameter status, notices, errors and ReadyForQuery; answers of the extended protocol. */
const ALLOWED = new Set('RKSNEZ123TnDCI')
const HEADER_BYTES = 5

export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation'
  readonly code = 'PROTOCOL_VIOLATION'

  constructor() {
    super('The server violated the Postgres protocol')
  }
}

/** Takes chunks of any size; throws ProtocolViolation, and nothing is taken after that. */
export function readBackendMessages(
  receive: (type: string, body: Buffer) => void,
  held: HeldResponse,
): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let have = 0
  let need = HEADER_BYTES
  let responseBytes = 0
  let messages = 0
  let isBroken = false

  function take(bytes: Buffer): void {
    const type = String.fromCharCode(bytes[0]!)
    if (bytes.length === HEADER_BYTES && need === HEADER_BYTES) need = sizeOf(type, bytes)
    if (bytes.length < need) return
    ;[parts, have, need] = [[], 0, HEADER_BYTES]
    if (type === 'Z') {
      responseBytes = 0
      messages = 0
      held.release()
    }
    receive(type, bytes.subarray(HEADER_BYTES))
  }

  function sizeOf(type: string, header: Buffer): number {
    const bytes = header.readUInt32BE(1) - 4
    messages += 1
    responseBytes += HEADER_BYTES + bytes
    if (
      !ALLOWED.has(type) ||
      bytes < 0 ||
      responseBytes > RESPONSE_MAX_BYTES ||
      messages > MESSAGES_MAX ||
      (type !== 'D' && bytes > MESSAGE_MAX_BYTES)
    ) {
      throw new ProtocolViolation()
    }
    held.add(HEADER_BYTES + bytes)
    return HEADER_BYTES + bytes
  }

  return (chunk) => {
    if (isBroken) throw new ProtocolViolation()
    try {
      for (let at = 0; at < chunk.length;) {
        const part = chunk.subarray(at, at + need - have)
        at += part.length
        have += part.length
        parts.push(part)
        if (have === need) take(parts.length === 1 ? part : Buffer.concat(parts))
      }
    } catch (error) {
      isBroken = true
      throw error
    }
  }
}

export type Column = { readonly name: string; readonly type: number }

export function readRowDescription(body: Buffer): Column[] {
  const columns: Column[] = []
  let at = 2
  for (let left = uint16(body, 0); left > 0; left -= 1) {
    const end = body.indexOf(0, at)
    if (end === -1 || end + 19 > body.length) throw new ProtocolViolation()
    columns.push({ name: body.toString('utf8', at, end), type: body.readUInt32BE(end + 7) })
    at = end + 19
  }
  if (at !== body.length) throw new ProtocolViolation()
  return columns
}

export function readDataRow(body: Buffer, columns: readonly Column[]): Record<string, unknown> {
  if (uint16(body, 0) !== columns.length) throw new ProtocolViolation()
  let at = 2
  const values = columns.map(({ name, type }) => {
    if (at + 4 > body.length) throw new ProtocolViolation()
    const length = body.readInt32BE(at)
    at += 4
    if (length === -1) return [name, null]
    if (length < 0 || at + length > body.length) throw new ProtocolViolation()
    const text = body.toString('utf8', at, at + length)
    at += length
    return [name, readValue(type, text)]
  })
  if (at !== body.length) throw new ProtocolViolation()
  return Object.fromEntries(values) as Record<string, unknown>
}

/** By the type's OID. All others, 64 bit integers too, stay text; and JSON, which takes many times its text in memory. */
function readValue(type: number, text: string): unknown {
  switch (type) {
    case 16:
      return text === 't'
    case 21:
    case 23:
    case 26:
    case 700:
    case 701:
      return Number(text)
    default:
      return text
  }
}

/** An error that the server reports. Its own words may hold values of rows, so only the code is kept. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  /** SQLSTATE. */
  readonly code: string

  constructor(code: string) {
    super(`The database reported ${code}`)
    this.code = code
  }
}

export function readErrorResponse(body: Buffer): DatabaseError {
  const code = /(?:^|\0)C([0-9A-Z]{5})\0/.exec(body.toString('latin1'))?.[1]
  return new DatabaseError(code ?? 'XX000')
}

function uint16(body: Buffer, at: number): number {
  if (body.length < at + 2) throw new ProtocolViolation()
  return body.readUInt16BE(at)
}
