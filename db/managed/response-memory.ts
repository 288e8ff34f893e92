/**
 * What the responses that are being read may hold together, in this thread. When that is too much, whoever holds most
 * loses their largest one: a server that hoards memory costs its own questions, and nobody else's.
 */
import { problem } from './problem.ts'

/** Eight of the largest responses there can be. */
const TOTAL_MAX_BYTES = 64 * 1024 * 1024

export type HeldResponse = {
  /** As soon as it is announced, so that nobody can promise more than there is. */
  add(bytes: number): void
  /** It was read. */
  release(): void
  /** Its connection is closed, and what is left of the last chunk does not count any more. */
  end(): void
}

type Held = { readonly owner: string; bytes: number; isEnded: boolean; hangUp: (reason: Error) => void }

export function responseMemory(totalMaxBytes = TOTAL_MAX_BYTES) {
  const held = new Set<Held>()
  let total = 0
  const isTooMuch = () => total > totalMaxBytes

  const release = (one: Held): void => {
    if (!held.delete(one)) return
    total -= one.bytes
    one.bytes = 0
  }

  return {
    hold(owner: string, hangUp: (reason: Error) => void): HeldResponse {
      const own: Held = { owner, bytes: 0, isEnded: false, hangUp }
      return {
        add(bytes) {
          if (own.isEnded) return
          held.add(own)
          own.bytes += bytes
          total += bytes
          while (isTooMuch()) {
            const largest = largestOf(held)
            release(largest)
            largest.hangUp(problem('RESPONSE_TOO_LARGE', 'Responses take more memory than there is'))
          }
        },
        release: () => release(own),
        end() {
          own.isEnded = true
          release(own)
        },
      }
    },
  }
}

/** The largest of the owner who holds most in all: many small ones are no way around it. */
function largestOf(held: ReadonlySet<Held>): Held {
  const byOwner = new Map<string, { bytes: number; largest: Held }>()
  for (const one of held) {
    const known = byOwner.get(one.owner) ?? { bytes: 0, largest: one }
    const largest = one.bytes > known.largest.bytes ? one : known.largest
    byOwner.set(one.owner, { bytes: known.bytes + one.bytes, largest })
  }
  return [...byOwner.values()].reduce((a, b) => (b.bytes > a.bytes ? b : a)).largest
}

/** Of this thread. */
export const responses = responseMemory()
