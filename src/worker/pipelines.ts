/** The loop of pipelines: makes runs that are due and ends those that are overdue. */
import type { Log, Storage } from '../cores/dependencies.ts'
import { endOverdueRuns, makeDueRuns, recomputeDueTimes } from '../cores/pipelines/index.ts'
import { startWatchLoop, type WatchStep } from './watch-loop.ts'

/** Schedules are to the minute. */
const POLL_MS = 2_000
const RECOMPUTE_MS = 10 * 60_000

export function startPipelines(deps: Storage & Log): { stop(): Promise<void> } {
  return startWatchLoop(deps, {
    name: 'pipelines',
    everyMs: POLL_MS,
    steps: [
      ({ clock, watch }) => makeDueRuns({ ...deps, clock }, watch),
      ({ clock, watch }) => endOverdueRuns({ ...deps, clock }, watch),
      atMostEvery(RECOMPUTE_MS, ({ clock }) => recomputeDueTimes({ ...deps, clock })),
    ],
  })
}

/** By the time that passes in this process. */
function atMostEvery(ms: number, work: (looking: Parameters<WatchStep>[0]) => Promise<void>): WatchStep {
  let last = -Infinity
  return async (looking) => {
    if (performance.now() - last < ms) return 0
    await work(looking)
    last = performance.now()
    return 0
  }
}
