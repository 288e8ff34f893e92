/**
 * A post in a Discourse forum in somebody's own name. The forum knows people by our ids (DiscourseConnect) and topics by
 * the id of the message, so a message that may have arrived can be looked up, and sent again it is still one topic.
 */
import { randomUUID } from 'node:crypto'
import type {
  ChannelPort,
  IntegrationChecks,
  Outcome,
} from '../../cores/notifications/channels/channel-ports.ts'
import type { GuardedPost, Posted } from '../outbound/guarded-post.ts'
import { withoutAnswer } from '../outbound/send-webhook.ts'

type Forum = { readonly url: string; readonly apiKey: string }
/** In whose name a request is made; the header counts only if the key is one for all users. */
type As = { readonly 'Api-User-External-Id': string } | { readonly 'Api-Username': string }

export const postToForum =
  (post: GuardedPost): ChannelPort<'forum'> =>
  async ({ messageId, url, apiKey, category, userId, title, body }) => {
    const forum = { url, apiKey }
    const topicId = `svc-${messageId}`
    const posted = await createTopic(
      post,
      forum,
      { 'Api-User-External-Id': userId },
      { title, raw: body, category, external_id: topicId },
    )
    return outcomeOf(posted, () => isThere(post, forum, topicId))
  }

async function outcomeOf(posted: Posted, isThere: () => Promise<boolean | undefined>): Promise<Outcome> {
  if (posted.kind === 'not_sent') return withoutAnswer(posted)
  const httpStatus = posted.kind === 'answered' ? posted.status : undefined
  /** Unless the topic stands there after all. */
  async function unlessThere(refused: Outcome): Promise<Outcome> {
    const found = await isThere()
    return found ? { kind: 'sent', httpStatus } : found === false ? refused : { kind: 'unknown', httpStatus }
  }
  const refused = { kind: 'refused', reason: 'refused', retry: false, httpStatus } as const
  if (posted.kind === 'unknown') return unlessThere({ ...refused, reason: 'not_reached', retry: true })
  const { status, retryAfterSeconds } = posted
  if (status >= 200 && status < 300) return { kind: 'sent', httpStatus }
  // Nobody there has this id, or they are suspended: failed rather than posted in an admin's name.
  if (status === 403) return { ...refused, reason: 'no_forum_account' }
  // Also the word for an id that is taken, by an earlier attempt of this message; in the forum's own language.
  if (status === 422) return unlessThere(refused)
  if (status === 429) return { ...refused, reason: 'rate_limited', retry: true, retryAfterSeconds }
  // An error page may stand in front of a topic that was made.
  if (status >= 500)
    return unlessThere({ ...refused, reason: 'server_error', retry: true, retryAfterSeconds })
  return refused
}

/** A redirect leads to the topic, 404 says that there is none; undefined: neither. */
async function isThere(
  post: GuardedPost,
  { url, apiKey }: Forum,
  topicId: string,
): Promise<boolean | undefined> {
  const found = await post({
    method: 'GET',
    url: `${url}/t/external_id/${topicId}.json`,
    headers: headersFor(apiKey, { 'Api-Username': 'system' }),
    redirects: 0,
  })
  if (found.kind !== 'answered') return undefined
  return [200, 301, 302].includes(found.status) ? true : found.status === 404 ? false : undefined
}

/**
 * Sends an empty post to the route that creates topics: a key that may post gets 400 or 422 because the text is missing,
 * any other gets 403. So a key that may only create topics passes as well, and no topic is ever created.
 */
export const checkForumKey =
  (post: GuardedPost): IntegrationChecks['forumKey'] =>
  async (forum) => {
    const isLetIn = async (as: As): Promise<boolean | undefined> => {
      const posted = await createTopic(post, forum, as, {})
      if (posted.kind !== 'answered' || posted.status >= 500 || posted.status === 429) return undefined
      return posted.status === 400 || posted.status === 422
    }
    // A key of one user's ignores in whose name it is asked, and would post everything as that user, an admin.
    const asNobody = await isLetIn({ 'Api-User-External-Id': `svc-nobody-${randomUUID()}` })
    if (asNobody === undefined) return 'not_reached'
    if (asNobody) return 'single_user'
    const asSystem = await isLetIn({ 'Api-Username': 'system' })
    if (asSystem === undefined) return 'not_reached'
    return asSystem ? 'all_users' : 'refused'
  }

const createTopic = (post: GuardedPost, { url, apiKey }: Forum, as: As, topic: object): Promise<Posted> =>
  post({
    url: `${url}/posts.json`,
    headers: { ...headersFor(apiKey, as), 'content-type': 'application/json' },
    body: JSON.stringify(topic),
    // The key of an admin goes to no other host.
    redirects: 0,
  })

const headersFor = (apiKey: string, as: As): Record<string, string> => ({
  'Api-Key': apiKey,
  accept: 'application/json',
  ...as,
})
