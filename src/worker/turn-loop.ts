/** A loop that takes turns until it is told to stop, and waits longer after each that fails; and what wakes it. */
import type { Log } from '../cores/dependencies.ts'

/** After an error of the database, doubling. */
const BACKOFF_MS = 250
const BACKOFF_MAX_MS = 30_000

export async function turnLoop(
  log: Log['log'],
  name: string,
  stopping: AbortSignal,
  turn: () => Promise<void>,
): Promise<void> {
  let failures = 0
  const stopped = createSignal()
  stopping.addEventListener('abort', () => stopped.notify(), { once: true })
  while (!stopping.aborted) {
    try {
      await turn()
      failures = 0
    } catch (error) {
      log.warn('a turn failed', { loop: name, error })
      await stopped.wait(Math.min(BACKOFF_MS * 2 ** failures++, BACKOFF_MAX_MS))
    }
  }
}

export type Signal = {
  notify(): void
  /** Until it is notified, the time is over, or the other thing has happened. */
  wait(ms: number, other?: Promise<void>): Promise<void>
}

/** Notified while nobody waits, it wakes whoever waits next. */
export function createSignal(): Signal {
  let isNotified = false
  const waiting = new Set<() => void>()
  return {
    notify() {
      isNotified = waiting.size === 0
      for (const wake of waiting) wake()
    },
    async wait(ms, other) {
      if (isNotified) {
        isNotified = false
        return
      }
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer)
          waiting.delete(done)
          forget?.()
          resolve()
        }
        const timer = setTimeout(done, ms)
        waiting.add(done)
        const forget = other && wakeAfter(other, done)
      })
    },
  }
}

/** Who waits for what. */
const waitingFor = new WeakMap<Promise<void>, Set<() => void>>()

/**
 * One reaction for all who wait: none can be taken back from a promise, and in a worker that has nothing to do the same one
 * is waited for again every second, for as long as the process lives. Returns how to wait no longer.
 */
function wakeAfter(other: Promise<void>, wake: () => void): () => void {
  const known = waitingFor.get(other)
  const waiting = known ?? new Set<() => void>()
  waiting.add(wake)
  if (!known) {
    waitingFor.set(other, waiting)
    void other.then(() => {
      waitingFor.delete(other)
      for (const one of waiting) one()
    })
  }
  return () => waiting.delete(wake)
}
