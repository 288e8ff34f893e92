/** What is ended when nobody was heard from in time, and made when its time has come. */
import type { Log, Storage } from '../cores/dependencies.ts'
import { expireDeployments } from '../cores/deployments/index.ts'
import { dispatchSlots, expireRuns } from '../cores/maintenance/index.ts'
import { endOverdueRuns, makeDueRuns, recomputeDueTimes } from '../cores/pipelines/index.ts'
import { nextDue } from './next-due.ts'
import type { WatchLoop, WatchStep } from './watch-loop.ts'

const RECOMPUTE_MS = 10 * 60_000

export const watchLoops = (deps: Storage & Log): readonly WatchLoop[] => [
  {
    name: 'deployments',
    steps: [({ clock, watch }, stopping) => expireDeployments({ ...deps, clock }, watch, stopping)],
    due: () => nextDue(deps, 'deployment'),
  },
  {
    name: 'pipelines',
    topics: ['schedules'],
    steps: [
      ({ clock, watch }) => makeDueRuns({ ...deps, clock }, watch),
      ({ clock, watch }) => endOverdueRuns({ ...deps, clock }, watch),
      atMostEvery(RECOMPUTE_MS, ({ clock }) => recomputeDueTimes({ ...deps, clock })),
    ],
    due: () => nextDue(deps, 'pipeline'),
  },
  {
    name: 'maintenance',
    topics: ['schedules'],
    steps: [
      ({ clock }) => dispatchSlots({ ...deps, clock }),
      ({ clock }, stopping) => expireRuns({ ...deps, clock }, stopping),
    ],
    due: () => nextDue(deps, 'maintenance'),
  },
]

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
