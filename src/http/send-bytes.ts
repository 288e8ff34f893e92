/**
 * The body of an answer of many bytes: sent in parts, as fast as the client takes them, and held until it has. One that
 * takes nothing for a while, or too long for all of it, is given up, because what waits for it is memory that others need.
 */
import type { HeldBody } from './held-bodies.ts'

/** What is not longer goes to the socket as it is. */
export const PART_BYTES = 256 * 1024
/** A client that takes less than a part in this time is too slow to wait for. */
export const STALLED_MS = 30_000
/** So is one that, after a first minute, takes less than a part in a second. */
const wholeMsOf = (bytes: number): number => 60_000 + (bytes / PART_BYTES) * 1_000

export function sentInParts(
  body: Uint8Array,
  held: HeldBody,
  startTimer: (act: () => void, ms: number) => NodeJS.Timeout = setTimeout,
): ReadableStream<Uint8Array> {
  held.add(body.length)
  let rest = body
  let timers: { readonly stalled: NodeJS.Timeout; readonly whole: NodeJS.Timeout } | undefined
  const end = () => {
    clearTimeout(timers?.stalled)
    clearTimeout(timers?.whole)
    rest = new Uint8Array()
    held.release()
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const giveUp = () => {
          end()
          controller.error(new Error('The client takes too long to read the answer'))
        }
        timers = {
          stalled: startTimer(giveUp, STALLED_MS),
          whole: startTimer(giveUp, wholeMsOf(body.length)),
        }
        // What is given up when the process ends does not keep it.
        timers.stalled.unref()
        timers.whole.unref()
      },
      pull(controller) {
        timers!.stalled.refresh()
        controller.enqueue(rest.subarray(0, PART_BYTES))
        rest = rest.subarray(PART_BYTES)
        if (rest.length > 0) return
        end()
        controller.close()
      },
      cancel: end,
    },
    // Nothing is read ahead.
    { highWaterMark: 0 },
  )
}
