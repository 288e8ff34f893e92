/** Pipelines and runs as the operations find and return them. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { pipelineRuns, pipelines } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { PipelineRunState } from '../../contracts/pipeline-states.ts'
import type { App } from '../apps/index.ts'

export type Pipeline = typeof pipelines.$inferSelect
export type PipelineRun = typeof pipelineRuns.$inferSelect
export type PipelineKey = { readonly orgId: string; readonly id: string }

export const hasPipelineKey = ({ orgId, id }: PipelineKey) =>
  and(eq(pipelines.orgId, orgId), eq(pipelines.id, id))

export const hasRunKey = ({ orgId, id }: { orgId: string; id: string }) =>
  and(eq(pipelineRuns.orgId, orgId), eq(pipelineRuns.id, id))

export const isRunOf = ({ orgId, id }: PipelineKey) =>
  and(eq(pipelineRuns.orgId, orgId), eq(pipelineRuns.pipelineId, id))

const isInApp = (app: App, id: string) =>
  and(hasPipelineKey({ orgId: app.orgId, id }), eq(pipelines.appId, app.id))

export async function requirePipeline(db: Handle, app: App, id: string): Promise<Pipeline> {
  const [found] = await db.select().from(pipelines).where(isInApp(app, id))
  if (!found) throw notFound()
  return found
}

/** Whatever changes a pipeline or its runs takes this lock first: two of them never wait for each other. */
export async function lockPipeline(
  tx: Transaction,
  key: PipelineKey,
  /** Undefined then also means: another holds it. */
  { skipLocked = false } = {},
): Promise<Pipeline | undefined> {
  const [found] = await tx
    .select()
    .from(pipelines)
    .where(hasPipelineKey(key))
    .for('update', skipLocked ? { skipLocked } : {})
  return found
}

export async function requireLocked(tx: Transaction, app: App, id: string): Promise<Pipeline> {
  const found = await lockPipeline(tx, { orgId: app.orgId, id })
  if (found?.appId !== app.id) throw notFound()
  return found
}

type RunMark = { readonly id: string; readonly state: PipelineRunState; readonly at: string }

/** What a strip of bars shows. */
const RECENT = sql.raw('20')

/** By the id of their pipeline, newest first. */
export async function readRecentRuns(
  db: Handle,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly RunMark[]>> {
  const rows = await db.execute<{ pipeline: string; id: string; state: PipelineRunState; ms: number }>(sql`
    select p.id as pipeline, r.id, r.state, (extract(epoch from r.due_at) * 1000)::float8 as ms
    from json_array_elements_text(${JSON.stringify(ids)}::text::json) as p(id)
    cross join lateral (
      select id, state, due_at from pipeline_runs
      where org_id = ${orgId} and pipeline_id = p.id order by id desc limit ${RECENT}
    ) r
    order by r.id desc`)
  const byPipeline = Map.groupBy(rows, ({ pipeline }) => pipeline)
  return new Map(
    [...byPipeline].map(([id, runs]) => [
      id,
      runs.map((run) => ({ id: run.id, state: run.state, at: new Date(run.ms).toISOString() })),
    ]),
  )
}

export const presentPipeline = (row: Pipeline, recent: readonly RunMark[]) => ({
  id: row.id,
  name: row.name,
  cron: row.cron,
  timezone: row.timezone,
  grace_minutes: row.graceMinutes,
  timeout_minutes: row.timeoutMinutes,
  concurrency: row.concurrency,
  enabled: row.enabled,
  trouble: row.trouble,
  next_due_at: row.nextDueAt?.toISOString() ?? null,
  last_run: recent[0] ?? null,
  recent_runs: [...recent],
})

export const presentWithRuns = async (db: Handle, row: Pipeline) =>
  presentPipeline(row, (await readRecentRuns(db, row.orgId, [row.id])).get(row.id) ?? [])

/** The worker's own words are as confidential as the logs. */
export const presentRun = (
  row: PipelineRun,
  pipeline: string,
  { withMessage }: { withMessage: boolean },
) => ({
  id: row.id,
  pipeline,
  state: row.state,
  code: row.code,
  scheduled: row.isScheduled,
  due_at: row.dueAt.toISOString(),
  started_at: row.startedAt?.toISOString() ?? null,
  ended_at: row.endedAt?.toISOString() ?? null,
  worker: row.worker,
  message: withMessage ? row.message : null,
})

export const minutesAfter = (time: Date, minutes: number): Date => new Date(time.getTime() + minutes * 60_000)
