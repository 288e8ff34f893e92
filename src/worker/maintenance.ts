/** The loop of the maintenance agent: dispatches nightly runs, and ends those that nobody starts or whose runner is lost. */
import type { Log, Storage } from '../cores/dependencies.ts'
import { dispatchSlots, expireRuns } from '../cores/maintenance/index.ts'
import { startWatchLoop } from './watch-loop.ts'

/** Schedules are to the minute; a lost runner is noticed within a lease and this. */
const POLL_MS = 2_000

export function startMaintenance(deps: Storage & Log): { stop(): Promise<void> } {
  return startWatchLoop(deps, {
    name: 'maintenance',
    everyMs: POLL_MS,
    steps: [
      ({ clock }) => dispatchSlots({ ...deps, clock }),
      ({ clock }, stopping) => expireRuns({ ...deps, clock }, stopping),
    ],
  })
}
