/**
 * The due runs of all pipelines, by any number of processes: each takes the row of the pipeline, and a time has one run.
 */
import type { Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { pipelineRuns, pipelines } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { PIPELINE_PRESENCE_SECONDS, PIPELINE_RUNS } from '../../contracts/limits.ts'
import type { ConcurrencyPolicy, PipelineRunCode, PipelineRunState } from '../../contracts/pipeline-states.ts'
import type { Clock, Log, Storage } from '../dependencies.ts'
import { lastDueAt } from '../schedule.ts'
import type { Watch } from '../watch.ts'
import { handleInTurns } from '../work/index.ts'
import { countOpenRuns, type OpenRuns } from './open-runs.ts'
import {
  hasPipelineKey,
  lockPipeline,
  minutesAfter,
  type Pipeline,
  type PipelineKey,
} from './pipeline-rows.ts'
import { recordOutcome } from './pipeline-trouble.ts'
import { dueAfter } from './schedule-of.ts'
import { hadWorker } from './worker-presence.ts'

/** Returns how many it handled. */
export async function makeDueRuns({ db, clock, log }: Storage & Log, watch: Watch): Promise<number> {
  return handleInTurns<PipelineKey>(
    { db, log },
    {
      rows: sql`select org_id as "orgId", id, next_due_at as place from pipelines
        where next_due_at <= ${clock().toISOString()}::timestamptz`,
      warning: 'pipelines: a due run was not made',
      named: 'pipeline',
      async handle(tx, key) {
        // Another process is at it, or a person: several go through the same ones, and do not wait for each other.
        const pipeline = await lockPipeline(tx, key, { skipLocked: true })
        if (pipeline) await makeDueRun(tx, clock, pipeline, watch)
        return pipeline !== undefined
      },
    },
  )
}

/** Under the lock of the pipeline. */
export async function makeDueRun(
  tx: Transaction,
  clock: Clock,
  pipeline: Pipeline,
  { since }: Watch,
): Promise<void> {
  const now = clock()
  // Another process was faster, or the schedule has changed.
  if (pipeline.nextDueAt === null || pipeline.cron === null || pipeline.nextDueAt > now) return
  const dueAt = newestDue(pipeline.cron, pipeline.timezone, pipeline.nextDueAt, now)
  await tx
    .update(pipelines)
    .set({ nextDueAt: dueAfter(pipeline, now) })
    .where(hasPipelineKey(pipeline))
  const isKnown =
    since.getTime() <= dueAt.getTime() - PRESENCE_MS && now.getTime() - dueAt.getTime() <= LATE_MS
  const graceEnds = minutesAfter(dueAt, pipeline.graceMinutes)
  const verdict = judgeDueRun({
    isKnown,
    isPastGrace: graceEnds <= now,
    hasWorker: await hadWorker(tx, pipeline, dueAt, now),
    open: await countOpenRuns(tx, pipeline),
    policy: pipeline.concurrency,
  })
  const [run] = await tx
    .insert(pipelineRuns)
    .values({
      orgId: pipeline.orgId,
      id: makeId('prn', now.getTime()),
      appId: pipeline.appId,
      pipelineId: pipeline.id,
      state: verdict.state,
      code: verdict.code ?? null,
      dueAt,
      isScheduled: true,
      claimableUntil: verdict.isClaimable ? claimableFrom(now, graceEnds) : null,
      endedAt: verdict.isClaimable ? null : now,
    })
    .onConflictDoNothing()
    .returning({ id: pipelineRuns.id })
  if (!run) return
  if (verdict.isClaimable) await notify(tx, 'pipelines', pipeline.appId)
  const { state } = verdict
  if (state === 'host_offline' || state === 'missed') await recordOutcome(tx, clock, pipeline, run.id, state)
}

/** A schedule has no two times within a minute. */
const MINUTE_MS = 60_000

/** Of those that passed while nobody looked only the newest: nobody wants the backups of a week at once. */
function newestDue(cron: string, timezone: string, first: Date, now: Date): Date {
  if (now.getTime() - first.getTime() < MINUTE_MS) return first
  return lastDueAt(cron, timezone, { after: first, until: now }) ?? first
}

/** Found later than this, the server did not run at that time, or its clock was set. */
export const LATE_MS = 2 * MINUTE_MS
const PRESENCE_MS = PIPELINE_PRESENCE_SECONDS * 1000

/** However late it was made: workers that met no server need a moment to come back, and those that wait to be told. */
export const claimableFrom = (now: Date, graceEnds: Date): Date =>
  new Date(Math.max(graceEnds.getTime(), now.getTime() + PRESENCE_MS))

export type DueRun = {
  /** Whether the server was there at that time, so that it knows whether a worker was. */
  readonly isKnown: boolean
  readonly isPastGrace: boolean
  readonly hasWorker: boolean
  readonly open: OpenRuns
  readonly policy: ConcurrencyPolicy
}

type Verdict = {
  readonly state: PipelineRunState
  readonly isClaimable: boolean
  readonly code?: PipelineRunCode
}

/** What becomes of a run at its time. Without a worker it can still be claimed within the grace, by one that comes back. */
export function judgeDueRun({ isKnown, isPastGrace, hasWorker, open, policy }: DueRun): Verdict {
  const isBlocked =
    policy === 'skip' ? open.running + open.waiting > 0 : open.waiting >= PIPELINE_RUNS.waiting
  // Also without a worker, or a server: what the policy skips never alerts, and of the run before it was told, or will be.
  if (isBlocked) return { state: 'skipped', isClaimable: false }
  if (!isKnown && isPastGrace) return { state: 'missed', isClaimable: false, code: 'SERVER_DOWN' }
  if (isKnown && !hasWorker) return { state: 'host_offline', isClaimable: true }
  // Made after its grace, it is the server that was late, whoever is connected.
  return isKnown && !isPastGrace
    ? { state: 'queued', isClaimable: true }
    : { state: 'queued', isClaimable: true, code: 'SERVER_DOWN' }
}
