/** Runs that nobody claimed in time, that took too long, or whose worker is gone. */
import type { SQL } from 'drizzle-orm'
import { sql } from '../../../db/drizzle.ts'
import { pipelineRuns } from '../../../db/schema.ts'
import type { Transaction } from '../../../db/connect.ts'
import { PIPELINE_LEASE_SECONDS } from '../../contracts/limits.ts'
import type { Clock, Log, Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { couldReport, type Watch } from '../watch.ts'
import { endRun } from './end-run.ts'
import { LATE_MS } from './make-due-runs.ts'
import { countOpenRuns } from './open-runs.ts'
import { hasRunKey, lockPipeline, minutesAfter, type Pipeline, type PipelineRun } from './pipeline-rows.ts'
import { hadWorker } from './worker-presence.ts'

const BATCH = sql.raw('100')

type RunKey = { readonly orgId: string; readonly id: string; readonly pipelineId: string }

/**
 * Returns how many it handled. A run is lost or hangs only if its worker could report: whoever has looked for less than a
 * lease leaves running ones alone.
 */
export async function endOverdueRuns({ db, clock, log }: Storage & Log, watch: Watch): Promise<number> {
  const now = clock()
  const at = sql`${now.toISOString()}::timestamptz`
  // Organizations take turns, so that nobody waits for another's thousands.
  const inTurns = (time: SQL) => sql`row_number() over (partition by org_id order by ${time}, id)`
  const overdue = await db.execute<RunKey>(sql`
    (select org_id as "orgId", id, pipeline_id as "pipelineId" from pipeline_runs
      where claimable_until <= ${at} order by ${inTurns(sql`claimable_until`)}, claimable_until limit ${BATCH})
    union all
    (select org_id, id, pipeline_id from pipeline_runs
      where ${couldReport(watch, now, PIPELINE_LEASE_SECONDS)} and state = 'running'
        and (lease_until < clock_timestamp() or times_out_at <= ${at})
      order by ${inTurns(sql`lease_until`)}, lease_until limit ${BATCH})`)
  let handled = 0
  for (const key of overdue) {
    try {
      await withTransaction(db, (tx) => endIfOverdue(tx, clock, key))
      handled++
    } catch (error) {
      log.warn('pipelines: an overdue run was not ended', { run: key.id, error })
    }
  }
  return handled
}

async function endIfOverdue(tx: Transaction, clock: Clock, key: RunKey): Promise<void> {
  const pipeline = await lockPipeline(tx, { orgId: key.orgId, id: key.pipelineId })
  if (!pipeline) return
  const [found] = await tx
    .select({ run: pipelineRuns, isLost: sql<boolean | null>`lease_until < clock_timestamp()` })
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
