/** Waiting for work that lies in rows: whoever waits is told, and looks again by itself now and then. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Handle } from '../../../db/connect.ts'
import { listenerOf, type Topic } from '../../../db/listen.ts'

/** Between two looks. A busy app is told of a hundred times a second. */
const LEAST_MS = 100
/** A net, where notifications arrive. */
const NET_MS = 20_000
/** Where they do not, between two looks: doubling as long as there is nothing. */
export const POLL_MS = { first: 500, most: 4_000 }

export const doubled = ({ first, most }: { first: number; most: number }, times: number): number =>
  Math.min(first * 2 ** times, most)

/** Ends early, and quietly, when the signal comes. */
type Pause = (ms: number, signal: AbortSignal) => Promise<void>
export const pause: Pause = (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {})

export type Wait = { readonly seconds: number; readonly signal: AbortSignal | undefined }
/** Without a topic nobody tells. */
export type WaitingFor = { readonly topic: Topic | undefined; readonly key: string }

/** Until it is over, the time has passed or whoever waits has hung up. No connection is held in between. */
export async function waitUntil(
  db: Handle,
  { topic, key }: WaitingFor,
  { seconds, signal }: Wait,
  isOver: () => Promise<boolean>,
  rest = pause,
): Promise<void> {
  const listener = listenerOf(db)
  const told = createSignal()
  const over = AbortSignal.any([AbortSignal.timeout(seconds * 1000), ...(signal ? [signal] : [])])
  const wake = () => told.notify()
  over.addEventListener('abort', wake, { once: true })
  const unsubscribe = listener.subscribe((heard, of) => {
    if (heard === undefined || (heard === topic && of === key)) told.notify()
  })
  try {
    // The first look is from here on: whatever was made before it nobody is told of again.
    for (let looks = 0; ; looks++) {
      if (signal?.aborted || (await isOver()) || over.aborted) return
      const isTold = topic && listener.state() === 'listening'
      await told.wait(isTold ? NET_MS : doubled(POLL_MS, looks))
      if (!over.aborted) await rest(LEAST_MS, over)
    }
  } finally {
    over.removeEventListener('abort', wake)
    unsubscribe()
  }
}

export type Signal = {
  notify(): void
  /** Until it is notified, or the time is over. */
  wait(ms: number): Promise<void>
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
    async wait(ms) {
      if (isNotified) {
        isNotified = false
        return
      }
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer)
          waiting.delete(done)
          resolve()
        }
        const timer = setTimeout(done, ms)
        waiting.add(done)
      })
    },
  }
}
