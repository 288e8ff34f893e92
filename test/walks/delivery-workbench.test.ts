/** What the delivery workbench asks: how every integration is, what has not arrived, and what comes of a test there and then. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { attempts, deliveries, integrations, messages, subscriptions } from '../../db/schema.ts'
import {
  listDeliveries,
  listIntegrationHealth,
  replayDelivery,
  showDelivery,
  summarizeDeliveries,
} from '../../src/contracts/deliveries.ts'
import { connectWebhook, testIntegration, updateIntegration } from '../../src/contracts/integrations.ts'
import { FAIR_QUEUES } from '../../src/contracts/fair-queues.ts'
import { DELIVERY_TESTS_PER_ORGANIZATION, RESPONSE_EXCERPT } from '../../src/contracts/limits.ts'
import { createSubscription, testSubscription } from '../../src/contracts/subscriptions.ts'
import { localDirectory } from '../../src/cores/directory/index.ts'
import { sweepDeliveries, type ChannelPorts, type Outcome } from '../../src/cores/notifications/index.ts'
import { insertDelivery, type DeliveryRow } from '../support/deliveries.ts'
import { drainNotifications } from '../support/drain.ts'
import { fakeChecks } from '../support/fake-integrations.ts'
import { makeMember, makeOrganization, signedIn, unique, type Org, type Person } from '../support/make.ts'
import { statementsDuring } from '../support/statements.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let other: Org

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service' }, { checks: fakeChecks })
})
afterAll(() => system.stop())
beforeEach(async () => {
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
})

const connect = async (name: string, by: Person = org.owner) =>
  (await by.call(connectWebhook, { name, url: `https://hooks.test/${unique('secret')}` })).id
const healthOf = async (by: Person = org.owner) => (await by.call(listIntegrationHealth, {})).integrations
const delivered = (
  integrationId: string,
  row: DeliveryRow = {},
  tries?: Parameters<typeof insertDelivery>[3],
) => insertDelivery(system, org, { integrationId, ...row }, tries)
const REFUSED = [{ outcome: 'failed', reason: 'server_error', httpStatus: 500 } as const]
const day = (days: number) => new Date(system.clock.now().getTime() - days * 86_400_000)
const isoDay = (at: Date) => at.toISOString().slice(0, 10)

/** Everything that is due leaves, and is answered so. */
const drain = (answer: Outcome) => {
  const reply = async () => answer
  const channels: ChannelPorts = {
    webhook: reply,
    chat: reply,
    direct_message: reply,
    email: reply,
    forum: reply,
  }
  return drainNotifications({
    db: system.db,
    clock: () => system.clock.now(),
    channels,
    directory: localDirectory(() => system.clock.now()),
    dataKeys: system.system.gateway!.dataKeys,
    appUrl: new URL('https://app.example.test'),
    siteUrl: new URL('https://site.example.test'),
    log: { warn: () => {} },
  })
}

describe('health', () => {
  test('counts for each integration what arrived and what did not, and names its last failure', async () => {
    const [busy, broken, unused] = [await connect('Busy'), await connect('Broken'), await connect('Unused')]
    for (let n = 0; n < 19; n++) await delivered(busy)
    const failure = await delivered(
      broken,
      { state: 'retrying', reason: 'server_error', settledAt: null },
      REFUSED,
    )
    await delivered(broken, { state: 'dropped', reason: 'integration_off' })
    const health = new Map((await healthOf()).map((one) => [one.id, one]))
    expect(health.get(busy)).toMatchObject({
      name: 'Busy',
      kind: 'webhook',
      state: 'active',
      last_24_hours: { sent: 19, failed: 0, unconfirmed: 0, retrying: 0, not_sent: 0 },
      last_failure: null,
      next_attempt_at: null,
    })
    const none = { sent: 0, failed: 0, unconfirmed: 0, retrying: 0, not_sent: 0 }
    expect(health.get(broken)).toMatchObject({
      last_24_hours: { ...none, retrying: 1 },
      days: [{ sent: 0, missed: 1 }],
      last_failure: { delivery_id: failure.id, reason: 'server_error', http_status: 500 },
      next_attempt_at: expect.any(String),
    })
    expect(health.get(unused)).toMatchObject({ last_24_hours: none, days: [], last_failure: null })
  })

  test('has seven days by their day, and 24 hours across two of them', async () => {
    const id = await connect('Receiver')
    for (const days of [0, 0.9, 3, 6.5, 9]) await delivered(id, { createdAt: day(days) })
    const [one] = await healthOf()
    expect(one!.last_24_hours.sent).toBe(2)
    const within = [0, 0.9, 3, 6.5, 9].filter((days) => isoDay(day(days)) >= isoDay(day(6)))
    expect(one!.days.reduce((sum, { sent }) => sum + sent, 0)).toBe(within.length)
    expect(one!.days.map((each) => each.day)).toEqual(one!.days.map((each) => each.day).toSorted())
    const { integrations: recent } = await org.owner.call(listIntegrationHealth, { days: 2 })
    expect(recent[0]).toEqual({ ...one, days: one!.days.filter((each) => each.day >= isoDay(day(1))) })
  })

  test('members are apart: their mail is nobody’s integration', async () => {
    await insertDelivery(system, org, {
      userId: org.owner.userId,
      channel: 'email',
      state: 'failed',
      reason: 'refused',
    })
    const { members, integrations: all } = await org.owner.call(listIntegrationHealth, {})
    expect(all).toEqual([])
    expect(members.last_24_hours).toMatchObject({ sent: 0, failed: 1 })
  })

  test('is the admins’ own', async () => {
    const id = await connect('Receiver')
    await delivered(id)
    await connect('Theirs', other.owner)
    const developer = await makeMember(system, org, 'developer')
    await expect(developer.call(listIntegrationHealth, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(
      (await healthOf(other.owner)).map(({ name, last_24_hours }) => [name, last_24_hours.sent]),
    ).toEqual([['Theirs', 0]])
  })
})

describe('what has not arrived', () => {
  test('is counted whatever keeps it, and listed by one filter; what somebody chose is not', async () => {
    const id = await connect('Receiver')
    await delivered(id)
    const missed = [
      await delivered(id, { state: 'failed', reason: 'gave_up' }),
      await delivered(id, { state: 'failed', reason: 'outcome_unknown' }),
      await delivered(id, { state: 'retrying', reason: 'not_reached', settledAt: null }),
      await delivered(id, { state: 'dropped', reason: 'endpoint_dead' }),
    ]
    await delivered(id, { state: 'dropped', reason: 'subscription_off' })
    await delivered(id, { state: 'dropped', reason: 'matched_nobody', channel: null })
    const { last_24_hours } = await org.owner.call(summarizeDeliveries, {})
    expect(last_24_hours).toMatchObject({ sent: 1, failed: 1, unconfirmed: 1, retrying: 1, not_sent: 1 })
    // The same on request of the summary, which has read the rows anyway.
    const { health, ...summary } = await org.owner.call(summarizeDeliveries, { health: 'true' })
    expect(summary.last_24_hours).toEqual(last_24_hours)
    expect(summary.days).toEqual([expect.objectContaining({ sent: 1, failed: 2, dropped: 2, open: 1 })])
    expect(health).toEqual(await org.owner.call(listIntegrationHealth, {}))
    const listed = await org.owner.call(listDeliveries, { missed: 'true', count: 'true' })
    expect(listed.deliveries.map((one) => one.id)).toEqual(missed.map((one) => one.id).toReversed())
    expect((await other.owner.call(listDeliveries, { missed: 'true' })).deliveries).toEqual([])
  })

  test('a row says what the receiver answered last', async () => {
    const id = await connect('Receiver')
    await delivered(id, { state: 'failed', reason: 'gave_up' }, [
      { outcome: 'failed', reason: 'not_reached', httpStatus: null },
      { outcome: 'failed', reason: 'server_error', httpStatus: 503 },
    ])
    expect((await org.owner.call(listDeliveries, {})).deliveries[0]).toMatchObject({ http_status: 503 })
  })
})

describe('a test', () => {
  const sendTest = (integration_id: string, by: Person = org.owner) =>
    by.call(testIntegration, { integration_id })
  const shown = (delivery_id: string, more: { wait?: number; attempts?: number } = {}) =>
    org.owner.call(showDelivery, { delivery_id, ...more })

  test('goes to an integration without any subscription, once, and its result is there as soon as it is known', async () => {
    const id = await connect('Receiver')
    const { delivery_id, event_id } = await sendTest(id)
    expect(await shown(delivery_id)).toMatchObject({ state: 'waiting', type: 'svc.test', integration_id: id })
    const [one] = await Promise.all([
      shown(delivery_id, { wait: 10 }),
      drain({
        kind: 'refused',
        reason: 'server_error',
        retry: true,
        httpStatus: 500,
        response: 'Traceback: no such column',
        requestHeaders: { 'X-Svc-Signature': 'v1=…' },
      }),
    ])
    expect(one).toMatchObject({
      state: 'retrying',
      event_id,
      attempts_made: [
        {
          http_status: 500,
          response: 'Traceback: no such column',
          request_headers: { 'X-Svc-Signature': 'v1=…' },
        },
      ],
    })
    const rows = await system.db.select().from(deliveries).where(eq(deliveries.orgId, org.id))
    expect(rows).toHaveLength(1)
  })

  test('can be replayed like every other delivery', async () => {
    const { delivery_id } = await sendTest(await connect('Receiver'))
    await drain({ kind: 'sent', httpStatus: 200 })
    const { id } = await org.owner.call(replayDelivery, { delivery_id })
    await drain({ kind: 'sent', httpStatus: 204 })
    expect(await shown(id)).toMatchObject({ state: 'sent', http_status: 204, replay_of: delivery_id })
  })

  test('does not go to what was turned off, before it is asked for or after', async () => {
    const id = await connect('Receiver')
    const { delivery_id } = await sendTest(id)
    await org.owner.call(updateIntegration, { integration_id: id, enabled: false })
    await drain({ kind: 'sent', httpStatus: 200 })
    expect(await shown(delivery_id)).toMatchObject({ state: 'dropped', reason: 'integration_off' })
    await expect(sendTest(id)).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('of an email address needs a subscription, which its unsubscribe link can end', async () => {
    const id = await connect('Receiver')
    await system.db.update(integrations).set({ kind: 'email' }).where(eq(integrations.id, id))
    await expect(sendTest(id)).rejects.toMatchObject({ code: 'CONFLICT' })
    const { id: subscriptionId } = await org.owner.call(createSubscription, {
      integration_id: id,
      pattern: 'deploy.*',
    })
    const { delivery_id } = await sendTest(id)
    const [row] = await system.db.select().from(deliveries).where(eq(deliveries.id, delivery_id))
    expect(row).toMatchObject({ subscriptionId, channel: 'email' })
    await system.db.delete(subscriptions).where(eq(subscriptions.id, subscriptionId))
  })

  test('of an email address prefers a subscription without a digest, and has no timing of its own', async () => {
    const id = await connect('Receiver')
    await system.db.update(integrations).set({ kind: 'email' }).where(eq(integrations.id, id))
    const subscribe = async (pattern: string, timing: 'daily' | 'immediately') =>
      (await org.owner.call(createSubscription, { integration_id: id, pattern, timing })).id
    await subscribe('deploy.*', 'daily')
    const daily = await sendTest(id)
    expect((await shown(daily.delivery_id)).timing).toBe(null)
    const immediate = await subscribe('deploy.failed', 'immediately')
    const { delivery_id } = await sendTest(id)
    const [row] = await system.db.select().from(deliveries).where(eq(deliveries.id, delivery_id))
    expect(row).toMatchObject({ subscriptionId: immediate })
  })

  test('is sent so often an hour, counted for the organization and together with those of subscriptions', async () => {
    const id = await connect('Receiver')
    const subscription = await org.owner.call(createSubscription, { integration_id: id, pattern: 'deploy.*' })
    const testSubscribed = () => org.owner.call(testSubscription, { subscription_id: subscription.id })
    const { count } = DELIVERY_TESTS_PER_ORGANIZATION
    for (let n = 0; n < count / 2; n++) await Promise.all([sendTest(id), testSubscribed()])
    const refused = { code: 'RATE_LIMITED' }
    await expect(sendTest(id)).rejects.toMatchObject(refused)
    await expect(testSubscribed()).rejects.toMatchObject(refused)
    expect(await system.db.$count(deliveries, eq(deliveries.orgId, org.id))).toBe(count / 2)
    await sendTest(await connect('Theirs', other.owner), other.owner)
    system.clock.advance(DELIVERY_TESTS_PER_ORGANIZATION.seconds)
    await sendTest(id)
  })

  test('is the admins’ own, of their own organization', async () => {
    const id = await connect('Receiver')
    await expect(sendTest(id, other.owner)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const developer = await makeMember(system, org, 'developer')
    await expect(sendTest(id, developer)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await system.db.select().from(messages).where(eq(messages.orgId, org.id))).toEqual([])
    expect(await system.db.select().from(messages).where(eq(messages.orgId, other.id))).toEqual([])
  })

  test('is waited for no longer than asked, not at all once it is settled, and by so many at once', async () => {
    const id = await connect('Receiver')
    const { delivery_id } = await sendTest(id)
    const waits = Array.from({ length: FAIR_QUEUES.deliveryWaits.running.organization + 5 }, () =>
      shown(delivery_id, { wait: 3 }),
    )
    const isLook = (text: string) => text.includes('count("attempts"."ended_at")')
    const looks = (await statementsDuring(system.db, () => Promise.allSettled(waits))).filter(isLook)
    const ended = await Promise.allSettled(waits)
    // Before it waits, twice until it is sure to be told, and at the end. Behind a pooler nobody tells: every second.
    expect(looks.length).toBeLessThanOrEqual((inject('isPooled') ? 5 : 4) * waits.length)
    const refused = ended.filter(({ status }) => status === 'rejected')
    expect(refused).toHaveLength(5)
    expect(refused[0]).toMatchObject({ reason: { code: 'RATE_LIMITED' } })
    expect(ended.find(({ status }) => status === 'fulfilled')).toMatchObject({ value: { state: 'waiting' } })
    await drain({ kind: 'sent', httpStatus: 200 })
    const settled = await statementsDuring(system.db, async () => {
      expect(await shown(delivery_id, { wait: 20, attempts: 1 })).toMatchObject({ state: 'sent' })
    })
    expect(settled.filter(isLook)).toHaveLength(1)
    await expect(other.owner.call(showDelivery, { delivery_id, wait: 1 })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })
})

test('headers of a request are kept as long as its answer', async () => {
  const id = await connect('Receiver')
  const one = await delivered(id, {}, [{ response: 'ok', requestHeaders: { 'user-agent': 'svc/1' } }])
  const headers = async () => {
    const { call } = await signedIn(system, org.owner.email)
    const { attempts_made } = await call(showDelivery, { delivery_id: one.id })
    return attempts_made.map((made) => made.request_headers)
  }
  expect(await headers()).toEqual([{ 'user-agent': 'svc/1' }])
  system.clock.advance((RESPONSE_EXCERPT.days + 1) * 86_400)
  // Not shown, though nothing was swept yet; and then gone.
  expect(await headers()).toEqual([null])
  await sweepDeliveries({ db: system.db, clock: () => system.clock.now(), deliveryDays: 90 })
  const [row] = await system.db
    .select()
    .from(attempts)
    .where(and(eq(attempts.orgId, org.id), eq(attempts.messageId, one.messageId)))
  expect(row).toMatchObject({ response: null, requestHeaders: null })
})
