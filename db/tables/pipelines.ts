/** Scheduled jobs of apps, their runs, and the workers that do them. */
import type {
  ConcurrencyPolicy,
  PipelineRunCode,
  PipelineRunState,
  PipelineTrouble,
} from '../../src/contracts/pipeline-states.ts'
import { boolean, index, integer, jsonb, pgTable, primaryKey, sql, text, uniqueIndex } from '../drizzle.ts'
import { instant, orgId } from './columns.ts'

export const pipelines = pgTable(
  'pipelines',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    appId: text('app_id').notNull(),
    name: text('name').notNull(),
    cron: text('cron'),
    timezone: text('timezone').notNull(),
    graceMinutes: integer('grace_minutes').notNull(),
    timeoutMinutes: integer('timeout_minutes').notNull(),
    concurrency: text('concurrency').$type<ConcurrencyPolicy>().notNull(),
    enabled: boolean('enabled').notNull(),
    /** Null: not enabled, or without a schedule. */
    nextDueAt: instant('next_due_at'),
    trouble: text('trouble').$type<PipelineTrouble>(),
    /** The troubles that people were told of since a run last succeeded: each once. */
    told: jsonb('told').$type<readonly PipelineTrouble[]>().notNull(),
    /** Grows with every event, whose dedup key it is part of. */
    eventSeq: integer('event_seq').notNull().default(0),
    /** Grows with every claim: what a worker that was taken for lost still writes can be told from what the next one does. */
    fence: integer('fence').notNull().default(0),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('pipelines_by_name').on(t.orgId, t.appId, t.name),
    index('pipelines_due')
      .on(t.nextDueAt)
      .where(sql`next_due_at is not null`),
  ],
)

export const pipelineRuns = pgTable(
  'pipeline_runs',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    appId: text('app_id').notNull(),
    pipelineId: text('pipeline_id').notNull(),
    state: text('state').$type<PipelineRunState>().notNull(),
    /** Why it failed or was missed. */
    code: text('code').$type<PipelineRunCode>(),
    dueAt: instant('due_at').notNull(),
    /** False: somebody started it by hand. */
    isScheduled: boolean('is_scheduled').notNull(),
    /** Until when a worker may claim it. Null: it was claimed, or nobody may any more. */
    claimableUntil: instant('claimable_until'),
    startedAt: instant('started_at'),
    /** When it is taken to hang, however alive its worker is. */
    timesOutAt: instant('times_out_at'),
    endedAt: instant('ended_at'),
    worker: text('worker'),
    fence: integer('fence'),
    /** The worker's own name of its claim, so that it can repeat it. */
    claimId: text('claim_id'),
    /** By the database's clock. */
    leaseUntil: instant('lease_until'),
    message: text('message'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    // The promise itself: however many processes find a pipeline due, it has one run for that time.
    uniqueIndex('pipeline_runs_by_slot')
      .on(t.orgId, t.pipelineId, t.dueAt)
      .where(sql`is_scheduled`),
    index('pipeline_runs_by_pipeline').on(t.orgId, t.pipelineId, t.id),
    index('pipeline_runs_claimable')
      .on(t.orgId, t.appId)
      .where(sql`claimable_until is not null`),
    index('pipeline_runs_unclaimed')
      .on(t.claimableUntil)
      .where(sql`claimable_until is not null`),
    // A claim that is repeated while the first one is still being made gets no second run.
    uniqueIndex('pipeline_runs_by_claim')
      .on(t.orgId, t.appId, t.claimId)
      .where(sql`state = 'running' and claim_id is not null`),
    index('pipeline_runs_running')
      .on(t.orgId, t.pipelineId)
      .where(sql`state = 'running'`),
  ],
)

export const pipelineWorkers = pgTable(
  'pipeline_workers',
  {
    orgId: orgId(),
    appId: text('app_id').notNull(),
    name: text('name').notNull(),
    /** The names of those it can run. */
    pipelines: jsonb('pipelines').$type<readonly string[]>().notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.appId, t.name] })],
)
