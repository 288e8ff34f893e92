/**
 * A loop that ends what was not heard from in time. It knows since when it has been looking, and does not go by a clock
 * that is wrong. Any number of workers run it, all equal: what they do they do under the lock of a row, so any of them may
 * die at any moment.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '../../db/drizzle.ts'
import type { Clock, Log, Storage } from '../cores/dependencies.ts'
import type { Watch } from '../cores/watch.ts'

/** Between two looks that are further apart the process was frozen, or the clock was set: it does not know what happened. */
const GAP_MS = 30_000
/** A step may take longer than a gap on a slow database. While that answers in between, nothing was missed. */
const BETWEEN_MS = 10_000
/** Further from the database's, a clock is wrong: that of a machine which has just started, for example. */
const SKEW_MAX_MS = 10 * 60_000

/** Returns how many it handled: after a turn that found some the next one begins at once. */
export type WatchStep = (
  looking: { readonly clock: Clock; readonly watch: Watch },
  stopping: AbortSignal,
) => Promise<number>

type WatchLoop = {
  readonly name: string
  readonly everyMs: number
  readonly betweenMs?: number
  readonly steps: readonly WatchStep[]
}

export function startWatchLoop(deps: Storage & Log, loop: WatchLoop): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const running = run(deps, loop, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

async function run(
  deps: Storage & Log,
  { name, everyMs, betweenMs = BETWEEN_MS, steps }: WatchLoop,
  stopping: AbortSignal,
): Promise<void> {
  const watch = createWatch()
  const readClock = clockReader(deps)
  const lookBetween = async () => {
    while (!stopping.aborted) {
      await sleep(betweenMs, undefined, { signal: stopping })
      await readClock().then(
        (clock) => watch.look(clock()),
        // A step meets the same, and says so.
        () => {},
      )
    }
  }
  const looking = lookBetween().catch(() => {})
  while (!stopping.aborted) {
    let found = 0
    try {
      for (const step of steps) {
        // Before each of them: the one before may have taken long, or the process was frozen in the midst of it.
        const clock = await readClock()
        found += await step({ clock, watch: watch.look(clock()) }, stopping)
      }
    } catch (error) {
      deps.log.warn('a turn failed', { loop: name, error })
      // Nobody could report either while the database did not answer.
      watch.startOver()
      found = 0
    }
    if (found === 0) await sleep(everyMs, undefined, { signal: stopping }).catch(() => {})
  }
  await looking
}

export function createWatch() {
  let looks: { since: Date; last: Date } | undefined
  return {
    look(now: Date): Watch {
      const isGap = !looks || Math.abs(now.getTime() - looks.last.getTime()) > GAP_MS
      looks = { since: isGap ? now : looks!.since, last: now }
      return { since: looks.since }
    },
    startOver() {
      looks = undefined
    },
  }
}

/** What this process writes elsewhere, such as who was there, it compares by its own clock, unless that is plainly wrong. */
function clockReader({ db, clock, log }: Storage & Log): () => Promise<Clock> {
  let isWrong = false
  return async () => {
    const [read] = await db.execute<{ ms: number }>(
      sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
    )
    const readAt = performance.now()
    const aheadMs = clock().getTime() - read!.ms
    const wasWrong = isWrong
    isWrong = Math.abs(aheadMs) > SKEW_MAX_MS
    if (!isWrong) return clock
    if (!wasWrong)
      log.warn('the clock of this process is wrong', { seconds_ahead: Math.round(aheadMs / 1000) })
    return () => new Date(read!.ms + performance.now() - readAt)
  }
}
