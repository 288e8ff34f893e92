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
import { outcomeOf, withoutAnswer } from '../outbound/answer-outcomes.ts'
import type { GuardedPost, Posted } from '../outbound/guarded-post.ts'

type Forum = { readonly orgId?: string | undefined; readonly url: string; readonly apiKey: string }
/** In whose name a request is made; the header counts only if the key is one for all users. */
type As = { readonly 'Api-User-External-Id': string } | { readonly 'Api-Username': string }

export const postToForum =
  (post: GuardedPost): ChannelPort<'forum'> =>
  async ({ orgId, messageId, url, apiKey, category, userId, title, body }) => {
    const forum = { orgId, url, apiKey }
    const topicId = `svc-${messageId}`
    const posted = await createTopic(
      post,
      forum,
      { 'Api-User-External-Id': userId },
      { title, raw: body, category, external_id: topicId },
    )
    return outcomeOfTopic(posted, {
      isThere: () => isThere(post, forum, topicId),
      isKeyRefused: () => isKeyRefused(post, forum),
    })
  }

type Looks = {
  readonly isThere: () => Promise<boolean | undefined>
  readonly isKeyRefused: () => Promise<boolean | undefined>
}

async function outcomeOfTopic(posted: Posted, { isThere, isKeyRefused }: Looks): Promise<Outcome> {
  if (posted.kind === 'not_sent') return withoutAnswer(posted)
  /** Unless the topic stands there after all: an error page may stand in front of one that was made. */
  async function unlessThere(refused: Outcome): Promise<Outcome> {
    const found = await isThere()
    if (found === false) return refused
    const { httpStatus, response } = refused
    return { kind: found ? 'sent' : 'unknown', httpStatus, ...(response !== undefined && { response }) }
  }
  if (posted.kind === 'unknown') {
    return unlessThere({ kind: 'refused', reason: 'not_reached', retry: true })
  }
  const { status } = posted
  if (status === 401 || status === 403) {
    const isRefused = await isKeyRefused()
    // Neither is known: the next attempt looks again.
    if (isRefused === undefined) return outcomeOf('forum', posted, { reason: 'refused', retry: true })
    // Nobody there has this id, or they are suspended: failed rather than posted in an admin's name.
    return outcomeOf('forum', posted, isRefused ? undefined : { reason: 'no_forum_account', retry: false })
  }
  const outcome = outcomeOf('forum', posted)
  // 422 is also the word for an id that is taken, by an earlier attempt of this message; in the forum's own language.
  return status === 422 || status >= 500 ? unlessThere(outcome) : outcome
}

/** A redirect leads to the topic, 404 says that there is none; undefined: neither. */
async function isThere(
  post: GuardedPost,
  { orgId, url, apiKey }: Forum,
  topicId: string,
): Promise<boolean | undefined> {
  const found = await post({
    method: 'GET',
    orgId,
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
    // A key of one user's ignores in whose name it is asked, and would post everything as that user, an admin.
    const asNobody = await isLetIn(post, forum, { 'Api-User-External-Id': `svc-nobody-${randomUUID()}` })
    if (asNobody === undefined) return 'not_reached'
    if (asNobody) return 'single_user'
    const asSystem = await isLetIn(post, forum, { 'Api-Username': 'system' })
    if (asSystem === undefined) return 'not_reached'
    return asSystem ? 'all_users' : 'refused'
  }

/** Undefined: it did not say. */
async function isLetIn(post: GuardedPost, forum: Forum, as: As): Promise<boolean | undefined> {
  const posted = await createTopic(post, forum, as, {})
  if (posted.kind !== 'answered' || posted.status >= 500 || posted.status === 429) return undefined
  return posted.status === 400 || posted.status === 422
}

/** Whether the key itself is refused, or only whom it was to speak for. Undefined: it did not say. */
async function isKeyRefused(post: GuardedPost, forum: Forum): Promise<boolean | undefined> {
  const posted = await createTopic(post, forum, { 'Api-Username': 'system' }, {})
  if (posted.kind !== 'answered') return undefined
  if (posted.status === 401 || posted.status === 403) return true
  return posted.status === 400 || posted.status === 422 ? false : undefined
}

const createTopic = (
  post: GuardedPost,
  { orgId, url, apiKey }: Forum,
  as: As,
  topic: object,
): Promise<Posted> =>
  post({
    orgId,
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
