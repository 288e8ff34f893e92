/**
 * Reads along what a server sends and hangs up before the driver (postgres.js 3.4.9) meets what it cannot bear. A
 * server that somebody attached may be hostile, and the driver trusts it on the thread that serves everybody: it
 * hashes a password as often as it is told, looks for the end of a column's name beyond the end of the message, for
 * ever, rejects into the void (which ends the process) when a login message is cut short, and keeps all it is sent.
 */
import type { Socket } from 'node:net'

/** Postgres takes 4,096 unless told otherwise; this many take about 50 ms. */
const MOST_ROUNDS = 100_000
/** Messages that are read here: a login's few hundred bytes, or 1,664 columns with names of at most 63 bytes. */
const MOST_READ_BYTES = 256 * 1024
/** From one question to the next. Answers are cut to 16 KiB, from rows that a person can still call text. */
const MOST_ANSWER_BYTES = 64 * 1024 * 1024

const code = (letter: string): number => letter.charCodeAt(0)
const [AUTHENTICATION, ROW_DESCRIPTION, READY] = [code('R'), code('T'), code('Z')]
const HEADER_BYTES = 5

/** In front of every listener: what is refused reaches none of them. */
export function guardAnswers(socket: Socket): void {
  const isBearable = reader()
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...values: unknown[]) => boolean
  socket.emit = (event: string | symbol, ...values: unknown[]) => {
    if (event !== 'data' || isBearable(values[0] as Buffer)) return emit(event, ...values)
    socket.destroy(Object.assign(new Error('The server breaks the protocol'), { code: 'PROTOCOL_VIOLATION' }))
    return false
  }
}

/** Takes the stream piece by piece, however it was cut; false once and for all when something in it is refused. */
export function reader(): (chunk: Buffer) => boolean {
  let header: Buffer = Buffer.alloc(0)
  let left = 0
  let body: Buffer[] | undefined
  let answered = 0
  let bearable = true

  function begin(): boolean {
    const [kind] = header
    const bytes = header.readUInt32BE(1) - 4
    answered = kind === READY ? 0 : answered + bytes
    body = kind === AUTHENTICATION || kind === ROW_DESCRIPTION ? [] : undefined
    left = bytes
    return bytes >= 0 && answered <= MOST_ANSWER_BYTES && (!body || bytes <= MOST_READ_BYTES)
  }

  function end(): boolean {
    const [kind] = header
    header = Buffer.alloc(0)
    if (!body) return true
    const whole = Buffer.concat(body)
    return kind === AUTHENTICATION ? isBearableLogin(whole) : isRowDescription(whole)
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

  return (chunk) => (bearable &&= read(chunk))
}

/** The kinds of login that the driver knows: none, cleartext, MD5, and the three messages of SASL. */
function isBearableLogin(body: Buffer): boolean {
  if (body.length < 4) return false
  switch (body.readUInt32BE(0)) {
    case 0:
    case 3:
    case 5:
    case 10:
    case 12:
      return true
    case 11:
      return isBearableChallenge(body.toString('utf8', 4))
    default:
      return false
  }
}

/** RFC 5802, section 7, in the one form that it has without extensions. */
function isBearableChallenge(text: string): boolean {
  const rounds = /^r=[\x21-\x2b\x2d-\x7e]+,s=[A-Za-z0-9+/]+={0,2},i=([1-9]\d{0,8})$/.exec(text)?.[1]
  return rounds !== undefined && Number(rounds) <= MOST_ROUNDS
}

function isRowDescription(body: Buffer): boolean {
  if (body.length < 2) return false
  let at = 2
  for (let columns = body.readUInt16BE(0); columns > 0; columns -= 1) {
    const nameEnds = body.indexOf(0, at)
    if (nameEnds === -1) return false
    at = nameEnds + 1 + 18
  }
  return at === body.length
}
