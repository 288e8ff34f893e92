/**
 * Attempts to send a message: what the outcome of one means for the message, and their write-ahead log. An attempt is
 * committed before its first byte leaves, its outcome when there is one. A message with an attempt without an outcome is
 * not sent again by itself, so nothing can arrive twice.
 */
import { sql } from '../../../../db/drizzle.ts'
import { CHANNELS, type Channel } from '../../../contracts/channels.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import type { Storage } from '../../dependencies.ts'
import type { Outcome } from '../channels/channel-ports.ts'
import type { MessageKey } from './claim-messages.ts'

export type Attempt = MessageKey & {
  readonly channel: Channel
  readonly integrationId: string | null
  readonly number: number
  readonly isRepeatable: boolean
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
}

export function attemptResult(
  attempt: Attempt,
  outcome: Outcome,
  { now, durationMs, jitter }: { now: Date; durationMs: number | null; jitter: number },
): AttemptResult {
  const { orgId, id, number, integrationId, channel } = attempt
  const common = { orgId, id, number, integrationId, durationMs, httpStatus: outcome.httpStatus ?? null }
  if (outcome.kind === 'sent') {
    return { ...common, outcome: 'sent', state: 'sent', reason: null, deliveryReason: null, nextAt: null }
  }
  const reason = outcome.kind === 'refused' ? outcome.reason : 'outcome_unknown'
  // A lost answer is not a refusal: no second message follows it, except where the receiver recognizes the repetition.
  const mayRetry = outcome.kind === 'refused' ? outcome.retry : attempt.isRepeatable
  const retryAfter = outcome.kind === 'refused' ? outcome.retryAfterSeconds : undefined
  const seconds = mayRetry ? secondsToNextAttempt(channel, number, jitter, retryAfter) : undefined
  const failed = { ...common, outcome: 'failed', reason } as const
  if (seconds !== undefined) {
    const nextAt = new Date(now.getTime() + seconds * 1000).toISOString()
    return { ...failed, state: 'pending', deliveryReason: reason, nextAt }
  }
  const deliveryReason = mayRetry && reason !== 'outcome_unknown' ? 'gave_up' : reason
  return { ...failed, state: 'failed', deliveryReason, nextAt: null }
}

export const isRepeatable = (channel: Channel, integrationAllows: boolean): boolean =>
  ({ never: false, always: true, if_integration_allows: integrationAllows })[CHANNELS[channel].repeatable]

/** Receivers that failed together must not all be retried in the same moment. */
const JITTER = 0.2
const RETRY_AFTER_MAX_SECONDS = 24 * 60 * 60

/** Undefined: that was the last attempt. `jitter` is from 0 to 1. */
export function secondsToNextAttempt(
  channel: Channel,
  attemptsMade: number,
  jitter: number,
  retryAfterSeconds = 0,
): number | undefined {
  const delay: number | undefined = CHANNELS[channel].retrySeconds[attemptsMade - 1]
  if (delay === undefined) return undefined
  const spread = delay * (1 - JITTER + 2 * JITTER * jitter)
  return Math.max(spread, Math.min(retryAfterSeconds, RETRY_AFTER_MAX_SECONDS))
}

/** A success is written to its integration at most so often: a busy webhook must not queue for one row. */
const SUCCESS_WRITE_INTERVAL = sql.raw(`interval '1 minute'`)

/**
 * Writes the results of some attempts and starts others, in one commit. Only what is returned may be sent: another worker
 * has the rest by now. A result counts only while its attempt is the message's last and has no outcome.
 */
export async function finishAndStartAttempts(
  { db, clock }: Storage,
  how: { readonly worker: string; readonly leaseSeconds: number },
  results: readonly AttemptResult[],
  starting: readonly MessageKey[],
): Promise<readonly (MessageKey & { readonly number: number })[]> {
  if (results.length === 0 && starting.length === 0) return []
  const at = sql`${clock().toISOString()}::timestamptz`
  return db.execute<MessageKey & { number: number }>(sql`
    with done as materialized (
      select * from json_to_recordset(${JSON.stringify(results)}::text::json) as d(
        "orgId" text, id text, number int, outcome text, state text, reason text, "deliveryReason" text,
        "httpStatus" int, "durationMs" int, "nextAt" timestamptz, "integrationId" text)
    ), ended as (
      update messages m set state = d.state, next_at = coalesce(d."nextAt", m.next_at), slot_at = null, worker = null,
        lease_until = null
      from done d
      where m.org_id = d."orgId" and m.id = d.id and m.state = 'sending' and m.attempts = d.number
      returning d.*
    ), written as (
      update attempts a set ended_at = ${at}, outcome = e.outcome, reason = e.reason, http_status = e."httpStatus",
        duration_ms = e."durationMs"
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
    ), started as (
      update messages m set state = 'sending', attempts = m.attempts + 1,
        lease_until = ${at} + make_interval(secs => ${String(how.leaseSeconds)}::double precision)
      from json_to_recordset(${JSON.stringify(starting)}::text::json) as n("orgId" text, id text)
      where m.org_id = n."orgId" and m.id = n.id and m.state = 'claimed' and m.worker = ${how.worker}
        and m.lease_until > ${at}
        -- The commit is on disk before the first byte is on the wire, whatever the server's own setting is.
        and (select set_config('synchronous_commit', 'on', true)) = 'on'
      returning m.org_id, m.id, m.attempts
    )
    insert into attempts (org_id, message_id, number, started_at)
    select org_id, id, attempts, ${at} from started
    returning org_id as "orgId", message_id as id, number`)
}
