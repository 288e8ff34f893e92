/** A line into a chat channel by its incoming webhook: Slack's, and those of Mattermost and Rocket.Chat, which copy it. */
import { readJson } from '../../contracts/read-json.ts'
import type { ChannelPort } from '../../cores/notifications/channels/channel-ports.ts'
import { outcomeOf, withoutAnswer, type Meaning } from '../outbound/answer-outcomes.ts'
import type { GuardedPost } from '../outbound/guarded-post.ts'

export const sendChatWebhook =
  (post: GuardedPost): ChannelPort<'chat'> =>
  async ({ orgId, url, text }) => {
    const posted = await post({
      orgId,
      url,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text }),
    })
    if (posted.kind !== 'answered') return withoutAnswer(posted)
    return outcomeOf('chat', posted, meaningOfWords(posted.status, posted.text ?? ''))
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

/**
 * By what it says before its status: the same words have come with several over the years. Undefined: by its status. An
 * error of the server stays unknown, whatever it says.
 */
function meaningOfWords(status: number, said: string): Meaning | undefined {
  if (status < 300 || status >= 500) return undefined
  const word = wordOf(said)
  if (LOST.includes(word)) return { reason: 'integration_lost', retry: false }
  if (REFUSED.includes(word)) return { reason: 'refused', retry: false }
  return undefined
}

/** Slack says a bare word, Mattermost an object with an id. */
function wordOf(said: string): string {
  const object = /^\s*\{/.test(said) ? readJson(said) : undefined
  const id = typeof object === 'object' && object !== null && 'id' in object ? object.id : said
  return String(id).trim().slice(0, 100)
}
