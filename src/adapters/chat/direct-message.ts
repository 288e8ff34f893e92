/** A message to one person from the installed app. Not by the service's own library: it repeats what may have arrived. */
import type { ChannelPort, Outcome } from '../../cores/notifications/channels/channel-ports.ts'
import { withoutAnswer } from '../outbound/send-webhook.ts'
import type { WebApi } from './web-api.ts'

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
    const { status: httpStatus, retryAfterSeconds } = posted
    if (said?.ok) return { kind: 'sent', httpStatus }
    return {
      ...outcomeOf(httpStatus, said?.error),
      httpStatus,
      ...(retryAfterSeconds && { retryAfterSeconds }),
    }
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

function outcomeOf(status: number, error: string | undefined): Outcome {
  const refused = { kind: 'refused', reason: 'refused', retry: false } as const
  if (status === 429 || error === 'ratelimited' || error === 'rate_limited') {
    return { ...refused, reason: 'rate_limited', retry: true }
  }
  // An error page in front of the service does not know what happened behind it, and half an answer says nothing.
  if (error === undefined) return status >= 400 && status < 500 ? refused : { kind: 'unknown' }
  if (MAYBE.includes(error)) return { kind: 'unknown' }
  if (INSTALLATION.includes(error)) return { ...refused, reason: 'integration_lost' }
  if (PERSON.includes(error)) return { ...refused, reason: 'chat_account_inactive' }
  return refused
}
