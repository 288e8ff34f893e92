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

/**
 * What is due, oldest first, as long as it fits into one claim: then nobody waits for anybody. Where there is more, a few
 * of each organization come before, going round: from one organization with something waiting to the next is one step
 * in an index, so a hundred thousand rows of one are passed over as quickly as one row. Where not all of those fit
 * either, the next claim goes on behind the last.
 */
async function chooseDue(db: Handle, now: Date, claimer: Claimer): Promise<readonly Due[]> {
  const at = sql`${now.toISOString()}::timestamptz`
  const rows = await db.execute<Due & { fair: boolean }>(sql`
    with recursive oldest as materialized (
      select org_id, id from sends where ${IS_WAITING} and next_at <= ${at}
      order by next_at limit ${sql.raw(String(CLAIM.rows + 1))}
    ), organization(org_id) as (
      (select org_id from sends
        where ${IS_WAITING} and org_id > ${claimer.after} and (select count(*) from oldest) > ${sql.raw(String(CLAIM.rows))}
        order by org_id limit 1)
      union all
      select next.org_id from organization o cross join lateral (
        select s.org_id from sends s where ${IS_WAITING} and s.org_id > o.org_id order by s.org_id limit 1
      ) next
    ), fair as (
      select due.org_id, due.id from organization o cross join lateral (
        select s.org_id, s.id from sends s
        where ${IS_WAITING} and s.org_id = o.org_id and s.next_at <= ${at}
        order by s.org_id, s.next_at limit ${sql.raw(String(CLAIM.perOrganization))}
      ) due
      limit ${sql.raw(String(CLAIM.rows))}
    )
    select org_id, id, true as fair from fair
    union all
    select org_id, id, false from oldest`)
  const fair = rows.filter((row) => row.fair)
  claimer.after = fair.length < CLAIM.rows ? '' : fair.at(-1)!.org_id
  const chosen = new Map(rows.map(({ org_id, id }) => [`${org_id} ${id}`, { org_id, id }]))
  return [...chosen.values()].slice(0, CLAIM.rows)
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
      select l.*, ${EVERY} as every, ${AT_ONCE} as at_once,
        coalesce(l.slot_at > ${at} - ${TURN_KEPT}, false) as has_turn
      from json_to_recordset(${JSON.stringify(due)}::text::json) as due(org_id text, id text)
      -- One by one through the key: the planner would read the whole table for a hundred of its rows.
      cross join lateral (
        select s.ctid as row_at, s.org_id, s.id, s.channel, s.target, s.ordering_key, s.seq, s.next_at, s.slot_at
        from sends s
        where s.org_id = due.org_id and s.id = due.id and s.state in ('open', 'pending') and s.next_at <= ${at}
        limit 1 for update skip locked
      ) l
    ), judged as materialized (
      select l.*, older.next_at as behind
      from locked l left join lateral (
        select o.next_at from sends o
        where o.org_id = l.org_id and o.target = l.target and o.ordering_key = l.ordering_key and o.seq < l.seq
          and o.state in ('pending', 'claimed', 'sending')
        order by o.seq desc limit 1
      ) older on true
    ), asking as materialized (
      select row_at, org_id, target, every, at_once,
        row_number() over (partition by org_id, target order by next_at, seq) as place,
        count(*) over (partition by org_id, target) as places
      from judged where behind is null and not has_turn and every is not null
    ), turns as (
      insert into send_targets (org_id, target, next_allowed_at)
      select org_id, target, ${at} + places * every from asking where place = 1 order by org_id, target
      on conflict (org_id, target) do update
        set next_allowed_at = greatest(send_targets.next_allowed_at, ${at}) + (excluded.next_allowed_at - ${at})
      returning org_id, target, next_allowed_at
    ), verdict as materialized (
      select row_at, null::timestamptz as slot_at, greatest(behind, ${at} + ${BEHIND}) as put_off
      from judged where behind is not null
      union all
      select row_at, null, null from judged where behind is null and (has_turn or every is null)
      union all
      select row_at, slot_at, case when slot_at > ${at} then slot_at end from (
        select row_at, tail - (places - place + 1) * every - at_once as slot_at from (
          select row_at, every, at_once, place, places, max(tail) over (partition by org_id, target) as tail
          -- Side by side and not joined: the planner expects one row of each, and would compare all with all.
          from (
            select row_at, org_id, target, every, at_once, place, places, null::timestamptz as tail from asking
            union all
            select null, org_id, target, null, null, null, null, next_allowed_at from turns
          ) both_of_them
        ) with_tail
        where row_at is not null
      ) turn
    ), taken as (
      update sends s set
        state = case when v.put_off is null then 'claimed' else s.state end,
        next_at = coalesce(v.put_off, s.next_at),
        slot_at = case when v.put_off is null then null else v.slot_at end,
        worker = case when v.put_off is null then ${worker} end,
        lease_until = case when v.put_off is null
          then ${at} + make_interval(secs => ${String(leaseSeconds)}::double precision) end
      from verdict v
      -- Where it was locked, and nobody moves what is locked.
      where s.ctid = v.row_at
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
