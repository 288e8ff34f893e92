/**
 * Claims messages that are due: fairly between organizations, in order within a subject, within the rate of each target.
 * A claim is a lease. Nothing has left yet, so a claim that expires is simply made again.
 */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import { CHANNELS } from '../../../contracts/channels.ts'
import { CLAIM } from '../../../contracts/limits.ts'
import type { Storage } from '../../dependencies.ts'

export type MessageKey = { readonly orgId: string; readonly id: string }

/** `afterOrgId` is where the round of the organizations goes on; losing it costs some fairness and nothing else. */
export type Claimer = { readonly worker: string; readonly leaseSeconds: number; afterOrgId: string }

export type Claim = {
  readonly claimed: readonly MessageKey[]
  /** How many were due: those that could not go yet were postponed. */
  readonly due: number
}

export async function claimMessages({ db, clock }: Storage, claimer: Claimer): Promise<Claim> {
  const now = clock()
  const due = await chooseDue(db, now, claimer)
  if (due.length === 0) return { claimed: [], due: 0 }
  return { claimed: await db.execute<MessageKey>(claimStatement(due, now, claimer)), due: due.length }
}

const IS_WAITING = sql`state in ('open', 'pending')`

type DueMessage = { readonly org_id: string; readonly id: string }

/**
 * What is due, oldest first, as long as it fits into one claim. Where there is more, a few of each organization come
 * first, round robin: from one organization with something due to the next is one step in an index, so a hundred thousand
 * rows of one are skipped as quickly as one row. Where not all of those fit either, the next claim continues after the
 * last organization.
 */
async function chooseDue(db: Handle, now: Date, claimer: Claimer): Promise<readonly DueMessage[]> {
  const at = sql`${now.toISOString()}::timestamptz`
  const rows = await db.execute<DueMessage & { fair: boolean }>(sql`
    with recursive oldest as materialized (
      select org_id, id from messages where ${IS_WAITING} and next_at <= ${at}
      order by next_at limit ${sql.raw(String(CLAIM.rows + 1))}
    ), organization(org_id) as (
      (select org_id from messages
        where ${IS_WAITING} and org_id > ${claimer.afterOrgId} and (select count(*) from oldest) > ${sql.raw(String(CLAIM.rows))}
        order by org_id limit 1)
      union all
      select next.org_id from organization o cross join lateral (
        select m.org_id from messages m where ${IS_WAITING} and m.org_id > o.org_id order by m.org_id limit 1
      ) next
    ), fair as (
      select due.org_id, due.id from organization o cross join lateral (
        select m.org_id, m.id from messages m
        where ${IS_WAITING} and m.org_id = o.org_id and m.next_at <= ${at}
        order by m.org_id, m.next_at limit ${sql.raw(String(CLAIM.perOrganization))}
      ) due
      limit ${sql.raw(String(CLAIM.rows))}
    )
    select org_id, id, true as fair from fair
    union all
    select org_id, id, false from oldest`)
  const fair = rows.filter((row) => row.fair)
  claimer.afterOrgId = fair.length < CLAIM.rows ? '' : fair.at(-1)!.org_id
  const chosen = new Map(rows.map(({ org_id, id }) => [`${org_id} ${id}`, { org_id, id }]))
  return [...chosen.values()].slice(0, CLAIM.rows)
}

/** Null for channels without a limit. */
const byChannel = (intervalMs: (rate: { perSecond: number; burst: number }) => number) =>
  sql.raw(
    `case channel ${Object.entries(CHANNELS)
      .flatMap(([channel, { rate }]) =>
        rate === null ? [] : [`when '${channel}' then interval '${intervalMs(rate)} milliseconds'`],
      )
      .join(' ')} end`,
  )
/** Between two messages to one target. */
const SPACING = byChannel(({ perSecond }) => 1000 / perSecond)
/** How much earlier than evenly spaced the messages of a burst may go. */
const BURST = byChannel(({ perSecond, burst }) => ((burst - 1) * 1000) / perSecond)
/** When to look again at a message that waits for an older one of its subject. */
const ORDER_WAIT = sql.raw(`interval '300 milliseconds'`)
/** A reserved slot that nobody used for so long (no worker ran) has to be reserved again. */
const SLOT_KEPT = sql.raw(`interval '10 seconds'`)

/**
 * One statement decides about all of them. A row is claimed; or postponed because an older one of its subject is still
 * open; or gets a slot at its busy target. Rows that another worker has locked are skipped. Targets are locked in one
 * order, and whoever waits for one holds nothing that others wait for.
 */
function claimStatement(due: readonly DueMessage[], now: Date, { worker, leaseSeconds }: Claimer): SQL {
  const at = sql`${now.toISOString()}::timestamptz`
  return sql`
    with locked as materialized (
      select l.*, ${SPACING} as spacing, ${BURST} as burst,
        coalesce(l.slot_at > ${at} - ${SLOT_KEPT}, false) as has_slot
      from json_to_recordset(${JSON.stringify(due)}::text::json) as due(org_id text, id text)
      -- One by one by the key: the planner would read the whole table for a hundred of its rows.
      cross join lateral (
        select m.ctid as row_at, m.org_id, m.id, m.channel, m.target, m.ordering_key, m.seq, m.next_at, m.slot_at
        from messages m
        where m.org_id = due.org_id and m.id = due.id and m.state in ('open', 'pending') and m.next_at <= ${at}
        limit 1 for update skip locked
      ) l
    ), ordered as materialized (
      select l.*, older.next_at as older_at
      from locked l left join lateral (
        select o.next_at from messages o
        where o.org_id = l.org_id and o.target = l.target and o.ordering_key = l.ordering_key and o.seq < l.seq
          and o.state in ('pending', 'claimed', 'sending')
        order by o.seq desc limit 1
      ) older on true
    ), limited as materialized (
      select row_at, org_id, target, spacing, burst,
        row_number() over (partition by org_id, target order by next_at, seq) as place,
        count(*) over (partition by org_id, target) as places
      from ordered where older_at is null and not has_slot and spacing is not null
    ), slots as (
      insert into message_targets (org_id, target, next_allowed_at)
      select org_id, target, ${at} + places * spacing from limited where place = 1 order by org_id, target
      on conflict (org_id, target) do update
        set next_allowed_at = greatest(message_targets.next_allowed_at, ${at}) + (excluded.next_allowed_at - ${at})
      returning org_id, target, next_allowed_at
    ), decided as materialized (
      select row_at, null::timestamptz as slot_at, greatest(older_at, ${at} + ${ORDER_WAIT}) as postponed_to
      from ordered where older_at is not null
      union all
      select row_at, null, null from ordered where older_at is null and (has_slot or spacing is null)
      union all
      select row_at, slot_at, case when slot_at > ${at} then slot_at end from (
        select row_at, tail - (places - place + 1) * spacing - burst as slot_at from (
          select row_at, spacing, burst, place, places, max(tail) over (partition by org_id, target) as tail
          -- Side by side and not joined: the planner expects one row of each, and would compare all with all.
          from (
            select row_at, org_id, target, spacing, burst, place, places, null::timestamptz as tail from limited
            union all
            select null, org_id, target, null, null, null, null, next_allowed_at from slots
          ) united
        ) with_tail
        where row_at is not null
      ) slot
    ), taken as (
      update messages m set
        state = case when v.postponed_to is null then 'claimed' else m.state end,
        next_at = coalesce(v.postponed_to, m.next_at),
        slot_at = case when v.postponed_to is null then null else v.slot_at end,
        worker = case when v.postponed_to is null then ${worker} end,
        lease_until = case when v.postponed_to is null
          then ${at} + make_interval(secs => ${String(leaseSeconds)}::double precision) end
      from decided v
      -- By the row's position: locked rows do not move.
      where m.ctid = v.row_at
      returning m.org_id, m.id, m.state, m.next_at, m.seq
    )
    select org_id as "orgId", id from taken where state = 'claimed' order by next_at, seq`
}

/** A worker that stops gives back what it has not started. */
export async function releaseClaims({ db }: Storage, worker: string): Promise<void> {
  await db.execute(sql`
    update messages set state = 'pending', worker = null, lease_until = null
    where state = 'claimed' and lease_until is not null and worker = ${worker}`)
}
