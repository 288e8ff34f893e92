/** Reads the messages of a client from its socket, with limits on their length and on memory. */
import type { Socket } from 'node:net'
import { WireError } from './protocol-messages.ts'

/** The socket is paused while this much is buffered. */
const READ_AHEAD_BYTES = 1024 * 1024

export type MessageReader = {
  /** A packet without a type byte. Undefined when the client is gone. */
  startup(maxBytes: number): Promise<Buffer | undefined>
  /** A whole message, with its type and length. Undefined when the client is gone. */
  next(maxBytes: number): Promise<Buffer | undefined>
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
    size += chunk.length
    if (size >= Math.max(needed, READ_AHEAD_BYTES)) socket.pause()
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

  async function take(headBytes: 4 | 5, minBytes: number, maxBytes: number): Promise<Buffer | undefined> {
    const head = await buffered(headBytes)
    if (!head) return undefined
    const length = head.readUInt32BE(headBytes - 4)
    if (length < minBytes || length > maxBytes) {
      throw new WireError('08P01', 'invalid message length', { fatal: true })
    }
    const total = headBytes - 4 + length
    const bytes = await buffered(total)
    if (!bytes) return undefined
    if (bytes.length > total) chunks[0] = bytes.subarray(total)
    else chunks.shift()
    size -= total
    if (size < READ_AHEAD_BYTES) socket.resume()
    return bytes.subarray(0, total)
  }

  return {
    startup: (maxBytes) => take(4, 8, maxBytes),
    next: (maxBytes) => take(5, 4, maxBytes),
    get ended() {
      return ended
    },
  }
}
