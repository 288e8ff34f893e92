/** decisions, 11: notices about the service itself go through the same queue, ledger and unsubscribe as everything else. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { notifications, subscriptions } from '../../db/schema.ts'
import { createSender, expireLeases, shipAndFanOut } from '../../src/cores/notifications/index.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import {
  notificationHarness,
  type HarnessOrg,
  type NotificationHarness,
} from '../support/notification-harness.ts'

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
    harness.clock.advance(60)
    await harness.drain()
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
      harness.clock.advance(400)
    }
    expect([mailsTo(org.owner.email).length, mailsTo(admin.email).length]).toEqual([2, 1])
  },
)

test('a notice that fails itself says nothing more', async () => {
  await subscribed(org)
  harness.answer(() => ({ kind: 'refused', reason: 'refused', retry: false }))
  await harness.record(org, { type: 'deploy.failed' })
  for (let round = 0; round < 4; round++) {
    await harness.drain()
    harness.clock.advance(60)
  }
  expect(await noticesOf(org)).toMatchObject([{ type: 'org.delivery.gave_up', state: 'failed' }])
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
  harness.clock.advance(60)
  await expireLeases(harness.deps)
  await harness.drain()
  expect(await noticesOf(org)).toMatchObject([{ type: 'org.delivery.unconfirmed', state: 'sent' }])
})

/** Channels that never answer. */
const never = () =>
  Object.fromEntries(
    Object.keys(harness.deps.channels).map((name) => [name, () => new Promise<never>(() => {})]),
  ) as unknown as NotificationHarness['deps']['channels']
