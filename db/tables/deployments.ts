/** Deployments of apps, and what their commands wrote. */
import type { DeploymentCode, DeploymentState } from '../../src/contracts/deployment-states.ts'
import { bigint, index, integer, pgTable, primaryKey, sql, text, uniqueIndex } from '../drizzle.ts'
import { instant, orgId } from './columns.ts'

export const deployments = pgTable(
  'deployments',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    appId: text('app_id').notNull(),
    revisionId: text('revision_id').notNull(),
    /**
     * Counts the deployments of the app. They are claimed in this order and each of them once, so whoever holds a later one
     * has the greater number: it is what the command gets as SVC_FENCE.
     */
    fence: integer('fence').notNull(),
    state: text('state').$type<DeploymentState>().notNull(),
    code: text('code').$type<DeploymentCode>(),
    exitCode: integer('exit_code'),
    runner: text('runner'),
    claimId: text('claim_id'),
    requestedById: text('requested_by_id'),
    /** As it was then: a person may be gone when somebody reads this. */
    requestedBy: text('requested_by').notNull(),
    requestedAt: instant('requested_at').notNull(),
    startedAt: instant('started_at'),
    endedAt: instant('ended_at'),
    /** By the database's clock, which is the same for all processes. */
    leaseUntil: instant('lease_until'),
    cancelRequestedAt: instant('cancel_requested_at'),
    /** Since when its command surely does not run any more. The command of a lost runner may live on. */
    releasedAt: instant('released_at'),
    /** Bytes of output that were received, kept or not. */
    outputBytes: bigint('output_bytes', { mode: 'number' }).notNull().default(0),
    droppedBytes: bigint('dropped_bytes', { mode: 'number' }).notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    uniqueIndex('deployments_by_fence').on(t.orgId, t.appId, t.fence),
    // The promise itself: whatever a verb forgets, an app has one command that may be running.
    uniqueIndex('deployments_one_at_a_time')
      .on(t.orgId, t.appId)
      .where(sql`started_at is not null and released_at is null`),
    index('deployments_running')
      .on(t.leaseUntil)
      .where(sql`state = 'running'`),
    index('deployments_queued')
      .on(t.requestedAt)
      .where(sql`state = 'queued'`),
    // Which revisions wait for a deployment or run in one: those are not removed.
    index('deployments_by_revision').on(t.orgId, t.appId, t.revisionId),
  ],
)

/** Masked. A row begins at `position` and ends at `until`, in bytes of what was received. */
export const deploymentOutput = pgTable(
  'deployment_output',
  {
    orgId: orgId(),
    deploymentId: text('deployment_id').notNull(),
    position: bigint('position', { mode: 'number' }).notNull(),
    until: bigint('until', { mode: 'number' }).notNull(),
    text: text('text').notNull(),
    at: instant('at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.deploymentId, t.position] }),
    index('deployment_output_by_time').on(t.at),
  ],
)
