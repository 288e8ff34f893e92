/** The signed webhook on the wire. */
import type { ChannelPort } from '../../cores/notifications/channels/channel-ports.ts'
import { outcomeOf, withoutAnswer } from './answer-outcomes.ts'
import type { GuardedPost } from './guarded-post.ts'

export const sendWebhook =
  (post: GuardedPost, userAgent: string): ChannelPort<'webhook'> =>
  async ({ url, headers, body, keptFor }) => {
    const posted = await post({
      url,
      headers: { 'content-type': 'application/json', 'user-agent': userAgent, ...headers },
      body,
      keptFor,
    })
    return posted.kind === 'answered' ? outcomeOf('webhook', posted) : withoutAnswer(posted)
  }
