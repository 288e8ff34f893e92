/**
 * Attempts to send a message: what the outcome of one means for the message, and their write-ahead log. An attempt is
 * committed before its first byte leaves, its outcome when there is one. A message with an attempt without an outcome is
 * not sent again by itself, so nothing can arrive twice.
 */
import { sql } from '../../../../db/drizzle.ts'
import { notify, notifyEach } from '../../../../db/listen.ts'
import { CHANNELS, type Channel } from '../../../contracts/channels.ts'
import { NOT_REACHED, type DeliveryReason } from '../../../contracts/deliveries.ts'
import { CIRCUIT, LANES } from '../../../contracts/limits.ts'
import type { Storage } from '../../dependencies.ts'
import { notAhead } from '../../work/index.ts'
import type { Outcome } from '../channels/channel-ports.ts'
import { messageLease, type MessageKey } from './claim-messages.ts'

export type Attempt = MessageKey & {
  readonly channel: Channel
  readonly integrationId: string | null
  readonly number: number
  readonly isRepeatable: boolean
  /** The message in whose POST it went along; null: in its own. */
  readonly carriedBy: string | null
}

export type AttemptResult = MessageKey & {
  readonly number: number
  readonly outcome: 'sent' | 'failed'
  /** Of the message. */
  readonly state: 'sent' | 'failed' | 'pending'
  /** Of the attempt. */
  readonly reason: DeliveryReason | null
  /** Of the delivery: why it did not arrive, or not yet. */
  readonly deliveryReason: DeliveryReason | null
  readonly httpStatus: number | null
  readonly durationMs: number | null
  readonly nextAt: string | null
  readonly integrationId: string | null
  /** Whether the target said anything at all; null: this attempt says nothing about it. */
  readonly answered: boolean | null
  /** The target asked to be left alone until then. */
  readonly heldUntil: string | null
  /** It broke a connection that was kept from an earlier message. */
  readonly brokeKeptSocket: boolean
  readonly carriedBy: string | null
  readonly goesAlone: boolean
  readonly response: string | null
  readonly responseWithheld: boolean
  readonly requestHeaders: Readonly<Record<string, string>> | null
}

type AttemptFacts = {
  readonly now: Date
  readonly durationMs: number | null
  readonly jitter: number
  /** Whether others were in the same POST. */
  readonly isShared: boolean
  readonly response: string | null
}

export function attemptResult(
  attempt: Attempt,
  outcome: Outcome,
  { now, durationMs, jitter, isShared, response }: AttemptFacts,
): AttemptResult {
  const { orgId, id, number, integrationId, channel, carriedBy } = attempt
  const common = {
    orgId,
    id,
    number,
    integrationId,
    durationMs,
    httpStatus: outcome.httpStatus ?? null,
    answered: wasAnswered(outcome),
    heldUntil: heldUntil(outcome, now),
    brokeKeptSocket: outcome.kind === 'unknown' && outcome.brokeKeptSocket === true,
    carriedBy,
    goesAlone: goesAlone(outcome, isShared, number),
    response,
    responseWithheld: outcome.responseWithheld === true,
    requestHeaders: outcome.requestHeaders ?? null,
  }
  if (outcome.kind === 'sent') {
    return { ...common, outcome: 'sent', state: 'sent', reason: null, deliveryReason: null, nextAt: null }
  }
  const reason = outcome.kind === 'refused' ? outcome.reason : 'outcome_unknown'
  // A lost answer is not a refusal: no second message follows it, except where the receiver recognizes the repetition.
  const mayRetry = outcome.kind === 'refused' ? outcome.retry : attempt.isRepeatable
  const seconds = mayRetry ? secondsToNextAttempt(channel, number, jitter) : undefined
  const failed = { ...common, outcome: 'failed', reason } as const
  if (seconds !== undefined) {
    const nextAt = new Date(now.getTime() + seconds * 1000).toISOString()
    return { ...failed, state: 'pending', deliveryReason: reason, nextAt }
  }
  const deliveryReason = mayRetry && reason !== 'outcome_unknown' ? 'gave_up' : reason
  return { ...failed, state: 'failed', deliveryReason, nextAt: null }
}

function wasAnswered(outcome: Outcome): boolean | null {
  if (outcome.kind === 'unknown') return outcome.httpStatus !== undefined
  if (outcome.kind === 'sent') return true
  // Nobody was asked.
  if (outcome.reason === 'address_refused') return null
  return !(NOT_REACHED as readonly DeliveryReason[]).includes(outcome.reason)
}

/**
 * Whether its next attempts are its own. Where the answer speaks of the content, one of those that were refused together
 * may be what the receiver cannot take; one that fails whatever it is sent takes them together when it works again. And
 * where an answer was lost, a receiver recognizes the repetition only by the same id over the same content.
 */
function goesAlone(outcome: Outcome, isShared: boolean, number: number): boolean {
  if (outcome.kind === 'unknown') return true
  if (outcome.kind === 'sent' || outcome.httpStatus === undefined) return false
  if (!isShared || HOLDING.includes(outcome.httpStatus)) return false
  return OF_CONTENT.includes(outcome.httpStatus) || number >= SHARED_ATTEMPTS_MAX
}

/** RFC 9110, 15.5.1, 15.5.14 and 15.5.21: it cannot be read, is too large, or is not what is expected. */
const OF_CONTENT = [400, 413, 422]
/** Hours later it may be one of them after all, which must not take the others with it. */
const SHARED_ATTEMPTS_MAX = 5

const RETRY_AFTER_MAX_SECONDS = 24 * 60 * 60
/** RFC 9110, 10.2.3 and RFC 6585, 4: the answers whose Retry-After speaks of the receiver, and not of one message. */
const HOLDING = [429, 503]

function heldUntil(outcome: Outcome, now: Date): string | null {
  if (outcome.kind !== 'refused' || !HOLDING.includes(outcome.httpStatus ?? 0)) return null
  const seconds = Math.min(outcome.retryAfterSeconds ?? 0, RETRY_AFTER_MAX_SECONDS)
  return seconds > 0 ? new Date(now.getTime() + seconds * 1000).toISOString() : null
}

export const isRepeatable = (channel: Channel, integrationAllows: boolean): boolean =>
  ({ never: false, always: true, if_integration_allows: integrationAllows })[CHANNELS[channel].repeatable]

/** Receivers that failed together must not all be retried in the same moment. */
const JITTER = 0.2

/** Undefined: that was the last attempt. `jitter` is from 0 to 1. */
export function secondsToNextAttempt(
  channel: Channel,
  attemptsMade: number,
  jitter: number,
): number | undefined {
  const delay: number | undefined = CHANNELS[channel].retrySeconds[attemptsMade - 1]
  if (delay === undefined) return undefined
  return delay * (1 - JITTER + 2 * JITTER * jitter)
}

/** A success is written to its integration at most so often: a busy webhook must not queue for one row. */
const SUCCESS_WRITE_INTERVAL = sql.raw(`interval '1 minute'`)

export type StartedAttempt = MessageKey & { readonly number: number; readonly carriedBy: string | null }
/** A target that answers again after a while of probes. */
export type RecoveredTarget = { readonly orgId: string; readonly target: string }
type FinishedAndStarted = {
  /** Those of the results that counted. */
  readonly ended: readonly AttemptResult[]
  readonly started: readonly StartedAttempt[]
  readonly recovered: readonly RecoveredTarget[]
}

const UNANSWERED_MAX = sql.raw(String(CIRCUIT.unanswered))
const PER_TARGET = sql.raw(String(LANES.perTarget))
/** Between two probes, by how many attempts in a row nobody answered. */
const PROBE_INTERVAL = sql.raw(`make_interval(secs => least(${CIRCUIT.probeMaxSeconds},
  ${CIRCUIT.probeSeconds} * power(2, least(unanswered_now - ${CIRCUIT.unanswered}, 30))))`)
/** When to look again at a message whose target had enough on its way after all. */
const LANE_WAIT = sql.raw(`interval '300 milliseconds'`)

/**
 * Writes the results of some attempts and starts others, in one commit. Only what is returned as started may be sent:
 * another worker has the rest by now, or its target has enough on its way, and then it is given back. A result counts only
 * of its own worker (or of whoever expires it) and while its attempt is the message's last and has no outcome. `starting` is by
 * POST: the messages of one start together and take one place at their target. Messages that end, and then targets, are locked in
 * one order: whoever ends the same attempts waits and finds them ended, and what is counted of a target holds for all workers.
 * Messages that start are changed under the lock of their target: locked before it, each start took half as long again.
 */
export async function finishAndStartAttempts(
  { db, clock }: Storage,
  how: { readonly worker: string | null; readonly leaseSeconds: number },
  results: readonly AttemptResult[],
  starting: readonly (readonly MessageKey[])[],
): Promise<FinishedAndStarted> {
  if (results.length === 0 && starting.length === 0) return { ended: [], started: [], recovered: [] }
  const at = notAhead(clock())
  const wanted = starting.flatMap((post, place) =>
    post.map(({ orgId, id }, nth) => ({ orgId, id, place, nth })),
  )
  // An attempt that a lost tail has forgotten is begun again by another, with the same number.
  const isOfWorker = how.worker === null ? sql`true` : sql`m.worker = ${how.worker}`
  const rows = await db.execute<
    StartedAttempt & { what: 'ended' | 'started' | 'recovered'; target: string | null }
  >(sql`
    with done as materialized (
      select * from json_to_recordset(${JSON.stringify(results)}::text::json) as d(
        "orgId" text, id text, number int, outcome text, state text, reason text, "deliveryReason" text,
        "httpStatus" int, "durationMs" int, "nextAt" timestamptz, "integrationId" text, answered boolean,
        "heldUntil" timestamptz, "brokeKeptSocket" boolean, "carriedBy" text, "goesAlone" boolean, response text,
        "responseWithheld" boolean, "requestHeaders" jsonb)
    ), held as materialized (
      select d.* from (select * from done order by "orgId", id) d cross join lateral (
        select from messages m
        where org_id = d."orgId" and m.id = d.id and m.state = 'sending' and m.attempts = d.number
          and ${isOfWorker} limit 1 for update
      ) m
    ), ended as (
      update messages m set state = d.state, next_at = coalesce(d."nextAt", m.next_at), slot_at = null, worker = null,
        lease_until = null, goes_alone = m.goes_alone or d."goesAlone"
      from held d
      where m.org_id = d."orgId" and m.id = d.id and m.state = 'sending' and m.attempts = d.number
        and ${isOfWorker}
      returning d.*, m.target
    ), written as (
      update attempts a set ended_at = ${at}, outcome = e.outcome, reason = e.reason, http_status = e."httpStatus",
        duration_ms = e."durationMs", response = e.response,
        response_withheld = nullif(e."responseWithheld", false), request_headers = e."requestHeaders"
      from ended e
      where a.org_id = e."orgId" and a.message_id = e.id and a.number = e.number
    ), delivered as (
      update deliveries v set
        state = case e.state when 'pending' then 'retrying' else e.state end,
        reason = e."deliveryReason",
        settled_at = case e.state when 'pending' then null else ${at} end
      from ended e
      where v.org_id = e."orgId" and v.message_id = e.id and v.state in ('waiting', 'retrying')
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
        then i.failing_since is not null or i.last_success_at is null or i.last_success_at < ${at} - ${SUCCESS_WRITE_INTERVAL}
        else i.failing_since is null end
    ), settled as materialized (
      select "orgId" as org_id, target, count(*) filter (where "carriedBy" is null) as freed,
        coalesce(bool_or(answered), false) as answered,
        count(*) filter (where not answered and "carriedBy" is null) as unanswered, max("heldUntil") as held_until,
        bool_or("brokeKeptSocket") as broke_kept_socket,
        avg("durationMs") filter (where answered and "carriedBy" is null) as answer_ms
      from ended group by 1, 2
    ), wanted as materialized (
      select m.org_id, m.id, m.target, n.place, n.nth,
        dense_rank() over (partition by m.org_id, m.target order by n.place) as rank
      from json_to_recordset(${JSON.stringify(wanted)}::text::json) as n("orgId" text, id text, place int, nth int)
      cross join lateral (
        select org_id, id, target from messages where org_id = n."orgId" and id = n.id and state = 'claimed' limit 1
      ) m
    ), touched as materialized (
      select org_id, target from settled union select org_id, target from wanted order by 1, 2
    ), locked as materialized (
      select t.* from touched cross join lateral (
        select * from message_targets where org_id = touched.org_id and target = touched.target limit 1 for update
      ) t
    ), counted as materialized (
      select l.org_id, l.target, greatest(0, l.in_flight - coalesce(s.freed, 0)) as in_flight, l.unanswered as unanswered_before,
        case when s.answered then 0 else l.unanswered + coalesce(s.unanswered, 0) end as unanswered_now,
        coalesce(s.unanswered, 0) as missed, l.probe_at, greatest(l.held_until, s.held_until) as held_until,
        l.keeps_sockets and not coalesce(s.broke_kept_socket, false) as keeps_sockets,
        -- Of its last few answers.
        coalesce((3 * l.answer_ms + s.answer_ms) / 4, s.answer_ms, l.answer_ms)::int as answer_ms
      from locked l left join settled s on s.org_id = l.org_id and s.target = l.target
    ), circuits as materialized (
      select c.*, case when unanswered_now < ${UNANSWERED_MAX} then null
          when missed > 0 then ${at} + ${PROBE_INTERVAL} else probe_at end as next_probe_at
      from counted c
    ), lanes as materialized (
      select c.*, greatest(held_until, next_probe_at) as blocked_until,
        case when greatest(held_until, next_probe_at) > ${at} then 0
          when unanswered_now >= ${UNANSWERED_MAX} then 1 - in_flight
          else ${PER_TARGET} - in_flight end as room
      from circuits c
    ), started as (
      update messages m set state = 'sending', attempts = m.attempts + 1,
        lease_until = ${messageLease.fromNow(how.leaseSeconds)}
      from wanted w join lanes l on l.org_id = w.org_id and l.target = w.target
      where m.org_id = w.org_id and m.id = w.id and m.state = 'claimed' and m.worker = ${how.worker}
        and ${messageLease.isLive('m')} and w.rank <= l.room
        -- The commit is on disk before the first byte is on the wire, whatever the server's own setting is.
        and (select set_config('synchronous_commit', 'on', true)) = 'on'
      returning m.org_id, m.id, m.target, m.attempts, w.place, w.nth
    ), given_back as (
      update messages m set state = 'pending', worker = null, lease_until = null,
        next_at = greatest(${at} + ${LANE_WAIT}, l.blocked_until)
      from wanted w join lanes l on l.org_id = w.org_id and l.target = w.target
      where m.org_id = w.org_id and m.id = w.id and m.state = 'claimed' and m.worker = ${how.worker}
        and ${messageLease.isLive('m')} and w.rank > l.room
    ), on_their_way as (
      select org_id, target, count(distinct place) as n from started group by 1, 2
    ), updated as (
      update message_targets t set in_flight = l.in_flight + coalesce(o.n, 0), unanswered = l.unanswered_now,
        probe_at = l.next_probe_at, held_until = l.held_until, keeps_sockets = l.keeps_sockets,
        answer_ms = l.answer_ms
      from lanes l left join on_their_way o on o.org_id = l.org_id and o.target = l.target
      where t.org_id = l.org_id and t.target = l.target
    ), logged as (
      insert into attempts (org_id, message_id, number, started_at, carried_by)
      select org_id, id, attempts, ${at}, nullif(first_value(id) over (partition by place order by nth), id) from started
      returning org_id, message_id, number, carried_by
    )
    select 'started' as what, org_id as "orgId", message_id as id, number, carried_by as "carriedBy", null as target
    from logged
    union all
    select 'ended', "orgId", id, number, null, null from ended
    union all
    select 'recovered', org_id, '', 0, null, target from lanes
    where unanswered_before >= ${UNANSWERED_MAX} and unanswered_now < ${UNANSWERED_MAX}`)
  // Not in the statement, which may wait for a standby, and not waited for: who waits for an attempt looks by itself, too.
  const concerned = rows.filter(({ what }) => what === 'ended').map(({ orgId }) => orgId)
  void notifyEach(db, 'attempts', concerned).catch(() => {})
  const counted = new Set(rows.flatMap(({ what, orgId, id }) => (what === 'ended' ? [`${orgId} ${id}`] : [])))
  return {
    ended: results.filter(({ orgId, id }) => counted.has(`${orgId} ${id}`)),
    started: rows.filter(({ what }) => what === 'started'),
    recovered: rows.flatMap(({ what, orgId, target }) =>
      what === 'recovered' ? [{ orgId, target: target! }] : [],
    ),
  }
}

/** In one statement, so that its locks are short. */
const WAKE_BATCH = 1_000

/**
 * What waited for a target that answers again is due now; by how it is paced it does not all go at once. What has a slot
 * already keeps it: due before it, it would go beside those of all others.
 */
export async function wakeTargets(
  { db, clock }: Storage,
  targets: readonly RecoveredTarget[],
): Promise<void> {
  const at = sql`${clock().toISOString()}::timestamptz`
  const longest = sql.raw(`interval '${CIRCUIT.probeMaxSeconds} seconds'`)
  for (const { orgId, target } of targets) {
    for (;;) {
      const [woken] = await db.execute<{ n: number }>(sql`
        with waiting as materialized (
          select id from messages
          where org_id = ${orgId} and target = ${target} and state = 'pending' and next_at > ${at}
            and next_at <= ${at} + ${longest} and (slot_at is null or slot_at <= ${at})
          order by ordering_key, seq limit ${sql.raw(String(WAKE_BATCH))} for update
        ), woken as (
          update messages m set next_at = ${at} from waiting w where m.org_id = ${orgId} and m.id = w.id returning m.id
        )
        select count(*)::int as n from woken`)
      if (woken!.n < WAKE_BATCH) break
    }
  }
  if (targets.length > 0) await notify(db, 'messages')
}
