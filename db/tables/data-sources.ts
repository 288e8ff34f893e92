/** Managed databases and what they are as data sources; who asked them, and how much. No foreign key leads to an organization: with hosted auth it lives elsewhere. */
import type { ActivityOutcome, ACTIVITY_SOURCES, ACTIVITY_TYPES } from '../../src/contracts/list-filters.ts'
import type { AllWordStatistics, SearchConfiguration, SourceKind } from '../../src/contracts/data-sources.ts'
import type { EvalChange } from '../../src/contracts/evals.ts'
import type { ErrorCode } from '../../src/contracts/errors.ts'
import type { SourceFailure, SourceProblem } from '../../src/contracts/source-health.ts'
import type { GRANTABLE_ROLES } from '../../src/contracts/roles.ts'
import type { Scope } from '../../src/contracts/scopes.ts'
import {
  bigint,
  boolean,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from '../drizzle.ts'
import { instant, orgId, trailOrder } from './columns.ts'

/** Chosen when it is created: its tables depend on them. */
export type DocumentsSettings = {
  readonly model: string
  readonly dimensions: number
  readonly language: string
}

/** From an eval: a score for each searchable table by its label, and how that was searched, since other scores mean something else. */
export type StoredThreshold = {
  readonly evalId: string
  readonly targets: Readonly<Record<string, { readonly score: number; readonly of: string }>>
}

export const dataSources = pgTable(
  'data_sources',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    /** Of the database; `db_<name>` is the source's public id. */
    name: text('name').notNull(),
    title: text('title').notNull(),
    description: text('description').notNull().default(''),
    kind: text('kind').$type<SourceKind>().notNull(),
    /** Database, login and folder alike; carries the organization. Null for attached ones. */
    physicalName: text('physical_name'),
    /** What the wire gateway checks a password against; opens nothing by itself. */
    verifier: text('verifier'),
    /** The password, or where and how to connect, sealed under DATA_KEY. */
    sealed: text('sealed').notNull(),
    /** Null once its database is there; until then whoever makes it holds it for so long. */
    preparingUntil: instant('preparing_until'),
    /** Of a documents source, whose tables are ours; null: of an ordinary database. */
    documents: jsonb('documents').$type<DocumentsSettings>(),
    enabled: boolean('enabled').notNull().default(false),
    exposed: boolean('exposed').notNull().default(false),
    minimumRole: text('minimum_role').$type<(typeof GRANTABLE_ROLES)[number]>().notNull().default('viewer'),
    /** One document, replaced as a whole: a reader sees the old one or the new one. */
    configuration: jsonb('configuration').$type<SearchConfiguration>(),
    configuredAt: instant('configured_at'),
    /** Of the tables whose words are searched, by label; null where none were taken yet. */
    wordStatistics: jsonb('word_statistics').$type<AllWordStatistics>(),
    /** Below which hits are weak; null: nobody has set one. */
    threshold: jsonb('threshold').$type<StoredThreshold>(),
    createdAt: instant('created_at').notNull(),
    createdBy: text('created_by'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('data_sources_by_name').on(t.orgId, t.name),
    uniqueIndex('data_sources_by_physical_name').on(t.physicalName),
  ],
)

/** What is known of a source's condition. Beside its row, which every question reads and only people change. */
export const dataSourceHealth = pgTable(
  'data_source_health',
  {
    orgId: orgId(),
    sourceId: text('source_id').notNull(),
    /** When a check last began: whoever sets it makes the check, and nobody else for some minutes. */
    checkBegan: instant('check_began'),
    checkedAt: instant('checked_at'),
    /** What the last check found. */
    problems: jsonb('problems').$type<readonly SourceProblem[]>().notNull().default([]),
    /** What the job that watches the managed server found: limits that do not hold, a quota that is used up. */
    serverProblems: jsonb('server_problems').$type<readonly SourceProblem[]>().notNull().default([]),
    errorAt: instant('error_at'),
    errorKind: text('error_kind').$type<SourceFailure>(),
    /** An SQLSTATE, or a code of ours or of Node's; never a message. */
    errorCode: text('error_code'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.sourceId] }),
    foreignKey({
      columns: [t.orgId, t.sourceId],
      foreignColumns: [dataSources.orgId, dataSources.id],
    }).onDelete('cascade'),
  ],
)

type EvalTotals = { readonly answerable: number; readonly recall: number; readonly reciprocal: number }
/** The best hit of a table for a question, and whether an expected row was among its first. */
export type EvalScore = { readonly target: string; readonly score: number; readonly found: boolean }

/** Numbers only: no question, and no id or title of a row, which not everybody who reads these may see. */
export const evals = pgTable(
  'evals',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    sourceId: text('source_id').notNull(),
    questions: integer('questions').notNull(),
    asked: integer('asked').notNull().default(0),
    totals: jsonb('totals').$type<EvalTotals>().notNull(),
    scores: jsonb('scores').$type<readonly EvalScore[]>().notNull().default([]),
    /** Of the source when it began. */
    models: jsonb('models').$type<readonly string[]>().notNull(),
    configuredAt: instant('configured_at'),
    /** Null: not counted. */
    rows: bigint('rows', { mode: 'number' }),
    /** When a load, a sync or an undo last changed them; null: none is known. */
    rowsChangedAt: instant('rows_changed_at'),
    /** Since the eval before. */
    changes: jsonb('changes').$type<readonly EvalChange[]>().notNull().default([]),
    createdBy: text('created_by').notNull(),
    /** As it was then. */
    createdByName: text('created_by_name').notNull(),
    createdAt: instant('created_at').notNull(),
    /** Null: not all of it was asked yet. */
    finishedAt: instant('finished_at'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('evals_by_source').on(t.orgId, t.sourceId, t.id),
    foreignKey({
      columns: [t.orgId, t.sourceId],
      foreignColumns: [dataSources.orgId, dataSources.id],
    }).onDelete('cascade'),
  ],
)

/** What the managed databases of an organization take on their server, and since when that is more than its quota. */
export const diskUse = pgTable('disk_use', {
  orgId: orgId().primaryKey(),
  bytes: bigint('bytes', { mode: 'number' }).notNull(),
  measuredAt: instant('measured_at').notNull(),
  overSince: instant('over_since'),
})

/** How many questions an organization has asked in this minute and on this day: one row that all processes share. */
export const questionCounts = pgTable('question_counts', {
  orgId: orgId().primaryKey(),
  minute: instant('minute').notNull(),
  inMinute: integer('in_minute').notNull(),
  day: instant('day').notNull(),
  inDay: integer('in_day').notNull(),
})

/** Sizes and keyed digests; never a question, never a row of an answer. On Postgres a partition for each month. */
export const activity = pgTable(
  'activity',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    at: instant('at').notNull(),
    type: text('type').$type<(typeof ACTIVITY_TYPES)[number]>().notNull(),
    /** `db_<name>` as it was then, or the function. */
    name: text('name'),
    sourceId: text('source_id'),
    userId: text('user_id').notNull(),
    /** As it was then: a person may be gone when somebody reads this. */
    userName: text('user_name').notNull(),
    entryPoint: text('entry_point').$type<(typeof ACTIVITY_SOURCES)[number]>().notNull(),
    clientId: text('client_id'),
    /** As the client called itself then, like the user's. */
    clientName: text('client_name'),
    grantId: text('grant_id'),
    outcome: text('outcome').$type<ActivityOutcome>().notNull(),
    error: text('error').$type<ErrorCode>(),
    durationMs: integer('duration_ms').notNull(),
    questionBytes: integer('question_bytes').notNull(),
    answerBytes: integer('answer_bytes').notNull(),
    hits: integer('hits'),
    questionDigest: text('question_digest'),
    answerDigest: text('answer_digest'),
    requestId: text('request_id').notNull(),
    trailOrder: trailOrder(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('activity_by_type').on(t.orgId, t.type, t.id),
    // Those of an agent are found by its user, whose agents are few.
    index('activity_by_user').on(t.orgId, t.userId, t.id),
    index('activity_by_name').on(t.orgId, t.name, t.id),
  ],
)

/** What agents use of what they were given: of each grant, by scope and data source. Written with the activity of the call. */
export const grantUses = pgTable(
  'grant_uses',
  {
    orgId: orgId(),
    grantId: text('grant_id').notNull(),
    scope: text('scope').$type<Scope>().notNull(),
    /** Empty where the call was about no data source. */
    sourceId: text('source_id').notNull(),
    calls: integer('calls').notNull(),
    lastUsedAt: instant('last_used_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.grantId, t.scope, t.sourceId] })],
)
