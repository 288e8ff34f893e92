/** The delivery ledger: every message with its attempts, for admins of its organization; and sending again. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, eq, isNotNull } from '../../db/drizzle.ts'
import {
  apps,
  deliveries,
  deliveryCounts,
  events,
  integrations,
  messages,
  subscriptions,
} from '../../db/schema.ts'
import {
  listDeliveries,
  replayDelivery,
  replayFailedDeliveries,
  showDelivery,
  summarizeDeliveries,
} from '../../src/contracts/deliveries.ts'
import { makeId } from '../../src/contracts/ids.ts'
import {
  foldDeliveryCounts,
  sweepDeliveryCounts,
} from '../../src/cores/notifications/delivery/fold-delivery-counts.ts'
import { sweepDeliveries } from '../../src/cores/notifications/index.ts'
import { connectWebhook, removeIntegration } from '../../src/contracts/integrations.ts'
import { createSubscription, deleteSubscription } from '../../src/contracts/subscriptions.ts'
import { fakeChecks } from '../support/fake-integrations.ts'
import { insertDelivery, type DeliveryRow } from '../support/deliveries.ts'
import { makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let admin: Person
let integrationId: string
let subscriptionId: string
let appId: string

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service' }, { checks: fakeChecks })
})

beforeEach(async () => {
  org = await makeOrganization(system)
  admin = org.owner
  integrationId = await connected()
  const asked = { integration_id: integrationId, pattern: 'deploy.failed' }
  subscriptionId = (await admin.call(createSubscription, asked)).id
  const now = system.clock.now()
  appId = makeId('app', now.getTime())
  await system.db
    .insert(apps)
    .values({ orgId: org.id, id: appId, alias: 'shop', name: 'Shop', createdAt: now })
})

afterAll(() => system.stop())

const connected = async (name = 'Receiver') =>
  (await admin.call(connectWebhook, { name, url: `https://hooks.test/${unique('secret')}` })).id

const delivered = (row: DeliveryRow = {}, tries?: Parameters<typeof insertDelivery>[3]) =>
  insertDelivery(system, org, { subscriptionId, integrationId, appId, ...row }, tries)

const ledger = async (filter: object = {}, by = admin) => (await by.call(listDeliveries, filter)).deliveries
const failed = (row: DeliveryRow = {}) => delivered({ state: 'failed', reason: 'gave_up', ...row })

test('shows every message, newest first, with what became of it and where it went, never the address', async () => {
  const first = await delivered()
  const second = await delivered({ state: 'failed', reason: 'outcome_unknown' }, [
    { outcome: 'failed', reason: 'server_error', httpStatus: 500 },
    { outcome: 'failed', reason: 'outcome_unknown', httpStatus: null, endedAt: null },
  ])
  const rows = await ledger()
  expect(rows.map(({ id }) => id)).toEqual([second.id, first.id])
  expect(rows[0]).toMatchObject({
    event_id: second.eventId,
    type: 'deploy.failed',
    subject: 'deployments/dep_1',
    app: 'shop',
    channel: 'webhook',
    destination: 'Receiver',
    state: 'failed',
    reason: 'outcome_unknown',
    unconfirmed: true,
    attempts: 2,
    duration_ms: 41,
  })
  expect(JSON.stringify(rows)).not.toContain('hooks.test')
  const shown = await admin.call(showDelivery, { delivery_id: second.id })
  expect(shown).toMatchObject({ timing: 'immediately', digest_of: 1 })
  expect(shown.attempts_made.map(({ number, http_status, reason }) => [number, http_status, reason])).toEqual(
    [
      [1, 500, 'server_error'],
      [2, null, 'outcome_unknown'],
    ],
  )
  expect(shown.notification).toEqual({
    id: expect.stringMatching(/^ntf_[0-9a-f]{25}$/),
    type: 'deploy.failed',
    subject: 'deployments/dep_1',
    timestamp: expect.any(String) as string,
    time: shown.notification.timestamp,
    specversion: '1.0',
    source: `/orgs/${org.id}`,
    data: {
      event_id: second.eventId,
      organization_id: org.id,
      app: 'shop',
      deployment_id: 'dep_1',
      code: 'BUILD_FAILED',
    },
  })
})

test('is the admins’ own: outsiders see nothing, members below are refused', async () => {
  const { id } = await delivered()
  const { owner: outsider } = await makeOrganization(system)
  expect(await ledger({}, outsider)).toEqual([])
  expect((await outsider.call(summarizeDeliveries, {})).days).toEqual([])
  const theirs = { delivery_id: id }
  await expect(outsider.call(showDelivery, theirs)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(outsider.call(replayDelivery, theirs)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const from = new Date(0).toISOString()
  expect(await outsider.call(replayFailedDeliveries, { from })).toEqual({ replayed: 0, more: false })
  const developer = await makeMember(system, org, 'developer')
  await expect(ledger({}, developer)).rejects.toMatchObject({ code: 'FORBIDDEN' })
})

test('is found by type, state, reason, channel, integration, app, event and time', async () => {
  const sent = await delivered()
  const between = system.clock.now().toISOString()
  const lost = await failed({ reason: 'outcome_unknown', type: 'pipeline.run.failed', appId: null })
  const found = async (filter: object) => (await ledger(filter)).map(({ id }) => id)
  expect(await found({ type: 'pipeline.*' })).toEqual([lost.id])
  expect(await found({ type: 'deploy.failed' })).toEqual([sent.id])
  expect(await found({ state: 'failed' })).toEqual([lost.id])
  expect(await found({ reason: 'outcome_unknown' })).toEqual([lost.id])
  expect(await found({ channel: 'email' })).toEqual([])
  expect(await found({ integration_id: integrationId })).toEqual([lost.id, sent.id])
  expect(await found({ integration_id: await connected() })).toEqual([])
  expect(await found({ app: 'shop' })).toEqual([sent.id])
  expect(await found({ event_id: sent.eventId })).toEqual([sent.id])
  expect(await found({ from: between })).toEqual([lost.id])
  expect(await found({ to: between })).toEqual([sent.id])
  // What was for nobody can be missed by nobody.
  const nobody = { channel: null, subscriptionId: null, integrationId: null, messageId: null }
  await delivered({ ...nobody, state: 'dropped', reason: 'expired' }, [])
  expect(await found({ missed: 'true' })).toEqual([lost.id])
})

test('is found, counted and sent again by its time, and not by that of its id, where clocks differ', async () => {
  const edge = system.clock.now()
  const withClock = async (offMs: number, createdAt: Date) => {
    const id = makeId('dlv', createdAt.getTime() + offMs)
    await failed({ id, createdAt })
    return id
  }
  const before = await withClock(30_000, new Date(edge.getTime() - 1))
  const after = [await withClock(-20_000, edge), await withClock(-30_000, edge)]
  const at = edge.toISOString()
  expect((await ledger({ from: at })).map(({ id }) => id)).toEqual(after)
  expect((await ledger({ to: at })).map(({ id }) => id)).toEqual([before])
  const counted = await admin.call(listDeliveries, { from: at, limit: 1, count: 'true' })
  expect(counted.total).toBe(2)
  const other = await makeOrganization(system)
  expect(await ledger({ from: at }, other.owner)).toEqual([])
  expect(await admin.call(replayFailedDeliveries, { from: at })).toEqual({ replayed: 2, more: false })
  const replays = (await ledger()).flatMap(({ replay_of }) => replay_of ?? [])
  expect(new Set(replays)).toEqual(new Set(after))
})

test('is summed up: per day, the last day, and what waits longest', async () => {
  const nobody = { channel: null, subscriptionId: null, integrationId: null }
  await delivered()
  await delivered()
  await failed()
  await failed({ reason: 'outcome_unknown' })
  await delivered({ state: 'dropped', reason: 'subscription_off' })
  await delivered({ ...nobody, state: 'dropped', reason: 'matched_nobody' })
  // What somebody has paused waits on purpose.
  const [createdAt, nextAt] = [system.clock.now(), new Date('9999-01-01T00:00:00Z')]
  const held = { orgId: org.id, id: unique('msg'), target: integrationId, channel: 'webhook' } as const
  await system.db.insert(messages).values({ ...held, state: 'pending', nextAt, createdAt })
  const waiting = await delivered({ state: 'waiting', settledAt: null }, [])
  await system.db.update(messages).set({ state: 'pending' }).where(eq(messages.id, waiting.messageId))
  const { days, last_24_hours, oldest_waiting_at } = await admin.call(summarizeDeliveries, {})
  const sum = (which: 'sent' | 'failed' | 'dropped' | 'open') =>
    days.reduce((all, day) => all + day[which], 0)
  expect([sum('sent'), sum('failed'), sum('dropped'), sum('open')]).toEqual([2, 2, 1, 1])
  expect(last_24_hours).toEqual({
    sent: 2,
    failed: 1,
    unconfirmed: 1,
    retrying: 0,
    not_sent: 0,
    p95_ms: 250,
  })
  const [row] = await system.db.select().from(messages).where(eq(messages.id, waiting.messageId))
  expect(oldest_waiting_at).toBe(row!.createdAt.toISOString())
  // Nor is an attempt planned that would be the first.
  const { health } = await admin.call(summarizeDeliveries, { health: 'true' })
  expect(health!.integrations).toMatchObject([{ id: integrationId, next_attempt_at: null }])
})

test('the counts are those of the rows, whatever has changed, before and after they are folded', async () => {
  const outsider = await makeOrganization(system)
  const second = await connected('Second')
  const now = system.clock.now().getTime()
  const HOUR = 60 * 60 * 1000
  // Within the hour in which the last 24 begin, too: before and after that moment.
  for (const ageMs of [0, HOUR, 24 * HOUR - 600_000, 24 * HOUR + 600_000, 3 * 24 * HOUR, 12 * 24 * HOUR]) {
    const createdAt = new Date(now - ageMs)
    await delivered({ createdAt })
    await delivered({ createdAt, integrationId: second, state: 'retrying', reason: 'server_error' })
    await delivered({ createdAt, integrationId: null, state: 'dropped', reason: 'subscription_off' })
    await delivered({ createdAt, channel: null, state: 'dropped', reason: 'matched_nobody' })
  }
  const ofSecond = eq(deliveries.integrationId, second)
  // Some of one statement change their state, one only something else.
  await system.db.update(deliveries).set({ state: 'failed', reason: 'gave_up' }).where(ofSecond)
  await system.db.update(deliveries).set({ replayedAt: system.clock.now() }).where(ofSecond)
  const counted = async () => {
    const { days, last_24_hours, health } = await admin.call(summarizeDeliveries, { health: 'true' })
    const { p95_ms: _, ...recent } = last_24_hours
    return { days, recent, health }
  }
  const expected = await counted()
  expect(expected.days.map(({ sent, failed: lost, dropped, open }) => [sent, lost, dropped, open])).toEqual(
    await truth(now),
  )
  expect(expected.recent).toEqual({ sent: 3, failed: 3, unconfirmed: 0, retrying: 0, not_sent: 0 })
  const health = expected.health!.integrations.find(({ id }) => id === second)!
  expect(health.last_24_hours).toMatchObject({ sent: 0, failed: 3 })
  const [newest] = await ledger({ integration_id: second })
  expect(health.last_failure).toMatchObject({ delivery_id: newest!.id, reason: 'gave_up' })
  const { db } = system
  for (const fold of [
    () => foldDeliveryCounts({ db }),
    // Twice: what was folded already is counted once.
    () => foldDeliveryCounts({ db }),
    () => sweepDeliveryCounts({ db, clock: () => new Date(now) }, new Date(now - 90 * 24 * HOUR)),
  ]) {
    await fold()
    expect(await counted()).toEqual(expected)
  }
  const rows = await db.select().from(deliveryCounts).where(eq(deliveryCounts.orgId, org.id))
  expect(rows.every(({ n }) => n > 0)).toBe(true)
  // Days that are over are one row each; what is not kept any more has none.
  const old = rows.filter(({ hour }) => hour.getTime() < now - 4 * 24 * HOUR)
  expect(old.map(({ hour }) => hour.getTime() % (24 * HOUR))).toEqual([0, 0, 0])
  await sweepDeliveryCounts({ db, clock: () => new Date(now) }, new Date(now - 5 * 24 * HOUR))
  expect((await counted()).days).toEqual(expected.days.slice(1))
  expect((await outsider.owner.call(summarizeDeliveries, { health: 'true' })).days).toEqual([])
})

test('with fewer days of deliveries than are summed up, the sums stay those of all that happened', async () => {
  const outsider = await makeOrganization(system)
  const { db } = system
  const now = system.clock.now().getTime()
  const daysAgo = (days: number) => new Date(now - days * 86_400_000)
  const retrying = { state: 'retrying', reason: 'server_error', settledAt: null } as const
  const isMissed = [{ outcome: 'failed', reason: 'server_error', httpStatus: 500 } as const]
  const older = await failed({ createdAt: daysAgo(5) })
  const recovering = await delivered({ createdAt: daysAgo(4), ...retrying }, isMissed)
  const open = await delivered({ createdAt: daysAgo(10), ...retrying }, isMissed)
  for (const days of [3, 10, 20]) await delivered({ createdAt: daysAgo(days), settledAt: daysAgo(days) })
  await insertDelivery(system, outsider, { createdAt: daysAgo(10) })
  const sweep = () => sweepDeliveries({ db, clock: () => new Date(now), deliveryDays: 7 })
  const summed = async () =>
    (await admin.call(summarizeDeliveries, {})).days.map(({ day, ...counts }) => [day, counts] as const)
  const sums = (sent: number, lost: number, isOpen: number) => ({
    sent,
    failed: lost,
    dropped: 0,
    open: isOpen,
  })
  const dayOf = (days: number) => daysAgo(days).toISOString().slice(0, 10)
  const before = [
    [dayOf(20), sums(1, 0, 0)],
    [dayOf(10), sums(1, 0, 1)],
    [dayOf(5), sums(0, 1, 0)],
    [dayOf(4), sums(0, 0, 1)],
    [dayOf(3), sums(1, 0, 0)],
  ]
  expect(await summed()).toEqual(before)
  await sweep()
  // Of those that are older, what is open is kept.
  expect((await ledger({})).map(({ id }) => id)).toEqual(
    expect.arrayContaining([older.id, recovering.id, open.id]),
  )
  expect(await ledger({})).toHaveLength(4)
  expect(await summed()).toEqual(before)
  // They end after their day was swept, and counted as a whole.
  for (const { id } of [open, recovering])
    await db
      .update(deliveries)
      .set({ state: 'sent', reason: null, settledAt: new Date(now) })
      .where(eq(deliveries.id, id))
  const after = before.with(1, [dayOf(10), sums(2, 0, 0)]).with(3, [dayOf(4), sums(1, 0, 0)])
  const lastFailure = async () =>
    (await admin.call(summarizeDeliveries, { health: 'true' })).health!.integrations.map(
      (one) => one.last_failure?.delivery_id,
    )
  for (const then of [() => Promise.resolve(), () => foldDeliveryCounts({ db }), sweep, sweep]) {
    await then()
    expect(await summed()).toEqual(after)
    expect(await lastFailure()).toContain(older.id)
  }
  const theirs = (await outsider.owner.call(summarizeDeliveries, {})).days
  expect(theirs).toEqual([{ day: dayOf(10), ...sums(1, 0, 0) }])
})

/** Of 30 days, from the rows themselves. */
async function truth(now: number): Promise<number[][]> {
  const rows = await system.db
    .select()
    .from(deliveries)
    .where(and(eq(deliveries.orgId, org.id), isNotNull(deliveries.channel)))
  const days = Map.groupBy(rows, ({ createdAt }) => createdAt.toISOString().slice(0, 10))
  const of = (day: typeof rows, ...states: string[]) =>
    day.filter(({ state }) => states.includes(state)).length
  expect(rows.every(({ createdAt }) => createdAt.getTime() <= now)).toBe(true)
  return [...days]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, day]) => [
      of(day, 'sent'),
      of(day, 'failed'),
      of(day, 'dropped'),
      of(day, 'waiting', 'retrying'),
    ])
}

test('a replay that outlives its event is shown, and not replayed again', async () => {
  const { id, eventId } = await failed()
  const row = eq(events.id, eventId)
  await system.db.delete(events).where(row)
  expect(await admin.call(showDelivery, { delivery_id: id })).toMatchObject({
    id,
    subject: '',
    notification: { type: 'deploy.failed', subject: '' },
  })
  await expect(admin.call(replayDelivery, { delivery_id: id })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'The event of this delivery is no longer kept',
  })
  const from = new Date(system.clock.now().getTime() - 60_000).toISOString()
  expect(await admin.call(replayFailedDeliveries, { from })).toMatchObject({ replayed: 0 })
  const outsider = await makeOrganization(system)
  await expect(outsider.owner.call(showDelivery, { delivery_id: id })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
})

describe('sending again', () => {
  const replay = (delivery_id: string) => admin.call(replayDelivery, { delivery_id })

  test('is a new message that names the first one', async () => {
    const first = await failed({ reason: 'outcome_unknown' })
    const { id, replay_of } = await replay(first.id)
    expect([replay_of, id === first.id]).toEqual([first.id, false])
    const [again] = await ledger({ state: 'waiting' })
    expect(again).toMatchObject({ id, replay_of, event_id: first.eventId, attempts: 0, settled_at: null })
    expect(await ledger({ state: 'failed' })).toMatchObject([{ id: first.id, reason: 'outcome_unknown' }])
    const [message] = await system.db
      .select()
      .from(messages)
      .where(and(eq(messages.orgId, org.id), eq(messages.state, 'pending')))
    expect(message).toMatchObject({ target: integrationId, subscriptionId, orderingKey: null })
    await expect(replay(id)).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('the same key twice is one message', async () => {
    const { id } = await delivered()
    const press = () =>
      system.fetch(`/api/notifications/deliveries/${id}/replay`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${admin.token}`,
          'idempotency-key': id,
          'content-type': 'application/json',
        },
        body: '{}',
      })
    const [one, two] = [await press(), await press()]
    expect([one.status, await one.json()]).toEqual([201, await two.json()])
    expect(await ledger({ state: 'waiting' })).toHaveLength(1)
  })

  test('is refused where there is nowhere to send it', async () => {
    const conflict = { code: 'CONFLICT' }
    const nobody = { channel: null, subscriptionId: null, integrationId: null, messageId: null }
    const unmatched = await delivered({ ...nobody, state: 'dropped', reason: 'matched_nobody' }, [])
    await expect(replay(unmatched.id)).rejects.toMatchObject(conflict)
    const sent = await delivered()
    const set = (state: 'gone' | 'active') =>
      system.db.update(integrations).set({ state }).where(eq(integrations.id, integrationId))
    await set('gone')
    await expect(replay(sent.id)).rejects.toMatchObject(conflict)
    await set('active')
    await system.db.update(subscriptions).set({ enabled: false }).where(eq(subscriptions.id, subscriptionId))
    await expect(replay(sent.id)).rejects.toMatchObject(conflict)
    await admin.call(deleteSubscription, { subscription_id: subscriptionId })
    await expect(replay(sent.id)).rejects.toMatchObject(conflict)
    await admin.call(removeIntegration, { integration_id: integrationId })
    await expect(replay(sent.id)).rejects.toMatchObject(conflict)
    expect(await ledger({ event_id: sent.eventId })).toMatchObject([{ id: sent.id, destination: 'Receiver' }])
  })

  test('of everything that failed leaves out what is unconfirmed, unless asked, and what was sent again', async () => {
    const from = system.clock.now().toISOString()
    const [lost, unsure] = [await failed(), await failed({ reason: 'outcome_unknown' })]
    await delivered()
    await delivered({ state: 'dropped', reason: 'subscription_off' })
    const gone = await delivered({ state: 'dropped', reason: 'endpoint_gone' })
    // A person's own mailbox is theirs to mend, and nobody fills it for them afterwards.
    const personal = {
      integrationId: null,
      subscriptionId: null,
      userId: admin.userId,
      channel: 'email' as const,
    }
    await delivered({ ...personal, state: 'dropped', reason: 'address_suppressed' })
    const other = await connected('Other')
    expect(await admin.call(replayFailedDeliveries, { from, integration_id: other })).toEqual({
      replayed: 0,
      more: false,
    })
    expect(await admin.call(replayFailedDeliveries, { from })).toEqual({ replayed: 2, more: false })
    const again = await ledger({ state: 'waiting' })
    expect(new Set(again.map(({ replay_of }) => replay_of))).toEqual(new Set([lost.id, gone.id]))
    expect(await admin.call(replayFailedDeliveries, { from, include_unconfirmed: true })).toMatchObject({
      replayed: 1,
    })
    expect((await ledger({ state: 'waiting' })).map(({ replay_of }) => replay_of)).toContain(unsure.id)
    expect(await admin.call(replayFailedDeliveries, { from, include_unconfirmed: true })).toMatchObject({
      replayed: 0,
    })
    // One by one it may be sent again, and that may fail as well.
    const { id: twice } = await replay(lost.id)
    await system.db
      .update(deliveries)
      .set({ state: 'failed', reason: 'gave_up' })
      .where(eq(deliveries.id, twice))
    expect(await admin.call(replayFailedDeliveries, { from })).toEqual({ replayed: 1, more: false })
  })
})
