/** Against a forum that looks people up as Discourse does, over real sockets. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFakeForum, type FakeForum } from '../../../test/support/fake-forum.ts'
import { outbound, type Message } from '../outbound/guarded-post.ts'
import { checkForumKey, postToForum } from './discourse.ts'

let forum: FakeForum
let apiKey: string
beforeAll(async () => {
  forum = await startFakeForum()
  forum.addPerson('ada', 'usr_ada')
  forum.addPerson('admin')
  apiKey = forum.makeKey()
})
afterAll(() => forum.close())

const { post } = outbound({ allowNets: ['127.0.0.1'] })
const send = postToForum(post)
let made = 0
const topic = (over: Partial<Parameters<typeof send>[0]> = {}) => ({
  messageId: `msg_${made++}`,
  url: forum.url,
  apiKey,
  category: 7,
  userId: 'usr_ada',
  title: 'billing: a ticket was filed (tkt_1)',
  body: 'Reported by the platform.\n\nhttps://app.acme.test/console/x',
  ...over,
})
const countOf = (messageId: string) =>
  forum.topics.filter(({ externalId }) => externalId === `svc-${messageId}`).length

describe('a post', () => {
  test('stands in the forum in the acting person’s own name, once', async () => {
    const asked = topic()
    expect(await send(asked)).toEqual({ kind: 'sent', httpStatus: 200, responseWithheld: true })
    expect(forum.topics.at(-1)).toEqual({
      username: 'ada',
      title: asked.title,
      raw: asked.body,
      category: 7,
      externalId: `svc-${asked.messageId}`,
    })
  })

  /** contract, Events 9: never posted as an admin instead. */
  test('of somebody without an account fails, and so does one of somebody suspended', async () => {
    const before = forum.topics.length
    const NOBODY = { kind: 'refused', reason: 'no_forum_account', retry: false, httpStatus: 403 }
    expect(await send(topic({ userId: 'usr_unknown' }))).toMatchObject(NOBODY)
    forum.addPerson('eve', 'usr_eve')
    forum.suspend('eve')
    expect(await send(topic({ userId: 'usr_eve' }))).toMatchObject(NOBODY)
    expect(forum.topics.length).toBe(before)
  })

  test('with a key that is refused loses the integration, whoever it is for', async () => {
    const before = forum.topics.length
    for (const userId of ['usr_ada', 'usr_unknown']) {
      expect(await send(topic({ apiKey: 'revoked', userId }))).toMatchObject({
        kind: 'refused',
        reason: 'integration_lost',
        retry: false,
        httpStatus: 403,
      })
    }
    expect(forum.topics.length).toBe(before)
  })

  test('that is refused by a forum that then does not say whether the key works is tried again', async () => {
    let asked = 0
    const refusesOnce = postToForum(async () =>
      asked++ === 0
        ? { kind: 'answered', status: 403, retryAfterSeconds: undefined, text: '' }
        : { kind: 'answered', status: 503, retryAfterSeconds: undefined, text: '' },
    )
    expect(await refusesOnce(topic())).toMatchObject({ kind: 'refused', reason: 'refused', retry: true })
  })

  test('that the forum finds wanting is not tried again', async () => {
    expect(await send(topic({ title: 'short' }))).toMatchObject({
      reason: 'refused',
      retry: false,
      httpStatus: 422,
    })
  })

  test('is tried again when the forum asks to wait', async () => {
    forum.failNext({ status: 429, retryAfter: 12 })
    expect(await send(topic())).toMatchObject({ reason: 'rate_limited', retry: true, retryAfterSeconds: 12 })
  })

  test('that arrived before is the same post: it is sent, and stands there once', async () => {
    const asked = topic()
    expect([(await send(asked)).kind, (await send(asked)).kind]).toEqual(['sent', 'sent'])
    expect(countOf(asked.messageId)).toBe(1)
  })

  describe('whose answer was lost is looked up', () => {
    test.each([
      ['hang up after', undefined],
      ['error after', 502],
    ] as const)('%s: it stands there, so it is sent', async (how, httpStatus) => {
      const asked = topic()
      forum.failNext(how)
      expect(await send(asked)).toEqual({ kind: 'sent', httpStatus })
      expect(countOf(asked.messageId)).toBe(1)
    })

    test.each([
      ['hang up' as const, 'not_reached'],
      [{ status: 500 }, 'server_error'],
    ])('%j: it does not, so it is tried again', async (how, reason) => {
      const asked = topic()
      forum.failNext(how)
      expect(await send(asked)).toMatchObject({ kind: 'refused', reason, retry: true })
      expect(await send(asked)).toMatchObject({ kind: 'sent' })
      expect(countOf(asked.messageId)).toBe(1)
    })

    test('and where that fails too, nobody knows', async () => {
      const asked = topic()
      forum.failNext('hang up after')
      forum.breakLookup(true)
      expect(await send(asked)).toEqual({ kind: 'unknown', httpStatus: undefined })
      forum.breakLookup(false)
      expect((await send(asked)).kind).toBe('sent')
      expect(countOf(asked.messageId)).toBe(1)
    })
  })

  test('to a forum on a private network is not made', async () => {
    expect(await postToForum(outbound().post)(topic())).toMatchObject({
      reason: 'address_refused',
      retry: true,
    })
  })

  test('that nobody answers is tried again', async () => {
    expect(await send(topic({ url: 'http://127.0.0.1:2' }))).toMatchObject({
      reason: 'connection_refused',
      retry: true,
    })
  })

  /** Whoever moves the forum must not get the key of an admin by pointing elsewhere. */
  test('is never carried to another host', async () => {
    const asked: Message[] = []
    const redirected = postToForum(async (message) => {
      asked.push(message)
      return { kind: 'answered', status: 307, text: '', retryAfterSeconds: undefined }
    })
    expect(await redirected(topic())).toMatchObject({ kind: 'refused', reason: 'refused', retry: false })
    expect(asked.map(({ redirects }) => redirects)).toEqual([0])
  })
})

describe('connecting', () => {
  const check = checkForumKey(post)
  const judged = (key: string) => check({ url: forum.url, apiKey: key })

  test('takes a key for all users', async () => {
    expect(await judged(forum.makeKey())).toBe('all_users')
  })

  /** With it the forum ignores in whose name we post, and everything would be the admin's. */
  test('tells a key of a single user, be it an admin or the system', async () => {
    expect(await judged(forum.makeKey('admin'))).toBe('single_user')
    expect(await judged(forum.makeKey('system'))).toBe('single_user')
    expect(await judged(forum.makeKey('ada'))).toBe('single_user')
  })

  test('tells a key that is none, and a forum that is not there', async () => {
    expect(await judged('made-up')).toBe('refused')
    expect(await check({ url: 'http://127.0.0.1:2', apiKey })).toBe('not_reached')
    expect(await checkForumKey(outbound().post)({ url: forum.url, apiKey })).toBe('not_reached')
    // What it says while it has too much to do, or is being restarted, is nothing about the key.
    for (const status of [429, 503]) {
      const answered = { kind: 'answered', status, text: '', retryAfterSeconds: undefined } as const
      expect(await checkForumKey(async () => answered)({ url: forum.url, apiKey })).toBe('not_reached')
    }
  })

  test('makes nothing', async () => {
    const before = forum.topics.length
    await judged(forum.makeKey())
    expect(forum.topics.length).toBe(before)
  })
})
