/** Reads the messages of a client from its socket, with limits on their length and on memory. */
import type { Socket } from 'node:net'
import { WireError } from './protocol-messages.ts'

/** The socket is paused while this much is buffered. */
const READ_AHEAD_BYTES = 1024 * 1024
/** More of them are joined: a chunk takes half a kilobyte besides its bytes, and a client may send them one by one. */
const CHUNKS_MAX = 256
/** A larger message is put together in such parts. */
const PART_BYTES = 64 * 1024

export type MessageReader = {
  /** A packet without a type byte. Undefined when the client is gone. */
  startup(maxBytes: number): Promise<Buffer | undefined>
  /**
   * A whole message, with its type and length. Undefined when the client is gone. The length of one that is larger than
   * what is read ahead is announced before there is memory for it, and then each part of it that has come.
   */
  next(
    maxBytes: number,
    announceLarge?: (bytes: number) => void,
    onPart?: () => void,
  ): Promise<Buffer | undefined>
  /** The client has closed its side, though buffered messages may be left. */
  readonly ended: boolean
}

export function readMessages(socket: Socket): MessageReader {
  let chunks: Buffer[] = []
  let size = 0
  let needed = 0
  let ended = false
  let wake = () => {}

  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    if (chunks.length > CHUNKS_MAX) chunks = [Buffer.concat(chunks)]
    size += chunk.length
    if (size >= READ_AHEAD_BYTES) socket.pause()
    if (size >= needed) wake()
  })
  const end = () => {
    ended = true
    wake()
  }
  socket.on('end', end)
  socket.on('close', end)

  /** Joins chunks only once all are there: joining at every arrival would copy a long message again and again. */
  async function buffered(length: number): Promise<Buffer | undefined> {
    needed = length
    for (;;) {
      if (size >= length) break
      if (ended) return undefined
      const more = new Promise<void>((settle) => (wake = settle))
      socket.resume()
      await more
    }
    needed = 0
    const [first] = chunks
    if (chunks.length > 1 && (first?.length ?? 0) < length) chunks = [Buffer.concat(chunks)]
    return chunks[0]
  }

  async function consume(length: number): Promise<Buffer | undefined> {
    const bytes = await buffered(length)
    if (!bytes) return undefined
    if (bytes.length > length) chunks[0] = bytes.subarray(length)
    else chunks.shift()
    size -= length
    if (size < READ_AHEAD_BYTES) socket.resume()
    return bytes.subarray(0, length)
  }

  async function take(
    headBytes: 4 | 5,
    minBytes: number,
    maxBytes: number,
    announceLarge = (_bytes: number) => {},
    onPart = () => {},
  ): Promise<Buffer | undefined> {
    const head = await buffered(headBytes)
    if (!head) return undefined
    const length = head.readUInt32BE(headBytes - 4)
    if (length < minBytes || length > maxBytes) {
      throw new WireError('08P01', 'invalid message length', { fatal: true })
    }
    const total = headBytes - 4 + length
    if (total <= READ_AHEAD_BYTES) return consume(total)
    announceLarge(total)
    return consumeLarge(total, onPart)
  }

  /** In memory of its own, which is as large as announced, and of which nothing stays behind with the bytes after it. */
  async function consumeLarge(length: number, onPart: () => void): Promise<Buffer | undefined> {
    const bytes = Buffer.allocUnsafeSlow(length)
    for (let at = 0; at < length;) {
      const part = await consume(Math.min(PART_BYTES, length - at))
      if (!part) return undefined
      at += part.copy(bytes, at)
      onPart()
    }
    return bytes
  }

  return {
    startup: (maxBytes) => take(4, 8, maxBytes),
    next: (maxBytes, announceLarge, onPart) => take(5, 4, maxBytes, announceLarge, onPart),
    get ended() {
      return ended
    },
  }
}
