/**
 * How many tokens a request may use at most. No tokenizer makes more tokens than there are bytes; after the first answer it
 * is known what everything before was worth, so only what was added counts by its bytes.
 */
import type { ModelRequest } from '../contracts/model-port.ts'

export type TokenBound = {
  readonly of: (request: ModelRequest) => number
  /** What that request really used, input and output. */
  readonly settle: (request: ModelRequest, used: number) => void
}

export function tokenBound(): TokenBound {
  let before: { readonly bytes: number; readonly used: number } | undefined
  return {
    of(request) {
      const bytes = bytesOf(request)
      const input = before ? Math.min(bytes, before.used + Math.max(0, bytes - before.bytes)) : bytes
      return input + request.maxOutputTokens
    },
    settle(request, used) {
      before = { bytes: bytesOf(request), used }
    },
  }
}

/** What a wire adds to each message, in names and brackets. */
const FRAME_BYTES = 64

const bytesOf = ({ system, messages, tools }: ModelRequest): number =>
  Buffer.byteLength(JSON.stringify({ system, messages, tools })) + messages.length * FRAME_BYTES
