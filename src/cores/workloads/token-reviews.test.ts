import { expect, inject, test } from 'vitest'
import { ClusterForbidden, ClusterUnavailable } from '../../contracts/cluster-errors.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import { TOKEN_REVIEW_SECONDS, TOKEN_REVIEWS } from '../../contracts/limits.ts'
import type { ReviewStatus, ServiceAccount } from './cluster-port.ts'
import { createTokenReviews } from './token-reviews.ts'

const AUDIENCE = 'svc-control-plane'
const ACCEPTED: ReviewStatus = {
  authenticated: true,
  username: 'system:serviceaccount:shop:worker',
  uid: '2d61',
  groups: ['system:serviceaccounts:shop'],
  audiences: [AUDIENCE],
  extra: {},
}
const REFUSED: ReviewStatus = { ...ACCEPTED, authenticated: false }

/** A cluster that answers when it is told to, and a clock that stands still. */
function scene() {
  let now = 1_000_000
  const asked: { token: string; answer: (status: ReviewStatus) => void; fail: (error: Error) => void }[] = []
  const accounts: { answer: (account: ServiceAccount | undefined) => void; fail: (error: Error) => void }[] =
    []
  const logged: unknown[] = []
  let taken = 0
  const newcomers = {
    take: async () => void (taken += 1),
    giveBack: async () => void (taken -= 1),
  }
  const reviews = createTokenReviews({
    audience: AUDIENCE,
    clock: () => new Date(now),
    log: { error: (_event, fields) => logged.push(fields?.['reason']) },
    cluster: {
      address: 'https://cluster.test',
      reviewToken: (token) => new Promise((answer, fail) => asked.push({ token, answer, fail })),
      findServiceAccount: () => new Promise((answer, fail) => accounts.push({ answer, fail })),
    },
  })
  const about = (orgId = 'org_1') => ({ orgId, expiresAt: new Date(now + 3_600_000), newcomers })
  /** Until the cluster is asked about it: what it costs is counted first. */
  async function ask(token: string, orgId?: string) {
    const review = reviews.review(token, about(orgId))
    const ended = review.catch(() => undefined)
    await new Promise(setImmediate)
    return { review, ended, question: asked.at(-1)! }
  }
  async function answered(token: string, status: ReviewStatus, orgId?: string) {
    const { review, question } = await ask(token, orgId)
    question.answer(status)
    return review
  }
  return {
    reviews,
    asked,
    accounts,
    logged,
    about,
    ask,
    answered,
    taken: () => taken,
    advance: (seconds: number) => void (now += seconds * 1000),
  }
}

test('calls that come while it is asked wait for the same answer', async () => {
  const { reviews, asked, about } = scene()
  const calls = Array.from({ length: 20 }, () => reviews.review('token', about()))
  await new Promise(setImmediate)
  asked[0]!.answer(ACCEPTED)
  const answers = await Promise.all(calls)
  expect(asked).toHaveLength(1)
  expect(answers.filter(({ isFresh }) => isFresh)).toHaveLength(1)
  expect(new Set(answers.map(({ account }) => account?.uid))).toEqual(new Set(['2d61']))
})

test('a failure is remembered by nobody, and costs nothing', async () => {
  const { ask, answered, taken } = scene()
  const { review, question } = await ask('token')
  question.fail(new ClusterUnavailable('down'))
  await expect(review).rejects.toThrow(ClusterUnavailable)
  expect(taken()).toBe(0)
  expect((await answered('token', ACCEPTED)).account?.name).toBe('worker')
})

test('a token that has expired is refused without a question', async () => {
  const { reviews, asked, about, advance } = scene()
  const late = about()
  advance(3_600)
  expect(await reviews.review('token', late)).toEqual({ account: undefined, isFresh: false })
  expect(asked).toEqual([])
})

test('only what is refused costs something, and nothing that was accepted before', async () => {
  const { answered, taken, advance } = scene()
  await answered('good', ACCEPTED)
  expect(taken()).toBe(0)
  await answered('forged', REFUSED)
  expect(taken()).toBe(1)
  advance(TOKEN_REVIEW_SECONDS.accepted + 1)
  // Its pod is gone: once it was good, and from now on it is one of the others.
  await answered('good', REFUSED)
  expect(taken()).toBe(1)
  advance(TOKEN_REVIEW_SECONDS.refused + 1)
  await answered('good', REFUSED)
  expect(taken()).toBe(2)
})

test('who may not ask any more reaches no cluster', async () => {
  const { reviews, asked, about } = scene()
  const full = { take: () => Promise.reject(new Error('full')), giveBack: () => Promise.resolve() }
  await expect(reviews.review('forged', { ...about(), newcomers: full })).rejects.toThrow('full')
  expect(asked).toEqual([])
})

test('forged tokens at full limits keep waiting neither who was accepted before nor other organizations', async () => {
  const { ask, answered, asked, advance } = scene()
  await answered('good', ACCEPTED)
  advance(TOKEN_REVIEW_SECONDS.accepted + 1)
  const { organization: perOrganization, all: total } = FAIR_QUEUES.clusterNewcomers.running
  const forged = []
  for (let n = 0; n < perOrganization; n += 1) forged.push((await ask(`forged-${n}`)).ended)
  const { review: tooMany } = await ask('one more')
  await expect(tooMany).rejects.toMatchObject({ reason: 'too many questions are open' })
  expect((await answered('good', ACCEPTED)).account?.uid).toBe('2d61')
  expect((await answered('of another', ACCEPTED, 'org_2')).account?.uid).toBe('2d61')
  for (let n = perOrganization; n < total; n += 1)
    forged.push((await ask(`forged-${n}`, `org_${Math.floor(n / perOrganization) + 2}`)).ended)
  const { review: full } = await ask('of a third', 'org_99')
  await expect(full).rejects.toThrow(ClusterUnavailable)
  advance(TOKEN_REVIEW_SECONDS.accepted + 1)
  expect((await answered('good', ACCEPTED)).account?.uid).toBe('2d61')
  for (const { answer } of asked) answer(REFUSED)
  await Promise.all(forged)
  expect((await answered('next', ACCEPTED)).account?.uid).toBe('2d61')
})

test.runIf(inject('everyCase'))('many that were refused make no accepted one forgotten', async () => {
  const { answered, asked } = scene()
  await answered('good', ACCEPTED)
  for (let n = 0; n <= TOKEN_REVIEWS.remembered; n += 1) await answered(`forged-${n}`, REFUSED)
  const before = asked.length
  expect((await answered('good', ACCEPTED)).isFresh).toBe(false)
  expect(asked.length).toBe(before)
})

test('an organization reads a few accounts at once, which keeps no pod waiting', async () => {
  const { reviews, accounts, answered } = scene()
  const read = (orgId: string) => reviews.findServiceAccount(orgId, 'shop', 'worker')
  const open = Array.from({ length: FAIR_QUEUES.clusterAccounts.running.organization }, () => read('org_1'))
  await expect(read('org_1')).rejects.toThrow(ClusterUnavailable)
  expect((await answered('token', ACCEPTED)).account?.uid).toBe('2d61')
  const other = read('org_2')
  for (const { answer } of accounts) answer(undefined)
  expect(await other).toBeUndefined()
  await Promise.all(open)
})

test('what is wrong is logged once a minute for each reason, and known until it works again', async () => {
  const { reviews, ask, answered, logged, advance } = scene()
  const fail = async (error: Error) => {
    const { ended, question } = await ask('token')
    question.fail(error)
    await ended
  }
  await fail(new ClusterForbidden('no reviews'))
  const { problem } = reviews.status()
  advance(10)
  await fail(new ClusterForbidden('no reviews'))
  expect([logged, reviews.status().problem?.since]).toEqual([['no reviews'], problem?.since])
  for (const reason of ['slow', 'away', 'slow', 'away']) await fail(new ClusterUnavailable(reason))
  expect(logged).toEqual(['no reviews', 'slow', 'away'])
  advance(61)
  await fail(new ClusterForbidden('no reviews'))
  expect(logged).toEqual(['no reviews', 'slow', 'away', 'no reviews'])
  await answered('token', ACCEPTED)
  expect(reviews.status().problem).toBeNull()
})

test('that it may not read accounts stays known, although reviews are answered, and stops binding alone', async () => {
  const { reviews, accounts, answered } = scene()
  const read = reviews.findServiceAccount('org_1', 'shop', 'worker').catch(() => undefined)
  accounts[0]!.fail(new ClusterForbidden('no accounts'))
  await read
  await answered('token', ACCEPTED)
  expect(reviews.status().problem).toMatchObject({ reason: 'no accounts', stops: 'binding' })
})

test('that it did not answer once is over with the next answer, whatever was asked', async () => {
  const { reviews, accounts, answered } = scene()
  const read = reviews.findServiceAccount('org_1', 'shop', 'worker').catch(() => undefined)
  accounts[0]!.fail(new ClusterUnavailable('slow'))
  await read
  expect(reviews.status().problem).toMatchObject({ reason: 'slow', stops: 'workers' })
  await answered('token', ACCEPTED)
  expect(reviews.status().problem).toBeNull()
})

test('asks whether it may ask either, once a minute and only if nobody asked anything', async () => {
  const { reviews, asked, accounts, advance } = scene()
  reviews.checkPermission('shop')
  reviews.checkPermission('shop')
  expect([asked.length, accounts.length]).toEqual([1, 1])
  asked[0]!.fail(new ClusterForbidden('no reviews'))
  accounts[0]!.fail(new ClusterForbidden('no accounts'))
  await new Promise(setImmediate)
  expect(reviews.status().problem?.reason).toBe('no reviews')
  advance(61)
  reviews.checkPermission('shop')
  expect([asked.length, accounts.length]).toEqual([2, 2])
  asked[1]!.answer(REFUSED)
  await new Promise(setImmediate)
  expect(reviews.status().problem?.reason).toBe('no accounts')
})
