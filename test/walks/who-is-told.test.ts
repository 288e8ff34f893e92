/** decisions, 11: one delivery per integration and event, and nobody is told of their own doing. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { follows, notifications, subscriptions } from '../../db/schema.ts'
import { eq } from '../../db/drizzle.ts'
import { EVENT_TYPES, EVENTS } from '../../src/contracts/events.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { shipAndFanOut } from '../../src/cores/notifications/index.ts'
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

describe('one delivery per integration and event', () => {
  test('however many patterns match, in each organization', async () => {
    const urls = []
    for (const one of [org, elsewhere]) {
      const { integrationId, url } = await harness.integration(one, 'webhook')
      for (const pattern of ['deploy.failed', 'deploy.*']) {
        await harness.subscription(one, integrationId, pattern)
      }
      await harness.record(one, { type: 'deploy.failed' })
      urls.push(url)
    }
    await harness.drain()
    for (const url of urls) expect(harness.received(url)).toHaveLength(1)
    for (const one of [org, elsewhere]) expect(await harness.deliveriesOf(one)).toHaveLength(1)
  })

  test('by the soonest of them, then by the narrowest', async () => {
    const { integrationId, url } = await harness.integration(org, 'webhook')
    await harness.subscription(org, integrationId, 'deploy.*', 'daily')
    const soonest = await harness.subscription(org, integrationId, 'deploy.failed')
    const chat = await harness.integration(org, 'chat')
    await harness.subscription(org, chat.integrationId, 'deploy.*', 'hourly')
    const narrowest = await harness.subscription(org, chat.integrationId, 'deploy.failed', 'hourly')
    await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    expect(harness.received(url)).toHaveLength(1)
    const made = await harness.deliveriesOf(org)
    expect(new Set(made.map(({ subscriptionId }) => subscriptionId))).toEqual(new Set([soonest, narrowest]))
    expect(made).toHaveLength(2)
    harness.clock.advance(25 * 60 * 60)
    await harness.drain()
    expect(harness.received(url)).toHaveLength(1)
    expect(await harness.deliveriesOf(org)).toHaveLength(2)
  })

  test('also when several workers fan out at the same time', async () => {
    const { integrationId } = await harness.integration(org, 'webhook')
    for (const [pattern, timing] of [
      ['deploy.failed', undefined],
      ['deploy.*', 'hourly'],
    ] as const) {
      await harness.subscription(org, integrationId, pattern, timing)
    }
    for (let n = 0; n < 20; n++) await harness.record(org, { type: 'deploy.failed' })
    await Promise.all(Array.from({ length: 4 }, () => shipAndFanOut(harness.deps)))
    await harness.drain()
    expect(await harness.deliveriesOf(org)).toHaveLength(20)
  })
})

describe('somebody’s own doing', () => {
  async function following(one: HarnessOrg, frequency: 'immediately' | 'hourly') {
    const appId = await harness.app(one, 'billing')
    const other = await harness.person(one, 'admin')
    const changedAt = harness.clock.now()
    for (const { userId } of [one.owner, other]) {
      await harness.db.insert(follows).values({
        orgId: one.id,
        userId,
        appId,
        categories: ['Checks', 'Maintenance', 'Failed deploys', 'Tickets'],
        frequency,
        changedAt,
      })
    }
    return { appId, other }
  }
  const reasonsOf = async (one: HarnessOrg) =>
    new Map((await harness.deliveriesOf(one)).map(({ userId, reason, state }) => [userId, { reason, state }]))
  const inboxOf = async (one: HarnessOrg) =>
    (await harness.db.select().from(notifications).where(eq(notifications.orgId, one.id))).map(
      ({ userId }) => userId,
    )

  test.each(['immediately', 'hourly'] as const)(
    'is told to everybody else; the ledger says why not to them (%s)',
    async (frequency) => {
      for (const one of [org, elsewhere]) {
        const { appId, other } = await following(one, frequency)
        await harness.record(one, {
          type: 'support.ticket.status_changed',
          actorId: one.owner.userId,
          appId,
          subject: 'tickets/tkt_1',
          data: { ticket_id: 'tkt_1', from: 'open', to: 'done' },
        })
        await harness.drain()
        const reasons = await reasonsOf(one)
        expect(reasons.get(one.owner.userId)).toEqual({ reason: 'own_action', state: 'dropped' })
        expect(reasons.get(other.userId)?.reason).not.toBe('own_action')
        expect(await inboxOf(one)).toEqual([other.userId])
      }
    },
  )

  test('an outcome is told to whoever caused it too', async () => {
    const { appId, other } = await following(org, 'immediately')
    await harness.record(org, { type: 'deploy.failed', actorId: org.owner.userId, appId })
    await harness.drain()
    expect((await inboxOf(org)).toSorted()).toEqual([org.owner.userId, other.userId].toSorted())
    expect((await reasonsOf(org)).get(org.owner.userId)?.reason).not.toBe('own_action')
  })

  test('goes to integrations all the same: they are nobody', async () => {
    const { integrationId, url } = await harness.integration(org, 'webhook')
    await harness.subscription(org, integrationId, 'support.ticket.*')
    await harness.record(org, {
      type: 'support.ticket.replied',
      actorId: org.owner.userId,
      subject: 'tickets/tkt_1',
      data: { ticket_id: 'tkt_1', reply_id: 'rpl_1' },
    })
    await harness.drain()
    expect(harness.received(url)).toHaveLength(1)
  })

  test('a reporter’s own reply: no mail, and the ledger says why', async () => {
    const createdAt = harness.clock.now()
    await harness.db.insert(subscriptions).values({
      orgId: org.id,
      id: makeId('sub', createdAt.getTime()),
      userId: org.owner.userId,
      pattern: 'support.ticket.replied',
      timing: 'daily',
      ownOnly: true,
      enabled: true,
      createdAt,
    })
    const reply = {
      type: 'support.ticket.replied',
      actorId: org.owner.userId,
      concernsId: org.owner.userId,
      subject: 'tickets/tkt_1',
      data: { ticket_id: 'tkt_1', reply_id: 'rpl_1' },
    } as const
    await harness.record(org, reply)
    await harness.drain()
    expect(await harness.deliveriesOf(org)).toMatchObject([
      { state: 'dropped', reason: 'own_action', channel: 'email', messageId: null },
    ])
    harness.clock.advance(25 * 60 * 60)
    await harness.drain()
    expect(harness.sent).toEqual([])
  })

  test('of the catalog, replies, moves and decisions are somebody’s doing; everything else is an outcome', () => {
    expect(EVENT_TYPES.filter((type) => !EVENTS[type].toldToActor)).toEqual([
      'support.ticket.replied',
      'support.ticket.status_changed',
      'application.maintenance.proposal.approved',
      'application.maintenance.proposal.denied',
      'org.maintenance.changed',
      'org.member.removed',
    ])
  })
})

test('what becomes of an unused agent is told to its person alone, before and after, in each organization', async () => {
  for (const one of [org, elsewhere]) {
    const person = await harness.person(one, 'viewer')
    await harness.person(one, 'viewer')
    const agent = { concernsId: person.userId, subject: 'agents/grt_1' }
    const next = { next: 'narrowed', on: '2026-04-01' }
    await harness.record(one, { ...agent, type: 'agent.unused', data: { grant_id: 'grt_1', ...next } })
    await harness.record(one, { ...agent, type: 'agent.narrowed', data: { grant_id: 'grt_1' } })
    await harness.record(one, { ...agent, type: 'agent.ended', data: { grant_id: 'grt_1' } })
    await harness.drain()
    const told = await harness.db.select().from(notifications).where(eq(notifications.orgId, one.id))
    expect(told.map(({ userId, type }) => `${userId} ${type}`).toSorted()).toEqual(
      ['agent.ended', 'agent.narrowed', 'agent.unused'].map((type) => `${person.userId} ${type}`),
    )
    expect((await harness.deliveriesOf(one)).map(({ userId, channel }) => [userId, channel])).toEqual(
      Array.from({ length: 3 }, () => [person.userId, 'email']),
    )
  }
})
