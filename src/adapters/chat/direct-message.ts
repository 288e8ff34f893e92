/** A message to one person from the installed app. Not by the service's own library: it repeats what may have arrived. */
import type { ChannelPort } from '../../cores/notifications/channels/channel-ports.ts'
import { outcomeOf, withoutAnswer, type Meaning } from '../outbound/answer-outcomes.ts'
import type { Said, WebApi } from './web-api.ts'

export const sendDirectMessage =
  (call: WebApi): ChannelPort<'direct_message'> =>
  async ({ botToken, chatUserId, text }) => {
    const { posted, said } = await call({
      path: '/api/chat.postMessage',
      token: botToken,
      // A person's id opens the conversation with them. No previews: the chat service need not fetch our links.
      json: { channel: chatUserId, text, unfurl_links: false, unfurl_media: false },
    })
    if (posted.kind !== 'answered') return withoutAnswer(posted)
    return outcomeOf('direct_message', posted, said && meaningOfWords(posted.status, said))
  }

/** Of the app as a whole; `account_inactive` speaks of the bot and not of the person. */
const INSTALLATION = [
  'token_revoked',
  'token_expired',
  'invalid_auth',
  'not_authed',
  'account_inactive',
  'missing_scope',
  'not_allowed_token_type',
  'no_permission',
  'app_uninstalled',
  'org_login_required',
  'team_access_not_granted',
  'team_not_found',
]

const PERSON = [
  'user_disabled',
  'user_not_found',
  'user_not_visible',
  'channel_not_found',
  'messages_tab_disabled',
]

/** Their documentation: "it's possible some aspect of the operation succeeded before the error was raised". */
const MAYBE = ['fatal_error', 'internal_error', 'service_unavailable', 'request_timeout']

/** Undefined: by its status. An error page in front of the service does not know what happened behind it. */
function meaningOfWords(status: number, { ok, error }: Said): Meaning | undefined {
  if (status === 429 || status >= 500) return undefined
  if (ok) return 'sent'
  if (error === undefined) return undefined
  if (error === 'ratelimited' || error === 'rate_limited') return { reason: 'rate_limited', retry: true }
  if (MAYBE.includes(error)) return 'unknown'
  if (INSTALLATION.includes(error)) return { reason: 'integration_lost', retry: false }
  if (PERSON.includes(error)) return { reason: 'chat_account_inactive', retry: false }
  return { reason: 'refused', retry: false }
}
