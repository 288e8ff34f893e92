/** A line into a chat channel by its incoming webhook: Slack's, and those of Mattermost and Rocket.Chat, which copy it. */
import type { DeliveryReason } from '../../contracts/deliveries.ts'
import type { ChannelPort } from '../../cores/notifications/channels/channel-ports.ts'
import type { GuardedPost } from '../outbound/guarded-post.ts'
import { withoutAnswer } from '../outbound/send-webhook.ts'
import { parseJson } from './web-api.ts'

export const sendChatWebhook =
  (post: GuardedPost): ChannelPort<'chat'> =>
  async ({ url, text }) => {
    const posted = await post({
      url,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text }),
    })
    if (posted.kind !== 'answered') return withoutAnswer(posted)
    const { status: httpStatus, retryAfterSeconds } = posted
    if (httpStatus >= 200 && httpStatus < 300) return { kind: 'sent', httpStatus }
    return { kind: 'refused', httpStatus, retryAfterSeconds, ...refusalOf(httpStatus, posted.text ?? '') }
  }

/** The webhook, its channel or its workspace is gone: nothing will ever arrive there again. */
const LOST = [
  'invalid_token',
  'no_service',
  'no_service_id',
  'no_active_hooks',
  'no_team',
  'team_disabled',
  'channel_not_found',
  'channel_is_archived',
  // Mattermost: deleted, and switched off by its admin.
  'web.incoming_webhook.invalid.app_error',
  'web.incoming_webhook.disabled.app_error',
]

/** Refused for what it is: the same line would be refused again, the next one may not be. */
const REFUSED = [
  'invalid_payload',
  'no_text',
  'too_many_attachments',
  'user_not_found',
  'action_prohibited',
  'posting_to_general_channel_denied',
]

type Refusal = { readonly reason: DeliveryReason; readonly retry: boolean }

/** By what it says first: the same words have come with several statuses over the years. */
function refusalOf(status: number, said: string): Refusal {
  const word = wordOf(said)
  if (LOST.includes(word)) return { reason: 'integration_lost', retry: false }
  if (REFUSED.includes(word)) return { reason: 'refused', retry: false }
  if (status === 404 || status === 410) return { reason: 'integration_lost', retry: false }
  if (status === 429) return { reason: 'rate_limited', retry: true }
  if (status >= 500) return { reason: 'server_error', retry: true }
  return { reason: 'refused', retry: false }
}

/** Slack says a bare word, Mattermost an object with an id. */
function wordOf(said: string): string {
  const object = /^\s*\{/.test(said) ? parseJson(said) : undefined
  const id = typeof object === 'object' && object !== null && 'id' in object ? object.id : said
  return String(id).trim().slice(0, 100)
}
