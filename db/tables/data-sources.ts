/** Managed databases and what they are as data sources; who asked them, and how much. No foreign key leads to an organization: with hosted auth it lives elsewhere. */
import type { ActivityOutcome, ACTIVITY_SOURCES, ACTIVITY_TYPES } from '../../src/contracts/list-filters.ts'
import type { AllWordStatistics, SearchConfiguration, SourceKind } from '../../src/contracts/data-sources.ts'
import type { ErrorCode } from '../../src/contracts/errors.ts'
import type { SourceFailure, SourceProblem } from '../../src/contracts/source-health.ts'
import type { GRANTABLE_ROLES } from '../../src/contracts/roles.ts'
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
import { instant, orgId } from './columns.ts'

/** Chosen when it is created: its tables depend on them. */
export type DocumentsSettings = {
  readonly model: string
  readonly dimensions: number
  readonly language: string
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
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('activity_by_type').on(t.orgId, t.type, t.id),
    // Those of an agent are found by its user, whose agents are few.
    index('activity_by_user').on(t.orgId, t.userId, t.id),
    index('activity_by_name').on(t.orgId, t.name, t.id),
  ],
)
