/**
 * Settled deliveries go after so many days, then what only they held: messages, attempts, events, names of removed
 * integrations; and what receivers answered after a few days already. What is open stays, unless it is as old and cannot be sent. Months go as a
 * whole; row by row goes what is in none of them.
 */
import type { SQL } from 'drizzle-orm'
import type { Database } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import { digestKeys, eventKeys } from '../../../../db/schema.ts'
import { firstIdOf } from '../../../contracts/ids.ts'
import { RESPONSE_EXCERPT } from '../../../contracts/limits.ts'
import type { Storage } from '../../dependencies.ts'
import { foldDeliveryCounts, sweepDeliveryCounts } from './fold-delivery-counts.ts'
import { HELD } from './hold-target.ts'
import { insertUnmatched } from '../fan-out/insert-deliveries.ts'
import { inParts } from '../../in-parts.ts'
import { withTransaction } from '../../transaction.ts'
import { dropMonths, monthAfter, outsideMonths, type MonthlyTable } from '../../partitions.ts'

export type SweepDeliveriesDeps = Storage & { readonly deliveryDays: number }

export async function sweepDeliveries({ db, clock, deliveryDays }: SweepDeliveriesDeps): Promise<void> {
  const before = daysBefore(clock(), deliveryDays)
  await deleteInSteps(
    db,
    (limit) => sql`
      with old as (
        select org_id, message_id, number from attempts
        where (response is not null or request_headers is not null)
          and started_at < ${daysBefore(clock(), RESPONSE_EXCERPT.days).toISOString()}::timestamptz
        limit ${limit}
      )
      update attempts a set response = null, request_headers = null from old
      where a.org_id = old.org_id and a.message_id = old.message_id and a.number = old.number`,
  )
  // What waits for a paused integration is kept as long as everything else.
  await db.execute(sql`
    with over as (
      update messages set state = 'dropped'
      where state in ('open', 'pending') and next_at >= ${HELD} and created_at < ${before.toISOString()}::timestamptz
      returning org_id, id
    )
    update deliveries d set state = 'dropped', reason = ${'paused_too_long' satisfies DeliveryReason},
      settled_at = ${clock().toISOString()}::timestamptz
    from over o where d.org_id = o.org_id and d.message_id = o.id and d.state in ('waiting', 'retrying')`)
  await expireOpen({ db, clock }, daysBefore(clock(), Math.max(deliveryDays, OPEN_DAYS)))
  await dropDeliveryMonths(db, before)
  await sweepRows(db, before)
  await deleteInSteps(db, oldKeys(sql`${eventKeys}`, sql`${eventKeys.recordedAt}`, before))
  await deleteInSteps(db, oldKeys(sql`${digestKeys}`, sql`${digestKeys.windowEnd}`, before))
  // Not one that is held: that its integration is paused is known to the sending by this row alone.
  await db.execute(sql`
    delete from message_targets t
    where t.next_allowed_at < ${before.toISOString()}::timestamptz
      and (t.held_until is null or t.held_until < ${HELD})
      and not exists (select from messages m where m.org_id = t.org_id and m.target = t.target
        and m.state in ('open', 'pending', 'claimed', 'sending'))`)
  // Changes of counts that go would otherwise be added to nothing, and those that take off would stay below zero.
  await foldDeliveryCounts({ db })
  await sweepDeliveryCounts({ db, clock }, daysBefore(clock(), Math.max(deliveryDays, COUNTED_DAYS)))
  await db.execute(sql`delete from recoveries where ended_at < ${before.toISOString()}::timestamptz`)
  // Nothing was sent to it afterwards, so the deliveries are gone by then, a month as a whole.
  await db.execute(sql`
    delete from removed_integrations where removed_at < ${before.toISOString()}::timestamptz - interval '31 days'`)
}

/** As far back as counts are read. */
const COUNTED_DAYS = 31
/** Longer than anything is retried. */
const OPEN_DAYS = 14
const EXPIRED_AT_ONCE = 1_000

/**
 * What can never be sent (sealed under another key, say), or never be fanned out, would keep the months that it is in, of
 * every organization: it is dropped with that reason when it is as old as what is kept.
 */
async function expireOpen({ db, clock }: Storage, before: Date): Promise<void> {
  const isOld = sql`< ${before.toISOString()}::timestamptz`
  // Somebody has tried and postponed it: after a long time without a worker, what waits is sent.
  const lately = sql`${daysBefore(clock(), 1).toISOString()}::timestamptz`
  const reason = 'expired' satisfies DeliveryReason
  for (let n = EXPIRED_AT_ONCE; n === EXPIRED_AT_ONCE;) {
    const [row] = await db.execute<{ n: number }>(sql`
      with over as (
        select org_id, id from messages
        where state in ('open', 'pending') and lease_until is null and next_at < ${HELD} and next_at > ${lately}
          and created_at ${isOld}
        limit ${sql.raw(String(EXPIRED_AT_ONCE))} for update skip locked
      ), dropped as (
        update messages m set state = 'dropped' from over o where m.org_id = o.org_id and m.id = o.id
        returning m.org_id, m.id
      ), settled as (
        update deliveries d set state = 'dropped', reason = ${reason}, settled_at = ${clock().toISOString()}::timestamptz
        from dropped o where d.org_id = o.org_id and d.message_id = o.id and d.state in ('waiting', 'retrying')
      )
      select count(*)::int as n from dropped`)
    n = row!.n
  }
  for (let n = EXPIRED_AT_ONCE; n === EXPIRED_AT_ONCE;) {
    n = await withTransaction(db, async (tx) => {
      const batch = await tx.execute<{ orgId: string; id: string; type: string; appId: string | null }>(sql`
        update events e set fanned_out_at = ${clock().toISOString()}::timestamptz
        from (
          select org_id, id from events where fanned_out_at is null and fan_out_again_at > ${lately} and occurred_at ${isOld}
          limit ${sql.raw(String(EXPIRED_AT_ONCE))} for update skip locked
        ) o
        where e.org_id = o.org_id and e.id = o.id
        returning e.org_id as "orgId", e.id, e.type, e.app_id as "appId"`)
      if (batch.length > 0) await insertUnmatched(tx, clock, batch, reason)
      return batch.length
    })
  }
}

/**
 * A month of deliveries, once all of it is so old. Their events and messages may be of the month before, so that is what goes
 * with it. What waits, or is paused, keeps the months that it is in, and all before.
 */
async function dropDeliveryMonths(db: Database, before: Date): Promise<void> {
  const isFree = async (end: number) => !(await hasWaiting(db, end))
  await dropMonths(db, 'deliveries', before.getTime(), isFree)
  const monthBefore = monthAfter(before.getTime(), -1)
  for (const table of ['attempts', 'messages', 'delivery_keys', 'events'] as const)
    await dropMonths(db, table, monthBefore, isFree)
}

/** Reads what waits, and not what is over. */
async function hasWaiting(db: Database, end: number): Promise<boolean> {
  const [row] = await db.execute<{ waits: boolean }>(sql`
    select exists (
      select from messages m
      where m.state in ('open', 'pending', 'claimed', 'sending') and (
        m.id < ${firstIdOf('msg', end)}
        or exists (
          select from deliveries d
          where d.org_id = m.org_id and d.message_id = m.id
            and (d.id < ${firstIdOf('dlv', end)} or d.event_id < ${firstIdOf('evt', end)})))
    ) or exists (
      select from events where fanned_out_at is null and id < ${firstIdOf('evt', end)}
    ) as waits`)
  return row!.waits
}

/** Embedded all of them; elsewhere those that came before there were months. */
async function sweepRows(db: Database, before: Date): Promise<void> {
  const isBefore = (column: string): SQL => sql`${sql.raw(column)} < ${before.toISOString()}::timestamptz`
  const each = async (table: MonthlyTable, work: (part: SQL, isInPart: SQL) => SQL) => {
    for (const part of await outsideMonths(db, table))
      await inParts(db, { table: part }, (isInPart) => db.execute(work(sql.raw(part), isInPart)))
  }
  await each(
    'deliveries',
    (part, isInPart) => sql`
      with gone as (
        delete from ${part} where ${isInPart} and ${isBefore('settled_at')} returning org_id, event_id, id
      )
      delete from delivery_keys k using gone
      where k.org_id = gone.org_id and k.event_id = gone.event_id and k.delivery_id = gone.id`,
  )
  await each(
    'messages',
    (part, isInPart) => sql`
      with gone as (
        delete from ${part}
        where ${isInPart} and ${isBefore('created_at')} and state in ('sent', 'failed', 'dropped')
          and not exists (select from deliveries d where d.org_id = ${part}.org_id and d.message_id = ${part}.id)
        returning org_id, id
      )
      delete from attempts a using gone where a.org_id = gone.org_id and a.message_id = gone.id`,
  )
  // Before the events: whether somebody may still see a notification is read off the event it is about.
  await inParts(db, { table: 'notifications' }, (isInPart) =>
    db.execute(sql`delete from notifications where ${isInPart} and ${isBefore('at')}`),
  )
  await each(
    'events',
    (part, isInPart) => sql`
      delete from ${part}
      where ${isInPart} and ${isBefore('fanned_out_at')}
        and not exists (select from delivery_keys k where k.org_id = ${part}.org_id and k.event_id = ${part}.id)`,
  )
}

/** In one statement, so that nobody waits long behind it. */
const DELETED_AT_ONCE = 10_000

async function deleteInSteps(db: Database, step: (limit: SQL) => SQL): Promise<void> {
  for (;;) {
    const { count } = (await db.execute(step(sql.raw(String(DELETED_AT_ONCE))))) as unknown as {
      count: number
    }
    if (count < DELETED_AT_ONCE) return
  }
}

/** By its index: of what is kept nothing is read. */
const oldKeys = (from: SQL, at: SQL, before: Date) => (limit: SQL) =>
  sql`
  delete from ${from} where ctid = any(array(
    select ctid from ${from} where ${at} < ${before.toISOString()}::timestamptz order by ${at} limit ${limit}))`

const daysBefore = (now: Date, days: number): Date => new Date(now.getTime() - days * 24 * 60 * 60 * 1000)
