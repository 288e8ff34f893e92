/**
 * Claims messages that are due: fairly between organizations, in order within a subject, within what each target takes.
 * Webhooks that wait for the same target share a POST. Nothing has left yet, so a claim that expires is simply made again.
 */
import { randomUUID } from 'node:crypto'
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../../db/connect.ts'
import { and, eq, isNotNull, sql } from '../../../../db/drizzle.ts'
import { messages } from '../../../../db/schema.ts'
import { CHANNELS, type Channel } from '../../../contracts/channels.ts'
import { CIRCUIT, CLAIM, LANES, WEBHOOK_POST } from '../../../contracts/limits.ts'
import type { Storage } from '../../dependencies.ts'
import { chooseDue, leased, notAhead } from '../../work/index.ts'

export type MessageKey = { readonly orgId: string; readonly id: string }

/**
 * What is known of a target: it answers; it has not been asked yet; or it did not answer the last time, or takes longer
 * than the others of its organization.
 */
export type TargetHealth = 'healthy' | 'unproven' | 'slow'

/** `go` is counted. The others are postponed: for a moment, or because what they wait for hangs. */
type Taken = 'go' | 'wait' | 'hangs'

type Wanted = {
  readonly orgId: string
  readonly channel: Channel
  readonly target: string
  readonly health: TargetHealth
}

/** How many more a process wants of an organization's channel. */
export type ClaimCapacity = {
  /** Organizations with a channel, and channels, of which it wants none now. */
  readonly full: readonly string[]
  readonly hasRoom: boolean
  /** `later`: there is no room yet. */
  take(message: Wanted): Taken | 'later'
  /** The same of a target that does not answer: one of its messages is held at a time. */
  takeProbe(message: Wanted): Taken
}

export type Claimer = {
  readonly worker: string
  readonly leaseSeconds: number
  readonly room?: () => ClaimCapacity
}

export type ClaimedMessage = MessageKey & {
  /** Those that have the same share one POST. */
  readonly post: string
  readonly isDigest: boolean
}

export type Claim = {
  readonly claimed: readonly ClaimedMessage[]
  /** How many were due and wanted: those that could not go yet were postponed. */
  readonly due: number
}

/** Of the worker that has claimed it, and then of the one that has begun an attempt. */
export const messageLease = leased(messages, {
  heldBy: ['orgId', 'id', 'worker'],
  holder: 'worker',
  until: 'leaseUntil',
})

export async function claimMessages({ db, clock }: Storage, claimer: Claimer): Promise<Claim> {
  const now = clock()
  const room = claimer.room?.()
  const due = sharePosts(await chooseMessages(db, now, room), room)
  if (due.length === 0) return { claimed: [], due: 0 }
  const claimed = await db.execute<ClaimedMessage>(claimStatement(due, now, claimer))
  // The statement names a POST by the position of a row, which another row may have at the next claim.
  const claim = randomUUID()
  return { claimed: claimed.map((one) => ({ ...one, post: `${claim} ${one.post}` })), due: due.length }
}

type DueMessage = {
  readonly org_id: string
  readonly id: string
  readonly channel: Channel
  readonly target: string
  readonly may_share: boolean
  readonly health: TargetHealth
  /** Whether the target's circuit is open: one message at a time goes to it. */
  readonly is_open: boolean
  /** Whether that one may go now. */
  readonly probe_due: boolean
}
type DueInPost = {
  readonly org_id: string
  readonly id: string
  readonly post: number
  /** Null: it may go. */
  readonly wait_ms: number | null
}

const WAIT_MS: Readonly<Record<Taken, number | null>> = { go: null, wait: 300, hangs: 2_000 }
/** About as long as a probe may take. When it is answered, those that wait for it are due at once. */
const PROBE_WAIT_MS = 10_000

const WAITED = sql.raw(`interval '${WEBHOOK_POST.waitedSeconds} seconds'`)

/**
 * Webhooks to one target go together, as many as a POST carries; a POST counts as one message. To a target that does not
 * answer goes one probe, if there is room for it. What hangs is decided about as well, so that it is postponed and hides
 * nothing that could go.
 */
function sharePosts(due: readonly DueMessage[], room: ClaimCapacity | undefined): DueInPost[] {
  let posts = 0
  const filling = new Map<string, { readonly post: number; count: number }>()
  const probes = new Map<string, boolean>()
  return due.flatMap(({ org_id, id, channel, target, health, may_share, is_open, probe_due }) => {
    const lane = `${org_id} ${target}`
    const wanted = { orgId: org_id, channel, target, health }
    if (is_open) {
      const may_probe = probes.get(lane) ?? (probe_due && (!room || room.takeProbe(wanted) === 'go'))
      probes.set(lane, may_probe)
      return { org_id, id, post: posts++, wait_ms: may_probe ? null : PROBE_WAIT_MS }
    }
    const shared = may_share ? filling.get(lane) : undefined
    if (shared && shared.count < WEBHOOK_POST.objects) {
      shared.count++
      return { org_id, id, post: shared.post, wait_ms: null }
    }
    const taken = room?.take(wanted) ?? 'go'
    if (taken === 'later') return []
    const post = posts++
    if (may_share && taken === 'go') filling.set(lane, { post, count: 1 })
    return { org_id, id, post, wait_ms: WAIT_MS[taken] }
  })
}

/** Of the target `t`. How fast the others are is asked only where it is slow. */
export const TARGET_HEALTH = sql.raw(`case
  when t.unanswered > 0 then 'slow'
  when t.answer_ms is null then 'unproven'
  when t.answer_ms < ${LANES.slowMs} then 'healthy'
  when t.answer_ms > ${LANES.slowTimes} * (
    select percentile_disc(0.5) within group (order by f.answer_ms) from message_targets f where f.org_id = t.org_id
  ) then 'slow' else 'healthy' end`)

/** Fairly by organization and channel: mails that a dead mail server keeps waiting hide nobody's webhooks. */
async function chooseMessages(db: Handle, now: Date, room?: ClaimCapacity): Promise<readonly DueMessage[]> {
  const at = notAhead(now)
  const full = JSON.stringify(room?.full ?? [])
  const due = chooseDue(
    {
      table: 'messages',
      isWaiting: sql`state in ('open', 'pending')`,
      dueAt: 'next_at',
      dueAfter: 'lease_until',
      lane: ['org_id', 'channel'],
      columns: {
        target: sql`target`,
        // One delivery each, that has waited and whose attempts say nothing against it: a digest is as large as it may be already.
        may_share: sql`(channel = ${'webhook' satisfies Channel}::text and digest_key is null and not goes_alone
          and created_at <= ${at} - ${WAITED})`,
      },
    },
    {
      at,
      rows: CLAIM.rows,
      hasCapacity: sql`not (${full}::text::jsonb ?| array[l.org_id || ' ' || l.channel, l.channel])`,
    },
  )
  return db.execute<DueMessage>(sql`
    with recursive ${due}
    select due.*, ${TARGET_HEALTH} as health, coalesce(t.unanswered >= ${UNANSWERED_MAX}, false) as is_open,
      coalesce(t.in_flight = 0 and coalesce(greatest(t.probe_at, t.held_until) <= ${at}, true), true) as probe_due
    from chosen due left join lateral (
      select * from message_targets where org_id = due.org_id and target = due.target limit 1
    ) t on true`)
}

const byChannel = (intervalMs: (rate: { perSecond: number; burst: number }) => number) =>
  sql.raw(
    `case channel ${Object.entries(CHANNELS)
      .map(([channel, { rate }]) => `when '${channel}' then interval '${intervalMs(rate)} milliseconds'`)
      .join(' ')} end`,
  )
/** Between two messages to one target. */
const SPACING = byChannel(({ perSecond }) => 1000 / perSecond)
/** How much earlier than evenly spaced the messages of a burst may go. */
const BURST = byChannel(({ perSecond, burst }) => ((burst - 1) * 1000) / perSecond)
/** When to look again at a message that waits for an older one of its subject, or for one on its way to its target. */
const SHORT_WAIT = sql.raw(`interval '${WAIT_MS.wait} milliseconds'`)
/** A reserved slot that nobody used for so long (no worker ran) has to be reserved again. */
const SLOT_KEPT = sql.raw(`interval '10 seconds'`)
const PROBE_WAIT = sql.raw(`interval '${PROBE_WAIT_MS} milliseconds'`)
const UNANSWERED_MAX = sql.raw(String(CIRCUIT.unanswered))
const PER_TARGET = sql.raw(String(LANES.perTarget))

/**
 * One statement decides about all of them. A row is claimed; or postponed because an older one of its subject is still
 * open, or its target is held, probed or has enough on its way; or gets a slot at its busy target. Those of one POST are
 * decided as one, by its first: an older one of a subject in the same POST is no reason to wait. A target that did not
 * answer the last time gets one message at a time, so that few are unconfirmed if it does not again. Rows that another
 * worker has locked are skipped. Targets are locked in one order, and whoever waits for one holds nothing that others wait
 * for. What it reads of a target may be old by a moment: the start of the attempt looks again, under the target's lock.
 */
function claimStatement(due: readonly DueInPost[], now: Date, { worker, leaseSeconds }: Claimer): SQL {
  const at = notAhead(now)
  return sql`
    with locked as materialized (
      select l.*, row_number() over () as row_at, due.post, due.wait_ms, ${SPACING} as spacing, ${BURST} as burst,
        coalesce(l.slot_at > ${at} - ${SLOT_KEPT}, false) as has_slot
      from json_to_recordset(${JSON.stringify(due)}::text::json) as due(org_id text, id text, post int, wait_ms int)
      -- One by one by the key: the planner would read the whole table for a hundred of its rows.
      cross join lateral (
        select m.org_id, m.id, m.channel, m.target, m.ordering_key, m.seq, m.next_at, m.slot_at
        from messages m
        where m.org_id = due.org_id and m.id = due.id and m.state in ('open', 'pending') and m.next_at <= ${at}
        limit 1 for update skip locked
      ) l
    ), aimed as materialized (
      select l.*, t.held_until, t.probe_at, coalesce(t.in_flight, 0) as in_flight,
        coalesce(t.unanswered >= ${UNANSWERED_MAX}, false) as is_open, coalesce(t.unanswered = 0, true) as shares,
        case when coalesce(t.unanswered = 0, true)
          then rank() over (partition by l.post, l.ordering_key order by l.seq) - 1 else 0 end as before
      from locked l left join lateral (
        select * from message_targets where org_id = l.org_id and target = l.target limit 1
      ) t on true
    ), ordered as materialized (
      select a.*, older.n > a.before as waits, older.next_at as older_at
      from aimed a cross join lateral (
        -- More than those in the same POST: at least one is elsewhere.
        select count(*) as n, max(next_at) as next_at from (
          select o.next_at from messages o
          where o.org_id = a.org_id and o.target = a.target and o.ordering_key = a.ordering_key and o.seq < a.seq
            and o.state in ('pending', 'claimed', 'sending')
          order by o.seq desc limit a.before + 1
        ) o
      ) older
    ), free as materialized (
      select o.*, row_number() over (partition by o.org_id, o.target order by o.next_at, o.seq) as rank,
        case when shares then first_value(row_at) over (partition by o.post order by o.next_at, o.seq, o.id)
          else row_at end as first_at
      from ordered o where not o.waits
    ), judged as materialized (
      select f.*, case
          when is_open then greatest(held_until, probe_at, ${at} + make_interval(secs => wait_ms / 1000.0),
            case when in_flight > 0 or rank > 1 then ${at} + ${PROBE_WAIT} end)
          else greatest(held_until, ${at} + make_interval(secs => wait_ms / 1000.0)) end as blocked_until,
        case when in_flight >= ${PER_TARGET} then ${at} + ${SHORT_WAIT} else ${at} end as earliest
      from free f where row_at = first_at
    ), open as materialized (
      select * from judged where blocked_until is null or blocked_until <= ${at}
    ), limited as materialized (
      select row_at, org_id, id, target, spacing, burst, earliest,
        row_number() over (partition by org_id, target order by next_at, seq) as place,
        count(*) over (partition by org_id, target) as places
      from open where not has_slot
    ), slots as (
      insert into message_targets (org_id, target, next_allowed_at)
      select org_id, target, ${at} + places * spacing from limited where place = 1 order by org_id, target
      on conflict (org_id, target) do update
        set next_allowed_at = greatest(message_targets.next_allowed_at, ${at}) + (excluded.next_allowed_at - ${at})
      returning org_id, target, next_allowed_at
    ), decided as materialized (
      select row_at, org_id, id, null::timestamptz as slot_at, greatest(older_at, ${at} + ${SHORT_WAIT}) as postponed_to
      from ordered where waits
      union all
      select row_at, org_id, id, null, blocked_until from judged where blocked_until > ${at}
      union all
      select row_at, org_id, id, earliest, case when earliest > ${at} then earliest end from open where has_slot
      union all
      select row_at, org_id, id, slot_at, case when slot_at > ${at} then slot_at end from (
        select row_at, org_id, id, greatest(tail - (places - place + 1) * spacing - burst, earliest) as slot_at from (
          select row_at, org_id, id, spacing, burst, earliest, place, places,
            max(tail) over (partition by org_id, target) as tail
          -- Side by side and not joined: the planner expects one row of each, and would compare all with all.
          from (
            select row_at, org_id, id, target, spacing, burst, earliest, place, places, null::timestamptz as tail
            from limited
            union all
            select null, org_id, null, target, null, null, null, null, null, next_allowed_at from slots
          ) united
        ) with_tail
        where row_at is not null
      ) slot
    ), decided_posts as materialized (
      select d.*, d.row_at as first_at from decided d
      union all
      select f.row_at, f.org_id, f.id, null, d.postponed_to, f.first_at
      from free f join decided d on d.row_at = f.first_at where f.row_at <> f.first_at
    ), taken as (
      update messages m set
        state = case when v.postponed_to is null then 'claimed' else m.state end,
        next_at = coalesce(v.postponed_to, m.next_at),
        slot_at = case when v.postponed_to is null then null else v.slot_at end,
        worker = case when v.postponed_to is null then ${worker} end,
        lease_until = case when v.postponed_to is null then ${messageLease.fromNow(leaseSeconds)} end
      from decided_posts v
      where m.org_id = v.org_id and m.id = v.id
      returning m.org_id, m.id, m.state, m.next_at, m.seq, m.digest_key, v.first_at
    )
    select org_id as "orgId", id, first_at::text as post, digest_key is not null as "isDigest"
    from taken where state = 'claimed' order by next_at, seq`
}

/** A worker that stops gives back what it has not started. */
export async function releaseClaims({ db }: Storage, worker: string): Promise<void> {
  await db
    .update(messages)
    .set({ ...messageLease.given, state: 'pending' })
    .where(and(eq(messages.state, 'claimed'), isNotNull(messages.leaseUntil), eq(messages.worker, worker)))
}
