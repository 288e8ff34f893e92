/** What the machinery keeps about itself: the audit trail, repeated requests, jobs, facts of this installation. */
import { index, integer, jsonb, pgTable, primaryKey, sql, text } from '../drizzle.ts'
import type { AuditAction } from '../../src/contracts/audit.ts'
import { instant, orgId, trailOrder } from './columns.ts'

export const auditLog = pgTable(
  'audit_log',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    at: instant('at').notNull(),
    action: text('action').$type<AuditAction>().notNull(),
    actorKind: text('actor_kind')
      .$type<
        | 'user'
        | 'cli_session'
        | 'api_token'
        | 'app_token'
        | 'scim_bearer'
        | 'workload'
        | 'actor'
        | 'operator'
        | 'system'
      >()
      .notNull(),
    actorId: text('actor_id'),
    /** As it was then: a person may be gone when somebody reads this. */
    actorName: text('actor_name').notNull(),
    subject: text('subject'),
    requestId: text('request_id'),
    /** Done during a support session. */
    supportSessionId: text('support_session_id'),
    trailOrder: trailOrder().default(sql`nextval('trail_order')`),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('audit_log_by_actor').on(t.orgId, t.actorId, t.id),
    index('audit_log_by_action').on(t.orgId, t.action, t.id),
    index('audit_log_by_trail_order').on(t.trailOrder),
  ],
)

/** Written in the transaction of the first request, so an answer is kept exactly when its effect is. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    owner: text('owner').notNull(),
    key: text('key').notNull(),
    requestHash: text('request_hash').notNull(),
    status: integer('status').notNull(),
    answer: jsonb('answer').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.owner, t.key] }), index('idempotency_keys_by_expiry').on(t.expiresAt)],
)

/** One row per recurring job: whoever takes the lease runs it, on whichever process. */
export const jobs = pgTable('jobs', {
  name: text('name').primaryKey(),
  nextRunAt: instant('next_run_at').notNull(),
  leaseToken: text('lease_token'),
  leaseUntil: instant('lease_until'),
})

export const installationFacts = pgTable('installation_facts', {
  name: text('name').primaryKey(),
  value: jsonb('value').notNull(),
})
