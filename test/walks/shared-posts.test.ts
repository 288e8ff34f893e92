/** decisions, 11: "A POST carries at most 100 objects; after an outage waiting ones go together." And long digests. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { messageTargets, subscriptions } from '../../db/schema.ts'
import { CHANNELS } from '../../src/contracts/channels.ts'
import {
  createSender,
  expireLeases,
  shipAndFanOut,
  type Outcome,
} from '../../src/cores/notifications/index.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import {
  notificationHarness,
  type HarnessOrg,
  type NotificationHarness,
} from '../support/notification-harness.ts'

let database: TestDatabase
let harness: NotificationHarness
let org: HarnessOrg
let other: HarnessOrg

beforeAll(async () => {
  database = await newDatabase()
})
afterAll(() => database?.close())
beforeEach(async () => {
  await database.sql.query(`delete from messages`)
  harness = await notificationHarness(database)
  ;[org, other] = [await harness.organization(), await harness.organization()]
})

const SENT: Outcome = { kind: 'sent', httpStatus: 200 }
const fanOut = async () => {
  while (await shipAndFanOut(harness.deps));
}

async function hook(where: HarnessOrg, timing: 'immediately' | 'hourly' = 'immediately', config = {}) {
  const { integrationId, url } = await harness.integration(where, 'webhook', { config })
  const subscriptionId = await harness.subscription(where, integrationId, 'deploy.*', timing)
  return { integrationId, url, subscriptionId }
}

/** Events of so many subjects, in turn; each says which it is. */
async function happen(where: HarnessOrg, count: number, subjects = count) {
  await database.sql.query(`
    insert into outbox (org_id, id, source, dedup_key, type, subject, data, occurred_at)
    select '${where.id}', 'evt_' || gen_random_uuid(), 'test', gen_random_uuid()::text, 'deploy.failed',
      'things/' || (n % ${subjects}), json_build_object('deployment_id', n::text, 'code', 'BUILD_FAILED'), now()
    from generate_series(1, ${count}) n`)
  await fanOut()
}

/** What has waited so long goes together. */
const wait = () => harness.clock.advance(10)

async function drainFully(rounds = 8) {
  for (let n = 0; n < rounds; n++) {
    await harness.drain()
    harness.clock.advance(1)
  }
}

type Thing = { id: string; subject: string; data: { deployment_id: string; event_id: string } }
const postsTo = (url: string) =>
  harness.sent.filter(({ to }) => to === url).map(({ what }) => JSON.parse(what) as Thing[])
const objectsTo = (url: string) => postsTo(url).flat()
const numbersOf = (things: readonly Thing[]) => things.map(({ data }) => Number(data.deployment_id))
const outcomesOf = async (where = org) =>
  (await harness.deliveriesOf(where)).map(({ state, reason }) => reason ?? state)
const targetOf = async (where: HarnessOrg, target: string) =>
  (
    await harness.db
      .select()
      .from(messageTargets)
      .where(and(eq(messageTargets.orgId, where.id), eq(messageTargets.target, target)))
  )[0]!

/** By several workers at once: never twice, never lost, each with a row of its own. */
test('what waited for a target goes together, a hundred at most, in order within each subject', async () => {
  const [mine, theirs] = [await hook(org), await hook(other)]
  await happen(org, 250, 40)
  await happen(other, 3, 1)
  wait()
  for (let n = 0; n < 6; n++) {
    await Promise.all([harness.drain(), harness.drain()])
    harness.clock.advance(1)
  }
  const sizes = postsTo(mine.url).map((post) => post.length)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(100)
  expect(Math.max(...sizes)).toBeGreaterThan(20)
  expect(sizes.length).toBeLessThan(12)
  const things = objectsTo(mine.url)
  expect([things.length, new Set(things.map(({ id }) => id)).size]).toEqual([250, 250])
  for (const [, ofSubject] of Map.groupBy(things, ({ subject }) => subject)) {
    const numbers = numbersOf(ofSubject)
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  }
  const rows = await harness.deliveriesOf(org)
  expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['sent']))
  // Each has its own message and its own attempt; those that went along say with which.
  expect(new Set(rows.map(({ messageId }) => messageId)).size).toBe(250)
  const attempts = await Promise.all(rows.map(({ messageId }) => harness.attemptsOf(org, messageId!)))
  expect(attempts.every((made) => made.length === 1 && made[0]!.httpStatus === 200)).toBe(true)
  expect(attempts.filter(([made]) => made!.carriedBy === null)).toHaveLength(sizes.length)
  expect(await targetOf(org, mine.integrationId)).toMatchObject({ inFlight: 0 })
  // Nothing of one organization is in a POST of another.
  expect(postsTo(theirs.url)).toHaveLength(1)
  expect(objectsTo(theirs.url)).toHaveLength(3)
})

test('what just happened goes by itself, and a post takes one place at its target and one of its slots', async () => {
  const { url, integrationId } = await hook(org)
  await happen(org, 3)
  await harness.drain()
  expect(postsTo(url).map((post) => post.length)).toEqual([1, 1, 1])
  await happen(org, 200)
  wait()
  const hanging = Promise.withResolvers<Outcome>()
  harness.answer(() => hanging.promise)
  const sender = createSender(harness.deps, { worker: 'w' })
  await sender.claim()
  await sender.flush()
  const sizes = () =>
    postsTo(url)
      .slice(3)
      .map((post) => post.length)
  // As many as are claimed at once.
  await expect.poll(sizes).toEqual([100, 28])
  expect(await targetOf(org, integrationId)).toMatchObject({ inFlight: 2 })
  hanging.resolve(SENT)
  while (sender.hasInFlight()) {
    await sender.nextOutcome()
    await sender.flush()
  }
  expect(await targetOf(org, integrationId)).toMatchObject({ inFlight: 0 })
  harness.answer(() => SENT)
  await drainFully()
  expect(new Set(objectsTo(url).map(({ id }) => id)).size).toBe(203)
})

test('one that the receiver cannot take fails alone: those refused with it go by themselves', async () => {
  const { url } = await hook(org)
  await happen(org, 12)
  wait()
  const refused: Outcome = { kind: 'refused', reason: 'server_error', retry: true, httpStatus: 422 }
  harness.answer(({ what }) => (what.includes('"deployment_id":"7"') ? refused : SENT))
  await harness.drain()
  expect(postsTo(url)).toHaveLength(1)
  for (let n = 0; n < 6; n++) {
    harness.clock.advance(5)
    await harness.drain()
  }
  expect(
    Object.entries(Object.groupBy(await outcomesOf(), (one) => one)).map(([k, v]) => [k, v?.length]),
  ).toEqual(
    expect.arrayContaining([
      ['sent', 11],
      ['server_error', 1],
    ]),
  )
})

test('what waits behind a failed one of its subject is not in a POST before it', async () => {
  const { url } = await hook(org)
  await happen(org, 1, 1)
  harness.answer(() => ({ kind: 'refused', reason: 'server_error', retry: true, httpStatus: 500 }))
  await harness.drain()
  harness.answer(() => SENT)
  await happen(org, 6, 1)
  await harness.drain()
  expect(postsTo(url)).toHaveLength(1)
  harness.clock.advance(7)
  await drainFully(3)
  expect(postsTo(url).map((post) => post.length)).toEqual([1, 7])
})

test('a lost answer leaves all of them unconfirmed, and none is sent again; repeatable ones go alone', async () => {
  const [once, again] = [await hook(org), await hook(org, 'immediately', { resend_on_unknown: true })]
  await happen(org, 4)
  wait()
  harness.answer(() => ({ kind: 'unknown' }))
  await harness.drain()
  harness.answer(() => SENT)
  harness.clock.advance(60)
  await drainFully()
  expect(postsTo(once.url).map((post) => post.length)).toEqual([4])
  expect(postsTo(again.url).map((post) => post.length)).toEqual([4, 1, 1, 1, 1])
  const rows = await harness.deliveriesOf(org)
  const reasonsOf = (integrationId: string) =>
    new Set(
      rows.filter((row) => row.integrationId === integrationId).map(({ reason, state }) => reason ?? state),
    )
  expect(reasonsOf(once.integrationId)).toEqual(new Set(['outcome_unknown']))
  expect(reasonsOf(again.integrationId)).toEqual(new Set(['sent']))
})

test('a target that did not answer the last time gets one message at a time', async () => {
  const { url } = await hook(org)
  await happen(org, 1)
  harness.answer(() => ({ kind: 'unknown' }))
  await harness.drain()
  await happen(org, 9)
  wait()
  await harness.drain()
  expect(postsTo(url).map((post) => post.length)).toEqual(Array(postsTo(url).length).fill(1))
})

test('a worker that dies with a POST on its way leaves its place free and every one of them unconfirmed', async () => {
  const { url, integrationId } = await hook(org)
  await happen(org, 5)
  wait()
  const late = Promise.withResolvers<Outcome>()
  harness.answer(() => late.promise)
  const dying = createSender(harness.deps, { worker: 'dying' })
  await dying.claim()
  await dying.flush()
  await expect.poll(() => postsTo(url)).toHaveLength(1)
  expect(await targetOf(org, integrationId)).toMatchObject({ inFlight: 1 })
  await harness.later(10 * 60)
  await expireLeases(harness.deps)
  expect(await targetOf(org, integrationId)).toMatchObject({ inFlight: 0 })
  // Its answer after all: it was settled, and stays so.
  late.resolve(SENT)
  await dying.nextOutcome()
  await dying.flush()
  expect(await outcomesOf()).toEqual(Array(5).fill('outcome_unknown'))
  expect(await targetOf(org, integrationId)).toMatchObject({ inFlight: 0 })
  harness.answer(() => SENT)
  await drainFully()
  expect(postsTo(url)).toHaveLength(1)
})

test('a subscription that was paused meanwhile drops its own and holds up no other', async () => {
  const { url, integrationId, subscriptionId } = await hook(org)
  await harness.subscription(org, integrationId, 'deploy.failed')
  await happen(org, 3)
  await harness.db.update(subscriptions).set({ enabled: false }).where(eq(subscriptions.id, subscriptionId))
  wait()
  await drainFully(3)
  const rows = await harness.deliveriesOf(org)
  const [paused, on] = [
    rows.filter((row) => row.subscriptionId === subscriptionId),
    rows.filter((row) => row.subscriptionId !== subscriptionId),
  ]
  expect(paused.every(({ reason }) => reason === 'subscription_off')).toBe(true)
  expect(on.every(({ state }) => state === 'sent')).toBe(true)
  expect(
    objectsTo(url)
      .map(({ data }) => data.event_id)
      .toSorted(),
  ).toEqual(on.map(({ eventId }) => eventId).toSorted())
})

describe('a digest that is longer than a message', () => {
  test('goes as several webhooks, in order, with every delivery in one of them', async () => {
    const { url } = await hook(org, 'hourly')
    const theirs = await hook(other, 'hourly')
    await happen(org, 230, 7)
    await happen(other, 2)
    harness.clock.advance(60 * 60)
    await Promise.all([harness.drain(), harness.drain()])
    await drainFully(4)
    expect(postsTo(url).map((post) => post.length)).toEqual([100, 100, 30])
    const numbers = numbersOf(objectsTo(url))
    expect(numbers).toEqual(Array.from({ length: 230 }, (_, n) => n + 1))
    const rows = await harness.deliveriesOf(org)
    expect(rows.every(({ state }) => state === 'sent')).toBe(true)
    expect(new Set(rows.map(({ messageId }) => messageId)).size).toBe(3)
    expect(postsTo(theirs.url).map((post) => post.length)).toEqual([2])
  })

  test('whose first part is refused keeps the others back, and is not split again', async () => {
    const { url } = await hook(org, 'hourly')
    await happen(org, 150)
    harness.clock.advance(60 * 60)
    harness.answer(() => ({ kind: 'refused', reason: 'server_error', retry: true, httpStatus: 503 }))
    await drainFully(2)
    expect(postsTo(url).map((post) => post.length)).toEqual([100])
    harness.answer(() => SENT)
    harness.clock.advance(10)
    await drainFully(3)
    expect(postsTo(url).map((post) => post.length)).toEqual([100, 100, 50])
    expect(numbersOf(objectsTo(url)).slice(100)).toEqual(Array.from({ length: 150 }, (_, n) => n + 1))
  })

  test('is split before it is sent, also where the worker that claimed it died', async () => {
    const { url } = await hook(org, 'hourly')
    await happen(org, 120)
    harness.clock.advance(60 * 60)
    const dying = createSender(harness.deps, { worker: 'dying' })
    await dying.claim()
    await harness.later(10 * 60)
    await drainFully(3)
    expect(postsTo(url).map((post) => post.length)).toEqual([100, 20])
    expect(new Set(objectsTo(url).map(({ id }) => id)).size).toBe(120)
  })

  test('every channel says how much it carries', () => {
    expect(Object.entries(CHANNELS).map(([channel, { itemsMax }]) => [channel, itemsMax])).toEqual([
      ['email', 20],
      ['chat', 20],
      ['direct_message', 20],
      ['webhook', 100],
      ['forum', 1],
    ])
  })
})

test('of an answer the beginning is kept with every attempt: as plain text, and without what the receiver was reached with', async () => {
  const { url } = await hook(org)
  await happen(org, 2)
  wait()
  const path = new URL(url).pathname
  const response = `\u0000<b>no</b>\r\nyou sent POST ${path} with token=abc\u202e ${'word '.repeat(400)}`
  harness.answer(() => ({ kind: 'refused', reason: 'server_error', retry: true, httpStatus: 500, response }))
  await harness.drain()
  const kept = await Promise.all(
    (await harness.deliveriesOf(org)).map(
      async ({ messageId }) => (await harness.attemptsOf(org, messageId!))[0]!,
    ),
  )
  expect(kept).toHaveLength(2)
  for (const made of kept) {
    expect(made.response).toMatch(/^<b>no<\/b>\nyou sent POST \[hidden\] with token=\[hidden\] word word/)
    expect(Buffer.byteLength(made.response!)).toBeLessThanOrEqual(1024)
    expect(Buffer.byteLength(made.response!)).toBeGreaterThan(1000)
    expect(made.response).not.toContain(path)
  }
})
