/** The signed webhook on the wire, and what its receiver's answer means. */
import type { ChannelPort, Outcome } from '../../cores/notifications/channels/channel-ports.ts'
import type { GuardedPost, Posted } from './guarded-post.ts'

export const sendWebhook =
  (post: GuardedPost, userAgent: string): ChannelPort<'webhook'> =>
  async ({ url, headers, body }) =>
    outcomeOf(
      await post({
        url,
        headers: { 'content-type': 'application/json', 'user-agent': userAgent, ...headers },
        body,
      }),
    )

function outcomeOf(posted: Posted): Outcome {
  if (posted.kind !== 'answered') return withoutAnswer(posted)
  const { status: httpStatus, retryAfterSeconds } = posted
  if (httpStatus >= 200 && httpStatus < 300) return { kind: 'sent', httpStatus }
  const refused = { kind: 'refused', httpStatus, retry: true, retryAfterSeconds } as const
  // Standard Webhooks: 410 says "never again"; everything else may be a bad day.
  if (httpStatus === 410) return { ...refused, reason: 'endpoint_gone', retry: false }
  if (httpStatus === 429) return { ...refused, reason: 'rate_limited' }
  return { ...refused, reason: httpStatus >= 500 ? 'server_error' : 'refused' }
}

/** For every channel alike: what never left may be tried again, what may have arrived may not. */
export function withoutAnswer(posted: Exclude<Posted, { kind: 'answered' }>): Outcome {
  if (posted.kind === 'unknown') return { kind: 'unknown' }
  return {
    kind: 'refused',
    // A name that leads inside today may lead outside again tomorrow.
    reason: posted.because === 'address' ? 'address_refused' : 'not_reached',
    retry: true,
  }
}
