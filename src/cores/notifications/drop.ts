/** Ends what will not be sent, with the reason that the ledger shows. */
import { sql } from '../../../db/drizzle.ts'
import type { SendReason } from '../../contracts/deliveries.ts'
import type { Storage } from '../needs.ts'
import type { SendKey } from './claim-sends.ts'

/** Deliveries by their notification ids. A message that carries nothing any more ends with its last one. */
export async function dropDeliveries(
  { db, clock }: Storage,
  dropped: readonly { readonly orgId: string; readonly id: string; readonly reason: SendReason }[],
): Promise<void> {
  if (dropped.length === 0) return
  await db.execute(sql`
    with d as (
      select * from json_to_recordset(${JSON.stringify(dropped)}::text::json) as d("orgId" text, id text, reason text)
    ), gone as (
      update deliveries v set state = 'dropped', reason = d.reason, settled_at = ${clock().toISOString()}::timestamptz
      from d
      where v.org_id = d."orgId" and v.id = d.id and v.state in ('waiting', 'retrying')
      returning v.org_id, v.send_id, v.id
    )
    update sends s set state = 'dropped', worker = null, lease_until = null
    from (select distinct org_id, send_id from gone) g
    where s.org_id = g.org_id and s.id = g.send_id and s.state = 'claimed'
      and not exists (
        select from deliveries v
        where v.org_id = g.org_id and v.send_id = g.send_id and v.state in ('waiting', 'retrying')
          and v.id not in (select id from gone)
      )`)
}

/** Claimed messages whose deliveries are all settled by now. */
export async function dropEmpty({ db }: Storage, keys: readonly SendKey[]): Promise<void> {
  if (keys.length === 0) return
  await db.execute(sql`
    update sends s set state = 'dropped', worker = null, lease_until = null
    from json_to_recordset(${JSON.stringify(keys)}::text::json) as k("orgId" text, id text)
    where s.org_id = k."orgId" and s.id = k.id and s.state = 'claimed'`)
}

const PUT_OFF = sql.raw(`interval '5 minutes'`)

/** Claimed messages that cannot be prepared now; nothing was tried, so nothing is counted. */
export async function putOff({ db, clock }: Storage, keys: readonly SendKey[]): Promise<void> {
  if (keys.length === 0) return
  await db.execute(sql`
    update sends s set state = 'pending', worker = null, lease_until = null,
      next_at = ${clock().toISOString()}::timestamptz + ${PUT_OFF}
    from json_to_recordset(${JSON.stringify(keys)}::text::json) as k("orgId" text, id text)
    where s.org_id = k."orgId" and s.id = k.id and s.state = 'claimed'`)
}

/** In one statement, so that its transaction stays short. */
const PAGE = 10_000

/** Everything that waits for a target which does not answer any more. */
export async function dropQueued(
  { db, clock }: Storage,
  { orgId, target, reason }: { orgId: string; target: string; reason: SendReason },
): Promise<void> {
  for (;;) {
    const [page] = await db.execute<{ n: number }>(sql`
      with queued as (
        select id from sends
        where org_id = ${orgId} and target = ${target} and state in ('open', 'pending')
        limit ${sql.raw(String(PAGE))} for update skip locked
      ), ended as (
        update sends s set state = 'dropped' from queued q where s.org_id = ${orgId} and s.id = q.id
      ), dropped as (
        update deliveries v set state = 'dropped', reason = ${reason}, settled_at = ${clock().toISOString()}::timestamptz
        from queued q
        where v.org_id = ${orgId} and v.send_id = q.id and v.state in ('waiting', 'retrying')
      )
      select count(*)::int as n from queued`)
    if (page!.n < PAGE) return
  }
}
