/** Runs that nobody claimed in time, that took too long, or whose worker is gone. */
import { sql } from '../../../db/drizzle.ts'
import { pipelineRuns } from '../../../db/schema.ts'
import type { Transaction } from '../../../db/connect.ts'
import { PIPELINE_LEASE_SECONDS } from '../../contracts/limits.ts'
import type { Clock, Log, Storage } from '../dependencies.ts'
import { couldReport, type Watch } from '../watch.ts'
import { handleInTurns } from '../work/index.ts'
import { endRun } from './end-run.ts'
import { LATE_MS } from './make-due-runs.ts'
import { countOpenRuns } from './open-runs.ts'
import { hasRunKey, lockPipeline, minutesAfter, type Pipeline, type PipelineRun } from './pipeline-rows.ts'
import { runLease } from './run-lease.ts'
import { hadWorker } from './worker-presence.ts'

type RunKey = { readonly orgId: string; readonly id: string; readonly pipelineId: string }

/**
 * Returns how many it handled. A run is lost or hangs only if its worker could report: whoever has looked for less than a
 * lease leaves running ones alone.
 */
export async function endOverdueRuns({ db, clock, log }: Storage & Log, watch: Watch): Promise<number> {
  const now = clock()
  const at = sql`${now.toISOString()}::timestamptz`
  return handleInTurns<RunKey>(
    { db, log },
    {
      rows: sql`
        select org_id as "orgId", id, pipeline_id as "pipelineId", claimable_until as place from pipeline_runs
        where claimable_until <= ${at}
        union all
        select org_id, id, pipeline_id, lease_until from pipeline_runs
        where ${couldReport(watch, now, PIPELINE_LEASE_SECONDS)} and state = 'running'
          and (${runLease.isOver()} or times_out_at <= ${at})`,
      warning: 'pipelines: an overdue run was not ended',
      named: 'run',
      async handle(tx, key) {
        await endIfOverdue(tx, clock, key)
        return true
      },
    },
  )
}

async function endIfOverdue(tx: Transaction, clock: Clock, key: RunKey): Promise<void> {
  const pipeline = await lockPipeline(tx, { orgId: key.orgId, id: key.pipelineId })
  if (!pipeline) return
  const [found] = await tx
    .select({ run: pipelineRuns, isLost: runLease.isOver() })
    .from(pipelineRuns)
    .where(hasRunKey(key))
    .for('update')
  // Removed, or reported a moment ago.
  if (!found) return
  const { run, isLost } = found
  const now = clock()
  if (run.state === 'running') {
    if (run.timesOutAt !== null && run.timesOutAt <= now) {
      await endRun(tx, clock, pipeline, run, { state: 'failed', code: 'TIMED_OUT' })
    } else if (isLost) {
      // Not given to another worker: the job may be half done, or go on.
      await endRun(tx, clock, pipeline, run, { state: 'failed', code: 'WORKER_LOST' })
    }
  } else if (run.claimableUntil !== null && run.claimableUntil <= now) {
    await endUnclaimed(tx, clock, pipeline, run, now)
  }
}

async function endUnclaimed(
  tx: Transaction,
  clock: Clock,
  pipeline: Pipeline,
  run: PipelineRun,
  now: Date,
): Promise<void> {
  const { running } = await countOpenRuns(tx, pipeline)
  if (running > 0 && pipeline.concurrency !== 'allow') {
    // It waits for the run before, as it should. Its grace begins when that one ends.
    const claimableUntil = minutesAfter(now, pipeline.graceMinutes)
    await tx.update(pipelineRuns).set({ claimableUntil }).where(hasRunKey(run))
    return
  }
  if (run.state === 'host_offline') {
    // Told at its time already.
    await tx.update(pipelineRuns).set({ claimableUntil: null, endedAt: now }).where(hasRunKey(run))
    return
  }
  const hasWorker = await hadWorker(tx, pipeline, now, now)
  const isLate = now.getTime() - run.claimableUntil!.getTime() > LATE_MS
  // Where it is not known who was there at its time, whoever has not come since then is offline.
  const isOffline = !hasWorker && !isLate && (run.code === 'SERVER_DOWN' || !run.isScheduled)
  const counts = run.isScheduled
  if (isOffline) await endRun(tx, clock, pipeline, run, { state: 'host_offline', counts })
  else {
    const code = isLate || run.code === 'SERVER_DOWN' ? 'SERVER_DOWN' : 'NOT_CLAIMED'
    await endRun(tx, clock, pipeline, run, { state: 'missed', code, counts })
  }
}
