/**
 * Takes messages that are due: fairly between organizations, in order within a subject, no faster than each target likes.
 * A claim is a lease. Nothing has left yet, so a claim that runs out is simply taken again.
 */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { CLAIM, SENDS_PER_SECOND } from '../../contracts/limits.ts'
import type { Storage } from '../needs.ts'

export type SendKey = { readonly orgId: string; readonly id: string }

/** Of the one who claims. `after` is where the round of the organizations goes on; it is a courtesy, nothing rests on it. */
export type Claimer = { readonly worker: string; readonly leaseSeconds: number; after: string }

export type Claim = {
  readonly claimed: readonly SendKey[]
  /** How many were looked at: those that could not go yet were put off. */
  readonly looked: number
}

export async function claimSends({ db, clock }: Storage, claimer: Claimer): Promise<Claim> {
  const now = clock()
  const due = await chooseDue(db, now, claimer)
  if (due.length === 0) return { claimed: [], looked: 0 }
  const rows = await db.execute<{ org_id: string; id: string }>(claimStatement(due, now, claimer))
  return {
    claimed: rows.map((row) => ({ orgId: row.org_id, id: row.id })),
    looked: due.length,
  }
}

const IS_WAITING = sql`state in ('open', 'pending')`

type Due = { readonly org_id: string; readonly id: string }

/** What is due, oldest first, as long as it fits into one claim: then nobody waits for anybody. */
async function chooseDue(db: Handle, now: Date, claimer: Claimer): Promise<readonly Due[]> {
  const at = sql`${now.toISOString()}::timestamptz`
  const oldest = await db.execute<Due>(sql`
    select org_id, id from sends where ${IS_WAITING} and next_at <= ${at}
    order by next_at limit ${sql.raw(String(CLAIM.rows + 1))}`)
  if (oldest.length <= CLAIM.rows) return oldest
  const fair = await chooseFairly(db, at, claimer)
  const chosen = new Map([...fair, ...oldest].map((due) => [`${due.org_id} ${due.id}`, due]))
  return [...chosen.values()].slice(0, CLAIM.rows)
}

/**
 * A few of each organization, going round: from one organization with something waiting to the next is one step in an
 * index, so a hundred thousand rows of one are passed over as quickly as one row.
 */
async function chooseFairly(db: Handle, at: SQL, claimer: Claimer): Promise<readonly Due[]> {
  const round = (from: SQL, upTo: SQL) =>
    db.execute<Due>(sql`
      with recursive organization(org_id) as (
        (select org_id from sends where ${IS_WAITING} and ${from} order by org_id limit 1)
        union all
        select next.org_id from organization o cross join lateral (
          select s.org_id from sends s where ${IS_WAITING} and s.org_id > o.org_id order by s.org_id limit 1
        ) next
      )
      select due.org_id, due.id from organization o cross join lateral (
        select s.org_id, s.id from sends s
        where ${IS_WAITING} and s.org_id = o.org_id and s.next_at <= ${at}
        order by s.next_at limit ${sql.raw(String(CLAIM.perOrganization))}
      ) due
      where ${upTo}
      limit ${sql.raw(String(CLAIM.rows))}`)
  const rest = await round(sql`org_id > ${claimer.after}`, sql`true`)
  const start =
    rest.length < CLAIM.rows && claimer.after !== ''
      ? await round(sql`true`, sql`o.org_id <= ${claimer.after}`)
      : []
  const chosen = [...rest, ...start].slice(0, CLAIM.rows)
  claimer.after = chosen.at(-1)?.org_id ?? ''
  return chosen
}

const LIMITED = Object.entries(SENDS_PER_SECOND)
/** Between two messages to one target. */
const EVERY = sql.raw(
  `case channel ${LIMITED.map(([channel, { each }]) => `when '${channel}' then interval '${1000 / each} milliseconds'`).join(' ')} end`,
)
/** So much sooner than in even steps may some of them go. */
const AT_ONCE = sql.raw(
  `case channel ${LIMITED.map(([channel, { each, atOnce }]) => `when '${channel}' then interval '${((atOnce - 1) * 1000) / each} milliseconds'`).join(' ')} end`,
)
/** One that stands behind another of its subject is looked at again so soon. */
const BEHIND = sql.raw(`interval '300 milliseconds'`)
/** A turn that was given and not taken for so long (nobody was working) has to be given again. */
const TURN_KEPT = sql.raw(`interval '10 seconds'`)

/**
 * One statement judges all of them. A row is claimed; or put off because an older one of its subject is still open; or
 * given a turn at its busy target. Rows that somebody else holds are passed over. Targets are locked in one order, and
 * whoever waits for one holds nothing that others wait for.
 */
function claimStatement(due: readonly Due[], now: Date, { worker, leaseSeconds }: Claimer): SQL {
  const at = sql`${now.toISOString()}::timestamptz`
  return sql`
    with locked as materialized (
      select s.org_id, s.id, s.channel, s.target, s.ordering_key, s.seq, s.next_at,
        ${EVERY} as every, ${AT_ONCE} as at_once,
        coalesce(s.slot_at > ${at} - ${TURN_KEPT}, false) as has_turn
      from json_to_recordset(${JSON.stringify(due)}::text::json) as due(org_id text, id text)
      join sends s on s.org_id = due.org_id and s.id = due.id
      where s.state in ('open', 'pending') and s.next_at <= ${at}
      for update of s skip locked
    ), judged as materialized (
      select l.*, older.next_at as behind
      from locked l left join lateral (
        select o.next_at from sends o
        where o.org_id = l.org_id and o.target = l.target and o.ordering_key = l.ordering_key and o.seq < l.seq
          and o.state in ('pending', 'claimed', 'sending')
        order by o.seq desc limit 1
      ) older on true
    ), asking as (
      select org_id, id, target, every, at_once,
        row_number() over (partition by org_id, target order by next_at, seq) as place
      from judged where behind is null and not has_turn and every is not null
    ), turns as (
      insert into send_targets (org_id, target, next_allowed_at)
      select org_id, target, ${at} + count(*) * max(every) from asking group by org_id, target order by org_id, target
      on conflict (org_id, target) do update
        set next_allowed_at = greatest(send_targets.next_allowed_at, ${at}) + (excluded.next_allowed_at - ${at})
      returning org_id, target, next_allowed_at
    ), turn as (
      select a.org_id, a.id,
        t.next_allowed_at - (max(a.place) over (partition by a.org_id, a.target) - a.place + 1) * a.every - a.at_once
          as slot_at
      from asking a join turns t using (org_id, target)
    ), verdict as (
      select j.org_id, j.id, t.slot_at,
        case when j.behind is not null then greatest(j.behind, ${at} + ${BEHIND})
          when t.slot_at > ${at} then t.slot_at end as put_off
      from judged j left join turn t using (org_id, id)
    ), taken as (
      update sends s set
        state = case when v.put_off is null then 'claimed' else s.state end,
        next_at = coalesce(v.put_off, s.next_at),
        slot_at = case when v.put_off is null then null else v.slot_at end,
        worker = case when v.put_off is null then ${worker} end,
        lease_until = case when v.put_off is null
          then ${at} + make_interval(secs => ${String(leaseSeconds)}::double precision) end
      from verdict v
      where s.org_id = v.org_id and s.id = v.id
      returning s.org_id, s.id, s.state, s.next_at, s.seq
    )
    select org_id, id from taken where state = 'claimed' order by next_at, seq`
}

/** Whoever stops working gives back what it has not begun. */
export async function releaseClaims({ db }: Storage, worker: string): Promise<void> {
  await db.execute(sql`
    update sends set state = 'pending', worker = null, lease_until = null
    where state = 'claimed' and lease_until is not null and worker = ${worker}`)
}
