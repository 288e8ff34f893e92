/** Whose turn it is to be fanned out: as many events of each organization that has some, oldest first within it. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import { FAN_OUT_EVENTS } from '../../../contracts/limits.ts'
import type { Clock } from '../../dependencies.ts'
import type { EventRow } from './insert-deliveries.ts'

/** Locked until the end of the transaction, oldest first. */
export type ChooseEvents = (tx: Transaction) => Promise<readonly EventRow[]>

export async function chooseEvents(tx: Transaction, clock: Clock): Promise<readonly EventRow[]> {
  const locked = await lockOrganizations(tx)
  if (locked.length === 0) return []
  const share = Math.max(1, Math.floor(FAN_OUT_EVENTS / locked.length))
  return readEvents(
    tx,
    clock,
    sql`json_to_recordset(${JSON.stringify(locked)}::text::json) as o(org_id text)`,
    sql`order by e.org_id, e.seq limit ${sql.raw(String(share))}`,
  )
}

/** The one, if it still waits and is not behind another one of its subject. */
export async function chooseEvent(
  tx: Transaction,
  clock: Clock,
  { orgId, id }: { readonly orgId: string; readonly id: string },
): Promise<readonly EventRow[]> {
  const [lock] = await tx.execute<{ taken: boolean }>(sql`select ${tryLock(sql`${orgId}`)} as taken`)
  if (!lock!.taken) return []
  return readEvents(tx, clock, sql`(select ${orgId}::text as org_id) o`, sql`and e.id = ${id}`)
}

/** An arbitrary number, beside the organization's own. */
const FAN_OUT_LOCK = sql.raw('7382002')
const tryLock = (orgId: SQL): SQL => sql`pg_try_advisory_xact_lock(${FAN_OUT_LOCK}, hashtext(${orgId}))`

/**
 * By a statement of its own: what is read afterwards is what the last holder left. From one organization with something
 * waiting to the next is one step in an index. Where there are very many, those that wait longest.
 */
async function lockOrganizations(tx: Transaction): Promise<readonly { org_id: string }[]> {
  return tx.execute<{ org_id: string }>(sql`
    with recursive organization(org_id) as (
      (select org_id from events where fanned_out_at is null order by org_id limit 1)
      union all
      select next.org_id from organization o cross join lateral (
        select e.org_id from events e where e.fanned_out_at is null and e.org_id > o.org_id order by e.org_id limit 1
      ) next
    ), longest_waiting as materialized (
      select o.org_id from organization o cross join lateral (
        select e.seq from events e where e.fanned_out_at is null and e.org_id = o.org_id
        order by e.org_id, e.seq limit 1
      ) first
      order by first.seq limit ${sql.raw(String(FAN_OUT_EVENTS))}
    )
    select org_id from longest_waiting where ${tryLock(sql`org_id`)}`)
}

/** Not those that failed a moment ago, nor those behind one that did. */
async function readEvents(
  tx: Transaction,
  clock: Clock,
  whose: SQL,
  which: SQL,
): Promise<readonly EventRow[]> {
  const rows = await tx.execute<Omit<EventRow, 'seq'> & { seq: string }>(sql`
    select e.org_id as "orgId", e.id, e.type, e.subject, e.actor_id as "actorId", e.concerns_id as "concernsId",
      e.app_id as "appId", e.seq, e.data,
      (select alias from apps a where a.org_id = e.org_id and a.id = e.app_id) as app
    from ${whose} cross join lateral (
      select * from events e
      where e.org_id = o.org_id and e.fanned_out_at is null
        and not exists (
          select from events failed
          where failed.org_id = e.org_id and failed.subject = e.subject and failed.seq <= e.seq
            and failed.fanned_out_at is null and failed.fan_out_again_at is not null
            and failed.fan_out_again_at > ${clock().toISOString()}::timestamptz
        )
      ${which}
      for update of e
    ) e
    order by e.seq`)
  return rows.map((row) => ({ ...row, seq: Number(row.seq) }))
}
