/** Messages of the Postgres protocol 3.0, and a reader for the engine's responses. */

/** An error that is sent to the client. A fatal one ends its connection. */
export class WireError extends Error {
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

/** Of a ReadyForQuery: idle, in a transaction, in one that has failed. */
export type TransactionStatus = 'I' | 'T' | 'E'

export const message = (type: string, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(5)
  head.write(type, 'latin1')
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}

export const typeOf = (message: Uint8Array): string => String.fromCharCode(message[0] ?? 0)

export const cString = (text: string): Buffer => Buffer.from(`${text}\0`)

export const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

export const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

export const errorResponse = ({ code, message: text, fatal }: WireError): Buffer => {
  const severity = fatal ? 'FATAL' : 'ERROR'
  const fields = [`S${severity}`, `V${severity}`, `C${code}`, `M${text.replaceAll('\0', '')}`]
  return message('E', ...fields.map(cString), Buffer.alloc(1))
}

export const readyForQuery = (status: TransactionStatus): Buffer => message('Z', Buffer.from(status))
export const parameterStatus = (name: string, value: string): Buffer =>
  message('S', cString(name), cString(value))
export const authentication = (code: number, ...parts: readonly Uint8Array[]): Buffer =>
  message('R', int32(code), ...parts)
export const backendKeyData = (pid: number, secret: Uint8Array): Buffer => message('K', int32(pid), secret)

/** Without the column formats: no known client reads them, and the gateway does not know the columns. */
export const copyInResponse = (binary: boolean): Buffer =>
  message('G', Buffer.from([binary ? 1 : 0]), int16(0))

/** Frontend messages that the gateway itself sends to the engine. */
export const simpleQuery = (text: string): Buffer => message('Q', cString(text))
export const SYNC = message('S')
export const FLUSH = message('H')
export const closeStatement = (name: string): Buffer => message('C', Buffer.from('S'), cString(name))

/** One statement with text parameters, up to its Sync. */
export function query(text: string, parameters: readonly string[]): Buffer {
  const values = parameters.flatMap((value) => {
    const bytes = Buffer.from(value)
    return [int32(bytes.length), bytes]
  })
  return Buffer.concat([
    message('P', cString(''), cString(text), int16(0)),
    message('B', cString(''), cString(''), int16(0), int16(parameters.length), ...values, int16(0)),
    message('E', cString(''), int32(0)),
    SYNC,
  ])
}

/** Follows a response of the engine across the chunks it comes in, by the lengths of its messages. */
export class ResponseReader {
  /** Of the last ReadyForQuery, if nothing came after it. */
  status: TransactionStatus | undefined
  /** The first error, if there was one. */
  failure: WireError | undefined
  #rest: Buffer = Buffer.alloc(0)
  /** Remaining bytes of the current message that need not be read. */
  #skip = 0

  read(chunk: Uint8Array): void {
    let at = Math.min(this.#skip, chunk.length)
    this.#skip -= at
    if (at === chunk.length) return
    const left = Buffer.from(chunk.buffer, chunk.byteOffset + at, chunk.length - at)
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, left]) : left
    at = 0
    while (at + 5 <= bytes.length) {
      const end = at + 1 + bytes.readUInt32BE(at + 1)
      const type = String.fromCharCode(bytes[at] ?? 0)
      if (end > bytes.length && PARSED.has(type)) break
      this.status = undefined
      if (PARSED.has(type)) this.#parse(type, bytes.subarray(at + 5, end))
      at = end
    }
    this.#skip = Math.max(0, at - bytes.length)
    this.#rest = Buffer.from(bytes.subarray(at))
  }

  #parse(type: string, body: Buffer): void {
    if (type === 'Z') this.status = String.fromCharCode(body[0] ?? 0) as TransactionStatus
    else this.failure ??= readFailure(body)
  }
}

/** ReadyForQuery and ErrorResponse. */
const PARSED = new Set(['Z', 'E'])

function readFailure(body: Buffer): WireError {
  const fields = new Map(
    body
      .toString()
      .split('\0')
      .map((field) => [field[0], field.slice(1)]),
  )
  return new WireError(fields.get('C') ?? 'XX000', fields.get('M') ?? 'unknown error')
}
