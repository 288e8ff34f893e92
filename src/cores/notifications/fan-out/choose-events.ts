/** Whose turn it is to be fanned out: as many events of each organization that has some, oldest first within it. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import { FAN_OUT_EVENTS } from '../../../contracts/limits.ts'
import type { Clock, Storage } from '../../dependencies.ts'
import { nextOrganizations, tryLock } from '../../next-organizations.ts'
import type { EventRow } from './insert-deliveries.ts'

/** Locked until the end of the transaction, oldest first. */
export type ChooseEvents = (tx: Transaction) => Promise<readonly EventRow[]>

const WAITING = { table: 'events', isWaiting: sql`fanned_out_at is null`, lock: 7_382_002 } as const

/** `again`: of the same organizations as those, whose turn is not over yet, unless another worker has all of them by now. */
export async function chooseEvents(
  { db, clock }: Storage,
  tx: Transaction,
  again: readonly EventRow[] = [],
): Promise<readonly EventRow[]> {
  const same = again.length === 0 ? [] : await lockAgain(tx, [...new Set(again.map(({ orgId }) => orgId))])
  const locked = same.length > 0 ? same : await nextOrganizations({ db, tx, atMost: FAN_OUT_EVENTS }, WAITING)
  if (locked.length === 0) return []
  const share = Math.max(1, Math.floor(FAN_OUT_EVENTS / locked.length))
  return readEvents(
    tx,
    clock,
    sql`json_to_recordset(${JSON.stringify(locked)}::text::json) as o(org_id text)`,
    sql`order by e.org_id, e.seq limit ${sql.raw(String(share))}`,
  )
}

/** A statement of its own, as `nextOrganizations` is. */
async function lockAgain(tx: Transaction, orgIds: readonly string[]) {
  const rows = await tx.execute<{ org_id: string; taken: boolean }>(sql`
    select org_id, ${tryLock(WAITING.lock, sql`org_id`)} as taken
    from json_array_elements_text(${JSON.stringify(orgIds)}::text::json) as o(org_id)`)
  return rows.filter(({ taken }) => taken)
}

/** The one, if it still waits and is not behind another one of its subject. */
export async function chooseEvent(
  tx: Transaction,
  clock: Clock,
  { orgId, id }: { readonly orgId: string; readonly id: string },
): Promise<readonly EventRow[]> {
  const [lock] = await tx.execute<{ taken: boolean }>(
    sql`select ${tryLock(WAITING.lock, sql`${orgId}`)} as taken`,
  )
  if (!lock!.taken) return []
  return readEvents(tx, clock, sql`(select ${orgId}::text as org_id) o`, sql`and e.id = ${id}`)
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
      e.app_id as "appId", e.seq, e.data, e.text,
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
