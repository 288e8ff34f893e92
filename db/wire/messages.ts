/** The messages of the Postgres protocol 3.0 that a server writes, and how messages are cut out of bytes. */

/** A failure that a client is told. A fatal one ends its connection. */
export class WireFailure extends Error {
  readonly code: string
  readonly fatal: boolean

  constructor(
    code: string,
    message: string,
    { fatal = false, cause }: { fatal?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.code = code
    this.fatal = fatal
  }
}

export type Status = 'I' | 'T' | 'E'

export const message = (type: string, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(5)
  head.write(type, 'latin1')
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}

export const zeroTerminated = (text: string): Buffer => Buffer.from(`${text}\0`)

export const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

export const errorResponse = ({ code, message: words, fatal }: WireFailure): Buffer => {
  const severity = fatal ? 'FATAL' : 'ERROR'
  const fields = [`S${severity}`, `V${severity}`, `C${code}`, `M${words.replaceAll('\0', '')}`]
  return message('E', ...fields.map(zeroTerminated), Buffer.alloc(1))
}

export const readyForQuery = (status: Status): Buffer => message('Z', Buffer.from(status))
export const parameterStatus = (name: string, value: string): Buffer =>
  message('S', zeroTerminated(name), zeroTerminated(value))
export const authentication = (code: number, ...parts: readonly Uint8Array[]): Buffer =>
  message('R', int32(code), ...parts)
export const backendKeyData = (pid: number, secret: Uint8Array): Buffer => message('K', int32(pid), secret)

/** Columns are not announced: no client was seen to look at them, and the gateway does not know them. */
export const copyInResponse = (binary: boolean): Buffer =>
  message('G', Buffer.from([binary ? 1 : 0]), int16(0))

/** What the gateway says to the engine on its own behalf. */
export const simpleQuery = (text: string): Buffer => message('Q', zeroTerminated(text))
export const SYNC = message('S')
export const FLUSH = message('H')
export const closeStatement = (name: string): Buffer => message('C', Buffer.from('S'), zeroTerminated(name))

/** One statement with text parameters, up to its Sync. */
export function query(text: string, parameters: readonly string[]): Buffer {
  const values = parameters.flatMap((value) => {
    const bytes = Buffer.from(value)
    return [int32(bytes.length), bytes]
  })
  return Buffer.concat([
    message('P', zeroTerminated(''), zeroTerminated(text), int16(0)),
    message(
      'B',
      zeroTerminated(''),
      zeroTerminated(''),
      int16(0),
      int16(parameters.length),
      ...values,
      int16(0),
    ),
    message('E', zeroTerminated(''), int32(0)),
    SYNC,
  ])
}

/** Follows an answer of the engine across the pieces it comes in, by the lengths of its messages. */
export class AnswerReader {
  /** Of the last ReadyForQuery, provided nothing came after it. */
  status: Status | undefined
  /** The first error, if there was one. */
  failure: WireFailure | undefined
  #rest: Buffer = Buffer.alloc(0)
  /** Bytes of the present message that need not be looked at. */
  #skip = 0

  read(piece: Uint8Array): void {
    let at = Math.min(this.#skip, piece.length)
    this.#skip -= at
    if (at === piece.length) return
    const left = Buffer.from(piece.buffer, piece.byteOffset + at, piece.length - at)
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, left]) : left
    at = 0
    while (at + 5 <= bytes.length) {
      const end = at + 1 + bytes.readUInt32BE(at + 1)
      const type = String.fromCharCode(bytes[at] ?? 0)
      if (end > bytes.length && KEPT.has(type)) break
      this.status = undefined
      if (KEPT.has(type)) this.#note(type, bytes.subarray(at + 5, end))
      at = end
    }
    this.#skip = Math.max(0, at - bytes.length)
    this.#rest = Buffer.from(bytes.subarray(at))
  }

  #note(type: string, body: Buffer): void {
    if (type === 'Z') this.status = String.fromCharCode(body[0] ?? 0) as Status
    else this.failure ??= readFailure(body)
  }
}

/** ReadyForQuery and ErrorResponse: the ones whose contents matter here. */
const KEPT = new Set(['Z', 'E'])

function readFailure(body: Buffer): WireFailure {
  const fields = new Map(
    body
      .toString()
      .split('\0')
      .map((field) => [field[0], field.slice(1)]),
  )
  return new WireFailure(fields.get('C') ?? 'XX000', fields.get('M') ?? 'unknown error')
}
