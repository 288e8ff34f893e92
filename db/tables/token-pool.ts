/** Tokens of language models that an organization may use in a day, and those that are set aside for a request. */
import { bigint, check, date, index, pgTable, primaryKey, sql, text } from '../drizzle.ts'
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
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.day] }),
    // The promise itself: whatever a verb forgets, the allowance is not exceeded.
    check('token_pools_within_allowance', sql`${t.spent} + ${t.reserved} <= ${t.allowance}`),
    check('token_pools_not_negative', sql`${t.spent} >= 0 and ${t.reserved} >= 0 and ${t.overage} >= 0`),
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
