/** Checks of apps, each with where it stands and when it is due, and the last runs of each. */
import type { CheckReason, CheckResult } from '../../src/contracts/check-results.ts'
import type { CheckDefinition, MaintenanceWindow } from '../../src/contracts/checks.ts'
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  uniqueIndex,
} from '../drizzle.ts'
import { instant, orgId } from './columns.ts'

/** Kinds are claimed apart from each other, each with a capacity of its own. */
const KIND = sql`(definition ->> 'kind')`

export const checks = pgTable(
  'checks',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    appId: text('app_id').notNull(),
    name: text('name').notNull(),
    /** Without its secrets: the values of its headers, and its body. */
    definition: jsonb('definition').$type<CheckDefinition>().notNull(),
    sealedSecrets: text('sealed_secrets'),
    intervalSeconds: integer('interval_seconds').notNull(),
    failureThreshold: integer('failure_threshold').notNull(),
    successThreshold: integer('success_threshold').notNull(),
    enabled: boolean('enabled').notNull(),
    maintenanceWindows: jsonb('maintenance_windows').$type<readonly MaintenanceWindow[]>().notNull(),
    state: text('state').$type<CheckResult>(),
    stateSince: instant('state_since'),
    /** In a row. */
    passes: integer('passes').notNull().default(0),
    /** Since it last passed. */
    failures: integer('failures').notNull().default(0),
    /** Which events there were since it last passed: each once. */
    reportedFailed: boolean('reported_failed').notNull().default(false),
    reportedError: boolean('reported_error').notNull().default(false),
    reportedIndeterminate: boolean('reported_indeterminate').notNull().default(false),
    /** How many runs there were: the next one takes the place of the oldest that is kept. */
    runCount: bigint('run_count', { mode: 'number' }).notNull().default(0),
    /** The last results, newest last, the first letter of each. */
    recent: text('recent').notNull().default(''),
    lastRunAt: instant('last_run_at'),
    /** When the last run began, also one that does not count: runs are so far apart. */
    lastStartedAt: instant('last_started_at'),
    /** Null: turned off. */
    nextRunAt: instant('next_run_at'),
    /** When somebody last asked for a run. */
    requestedAt: instant('requested_at'),
    /** The claim under which it runs; whoever has lost it settles nothing. */
    claim: text('claim'),
    leaseUntil: instant('lease_until'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('checks_by_name').on(t.orgId, t.appId, t.name),
    index('checks_due')
      .on(KIND, t.nextRunAt)
      .where(sql`${t.claim} is null and ${t.nextRunAt} is not null`),
    index('checks_due_by_organization')
      .on(KIND, t.orgId, t.nextRunAt)
      .where(sql`${t.claim} is null and ${t.nextRunAt} is not null`),
    index('checks_claimed')
      .on(t.leaseUntil)
      .where(sql`${t.claim} is not null`),
  ],
)

/** A ring for each check: a new run is written over the oldest, so the table is bounded without sweeping. */
export const checkRuns = pgTable(
  'check_runs',
  {
    orgId: orgId(),
    checkId: text('check_id').notNull(),
    slot: integer('slot').notNull(),
    id: text('id').notNull(),
    at: instant('at').notNull(),
    result: text('result').$type<CheckResult>().notNull(),
    ms: integer('ms'),
    status: integer('status'),
    reason: text('reason').$type<CheckReason>(),
    detail: text('detail'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.checkId, t.slot] }),
    index('check_runs_in_order').on(t.orgId, t.checkId, t.id),
  ],
)
