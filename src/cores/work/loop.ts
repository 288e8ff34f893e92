/**
 * The loop of whatever lies in rows. It takes turns until it is told to stop: at once while there is more, when it is told of
 * work, when something is due, and now and then as a net. After a turn that fails it waits, longer each time.
 */
import type { Handle } from '../../../db/connect.ts'
import { listenerOf, type Topic } from '../../../db/listen.ts'
import type { Clock, Log } from '../dependencies.ts'
import { createSignal, doubled, pause, POLL_MS } from './wait.ts'

/** There may be more to do; or when something is due next, or null if nothing is known to be. */
export type Next = 'again' | Date | null

export type Loop = {
  readonly name: string
  /** Work that it is told of. */
  readonly topics?: readonly Topic[]
  /** When something is due, in one statement: asked before each turn, of which most would find nothing. */
  readonly due?: () => Promise<Date | null>
  readonly turn: (stopping: AbortSignal) => Promise<Next>
  /** So many take turns beside each other. */
  readonly beside?: number
  /** How long it waits at most, if not as long as others. */
  readonly netMs?: number
}

export type Loops = {
  /** Lets a loop take a turn now, whatever is due. */
  wake(name: string): void
  stop(): Promise<void>
}

/** Shorter than any lease: whoever looks so often knows of each before it ends. */
const NET_MS = 20_000
/** Between two looks: a flood of notifications is not one of queries. */
const LEAST_MS = 20
/** Of so many looks one takes a turn, whatever is due: what may wait for hours is not asked for every time. */
const LOOKS_PER_TURN = 6
/** Something is due and could not be done yet: others have it, or there is no room. Doubling, too. */
const OVERDUE_MS = { first: 200, most: 1_000 }
/** After an error, mostly of the database, doubling. */
const FAILED_MS = { first: 250, most: 30_000 }
export const failedMs = (failures: number): number => doubled(FAILED_MS, failures)

type Pause = {
  /** Whether it would be told of work. */
  readonly isTold: boolean
  readonly netMs: number
  /** How often it found nothing, one time after the other. */
  readonly idle: number
  /** Until something is due, if that is known. */
  readonly leftMs: number | null
}

export function pauseMs({ isTold, netMs, idle, leftMs }: Pause): number {
  const mostMs = isTold ? netMs : doubled(POLL_MS, idle)
  if (leftMs === null) return mostMs
  return Math.min(mostMs, leftMs > 0 ? leftMs : doubled(OVERDUE_MS, idle))
}

type LoopDeps = Log & { readonly db: Handle; readonly clock: Clock }

export function startLoops(deps: LoopDeps, table: readonly Loop[], rest = pause): Loops {
  const stopping = new AbortController()
  const listener = listenerOf(deps.db)
  const signals = new Map(table.map(({ name }) => [name, createSignal()]))
  const woken = new Set<string>()
  // A turn that failed is not repeated because there is more to do; but because the database is back, or to stop.
  const resumed = createSignal()
  const unsubscribe = listener.subscribe((heard) => {
    if (heard === undefined) resumed.notify()
    for (const { name, topics } of table) {
      if (heard === undefined || topics?.includes(heard)) signals.get(name)!.notify()
    }
  })
  const leftMs = (due: Date): number => due.getTime() - deps.clock().getTime()

  async function run({ name, topics, due, turn, netMs = NET_MS }: Loop): Promise<void> {
    const told = signals.get(name)!
    let [idle, failures, looks] = [0, 0, 0]

    async function look(): Promise<Next> {
      const next = due ? await due() : null
      const isWoken = woken.delete(name) || looks++ % LOOKS_PER_TURN === 0
      const isDue = !due || (next && leftMs(next) <= 0)
      if (!isDue && !isWoken) return next
      return (await turn(stopping.signal)) ?? next
    }
    while (!stopping.signal.aborted) {
      try {
        const next = await look()
        failures = 0
        if (next === 'again') idle = 0
        else if (!stopping.signal.aborted) {
          const isTold = !topics || listener.state() === 'listening'
          const least = rest(LEAST_MS, stopping.signal)
          await told.wait(pauseMs({ isTold, netMs, idle: idle++, leftMs: next && leftMs(next) }))
          await least
        }
      } catch (error) {
        const againMs = failedMs(failures++)
        deps.log.warn('a turn failed', { loop: name, error, againMs })
        if (!stopping.signal.aborted) await resumed.wait(againMs)
      }
    }
  }

  const running = table.flatMap((loop) => Array.from({ length: loop.beside ?? 1 }, () => run(loop)))
  return {
    wake(name) {
      woken.add(name)
      signals.get(name)!.notify()
    },
    async stop() {
      stopping.abort()
      unsubscribe()
      for (const signal of [...signals.values(), resumed]) signal.notify()
      await Promise.all(running)
    },
  }
}
