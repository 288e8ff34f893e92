/** Tokens of language models that an organization may use in a day, and those that are set aside for a request. */
import { bigint, check, date, index, integer, pgTable, primaryKey, sql, text } from '../drizzle.ts'
import { instant, orgId } from './columns.ts'

const tokens = (name: string) => bigint(name, { mode: 'number' }).notNull()

export const tokenPools = pgTable(
  'token_pools',
  {
    orgId: orgId(),
    /** In UTC. */
    day: date('day').notNull(),
    allowance: tokens('allowance'),
    reserved: tokens('reserved').default(0),
    spent: tokens('spent').default(0),
    /** What a provider used beyond what it was allowed to; outside of the allowance, because it is spent already. */
    overage: tokens('overage').default(0),
    /** What requests may have used that a provider failed to answer; booked apart, and a tenth of the allowance at most. */
    outage: tokens('outage').default(0),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.day] }),
    // The promise itself: whatever a verb forgets, the allowance is not exceeded.
    check('token_pools_within_allowance', sql`${t.spent} + ${t.reserved} <= ${t.allowance}`),
    check('token_pools_not_negative', sql`${t.spent} >= 0 and ${t.reserved} >= 0 and ${t.overage} >= 0`),
    check('token_pools_outage', sql`${t.outage} >= 0`),
  ],
)

/** A model that failed an organization, since it last answered. */
export const modelOutages = pgTable(
  'model_outages',
  {
    orgId: orgId(),
    model: text('model').notNull(),
    /** In a row. */
    failures: integer('failures').notNull(),
    /** Those of them that do not depend on what was asked: not those that took too long. They alone count for others. */
    providerFailures: integer('provider_failures').notNull().default(0),
    failedAt: instant('failed_at').notNull(),
    /** Null: it may be asked. */
    leftAloneUntil: instant('left_alone_until'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.model] }),
    index('model_outages_by_model').on(t.model, t.leftAloneUntil),
  ],
)

export const tokenReservations = pgTable(
  'token_reservations',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    day: date('day').notNull(),
    /** What it is for: the run of a check or of the maintenance agent. */
    purpose: text('purpose').notNull(),
    amount: tokens('amount'),
    state: text('state').$type<'held' | 'sent' | 'settled' | 'released'>().notNull(),
    /** Set when it is settled. */
    actual: bigint('actual', { mode: 'number' }),
    /** Nobody needs it longer: whoever reserved it is gone. */
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('token_reservations_open')
      .on(t.expiresAt)
      .where(sql`state in ('held', 'sent')`),
    index('token_reservations_by_purpose').on(t.orgId, t.purpose),
    check('token_reservations_positive', sql`${t.amount} > 0`),
  ],
)
