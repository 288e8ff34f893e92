/** The signed webhook on the wire. */
import type { ChannelPort } from '../../cores/notifications/channels/channel-ports.ts'
import { outcomeOf, withoutAnswer } from './answer-outcomes.ts'
import type { GuardedPost } from './guarded-post.ts'

export const sendWebhook =
  (post: GuardedPost, userAgent: string): ChannelPort<'webhook'> =>
  async ({ url, headers: signed, body, keptFor, orgId }) => {
    const headers = { 'content-type': 'application/json', 'user-agent': userAgent, ...signed }
    const posted = await post({ url, headers, body, keptFor, orgId })
    const outcome = posted.kind === 'answered' ? outcomeOf('webhook', posted) : withoutAnswer(posted)
    // For people who look into a failure: of what arrived they are constants, and of what never left there are none.
    const isTold = outcome.kind !== 'sent' && posted.kind !== 'not_sent'
    return isTold ? { ...outcome, requestHeaders: withoutSignatures(headers) } : outcome
  }

/** Whoever has a signature with its body can send it once more, for as long as the receiver takes its time stamp. */
const withoutSignatures = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      /signature$/i.test(name) ? `${value.slice(0, 'v1='.length)}…` : value,
    ]),
  )
