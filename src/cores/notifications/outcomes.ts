/** What an answer means for a message: done, again later, or over. Pure. */
import type { Channel, SendReason } from '../../contracts/deliveries.ts'
import type { Outcome } from './channel.ts'
import { secondsToNextAttempt } from './retry-schedule.ts'

export type Attempted = {
  readonly orgId: string
  readonly id: string
  readonly channel: Channel
  readonly integrationId: string | null
  readonly number: number
  /** The other side tells a repetition by itself: a forum by our id, a webhook whose owner says so. */
  readonly isRepeatable: boolean
}

export type Settled = {
  readonly orgId: string
  readonly id: string
  readonly number: number
  readonly outcome: 'sent' | 'failed'
  readonly state: 'sent' | 'failed' | 'pending'
  /** Of the attempt. */
  readonly reason: SendReason | null
  /** Of the delivery: why it is not there, or not yet. */
  readonly because: SendReason | null
  readonly httpStatus: number | null
  readonly durationMs: number | null
  readonly nextAt: string | null
  readonly integrationId: string | null
}

export function settle(
  attempted: Attempted,
  outcome: Outcome,
  { now, durationMs, luck }: { now: Date; durationMs: number | null; luck: number },
): Settled {
  const { orgId, id, number, integrationId, channel } = attempted
  const common = { orgId, id, number, integrationId, durationMs, httpStatus: outcome.httpStatus ?? null }
  if (outcome.kind === 'sent') {
    return { ...common, outcome: 'sent', state: 'sent', reason: null, because: null, nextAt: null }
  }
  const reason = outcome.kind === 'refused' ? outcome.reason : 'outcome_unknown'
  // A lost answer is not a refusal: it is never followed by a second message, except where a second is no second.
  const mayRepeat = outcome.kind === 'refused' ? outcome.retry : attempted.isRepeatable
  const seconds = mayRepeat
    ? secondsToNextAttempt(
        channel,
        number,
        luck,
        outcome.kind === 'refused' ? outcome.retryAfterSeconds : undefined,
      )
    : undefined
  const failed = { ...common, outcome: 'failed', reason } as const
  if (seconds !== undefined) {
    const nextAt = new Date(now.getTime() + seconds * 1000).toISOString()
    return { ...failed, state: 'pending', because: reason, nextAt }
  }
  const because = mayRepeat && reason !== 'outcome_unknown' ? 'gave_up' : reason
  return { ...failed, state: 'failed', because, nextAt: null }
}
