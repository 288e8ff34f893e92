/** Endings of access with a receipt, and the processes that acknowledge each. */
import { boolean, index, jsonb, pgTable, primaryKey, sql, text } from '../drizzle.ts'
import type { CutKind, ReceiptOf, Remains } from '../../src/contracts/receipt-format.ts'
import { instant, orgId } from './columns.ts'

export const receipts = pgTable(
  'receipts',
  {
    id: text('id').primaryKey(),
    orgId: orgId(),
    ofKind: text('of_kind').$type<ReceiptOf>().notNull(),
    ofId: text('of_id').notNull(),
    /** As it was then. */
    ofName: text('of_name').notNull(),
    byId: text('by_id'),
    byName: text('by_name').notNull(),
    /** Nothing was ended: processes only count. */
    isRehearsal: boolean('is_rehearsal').notNull(),
    beganAt: instant('began_at').notNull(),
    /** How many of each kind. */
    ended: jsonb('ended').$type<Readonly<Record<string, number>>>().notNull(),
    remains: jsonb('remains').$type<readonly Remains[]>().notNull(),
    /** Whose answers end: src/trust/open-answers.ts. */
    whose: jsonb('whose').$type<readonly string[]>().notNull(),
    /** By the clock of the database: no process wrote a byte for it after this. Null: some may. */
    finalAt: instant('final_at'),
    signed: text('signed'),
    signature: text('signature'),
  },
  (t) => [
    index('receipts_by_organization').on(t.orgId, t.id),
    index('receipts_pending')
      .on(t.id)
      .where(sql`${t.finalAt} is null`),
  ],
)

/** A process has ended what it had open, and writes nothing more for it. */
export const receiptAcknowledgements = pgTable(
  'receipt_acknowledgements',
  {
    receiptId: text('receipt_id')
      .notNull()
      .references(() => receipts.id, { onDelete: 'cascade' }),
    process: text('process').notNull(),
    at: instant('at').notNull(),
    cut: jsonb('cut').$type<Readonly<Record<CutKind, number>>>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.receiptId, t.process] })],
)

/** Processes that answer calls: none does without its lease. */
export const processes = pgTable('processes', {
  name: text('name').primaryKey(),
  until: instant('until').notNull(),
  /** It has no database and acknowledges nothing: each of its answers has a lease of its own. */
  isRemote: boolean('is_remote').notNull(),
})

/** What is left of organizations that were removed: their trail, until its time is over. */
export const removedOrganizations = pgTable('removed_organizations', {
  orgId: text('org_id').primaryKey(),
  name: text('name').notNull(),
  removedAt: instant('removed_at').notNull(),
  /** Null: its databases and rows are not all gone yet. */
  emptiedAt: instant('emptied_at'),
})
