/** The trail: audit and activity rows of an organization, sealed in batches. */
import { bigint, bytea, index, integer, pgTable, primaryKey, sql, text } from '../drizzle.ts'
import type { TrailStreamKind } from '../../src/contracts/trail-format.ts'
import { instant, orgId } from './columns.ts'

/** Rows of activity that are not sealed yet, by their order: those that come next are found among however many wait. */
export const trailPending = pgTable(
  'trail_pending',
  {
    trailOrder: bigint('trail_order', { mode: 'number' }).notNull(),
    orgId: orgId(),
    id: text('id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.trailOrder, t.orgId] })],
)

/**
 * One signed batch. Its rows are those of the organization whose `trail_order` is above `order_from` and up to `order_to`, in
 * that order; ids tell where they lie, so that they are found by the primary keys of their tables.
 */
export const trailSeals = pgTable(
  'trail_seals',
  {
    orgId: orgId(),
    number: bigint('number', { mode: 'number' }).notNull(),
    epoch: text('epoch').notNull(),
    /** The sequence number of its first row. */
    firstRow: bigint('first_row', { mode: 'number' }).notNull(),
    rowCount: integer('row_count').notNull(),
    activityCount: integer('activity_count').notNull(),
    orderFrom: bigint('order_from', { mode: 'number' }).notNull(),
    orderTo: bigint('order_to', { mode: 'number' }).notNull(),
    activityFirst: text('activity_first'),
    activityLast: text('activity_last'),
    auditFirst: text('audit_first'),
    auditLast: text('audit_last'),
    /** What is signed, as text. */
    signed: text('signed').notNull(),
    signature: text('signature').notNull(),
    sealedAt: instant('sealed_at').notNull(),
    /** The hash of each row: they make up the root, and tell which row was changed. */
    leaves: bytea('leaves').notNull(),
    /** In which order seals were written, of all organizations. */
    place: bigint('place', { mode: 'number' })
      .default(sql`nextval('trail_place')`)
      .notNull(),
    /** Of a seal without rows that says so: activity before this was deleted by retention. */
    removedBefore: instant('removed_before'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.number] }),
    index('trail_seals_by_row').on(t.orgId, t.firstRow),
    index('trail_seals_by_place').on(t.place),
  ],
)

/** Where an organization has its trail sent to: a webhook or a collector of OTLP logs, each with a cursor of its own. */
export const trailStreams = pgTable(
  'trail_streams',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    kind: text('kind').$type<TrailStreamKind>().notNull(),
    /** The host of its address: the address itself may hold a secret. */
    host: text('host').notNull(),
    /** Address and signing secret or headers. */
    sealed: text('sealed').notNull(),
    createdAt: instant('created_at').notNull(),
    createdBy: text('created_by').notNull(),
    /** What was taken last. */
    afterEpoch: text('after_epoch').notNull(),
    afterRow: bigint('after_row', { mode: 'number' }).notNull(),
    nextAt: instant('next_at').notNull(),
    failures: integer('failures').notNull(),
    /** How the last attempt failed, in our words; null: it did not. */
    problem: text('problem'),
    sentAt: instant('sent_at'),
    leaseToken: text('lease_token'),
    leaseUntil: instant('lease_until'),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.id] }), index('trail_streams_by_time').on(t.nextAt)],
)
