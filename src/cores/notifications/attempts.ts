/**
 * The write-ahead of every message. An attempt is committed before its first byte leaves; its outcome is written when
 * there is one. What was begun and has no outcome is never begun again by itself, so nothing can arrive twice.
 */
import { sql } from '../../../db/drizzle.ts'
import type { Storage } from '../needs.ts'
import type { SendKey } from './claim-sends.ts'
import type { Settled } from './outcomes.ts'

export type Started = SendKey & { readonly number: number }

/** A success is written to its connection so often at most: a busy webhook must not queue for one row. */
const SUCCESS_WRITTEN = sql.raw(`interval '1 minute'`)

/**
 * Writes down what came of some and begins others, in one commit. Only what is returned may be sent: the others are in
 * other hands by now. An outcome counts only while its attempt is the last and has none.
 */
export async function settleAndStart(
  { db, clock }: Storage,
  how: { readonly worker: string; readonly leaseSeconds: number },
  settled: readonly Settled[],
  starting: readonly SendKey[],
): Promise<Started[]> {
  if (settled.length === 0 && starting.length === 0) return []
  const at = sql`${clock().toISOString()}::timestamptz`
  const rows = await db.execute<{ org_id: string; send_id: string; number: number }>(sql`
    with done as materialized (
      select * from json_to_recordset(${JSON.stringify(settled)}::text::json) as d(
        "orgId" text, id text, number int, outcome text, state text, reason text, because text, "httpStatus" int,
        "durationMs" int, "nextAt" timestamptz, "integrationId" text)
    ), ended as (
      update sends s set state = d.state, next_at = coalesce(d."nextAt", s.next_at), slot_at = null, worker = null,
        lease_until = null
      from done d
      where s.org_id = d."orgId" and s.id = d.id and s.state = 'sending' and s.attempts = d.number
      returning d.*
    ), written as (
      update attempts a set ended_at = ${at}, outcome = e.outcome, reason = e.reason, http_status = e."httpStatus",
        duration_ms = e."durationMs"
      from ended e
      where a.org_id = e."orgId" and a.send_id = e.id and a.number = e.number
    ), delivered as (
      update deliveries v set
        state = case e.state when 'pending' then 'retrying' else e.state end,
        reason = e.because,
        settled_at = case e.state when 'pending' then null else ${at} end
      from ended e
      where v.org_id = e."orgId" and v.send_id = e.id and v.state in ('waiting', 'retrying')
    ), health as (
      select "orgId", "integrationId", bool_or(outcome = 'sent') as works from ended
      where "integrationId" is not null
        and (reason is null or reason not in ('rate_limited', 'no_forum_account', 'chat_account_inactive'))
      group by 1, 2
    ), noted as (
      update integrations i set
        failing_since = case when h.works then null else coalesce(i.failing_since, ${at}) end,
        last_success_at = case when h.works then ${at} else i.last_success_at end
      from health h
      where i.org_id = h."orgId" and i.id = h."integrationId" and case when h.works
        then i.failing_since is not null or i.last_success_at is null or i.last_success_at < ${at} - ${SUCCESS_WRITTEN}
        else i.failing_since is null end
    ), started as (
      update sends s set state = 'sending', attempts = s.attempts + 1,
        lease_until = ${at} + make_interval(secs => ${String(how.leaseSeconds)}::double precision)
      from json_to_recordset(${JSON.stringify(starting)}::text::json) as n("orgId" text, id text)
      where s.org_id = n."orgId" and s.id = n.id and s.state = 'claimed' and s.worker = ${how.worker}
        and s.lease_until > ${at}
        -- The commit is on disk before the first byte is on the wire, whatever the server's own setting is.
        and (select set_config('synchronous_commit', 'on', true)) = 'on'
      returning s.org_id, s.id, s.attempts
    )
    insert into attempts (org_id, send_id, number, started_at)
    select org_id, id, attempts, ${at} from started
    returning org_id, send_id, number`)
  return rows.map((row) => ({ orgId: row.org_id, id: row.send_id, number: row.number }))
}
