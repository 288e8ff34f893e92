/**
 * Claims messages that are due: fairly between organizations, in order within a subject, within what each target takes.
 * What is due and wanted is read first, and holds nothing; then one statement claims it.
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
  /** Whether what it waits for has not answered for a while. */
  hangs(message: Wanted): boolean
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
  /** Whether more are due than one claim takes; not where others have all of these. */
  readonly hasMore: boolean
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
  const chosen = await chooseMessages(db, now, room)
  const due = sharePosts(chosen, room)
  if (due.length === 0) return { claimed: [], due: 0, hasMore: false }
  const decided = await db.execute<ClaimedMessage & { isClaimed: boolean }>(claimStatement(due, now, claimer))
  // Numbers of POSTs begin anew with each claim.
  const claim = randomUUID()
  return {
    claimed: decided.flatMap(({ isClaimed, ...one }) =>
      isClaimed ? [{ ...one, post: `${claim} ${one.post}` }] : [],
    ),
    due: due.length,
    hasMore: decided.length > 0 && chosen.some(({ has_more }) => has_more),
  }
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
  /** Until when its target takes nothing: it is held, probed, or has enough on its way. */
  readonly blocked_until: string | null
  readonly has_more: boolean
}
type DueInPost = {
  readonly org_id: string
  readonly id: string
  readonly post: number
  /** One of them goes, and the others wait for its answer. */
  readonly is_probe: boolean
  readonly blocked_until: string | null
  /** With neither of them it may go. */
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
  const probes = new Map<string, { readonly post: number; readonly wait_ms: number | null }>()
  return due.flatMap(({ org_id, id, channel, target, health, may_share, is_open, blocked_until }) => {
    const lane = `${org_id} ${target}`
    const wanted = { orgId: org_id, channel, target, health }
    const row = { org_id, id, is_probe: false, blocked_until, wait_ms: null }
    if (blocked_until !== null) {
      return { ...row, post: posts++, wait_ms: room?.hangs(wanted) ? WAIT_MS.hangs : null }
    }
    if (is_open) {
      const probe = probes.get(lane) ?? {
        post: posts++,
        wait_ms: !room || room.takeProbe(wanted) === 'go' ? null : PROBE_WAIT_MS,
      }
      probes.set(lane, probe)
      return { ...row, ...probe, is_probe: true }
    }
    const shared = may_share ? filling.get(lane) : undefined
    if (shared && shared.count < WEBHOOK_POST.objects) {
      shared.count++
      return { ...row, post: shared.post }
    }
    const taken = room?.take(wanted) ?? 'go'
    if (taken === 'later') return []
    const post = posts++
    if (may_share && taken === 'go') filling.set(lane, { post, count: 1 })
    return { ...row, post, wait_ms: WAIT_MS[taken] }
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
    select due.org_id, due.id, due.channel, due.target, ${TARGET_HEALTH} as health,
      -- To one that did not answer the last time they go one by one, so that few are unconfirmed if it does not again.
      due.may_share and coalesce(t.unanswered = 0, true) as may_share,
      coalesce(t.unanswered >= ${UNANSWERED_MAX}, false) as is_open,
      (select max(until)::text from (values
        (t.held_until),
        (case when t.unanswered >= ${UNANSWERED_MAX} then t.probe_at end),
        (case when t.unanswered >= ${UNANSWERED_MAX} and t.in_flight > 0 then ${at} + ${PROBE_WAIT} end),
        (case when t.in_flight >= ${PER_TARGET} then ${at} + ${SHORT_WAIT} end)
      ) blocked(until) where until > ${at}) as blocked_until,
      (select count(*) from oldest) > ${sql.raw(String(CLAIM.rows))} as has_more
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
 * One statement decides about all of them. A message is claimed; or postponed because it waits for its target, or for an
 * older one of its subject that is still open; or its POST gets a slot at its busy target. An older one of the subject in
 * the same POST is no reason to wait. Rows that another worker has locked, or has claimed since they were chosen, are skipped:
 * it may hold their target and wait for them. Targets are locked in one order. What is known of a target may be old by a
 * moment: the start of the attempt looks again, under the target's lock.
 */
function claimStatement(due: readonly DueInPost[], now: Date, { worker, leaseSeconds }: Claimer): SQL {
  const at = notAhead(now)
  return sql`
    with locked as materialized (
      select l.*, due.post, due.is_probe, ${SPACING} as spacing, ${BURST} as burst,
        greatest(due.blocked_until, ${at} + make_interval(secs => due.wait_ms / 1000.0)) as target_wait,
        case when is_probe then 0 else rank() over (partition by due.post, l.ordering_key order by l.seq) - 1 end as older_in_post
      from json_to_recordset(${JSON.stringify(due)}::text::json) as due(
        org_id text, id text, post int, is_probe boolean, blocked_until timestamptz, wait_ms int)
      -- One by one, and by the key alone: the planner would read the whole table for a hundred of its rows; or, by the index of
      -- what is due, all that was due before. No such index knows this form of the state, and what another worker has by now is
      -- not locked.
      cross join lateral (
        select m.org_id, m.id, m.channel, m.target, m.ordering_key, m.seq, m.next_at,
          coalesce(m.slot_at > ${at} - ${SLOT_KEPT}, false) as has_slot
        from messages m
        where m.org_id = due.org_id and m.id = due.id and (m.state || '') in ('open', 'pending') and m.next_at <= ${at}
        limit 1 for update skip locked
      ) l
    ), in_order as materialized (
      select l.*, w.wait_until, w.wait_until is null as is_free
      from locked l cross join lateral (
        -- More than those in the same POST: at least one is elsewhere.
        select count(*) as n, max(next_at) as next_at from (
          select o.next_at from messages o
          where o.org_id = l.org_id and o.target = l.target and o.ordering_key = l.ordering_key and o.seq < l.seq
            and o.state in ('pending', 'claimed', 'sending')
          order by o.seq desc limit l.older_in_post + 1
        ) o
      ) older cross join lateral (
        select greatest(l.target_wait,
          case when older.n > l.older_in_post then greatest(older.next_at, ${at} + ${SHORT_WAIT}) end) as wait_until
      ) w
    ), posts as materialized (
      select org_id, target, post, spacing, burst, bool_or(has_slot) as has_slot,
        (array_agg(id order by next_at, seq, id))[1] as first_id,
        -- From the last to the first of those that need a slot.
        row_number() over (partition by org_id, target, bool_or(has_slot)
          order by min(next_at) desc, min(seq) desc, post desc) as from_last
      from in_order where is_free group by org_id, target, post, spacing, burst
    ), reserved as (
      insert into message_targets (org_id, target, next_allowed_at)
      select org_id, target, ${at} + count(*) * spacing from posts where not has_slot
      group by org_id, target, spacing order by org_id, target
      on conflict (org_id, target) do update
        set next_allowed_at = greatest(message_targets.next_allowed_at, ${at}) + (excluded.next_allowed_at - ${at})
      returning org_id, target, next_allowed_at
    ), decided as materialized (
      select o.org_id, o.id, o.post, case
          when o.id = p.first_id then s.slot_at
          -- It has waited for its slot already, and does not begin anew for a moment.
          when o.has_slot and o.wait_until <= ${at} + ${SHORT_WAIT} then o.wait_until end as slot_at, case
          when not o.is_free then o.wait_until
          when o.is_probe and o.id <> p.first_id then ${at} + ${PROBE_WAIT}
          when s.slot_at > ${at} then s.slot_at end as wait_until
      from in_order o
      left join posts p on p.post = o.post
      left join reserved r on r.org_id = p.org_id and r.target = p.target and not p.has_slot
      cross join lateral (
        select greatest(${at}, r.next_allowed_at - p.from_last * p.spacing - p.burst) as slot_at
      ) s
    ), updated as (
      update messages m set
        state = case when d.wait_until is null then 'claimed' else m.state end,
        next_at = coalesce(d.wait_until, m.next_at),
        slot_at = case when d.wait_until is not null then d.slot_at end,
        worker = case when d.wait_until is null then ${worker} end,
        lease_until = case when d.wait_until is null then ${messageLease.fromNow(leaseSeconds)} end
      from decided d
      where m.org_id = d.org_id and m.id = d.id
      returning m.org_id, m.id, m.state, m.next_at, m.seq, m.digest_key, d.post
    )
    select org_id as "orgId", id, post::text as post, digest_key is not null as "isDigest", state = 'claimed' as "isClaimed"
    from updated order by next_at, seq`
}

/** A worker that stops gives back what it has not started. */
export async function releaseClaims({ db }: Storage, worker: string): Promise<void> {
  await db
    .update(messages)
    .set({ ...messageLease.given, state: 'pending' })
    .where(and(eq(messages.state, 'claimed'), isNotNull(messages.leaseUntil), eq(messages.worker, worker)))
}
