/** Collects what a client sends for its COPY FROM STDIN, until the engine reads it in one go. */
import type { SharedBuffer } from './shared-buffer.ts'

/** Filled before the next one begins. An array of its own for a message of one byte would take two hundred. */
const PIECE_BYTES = 64 * 1024

export type CopyBuffer = {
  readonly pieces: readonly Uint8Array<ArrayBuffer>[]
  /** Copies it. */
  add(data: Uint8Array): void
  discard(): void
}

export function createCopyBuffer(shared: SharedBuffer): CopyBuffer {
  let pieces: Uint8Array<ArrayBuffer>[] = []
  let taken = 0
  /** What is left of the last piece. */
  let room = new Uint8Array()

  return {
    get pieces() {
      return pieces.map((piece) =>
        piece === pieces.at(-1) ? piece.subarray(0, piece.length - room.length) : piece,
      )
    },
    add(data) {
      shared.take(data.length)
      taken += data.length
      const fitting = data.subarray(0, room.length)
      room.set(fitting)
      room = room.subarray(fitting.length)
      const rest = data.subarray(fitting.length)
      if (rest.length === 0) return
      const piece = new Uint8Array(Math.max(PIECE_BYTES, rest.length))
      piece.set(rest)
      pieces.push(piece)
      room = piece.subarray(rest.length)
    },
    discard() {
      shared.giveBack(taken)
      taken = 0
      pieces = []
      room = new Uint8Array()
    },
  }
}
