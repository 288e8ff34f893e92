/**
 * The loop of pipelines: makes runs that are due and ends those that are overdue. Any number of workers run it, all equal:
 * what they do they do under the lock of a row, so any of them may die at any moment.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log, Storage } from '../cores/dependencies.ts'
import { endOverdueRuns, makeDueRuns, type Watch } from '../cores/pipelines/index.ts'

/** Schedules are to the minute. */
const POLL_MS = 2_000
/** Between two looks that are further apart the process was frozen, or the clock was set: it does not know what happened. */
const GAP_MS = 30_000

export function startPipelines(deps: Storage & Log): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const running = run(deps, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

async function run(deps: Storage & Log, stopping: AbortSignal): Promise<void> {
  let watch: Watch = { since: deps.clock() }
  while (!stopping.aborted) {
    let found = 0
    try {
      found = (await makeDueRuns(deps, watch)) + (await endOverdueRuns(deps, watch))
    } catch (error) {
      deps.log.warn('pipelines: a turn failed', { error })
      // Workers could not call either while the database did not answer.
      watch = { since: deps.clock() }
    }
    if (found > 0) continue
    const before = deps.clock()
    await sleep(POLL_MS, undefined, { signal: stopping }).catch(() => {})
    const now = deps.clock()
    if (Math.abs(now.getTime() - before.getTime()) > GAP_MS) watch = { since: now }
  }
}
