/**
 * Checks what a server sends and closes the connection before a message reaches the driver (postgres.js 3.4.9) that it
 * cannot handle. An attached server may be hostile, and the driver trusts it on the thread that serves everybody: it
 * hashes a password as often as the server asks, searches for the end of a column name beyond the message without end,
 * rejects a promise that nobody awaits (which ends the process) when an authentication message is cut short, and
 * buffers everything it is sent.
 */
import type { Socket } from 'node:net'

/** Postgres uses 4,096 by default (scram_iterations); this many take about 50 ms. */
const MAX_ITERATIONS = 100_000
/** Of a message whose contents are checked: an authentication, or 1,664 columns with names of at most 63 bytes. */
const CHECKED_MAX_BYTES = 256 * 1024
/** Between two ReadyForQuery. Answers to people are cut to 16 KiB. */
const RESPONSE_MAX_BYTES = 64 * 1024 * 1024

const code = (letter: string): number => letter.charCodeAt(0)
const [AUTHENTICATION, ROW_DESCRIPTION, READY] = [code('R'), code('T'), code('Z')]
const HEADER_BYTES = 5

/** Runs before every listener: none of them sees what is refused. */
export function checkBackendMessages(socket: Socket): void {
  const isAllowed = backendMessageChecker()
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...values: unknown[]) => boolean
  socket.emit = (event: string | symbol, ...values: unknown[]) => {
    if (event !== 'data' || isAllowed(values[0] as Buffer)) return emit(event, ...values)
    socket.destroy(
      Object.assign(new Error('The server violated the Postgres protocol'), { code: 'PROTOCOL_VIOLATION' }),
    )
    return false
  }
}

/** Takes the stream in chunks of any size; false from the first message on that is refused. */
export function backendMessageChecker(): (chunk: Buffer) => boolean {
  let header: Buffer = Buffer.alloc(0)
  let left = 0
  let body: Buffer[] | undefined
  let responseBytes = 0
  let allowed = true

  function begin(): boolean {
    const [kind] = header
    const bytes = header.readUInt32BE(1) - 4
    responseBytes = kind === READY ? 0 : responseBytes + bytes
    body = kind === AUTHENTICATION || kind === ROW_DESCRIPTION ? [] : undefined
    left = bytes
    return bytes >= 0 && responseBytes <= RESPONSE_MAX_BYTES && (!body || bytes <= CHECKED_MAX_BYTES)
  }

  function end(): boolean {
    const [kind] = header
    header = Buffer.alloc(0)
    if (!body) return true
    const whole = Buffer.concat(body)
    return kind === AUTHENTICATION ? isAllowedAuthentication(whole) : isRowDescription(whole)
  }

  function read(chunk: Buffer): boolean {
    let at = 0
    while (at < chunk.length) {
      if (header.length < HEADER_BYTES) {
        const part = chunk.subarray(at, at + HEADER_BYTES - header.length)
        header = header.length === 0 ? part : Buffer.concat([header, part])
        at += part.length
        if (header.length < HEADER_BYTES) return true
        if (!begin()) return false
      }
      const part = chunk.subarray(at, at + left)
      body?.push(part)
      at += part.length
      left -= part.length
      if (left > 0) return true
      if (!end()) return false
    }
    return true
  }

  return (chunk) => (allowed &&= read(chunk))
}

/** The authentication requests that the driver knows: Ok, cleartext, MD5, and the three of SASL. */
function isAllowedAuthentication(body: Buffer): boolean {
  if (body.length < 4) return false
  switch (body.readUInt32BE(0)) {
    case 0:
    case 3:
    case 5:
    case 10:
    case 12:
      return true
    case 11:
      return isAllowedChallenge(body.toString('utf8', 4))
    default:
      return false
  }
}

/** RFC 5802, section 7: server-first-message without extensions. */
function isAllowedChallenge(text: string): boolean {
  const iterations = /^r=[\x21-\x2b\x2d-\x7e]+,s=[A-Za-z0-9+/]+={0,2},i=([1-9]\d{0,8})$/.exec(text)?.[1]
  return iterations !== undefined && Number(iterations) <= MAX_ITERATIONS
}

function isRowDescription(body: Buffer): boolean {
  if (body.length < 2) return false
  let at = 2
  for (let columns = body.readUInt16BE(0); columns > 0; columns -= 1) {
    const nameEnd = body.indexOf(0, at)
    if (nameEnd === -1) return false
    at = nameEnd + 1 + 18
  }
  return at === body.length
}
