/** Cuts what a client sends into messages, within bounds of length and of memory. */
import type { Socket } from 'node:net'
import { WireFailure } from './messages.ts'

/** A client that sends faster than it is answered is not read any further from here on. */
const READ_AHEAD_BYTES = 1024 * 1024

export type MessageReader = {
  /** The packet that has no type byte: its length comes first. Undefined when the client is gone. */
  startup(maxBytes: number): Promise<Buffer | undefined>
  /** A whole message, with its type and length. Undefined when the client is gone. */
  next(maxBytes: number): Promise<Buffer | undefined>
  /** Nothing more will come, though some of what came may not have been taken. */
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

  /** Joins pieces only once all are there: joining at every arrival would copy a long message again and again. */
  async function have(length: number): Promise<Buffer | undefined> {
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
    const head = await have(headBytes)
    if (!head) return undefined
    const length = head.readUInt32BE(headBytes - 4)
    if (length < minBytes || length > maxBytes) {
      throw new WireFailure('08P01', 'invalid message length', { fatal: true })
    }
    const total = headBytes - 4 + length
    const bytes = await have(total)
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
