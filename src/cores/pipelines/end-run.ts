/** A run ends, in whatever way: what follows for its pipeline and for the runs that wait behind it. */
import type { Transaction } from '../../../db/connect.ts'
import { and, isNotNull, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { pipelineRuns } from '../../../db/schema.ts'
import type { PipelineRunCode, PipelineTrouble } from '../../contracts/pipeline-states.ts'
import type { Clock } from '../dependencies.ts'
import { hasRunKey, isRunOf, minutesAfter, type Pipeline, type PipelineRun } from './pipeline-rows.ts'
import { recordOutcome } from './pipeline-trouble.ts'
import { runLease } from './run-lease.ts'

type RunEnding = {
  readonly state: 'succeeded' | PipelineTrouble
  readonly code?: PipelineRunCode | null
  readonly message?: string | null
  /** False: nobody is told, because it was not the schedule that was not kept. */
  readonly counts?: boolean
}

/** Under the lock of the pipeline. */
export async function endRun(
  tx: Transaction,
  clock: Clock,
  pipeline: Pipeline,
  run: PipelineRun,
  { state, code = null, message = null, counts = true }: RunEnding,
): Promise<PipelineRun> {
  const now = clock()
  const [ended] = await tx
    .update(pipelineRuns)
    .set({ state, code, message, endedAt: now, claimableUntil: null, ...runLease.given, timesOutAt: null })
    .where(hasRunKey(run))
    .returning()
  // Those that waited for it begin to be late now: waiting by policy is nobody's fault.
  if (run.state === 'running') await restartGrace(tx, pipeline, now)
  await notify(tx, 'pipelines', pipeline.appId)
  if (counts) await recordOutcome(tx, clock, pipeline, run.id, state)
  return ended!
}

async function restartGrace(tx: Transaction, pipeline: Pipeline, now: Date): Promise<void> {
  const until = minutesAfter(now, pipeline.graceMinutes)
  await tx
    .update(pipelineRuns)
    .set({ claimableUntil: sql`greatest(claimable_until, ${until.toISOString()}::timestamptz)` })
    .where(and(isRunOf(pipeline), isNotNull(pipelineRuns.claimableUntil)))
}
