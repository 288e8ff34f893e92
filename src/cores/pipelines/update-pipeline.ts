import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNotNull, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { pipelineRuns, pipelines } from '../../../db/schema.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { makeDueRun } from './make-due-runs.ts'
import { hasPipelineKey, isRunOf, presentWithRuns, requireLocked, type Pipeline } from './pipeline-rows.ts'
import { TROUBLE_EVENTS } from './pipeline-trouble.ts'
import { dueAfter, requireSchedule } from './schedule-of.ts'

export const updatePipeline: Verb<'updatePipeline', WithDirectory> = write(
  { by: 'principal', audit: 'pipeline.changed', events: TROUBLE_EVENTS },
  async ({ tx, clock, principal, directory, audit }, { alias, pipeline_id, ...given }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    const before = await requireLocked(tx, app, pipeline_id)
    const settings = {
      cron: given.cron === undefined ? before.cron : given.cron,
      timezone: given.timezone ?? before.timezone,
      graceMinutes: given.grace_minutes ?? before.graceMinutes,
      timeoutMinutes: given.timeout_minutes ?? before.timeoutMinutes,
      concurrency: given.concurrency ?? before.concurrency,
      enabled: given.enabled ?? before.enabled,
    }
    const now = clock()
    const changed = (Object.keys(settings) as (keyof typeof settings)[]).filter(
      (name) => settings[name] !== before[name],
    )
    if (changed.length === 0) return presentWithRuns(tx, before)
    // Only one that is new: whatever is wrong with that of before, the pipeline can be switched off.
    if (changed.includes('cron') || changed.includes('timezone')) requireSchedule(settings, now)
    const isRescheduled = changed.some((name) => ['cron', 'timezone', 'enabled'].includes(name))
    // What was due by the schedule until now is not lost with it. Who was there nobody here knows.
    if (isRescheduled) await makeDueRun(tx, clock, before, { since: now })
    const nextDueAt = isRescheduled ? dueAfter(settings, now) : before.nextDueAt
    const [after] = await tx
      .update(pipelines)
      .set({ ...settings, nextDueAt })
      .where(hasPipelineKey(before))
      .returning()
    await notify(tx, 'pipelines', before.appId)
    await notify(tx, 'schedules')
    if (nextDueAt === null) await skipWaiting(tx, before, now)
    await audit(
      'pipeline.changed',
      `${alias}: ${before.name} (${changed.map((name) => LABELS[name]).join(', ')})`,
      { orgId: before.orgId },
    )
    return presentWithRuns(tx, after!)
  },
)

const LABELS = {
  cron: 'schedule',
  timezone: 'time zone',
  graceMinutes: 'grace',
  timeoutMinutes: 'time-out',
  concurrency: 'concurrency',
  enabled: 'enabled',
} as const

/** Switched off, nothing starts by schedule any more, and nobody is told that it did not. */
async function skipWaiting(tx: Transaction, pipeline: Pipeline, now: Date): Promise<void> {
  const isWaiting = and(isRunOf(pipeline), isNotNull(pipelineRuns.claimableUntil))
  await tx
    .update(pipelineRuns)
    .set({
      // That there was no worker was told already, and stays true.
      state: sql`case when state = 'queued' then 'skipped' else state end`,
      code: null,
      claimableUntil: null,
      endedAt: now,
    })
    .where(and(isWaiting, eq(pipelineRuns.isScheduled, true)))
}
