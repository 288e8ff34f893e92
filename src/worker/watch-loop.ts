/**
 * Loops that end what was not heard from in time. They know since when they have been looking, and do not go by a clock
 * that is wrong. Any number of workers run them, all equal: what they do they do under the lock of a row, so any of them may
 * die at any moment.
 */
import type { Clock, Log, Storage } from '../cores/dependencies.ts'
import type { Watch } from '../cores/watch.ts'
import { startLoops, type Loop } from '../cores/work/index.ts'
import { clockReader } from './clock-reader.ts'

/** Between two looks that are further apart the process was frozen, or the clock was set: it does not know what happened. */
const GAP_MS = 30_000
/** A step may take longer than a gap on a slow database. While that answers in between, nothing was missed. */
const BETWEEN_MS = 10_000

/** Returns how many it handled: after a turn that found some the next one begins at once. */
export type WatchStep = (
  looking: { readonly clock: Clock; readonly watch: Watch },
  stopping: AbortSignal,
) => Promise<number>

export type WatchLoop = Omit<Loop, 'turn'> & { readonly steps: readonly WatchStep[] }

/** They look together: what one of them has heard from the database counts for all. */
export function startWatchLoops(
  deps: Storage & Log,
  table: readonly WatchLoop[],
  betweenMs = BETWEEN_MS,
): { stop(): Promise<void> } {
  const watch = createWatch()
  const readClock = clockReader(deps)
  let lastClock = deps.clock
  const lookBetween = () =>
    void readClock().then(
      (clock) => watch.look(clock()),
      // A step meets the same, and says so.
      () => {},
    )
  const makeLoop = ({ steps, due, ...loop }: WatchLoop): Loop => ({
    ...loop,
    ...(due && {
      async due() {
        const next = await due()
        // The database has answered.
        watch.look(lastClock())
        return next
      },
    }),
    async turn(stopping) {
      const looking = setInterval(lookBetween, betweenMs)
      try {
        let found = 0
        for (const step of steps) {
          // Before each of them: the one before may have taken long, or the process was frozen in the midst of it.
          const clock = (lastClock = await readClock())
          found += await step({ clock, watch: watch.look(clock()) }, stopping)
        }
        return found > 0 ? 'again' : null
      } catch (error) {
        // Nobody could report either while the database did not answer.
        watch.startOver()
        throw error
      } finally {
        clearInterval(looking)
      }
    },
  })
  return startLoops(deps, table.map(makeLoop))
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
