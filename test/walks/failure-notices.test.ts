/** decisions, 11: notices about the service itself go through the same queue, ledger and unsubscribe as everything else. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { emailSuppressions, integrations, notifications, subscriptions, users } from '../../db/schema.ts'
import {
  createSender,
  expireLeases,
  shipAndFanOut,
  type Outcome,
} from '../../src/cores/notifications/index.ts'
import {
  emailDigest,
  sealIntegrationSecret,
} from '../../src/cores/notifications/integrations/integration-secret.ts'
import { unsubscribe } from '../../src/cores/notifications/subscriptions/unsubscribe.ts'
import type { Principal } from '../../src/contracts/operation.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import {
  notificationHarness,
  type HarnessOrg,
  type NotificationHarness,
} from '../support/notification-harness.ts'

/** Whoever opens a link. */
const NOBODY: Principal = {
  kind: 'anonymous',
  userId: null,
  userName: 'anonymous',
  userEmail: null,
  orgId: null,
  organization: null,
  role: null,
  carriesAppRoles: false,
  scopes: null,
  audiences: [],
  expiresAt: null,
  sources: null,
  entryPoint: 'api',
  address: '127.0.0.1',
  requestId: 'req_1',
}

let database: TestDatabase
let harness: NotificationHarness
let org: HarnessOrg
let elsewhere: HarnessOrg

beforeAll(async () => {
  database = await newDatabase()
})
afterAll(() => database?.close())
beforeEach(async () => {
  harness = await notificationHarness(database)
  ;[org, elsewhere] = [await harness.organization(), await harness.organization()]
})

async function subscribed(one: HarnessOrg) {
  const { integrationId, url } = await harness.integration(one, 'webhook')
  await harness.subscription(one, integrationId, 'deploy.failed')
  return { integrationId, url }
}
const noticesOf = (one: HarnessOrg) => harness.noticesOf(one)
/** Notices go together, at the end of the hour. */
const hourLater = async () => {
  harness.clock.advance(60 * 60)
  await harness.drain()
}
const mailsTo = (address: string) => harness.sent.filter(({ by, to }) => by === 'email' && to === address)

test.each([
  ['org.delivery.gave_up', { kind: 'refused', reason: 'refused', retry: false, httpStatus: 400 }],
  ['org.delivery.unconfirmed', { kind: 'unknown' }],
] as const)(
  '%s: each owner and admin gets one mail a day for a destination, by a subscription of their own',
  async (type, outcome) => {
    const { url } = await subscribed(org)
    await subscribed(elsewhere)
    const admin = await harness.person(org, 'admin')
    const developer = await harness.person(org, 'developer')
    harness.answer(({ to }) => (to === url ? outcome : { kind: 'sent' }))
    for (let n = 0; n < 3; n++) {
      for (const one of [org, elsewhere]) await harness.record(one, { type: 'deploy.failed' })
      harness.clock.advance(60)
      await harness.drain()
    }
    await hourLater()
    const notices = await noticesOf(org)
    expect(new Set(notices.map((one) => [one.type, one.channel, one.state, one.userId].join(' ')))).toEqual(
      new Set([org.owner, admin].map(({ userId }) => `${type} email sent ${userId}`)),
    )
    expect(notices).toHaveLength(2)
    for (const { email } of [org.owner, admin]) expect(mailsTo(email)).toHaveLength(1)
    expect([mailsTo(developer.email), mailsTo(elsewhere.owner.email), await noticesOf(elsewhere)]).toEqual([
      [],
      [],
      [],
    ])
    const rows = await harness.db.select().from(notifications).where(eq(notifications.orgId, org.id))
    expect(rows.map((one) => one.type)).toEqual([type, type])
    // The next day it is said again; whoever unsubscribed hears nothing more.
    await harness.db
      .update(subscriptions)
      .set({ enabled: false, disabledReason: 'unsubscribed' })
      .where(and(eq(subscriptions.orgId, org.id), eq(subscriptions.userId, admin.userId)))
    harness.clock.advance(24 * 60 * 60)
    await harness.record(org, { type: 'deploy.failed' })
    for (let round = 0; round < 3; round++) {
      await harness.drain()
      await hourLater()
    }
    expect([mailsTo(org.owner.email).length, mailsTo(admin.email).length]).toEqual([2, 1])
  },
)

test('however many destinations failed, an admin has one message an hour, which names each', async () => {
  const failing = [await subscribed(org), await subscribed(org), await subscribed(org)]
  await subscribed(elsewhere)
  const ids = (await harness.db.select().from(integrations).where(eq(integrations.orgId, org.id))).map(
    ({ id }) => id,
  )
  for (const [n, id] of ids.entries())
    await harness.db
      .update(integrations)
      .set({ name: `Receiver ${n}` })
      .where(eq(integrations.id, id))
  harness.answer(({ to }) =>
    failing.some(({ url }) => url === to)
      ? { kind: 'refused', reason: 'refused', retry: false, httpStatus: 400 }
      : { kind: 'sent' },
  )
  for (const one of [org, elsewhere]) await harness.record(one, { type: 'deploy.failed' })
  await harness.drain()
  await hourLater()
  const mails = mailsTo(org.owner.email)
  expect([mails.length, mailsTo(elsewhere.owner.email).length]).toEqual([1, 0])
  for (const n of ids.keys()) expect(JSON.stringify(mails[0])).toContain(`Receiver ${n}`)
})

test('a destination that refused one delivery and may have got another is told of in both ways on one day', async () => {
  await subscribed(org)
  const outcomes = [{ kind: 'refused', reason: 'refused', retry: false }, { kind: 'unknown' }] as const
  for (const outcome of outcomes) {
    harness.answer(() => outcome)
    await recordOne()
    await harness.drain()
  }
  const notices = ['org.delivery.gave_up', 'org.delivery.unconfirmed']
  expect((await noticesOf(org)).map(({ type }) => type)).toEqual(notices)
})

test('an integration that stops is told in the same message of the hour, which one link ends', async () => {
  const failing = await subscribed(org)
  const gone = await subscribed(org)
  await subscribed(elsewhere)
  harness.answer(({ to }) => {
    if (to === gone.url) return { kind: 'refused', reason: 'endpoint_gone', retry: false, httpStatus: 410 }
    return to === failing.url
      ? { kind: 'refused', reason: 'refused', retry: false, httpStatus: 400 }
      : { kind: 'sent' }
  })
  for (const one of [org, elsewhere]) await harness.record(one, { type: 'deploy.failed' })
  await harness.drain()
  // At once nobody is told of anything.
  expect(mailsTo(org.owner.email)).toEqual([])
  await hourLater()
  const [mail, ...more] = mailsTo(org.owner.email)
  expect(more).toEqual([])
  expect(mail!.what).toContain('An integration stopped')
  expect(mail!.what).toContain('Deliveries to a destination were given up')
  // The link of that message ends both: neither comes back by itself, and nobody else's.
  const admin = await harness.person(org, 'admin')
  const [, token] = /unsubscribe\/([\w.~-]+)/.exec(mail!.what)!
  await unsubscribe(harness.deps)({ ...NOBODY, orgId: org.id }, { token: token! })
  const theirs = await harness.db.select().from(subscriptions).where(eq(subscriptions.orgId, org.id))
  const own = theirs.filter(({ userId }) => userId === org.owner.userId)
  expect(own.map(({ pattern, enabled }) => [pattern, enabled])).toEqual(
    expect.arrayContaining([
      ['org.integration.*', false],
      ['org.delivery.*', false],
    ]),
  )
  harness.clock.advance(24 * 60 * 60)
  await harness.record(org, { type: 'deploy.failed' })
  for (let round = 0; round < 2; round++) {
    await harness.drain()
    await hourLater()
  }
  expect([mailsTo(org.owner.email).length, mailsTo(admin.email).length]).toEqual([1, 1])
})

test('what somebody turned off within the hour is left out of the message, and the rest of it goes', async () => {
  const { url } = await subscribed(org)
  const gone = await subscribed(org)
  harness.answer(({ to }) => {
    if (to === gone.url) return { kind: 'refused', reason: 'endpoint_gone', retry: false, httpStatus: 410 }
    return to === url ? { kind: 'refused', reason: 'refused', retry: false } : { kind: 'sent' }
  })
  await harness.record(org, { type: 'deploy.failed' })
  await harness.drain()
  const own = and(eq(subscriptions.orgId, org.id), eq(subscriptions.userId, org.owner.userId))
  await harness.db
    .update(subscriptions)
    .set({ enabled: false })
    .where(and(own, eq(subscriptions.pattern, 'org.delivery.*')))
  await hourLater()
  const [mail, ...more] = mailsTo(org.owner.email)
  expect(more).toEqual([])
  expect(mail!.what).toContain('An integration stopped')
  expect(mail!.what).not.toContain('given up')
  expect(await noticesOf(org)).toMatchObject([{ state: 'dropped', reason: 'subscription_off' }])
})

test('a notice that fails itself says nothing more', async () => {
  await subscribed(org)
  harness.answer(() => ({ kind: 'refused', reason: 'refused', retry: false }))
  await harness.record(org, { type: 'deploy.failed' })
  for (let round = 0; round < 4; round++) {
    await harness.drain()
    await hourLater()
  }
  expect(await noticesOf(org)).toMatchObject([{ type: 'org.delivery.gave_up', state: 'failed' }])
})

test('nor does one that an integration stopped', async () => {
  for (const one of [org, elsewhere]) {
    await subscribed(one)
    await harness.record(one, { type: 'deploy.failed' })
  }
  harness.answer(({ by }) => {
    const reason = by === 'webhook' ? 'endpoint_gone' : 'refused'
    return { kind: 'refused', reason, retry: false }
  })
  await harness.drain()
  await hourLater()
  for (const one of [org, elsewhere]) {
    const about = await harness.deliveriesOf(one)
    expect(about.map(({ type, state, reason }) => [type, state, reason])).toContainEqual([
      'org.integration.stopped',
      'failed',
      'refused',
    ])
    expect(await noticesOf(one)).toEqual([])
  }
})

test('what a worker left behind when it died is told too', async () => {
  await subscribed(org)
  await harness.record(org, { type: 'deploy.failed' })
  const sender = createSender(
    { ...harness.deps, channels: never() },
    { worker: 'w1', attemptLeaseSeconds: 5 },
  )
  while (await shipAndFanOut(harness.deps));
  await sender.claim()
  await sender.flush()
  await harness.later(60)
  await expireLeases(harness.deps)
  await harness.drain()
  await hourLater()
  expect(await noticesOf(org)).toMatchObject([{ type: 'org.delivery.unconfirmed', state: 'sent' }])
})

test('an answer that comes while its lease is being ended is no unconfirmed one', async () => {
  await subscribed(org)
  await recordOne()
  const [sender, answer] = await startedAndHanging()
  await harness.later(60)
  const db = harness.deps.db
  // Whoever ends leases has found it, and has not ended it yet: the worker was slow, and not dead.
  let statements = 0
  const slow = new Proxy(db, {
    get: (of, name: keyof typeof db) =>
      name === 'execute'
        ? async (statement: Parameters<typeof db.execute>[0]) => {
            if (++statements === 2) {
              answer({ kind: 'sent', httpStatus: 200 })
              await sender.nextOutcome()
              await sender.flush()
            }
            return db.execute(statement)
          }
        : of[name],
  })
  await expireLeases({ ...harness.deps, db: slow })
  await harness.drain()
  expect(statements).toBeGreaterThanOrEqual(2)
  expect(await harness.deliveriesOf(org)).toMatchObject([{ state: 'sent' }])
  expect(await noticesOf(org)).toEqual([])
})

test('what failed is told also where the database did not answer the first time', async () => {
  await subscribed(org)
  await recordOne()
  const db = harness.deps.db
  let isDown = false
  const flaky = new Proxy(db, {
    get: (of, name: keyof typeof db) => {
      if (isDown) throw new Error('the database does not answer')
      return of[name]
    },
  })
  const [sender, answer] = await startedAndHanging({ ...harness.deps, db: flaky })
  answer({ kind: 'refused', reason: 'refused', retry: false, httpStatus: 404 })
  await sender.nextOutcome()
  await sender.flush()
  isDown = true
  await expect(sender.followUp()).rejects.toThrow('does not answer')
  isDown = false
  expect(await sender.followUp()).toBe(true)
  await harness.drain()
  await hourLater()
  expect(await noticesOf(org)).toMatchObject([{ type: 'org.delivery.gave_up', state: 'sent' }])
})

test('an answer of the address before stops nothing of the one that was entered meanwhile, and drops nothing', async () => {
  const { integrationId } = await subscribed(org)
  await recordOne()
  const [sender, answer] = await startedAndHanging()
  const url = 'https://webhook.test/entered-meanwhile'
  await harness.db
    .update(integrations)
    .set({
      sealed: sealIntegrationSecret(harness.deps.dataKeys, { orgId: org.id, id: integrationId }, { url }),
    })
    .where(eq(integrations.id, integrationId))
  await recordOne()
  while (await shipAndFanOut(harness.deps));
  answer({ kind: 'refused', reason: 'endpoint_gone', retry: false, httpStatus: 410 })
  await sender.nextOutcome()
  await sender.flush()
  await sender.followUp()
  expect((await harness.deliveriesOf(org)).map(({ state }) => state)).toEqual(['failed', 'waiting'])
  harness.answer(() => ({ kind: 'sent', httpStatus: 200 }))
  await harness.drain()
  expect(harness.received(url)).toHaveLength(1)
})

test('an integration is stopped once, however many messages its answer was for', async () => {
  const { integrationId } = await subscribed(org)
  for (let n = 0; n < 5; n++) await recordOne()
  while (await shipAndFanOut(harness.deps));
  harness.clock.advance(10)
  const db = harness.deps.db
  let transactions = 0
  const counting = new Proxy(db, {
    get: (of, name: keyof typeof db) => {
      if (name === 'transaction') transactions++
      return of[name]
    },
  })
  const [sender, answer] = await startedAndHanging({ ...harness.deps, db: counting })
  answer({ kind: 'refused', reason: 'endpoint_gone', retry: false, httpStatus: 410 })
  await sender.nextOutcome()
  await sender.flush()
  transactions = 0
  await sender.followUp()
  expect((await harness.deliveriesOf(org)).map(({ reason }) => reason)).toEqual(
    Array(5).fill('endpoint_gone'),
  )
  expect(transactions).toBe(1)
  const [row] = await harness.db.select().from(integrations).where(eq(integrations.id, integrationId))
  expect(row!.state).toBe('gone')
})

test('the mailbox that rejected a mail is suppressed, and not the one that its reader has by now', async () => {
  const { userId, email } = await harness.person(org, 'viewer')
  const moved = `moved-${email}`
  harness.answer(async ({ to }) => {
    if (to !== email) return { kind: 'sent' }
    await harness.db.update(users).set({ email: moved }).where(eq(users.id, userId))
    return { kind: 'refused', reason: 'address_suppressed', retry: false }
  })
  await harness.record(org, {
    type: 'support.ticket.replied',
    concernsId: userId,
    actorId: org.owner.userId,
  })
  await harness.drain()
  const digests = (await harness.db.select().from(emailSuppressions)).map((row) => row.emailDigest)
  const isSuppressed = (address: string) => digests.includes(emailDigest(harness.deps.dataKeys, address))
  expect([email, moved].map(isSuppressed)).toEqual([true, false])
})

test('a mailbox that is gone has confirmed nothing any more, whoever has the address next', async () => {
  const at = harness.clock.now()
  const proven = { verifiedAt: at, verificationHash: 'of the newest link', verificationExpiresAt: at }
  const [mine, theirs] = await Promise.all(
    [org, elsewhere].map(async (one) => {
      const { integrationId } = await harness.integration(one, 'email', { url: `mailto:desk@${one.id}.test` })
      await harness.db.update(integrations).set(proven).where(eq(integrations.id, integrationId))
      await harness.subscription(one, integrationId, 'deploy.failed')
      await harness.record(one, { type: 'deploy.failed' })
      return integrationId
    }),
  )
  harness.answer(({ to }) =>
    to.includes(org.id)
      ? { kind: 'refused', reason: 'address_suppressed', retry: false }
      : { kind: 'sent', httpStatus: 200 },
  )
  await harness.drain()
  const rowOf = async (id: string) =>
    (await harness.db.select().from(integrations).where(eq(integrations.id, id)))[0]
  expect(await rowOf(mine!)).toMatchObject({
    state: 'unverified',
    verifiedAt: null,
    verificationHash: null,
    verificationExpiresAt: null,
  })
  expect(await rowOf(theirs!)).toMatchObject({ state: 'active', ...proven })
})

const recordOne = () => harness.record(org, { type: 'deploy.failed' })

/** A worker with one message on its way, and how to answer it. */
async function startedAndHanging(deps = harness.deps) {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  harness.answer(({ by }) => (by === 'webhook' ? promise : { kind: 'sent' }))
  const sender = createSender(deps, { worker: 'w1', attemptLeaseSeconds: 5 })
  while (await shipAndFanOut(harness.deps));
  await sender.claim()
  await sender.flush()
  return [sender, resolve] as const
}

/** Channels that never answer. */
const never = () =>
  Object.fromEntries(
    Object.keys(harness.deps.channels).map((name) => [name, () => new Promise<never>(() => {})]),
  ) as unknown as NotificationHarness['deps']['channels']
