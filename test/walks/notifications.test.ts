/** From an event to a message: matched, in order, in digests, retried, stopped, and never twice. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { and, eq, inArray, sql } from '../../db/drizzle.ts'
import {
  appMembers,
  chatLinks,
  events,
  notifications,
  integrations,
  memberships,
  messages,
  outbox,
  follows,
  subscriptions,
} from '../../db/schema.ts'
import {
  changeAlertState,
  createSender,
  shipAndFanOut,
  sweepDeliveries,
  type Outcome,
} from '../../src/cores/notifications/index.ts'
import type { DriverDeps } from '../../src/cores/notifications/channels/channel-driver.ts'
import type { AttemptResult } from '../../src/cores/notifications/delivery/attempts.ts'
import { claimMessages } from '../../src/cores/notifications/delivery/claim-messages.ts'
import { handleFailedAttempts } from '../../src/cores/notifications/delivery/handle-failed-attempts.ts'
import type { PreparedMessage } from '../../src/cores/notifications/delivery/prepare-messages.ts'
import { windowsAfter } from '../../src/cores/notifications/fan-out/digest-windows.ts'
import { recordEvent, recordTestEvent } from '../../src/cores/outbox.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { startNotifications } from '../../src/worker/notifications.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { drainNotifications } from '../support/drain.ts'
import { makeAppMember } from '../support/make.ts'
import {
  notificationHarness,
  type HarnessOrg,
  type NotificationHarness,
} from '../support/notification-harness.ts'
import { untilAsked } from '../support/statements.ts'

let database: TestDatabase
let harness: NotificationHarness
let org: HarnessOrg

beforeAll(async () => {
  database = await newDatabase()
})
afterAll(() => database?.close())
beforeEach(async () => {
  harness = await notificationHarness(database)
  org = await harness.organization()
})

async function subscribed(pattern: string, timing?: 'hourly' | 'daily') {
  const { integrationId, url } = await harness.integration(org, 'webhook')
  const subscriptionId = await harness.subscription(org, integrationId, pattern, timing)
  return { integrationId, url, subscriptionId }
}

describe('events', () => {
  test('nothing a person wrote fits into an event, and a refused one leaves nothing', async () => {
    const bad = [
      { type: 'deploy.failed', data: { deployment_id: 'dep_1', code: 'it broke again!' } },
      { type: 'deploy.failed', data: { deployment_id: 'dep_1', code: 'X', title: 'mine' } },
      { type: 'deploy.failed', subject: 'Title of a ticket' },
    ] as const
    for (const event of bad) await expect(harness.record(org, event)).rejects.toThrow(/invalid|unrecognized/i)
    expect(await harness.db.select().from(outbox).where(eq(outbox.orgId, org.id))).toEqual([])
  })

  test('the same event recorded twice is delivered once', async () => {
    const { url } = await subscribed('deploy.failed')
    await harness.record(org, { type: 'deploy.failed', dedupKey: 'same' })
    await harness.record(org, { type: 'deploy.failed', dedupKey: 'same' })
    await harness.drain()
    expect(harness.received(url)).toHaveLength(1)
    expect(await harness.deliveriesOf(org)).toHaveLength(1)
  })

  test('a state is moved by one and moved back by the next; whoever comes second stays silent', async () => {
    const move = (to: string) =>
      withTransaction(harness.db, (tx) =>
        changeAlertState(tx, harness.clock.now, { orgId: org.id, kind: 'check', subject: 'chk_1', to }),
      )
    expect(await move('failed')).toEqual({ seq: 1, from: null })
    expect(await Promise.all([move('ok'), move('ok'), move('ok')])).toEqual(
      expect.arrayContaining([{ seq: 2, from: 'failed' }, undefined, undefined]),
    )
    expect(await move('failed')).toEqual({ seq: 3, from: 'ok' })
  })

  test('recorded while nobody worked, everything arrives afterwards, once', async () => {
    const { url } = await subscribed('deploy.*')
    for (let n = 0; n < 30; n++) await harness.record(org, { type: 'deploy.failed' })
    expect(harness.sent).toEqual([])
    harness.clock.advance(24 * 60 * 60)
    for (let round = 0; round < 5; round++) {
      await harness.drain()
      harness.clock.advance(2)
    }
    const ids = harness.received(url).map(({ id }) => id)
    expect(ids).toHaveLength(30)
    expect(new Set(ids).size).toBe(30)
  })
})

describe('matching', () => {
  test('an exact type and every prefix with a star match; nothing else, and no other organization', async () => {
    const other = await harness.organization()
    const theirs = await harness.integration(other, 'webhook')
    await harness.subscription(other, theirs.integrationId, 'pipeline.*')
    const right = await Promise.all(
      ['pipeline.run.failed', 'pipeline.run.*', 'pipeline.*'].map((pattern) => subscribed(pattern)),
    )
    const wrong = await Promise.all(
      ['pipeline.run', 'pipeline.run.recovered', 'pipeline.run.failed.*', 'pipe.*', 'svc.test'].map(
        (pattern) => subscribed(pattern),
      ),
    )
    await harness.record(org, { type: 'pipeline.run.failed' })
    await harness.drain()
    expect(right.map(({ url }) => harness.received(url).length)).toEqual([1, 1, 1])
    expect(wrong.map(({ url }) => harness.received(url).length)).toEqual([0, 0, 0, 0, 0])
    expect(harness.received(theirs.url)).toEqual([])
    expect(await harness.deliveriesOf(other)).toEqual([])
  })

  test('an event that nobody is to get has its row in the ledger', async () => {
    const eventId = await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    expect(await harness.deliveriesOf(org)).toMatchObject([
      { eventId, state: 'dropped', reason: 'matched_nobody', subscriptionId: null, userId: null },
    ])
  })

  test('a test goes through the one subscription it is for, at once, whatever its timing', async () => {
    const daily = await subscribed('deploy.failed', 'daily')
    const greedy = await subscribed('svc.*')
    await withTransaction(harness.db, (tx) =>
      recordTestEvent(tx, harness.clock.now, {
        orgId: org.id,
        subscriptionId: daily.subscriptionId,
        actorId: org.owner.userId,
      }),
    )
    await harness.drain()
    expect(harness.received(daily.url)).toMatchObject([
      { type: 'svc.test', data: { subscription_id: daily.subscriptionId } },
    ])
    expect(harness.received(greedy.url)).toEqual([])
  })

  test('a subscription that was switched off or deleted meanwhile gets nothing, and the ledger says why', async () => {
    const [paused, deleted] = [await subscribed('deploy.*', 'hourly'), await subscribed('deploy.*', 'hourly')]
    await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    const at = (id: string) => and(eq(subscriptions.orgId, org.id), eq(subscriptions.id, id))
    await harness.db
      .update(subscriptions)
      .set({ enabled: false, disabledReason: 'paused' })
      .where(at(paused.subscriptionId))
    await harness.db.delete(subscriptions).where(at(deleted.subscriptionId))
    harness.clock.advance(60 * 60)
    await harness.drain()
    expect(harness.sent).toEqual([])
    expect((await harness.deliveriesOf(org)).map(({ state, reason }) => [state, reason])).toEqual([
      ['dropped', 'subscription_off'],
      ['dropped', 'subscription_off'],
    ])
    expect((await harness.messagesOf(org)).map(({ state }) => state)).toEqual(['dropped', 'dropped'])
  })
})

test('what a subscription that was switched off would have brought comes by another of the integration', async () => {
  const off = await subscribed('pipeline.*', 'hourly')
  await harness.subscription(org, off.integrationId, 'pipeline.run.failed', 'daily')
  // Of the same pattern, and of another integration.
  const none = await subscribed('pipeline.*', 'hourly')
  await harness.record(org, { type: 'pipeline.run.failed' })
  await harness.record(org, { type: 'pipeline.run.recovered' })
  await harness.drain()
  const both = inArray(subscriptions.id, [off.subscriptionId, none.subscriptionId])
  await harness.db
    .update(subscriptions)
    .set({ enabled: false, disabledReason: 'paused' })
    .where(and(eq(subscriptions.orgId, org.id), both))
  harness.clock.advance(60 * 60)
  await harness.drain()
  expect(harness.received(off.url)).toMatchObject([{ type: 'pipeline.run.failed' }])
  const rows = await harness.deliveriesOf(org)
  expect(
    new Map(
      rows.map(({ integrationId, type, state, reason }) => [`${integrationId} ${type}`, [state, reason]]),
    ),
  ).toEqual(
    new Map([
      [`${off.integrationId} pipeline.run.failed`, ['sent', null]],
      [`${off.integrationId} pipeline.run.recovered`, ['dropped', 'subscription_off']],
      [`${none.integrationId} pipeline.run.failed`, ['dropped', 'subscription_off']],
      [`${none.integrationId} pipeline.run.recovered`, ['dropped', 'subscription_off']],
    ]),
  )
})

describe('digests', () => {
  test('fifty events at once in one window make one message with fifty notifications', async () => {
    const { url } = await subscribed('deploy.*', 'hourly')
    await Promise.all(Array.from({ length: 50 }, () => harness.record(org, { type: 'deploy.failed' })))
    await Promise.all([harness.drain(), harness.drain(), harness.drain()])
    expect(harness.sent).toEqual([])
    harness.clock.advance(60 * 60)
    await Promise.all([harness.drain(), harness.drain()])
    expect(harness.sent).toHaveLength(1)
    expect(new Set(harness.received(url).map(({ id }) => id)).size).toBe(50)
    harness.clock.advance(60 * 60)
    await harness.drain()
    expect(harness.sent).toHaveLength(1)
  })

  test('what comes when its window was taken already goes into the next one', async () => {
    const { url } = await subscribed('deploy.*', 'hourly')
    await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    // Another worker whose clock is ahead has taken the window.
    const ahead = { ...harness.deps, clock: () => new Date(harness.clock.now().getTime() + 60 * 60 * 1000) }
    await claimMessages(ahead, { worker: 'ahead', leaseSeconds: 5 })
    await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    const windows = await harness.messagesOf(org)
    expect(windows.map(({ state }) => state)).toEqual(['claimed', 'open'])
    expect(windows[1]!.windowEnd!.getTime() - windows[0]!.windowEnd!.getTime()).toBe(60 * 60 * 1000)
    await harness.later(2 * 60 * 60)
    await harness.drain()
    expect(harness.sent).toHaveLength(2)
    expect(harness.received(url)).toHaveLength(2)
  })

  test.each([
    ['UTC', '2026-03-08T08:59:59Z', '2026-03-08T09:00:00Z'],
    ['UTC', '2026-03-08T09:00:00Z', '2026-03-09T09:00:00Z'],
    // Clocks go forward on 8 March 2026 in New York and back on 1 November.
    ['America/New_York', '2026-03-07T20:00:00Z', '2026-03-08T13:00:00Z'],
    ['America/New_York', '2026-03-08T13:00:00Z', '2026-03-09T13:00:00Z'],
    ['America/New_York', '2026-03-06T20:00:00Z', '2026-03-07T14:00:00Z'],
    ['America/New_York', '2026-10-31T13:00:00Z', '2026-11-01T14:00:00Z'],
    ['Europe/Berlin', '2026-10-24T12:00:00Z', '2026-10-25T08:00:00Z'],
    ['Pacific/Apia', '2026-11-15T20:00:00Z', '2026-11-16T20:00:00Z'],
    ['Nowhere/Unknown', '2026-11-15T08:00:00Z', '2026-11-15T09:00:00Z'],
  ])('daily in %s at %s is %s', async (zone, now, end) => {
    const { daily } = await windowsAfter(harness.db, zone, new Date(now))
    expect(daily.toISOString()).toBe(new Date(end).toISOString())
  })

  test('hourly is the next full hour of the local clock, also where that is half past', async () => {
    const at = new Date('2026-11-15T08:10:00Z')
    expect((await windowsAfter(harness.db, 'UTC', at)).hourly.toISOString()).toBe('2026-11-15T09:00:00.000Z')
    expect((await windowsAfter(harness.db, 'Asia/Kolkata', at)).hourly.toISOString()).toBe(
      '2026-11-15T08:30:00.000Z',
    )
  })

  test('a long digest is several messages by chat, twenty lines each, one after the other', async () => {
    const { integrationId } = await harness.integration(org, 'chat')
    await harness.subscription(org, integrationId, 'deploy.*', 'hourly')
    for (let n = 0; n < 23; n++) await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    harness.clock.advance(60 * 60)
    await harness.drain()
    expect(harness.sent.map(({ what }) => what.split('\n').length)).toEqual([20])
    harness.clock.advance(2)
    await harness.drain()
    expect(harness.sent.map(({ what }) => what.split('\n').length)).toEqual([20, 3])
    expect((await harness.deliveriesOf(org)).map(({ state }) => state)).toEqual(Array(23).fill('sent'))
  })
})

describe('order', () => {
  test('"recovered" waits for a "failed" that is being retried; other subjects do not', async () => {
    const { url } = await subscribed('application.check.*')
    let refuses = true
    harness.answer(({ what }) =>
      refuses && what.includes('check.failed')
        ? { kind: 'refused', reason: 'server_error', retry: true, httpStatus: 503, retryAfterSeconds: 60 }
        : { kind: 'sent', httpStatus: 200 },
    )
    const subject = 'checks/chk_1'
    await harness.record(org, { type: 'application.check.failed', subject })
    await harness.record(org, { type: 'application.check.recovered', subject })
    await harness.record(org, { type: 'application.check.recovered', subject: 'checks/chk_2' })
    await harness.drain()
    expect(harness.received(url).map(({ type, subject: of }) => [type, of])).toEqual([
      ['application.check.failed', subject],
      ['application.check.recovered', 'checks/chk_2'],
    ])
    refuses = false
    harness.clock.advance(61)
    await harness.drain()
    harness.clock.advance(1)
    await harness.drain()
    expect(
      harness
        .received(url)
        .slice(2)
        .map(({ type }) => type),
    ).toEqual(['application.check.failed', 'application.check.recovered'])
  })

  test('many changes of one subject arrive in the order they happened, with several workers at it', async () => {
    const { url } = await subscribed('application.check.*')
    const subject = 'checks/chk_1'
    for (let n = 0; n < 6; n++) {
      const type = n % 2 === 0 ? 'application.check.failed' : 'application.check.recovered'
      await harness.record(org, { type, subject, data: { check_id: 'chk_1', run_id: `run_${n}` } })
    }
    for (let round = 0; round < 8; round++) {
      await Promise.all([harness.drain(), harness.drain()])
      harness.clock.advance(1)
    }
    const runs = harness.sent
      .filter(({ to }) => to === url)
      .map(({ what }) => (JSON.parse(what) as { data: { run_id: string } }[])[0]!.data.run_id)
    expect(runs).toEqual(['run_0', 'run_1', 'run_2', 'run_3', 'run_4', 'run_5'])
  })
})

describe('limits and fairness', () => {
  test.runIf(inject('everyCase'))(
    'a chat channel gets one message a second, each at its own turn; a webhook ten',
    async () => {
      const chat = await harness.integration(org, 'chat')
      await harness.subscription(org, chat.integrationId, 'deploy.*')
      const hook = await subscribed('deploy.*')
      for (let n = 0; n < 25; n++) await harness.record(org, { type: 'deploy.failed' })
      const seen: number[][] = []
      for (let second = 0; second < 4; second++) {
        await harness.drain()
        seen.push([chat.url, hook.url].map((url) => harness.sent.filter(({ to }) => to === url).length))
        harness.clock.advance(1)
      }
      expect(seen.map(([chats]) => chats)).toEqual([1, 2, 3, 4])
      expect(seen[0]![1]).toBeGreaterThanOrEqual(10)
      expect(seen[0]![1]).toBeLessThan(15)
      expect(seen[3]![1]).toBe(25)
      const turns = (await harness.messagesOf(org))
        .filter(({ state }) => state === 'pending')
        .map((s) => s.nextAt.getTime())
      expect(new Set(turns).size).toBe(21)
    },
  )
})

describe('outcomes', () => {
  test('a refusal is retried by the schedule under the same id until it is given up', async () => {
    const { url } = await subscribed('deploy.*')
    harness.answer(() => ({ kind: 'refused', reason: 'server_error', retry: true, httpStatus: 500 }))
    await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    expect(await harness.deliveriesOf(org)).toMatchObject([
      { state: 'retrying', reason: 'server_error', settledAt: null },
    ])
    for (let attempt = 2; attempt <= 12; attempt++) {
      const [message] = await harness.messagesOf(org)
      harness.clock.set(message!.nextAt.toISOString())
      await harness.drain()
    }
    expect(new Set(harness.received(url).map(({ id }) => id)).size).toBe(1)
    expect(harness.received(url)).toHaveLength(10)
    const [message] = await harness.messagesOf(org)
    expect(message).toMatchObject({ state: 'failed', attempts: 10 })
    expect(await harness.deliveriesOf(org)).toMatchObject([{ state: 'failed', reason: 'gave_up' }])
    expect(
      (await harness.attemptsOf(org, message!.id)).map((a) => [a.number, a.outcome, a.reason, a.httpStatus]),
    ).toEqual(Array.from({ length: 10 }, (_, n) => [n + 1, 'failed', 'server_error', 500]))
  })

  test('a lost answer is unconfirmed and never followed by a second message', async () => {
    const { url } = await subscribed('deploy.*')
    harness.answer(() => {
      throw new Error('the connection broke')
    })
    await harness.record(org, { type: 'deploy.failed' })
    for (let n = 0; n < 3; n++) {
      await harness.drain()
      harness.clock.advance(24 * 60 * 60)
    }
    expect(harness.received(url)).toHaveLength(1)
    expect(await harness.deliveriesOf(org)).toMatchObject([{ state: 'failed', reason: 'outcome_unknown' }])
  })

  test('a webhook whose owner says that it knows repetitions is asked again, under the same id', async () => {
    const { integrationId, url } = await harness.integration(org, 'webhook', {
      config: { resend_on_unknown: true },
    })
    await harness.subscription(org, integrationId, 'deploy.*')
    harness.answer(() => (harness.sent.length === 1 ? { kind: 'unknown' } : { kind: 'sent' }))
    await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    harness.clock.advance(10)
    await harness.drain()
    expect(new Set(harness.received(url).map(({ id }) => id)).size).toBe(1)
    expect(harness.received(url)).toHaveLength(2)
    expect(await harness.deliveriesOf(org)).toMatchObject([{ state: 'sent', reason: null }])
  })
})

describe('endpoints', () => {
  const stateOf = async (integrationId: string) =>
    (await harness.db.select().from(integrations).where(eq(integrations.id, integrationId)))[0]!.state
  const notificationsOf = (userId: string) =>
    harness.db.select().from(notifications).where(eq(notifications.userId, userId))

  test('one that answers 410 is gone, what was queued for it is dropped, and owners and admins are notified', async () => {
    const { integrationId, url } = await subscribed('deploy.*')
    const admin = await harness.person(org, 'admin')
    const viewer = await harness.person(org, 'viewer')
    harness.answer(() => ({ kind: 'refused', reason: 'endpoint_gone', retry: false, httpStatus: 410 }))
    for (let n = 0; n < 30; n++) await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    expect(await stateOf(integrationId)).toBe('gone')
    // The notices go together, at the end of the hour.
    harness.clock.advance(60 * 60)
    await harness.drain()
    const all = (await harness.deliveriesOf(org)).filter(({ type }) => type === 'deploy.failed')
    expect(new Set(all.map(({ reason }) => reason))).toEqual(new Set(['endpoint_gone']))
    expect(new Set(all.map(({ state }) => state))).toEqual(new Set(['failed', 'dropped']))
    expect(harness.received(url).length).toBeLessThanOrEqual(16)
    for (const { userId } of [org.owner, admin]) {
      expect(await notificationsOf(userId)).toMatchObject([{ type: 'org.integration.stopped' }])
    }
    expect(await notificationsOf(viewer.userId)).toEqual([])
    const people = [org.owner, admin, viewer].map(({ email }) => email)
    const mails = harness.sent.filter(({ to }) => people.includes(to))
    expect(mails.map(({ to }) => to).toSorted()).toEqual([org.owner.email, admin.email].toSorted())
    expect(JSON.stringify(mails)).not.toContain(url)
  })

  test.runIf(inject('everyCase'))(
    'one that fails for five days without a success is dead; a single success between keeps it',
    async () => {
      const [dead, alive] = [await subscribed('deploy.*'), await subscribed('deploy.*')]
      harness.answer(({ to }) =>
        to === alive.url && harness.sent.filter((n) => n.to === to).length === 3
          ? { kind: 'sent' }
          : { kind: 'refused', reason: 'not_reached', retry: false },
      )
      for (let day = 0; day < 6; day++) {
        await harness.record(org, { type: 'deploy.failed' })
        await harness.drain()
        harness.clock.advance(24 * 60 * 60 + 1)
      }
      expect([await stateOf(dead.integrationId), await stateOf(alive.integrationId)]).toEqual([
        'dead',
        'active',
      ])
      await harness.record(org, { type: 'deploy.failed' })
      await harness.drain()
      expect((await harness.deliveriesOf(org)).some(({ reason }) => reason === 'endpoint_dead')).toBe(true)
      const mails = harness.sent.filter(
        ({ by, to, what }) =>
          by === 'email' && to === org.owner.email && what.includes('An integration stopped'),
      )
      expect(mails).toHaveLength(1)
    },
  )

  test('one that has failed since yesterday is not dead for a process whose clock is a year ahead', async () => {
    const failsFor = async (days: number) => {
      const { integrationId } = await subscribed('deploy.*')
      await harness.db
        .update(integrations)
        .set({ failingSince: sql`statement_timestamp() - make_interval(days => ${days}::int)` })
        .where(eq(integrations.id, integrationId))
      const message = { orgId: org.id, integrationId } as PreparedMessage
      const result = { reason: 'not_reached' } as AttemptResult
      const ahead = () => new Date(Date.parse('2030-01-01T00:00:00Z'))
      const deps = { db: harness.db, clock: ahead } as unknown as DriverDeps
      await handleFailedAttempts(deps, [{ message, result }])
      return stateOf(integrationId)
    }
    expect([await failsFor(1), await failsFor(6)]).toEqual(['active', 'dead'])
  })

  test('a chat channel that the service forgot is lost, and its subscriptions are off for that reason alone', async () => {
    const { integrationId } = await harness.integration(org, 'chat')
    const [on, paused] = [
      await harness.subscription(org, integrationId, 'deploy.*'),
      await harness.subscription(org, integrationId, 'pipeline.*'),
    ]
    await harness.db
      .update(subscriptions)
      .set({ enabled: false, disabledReason: 'paused' })
      .where(eq(subscriptions.id, paused))
    harness.answer(() => ({ kind: 'refused', reason: 'integration_lost', retry: false, httpStatus: 404 }))
    await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    expect(await stateOf(integrationId)).toBe('lost')
    const rows = await harness.db
      .select()
      .from(subscriptions)
      .where(eq(subscriptions.integrationId, integrationId))
    expect(Object.fromEntries(rows.map((row) => [row.id, row.disabledReason]))).toEqual({
      [on]: 'integration_lost',
      [paused]: 'paused',
    })
  })

  test('a forum posts in the name of whoever did it; where nobody did, nobody posts', async () => {
    const { integrationId } = await harness.integration(org, 'forum', {
      apiKey: 'k',
      config: { category: 5 },
    })
    await harness.subscription(org, integrationId, 'deploy.*', 'daily')
    await harness.record(org, { type: 'deploy.failed', actorId: org.owner.userId })
    await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    harness.clock.advance(1)
    await harness.drain()
    expect(harness.sent).toMatchObject([{ by: 'forum', to: org.owner.userId }])
    expect((await harness.deliveriesOf(org)).map(({ reason }) => reason)).toEqual(
      expect.arrayContaining([null, 'no_acting_person']),
    )
  })
})

describe('people', () => {
  async function follower(categories: ('Tickets' | 'Failed deploys')[] = ['Failed deploys']) {
    const person = await harness.person(org, 'developer')
    const appId = await harness.app(org, `app-${person.userId.slice(-6)}`)
    await makeAppMember(harness, { orgId: org.id, appId, userId: person.userId })
    await harness.db.insert(follows).values({
      orgId: org.id,
      userId: person.userId,
      appId,
      categories,
      frequency: 'immediately',
      changedAt: harness.clock.now(),
    })
    return { ...person, appId }
  }
  const link = (userId: string, teamId = 'T1') =>
    harness.db.insert(chatLinks).values({
      orgId: org.id,
      userId,
      teamId,
      chatUserId: `U-${userId}`,
      displayName: 'x',
      linkedAt: harness.clock.now(),
    })
  const reasons = async () => (await harness.deliveriesOf(org)).map(({ reason, state }) => reason ?? state)
  const deploy = (appId: string) => harness.record(org, { type: 'deploy.failed', appId })

  test('a follower gets a direct message with app, category, code and link alone, and a notification', async () => {
    await harness.integration(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    const person = await follower()
    await link(person.userId)
    await deploy(person.appId)
    await harness.drain()
    const alias = `app-${person.userId.slice(-6)}`
    expect(harness.sent).toEqual([
      {
        by: 'direct_message',
        to: `U-${person.userId}`,
        what: `${alias} · Failed deploys · BUILD_FAILED · <https://app.example.test/console/apps/${alias}/deployments/dep_1|Open>`,
      },
    ])
    expect(
      await harness.db.select().from(notifications).where(eq(notifications.userId, person.userId)),
    ).toMatchObject([{ type: 'deploy.failed', summary: `${alias}: a deployment failed` }])
  })

  test('followers of several workspaces are written to by the app of their own, and by no other', async () => {
    for (const team of ['0', '1', '2'])
      await harness.integration(org, 'chat', { botToken: `xoxb-${team}`, teamId: `T${team}` })
    const teams = new Map<string, string>()
    for (const team of ['T2', 'T1', 'T3']) {
      const person = await follower()
      await link(person.userId, team)
      await deploy(person.appId)
      teams.set(`U-${person.userId}`, team)
    }
    const tokens: Record<string, string> = {}
    const direct_message: DriverDeps['channels']['direct_message'] = async ({ chatUserId, botToken }) => {
      tokens[teams.get(chatUserId)!] = botToken
      return { kind: 'sent' }
    }
    await drainNotifications({ ...harness.deps, channels: { ...harness.deps.channels, direct_message } })
    expect(tokens).toEqual({ T1: 'xoxb-1', T2: 'xoxb-2' })
    expect((await reasons()).toSorted()).toEqual(['no_chat_workspace', 'sent', 'sent'])
  })

  test('inbox rows are there without any chat account, and the ledger says what was missing', async () => {
    const person = await follower()
    await deploy(person.appId)
    await harness.drain()
    const { integrationId } = await harness.integration(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    await deploy(person.appId)
    harness.clock.advance(1)
    await harness.drain()
    expect((await reasons()).toSorted()).toEqual(['no_chat_account', 'no_chat_workspace'])
    // One that was turned off is none, whoever has an account there.
    const off = { state: 'off' } as const
    await harness.db.update(integrations).set(off).where(eq(integrations.id, integrationId))
    await link(person.userId)
    await deploy(person.appId)
    harness.clock.advance(1)
    await harness.drain()
    expect((await reasons()).filter((reason) => reason === 'no_chat_workspace')).toHaveLength(2)
    expect(harness.sent).toEqual([])
    expect(
      await harness.db.select().from(notifications).where(eq(notifications.userId, person.userId)),
    ).toHaveLength(3)
  })

  test('whoever is nobody to the app any more gets nothing that was on its way, nor an inbox row', async () => {
    await harness.integration(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    const [removed, left] = [await follower(), await follower()]
    await link(removed.userId)
    await link(left.userId)
    await deploy(removed.appId)
    await deploy(left.appId)
    while (await shipAndFanOut(harness.deps));
    await harness.db.delete(appMembers).where(eq(appMembers.userId, removed.userId))
    await harness.db.delete(memberships).where(eq(memberships.userId, left.userId))
    await harness.drain()
    expect(harness.sent).toEqual([])
    expect((await reasons()).toSorted()).toEqual(['no_longer_permitted', 'not_a_member'])
    await deploy(removed.appId)
    await harness.drain()
    expect(
      await harness.db.select().from(notifications).where(eq(notifications.userId, removed.userId)),
    ).toHaveLength(1)
  })

  test('whoever left the organization and came back has no role on the app, whatever rows are left', async () => {
    await harness.integration(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    const person = await follower()
    await link(person.userId)
    await deploy(person.appId)
    while (await shipAndFanOut(harness.deps));
    const mine = eq(memberships.userId, person.userId)
    const [{ id: _ended, ...membership }] = (await harness.db
      .delete(memberships)
      .where(mine)
      .returning()) as [typeof memberships.$inferSelect]
    await harness.db.insert(memberships).values(membership)
    await harness.drain()
    await deploy(person.appId)
    harness.clock.advance(1)
    await harness.drain()
    expect(harness.sent).toEqual([])
    expect(await reasons()).toEqual(['no_longer_permitted', 'no_longer_permitted'])
    // Of what happened before, when they might know of it.
    expect(
      await harness.db.select().from(notifications).where(eq(notifications.userId, person.userId)),
    ).toHaveLength(1)
  })

  test('also who is removed between the claim and the first byte', async () => {
    await harness.integration(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    const person = await follower()
    await link(person.userId)
    await deploy(person.appId)
    while (await shipAndFanOut(harness.deps));
    const sender = createSender(harness.deps, { worker: 'this one' })
    expect((await sender.claim()).claimed).toHaveLength(1)
    await harness.db.delete(appMembers).where(eq(appMembers.userId, person.userId))
    await sender.flush()
    expect(harness.sent).toEqual([])
    expect(await reasons()).toEqual(['no_longer_permitted'])
  })

  test('an account that the chat service deactivated is marked and not tried again', async () => {
    await harness.integration(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    const person = await follower()
    await link(person.userId)
    harness.answer(() => ({ kind: 'refused', reason: 'chat_account_inactive', retry: false }))
    await deploy(person.appId)
    await harness.drain()
    await deploy(person.appId)
    harness.clock.advance(5)
    await harness.drain()
    expect(harness.sent).toHaveLength(1)
    expect(await reasons()).toEqual(['chat_account_inactive', 'chat_account_inactive'])
  })
})

describe('defaults', () => {
  const defaults = async () =>
    (await harness.db.select().from(subscriptions).where(eq(subscriptions.orgId, org.id))).map(
      ({ defaultKey, userId, pattern }) => ({ defaultKey, userId, pattern }),
    )
  const reply = (reporter: string, actor: string) =>
    harness.record(org, { type: 'support.ticket.replied', concernsId: reporter, actorId: actor })

  test('a reporter gets a mail for replies of others to their own tickets, from the first one on', async () => {
    const reporter = await harness.person(org, 'viewer')
    await reply(reporter.userId, reporter.userId)
    await harness.drain()
    expect(await defaults()).toEqual([])
    await reply(reporter.userId, org.owner.userId)
    await reply(org.owner.userId, reporter.userId)
    // And none for those to somebody else's.
    const another = await harness.person(org, 'viewer')
    await reply(another.userId, org.owner.userId)
    await harness.drain()
    expect(harness.sent.map(({ by, to }) => `${by} ${to}`).toSorted()).toEqual(
      [reporter, org.owner, another].map(({ email }) => `email ${email}`).toSorted(),
    )
    expect(harness.sent[0]!.what).toMatch(/https:\/\/site\.example\.test\/unsubscribe\/n1\.org_/)
  })

  test('many first events at once make one default; one that was deleted or stopped never comes back', async () => {
    const reporter = await harness.person(org, 'viewer')
    const startSupportSession = () => harness.record(org, { type: 'org.support_access.started' })
    await Promise.all(
      [...Array(8)].flatMap(() => [reply(reporter.userId, org.owner.userId), startSupportSession()]),
    )
    await Promise.all([harness.drain(), harness.drain(), harness.drain()])
    // Of an organization only so many mails are held at once: those over the cap are tried again a moment later.
    for (let round = 0; round < 3; round++) {
      harness.clock.advance(1)
      await harness.drain()
    }
    expect((await defaults()).map(({ defaultKey }) => String(defaultKey)).toSorted()).toEqual(
      [`support_access:${org.owner.userId}`, `ticket_reporter:${reporter.userId}`].toSorted(),
    )
    expect(harness.sent).toHaveLength(16)
    await harness.db.delete(subscriptions).where(eq(subscriptions.orgId, org.id))
    await reply(reporter.userId, org.owner.userId)
    await startSupportSession()
    await harness.drain()
    expect(await defaults()).toEqual([])
    expect(harness.sent).toHaveLength(16)
  })

  test('pipeline events go to the connected channel from the first one on; without a channel the next event asks again', async () => {
    await harness.record(org, { type: 'pipeline.run.failed' })
    await harness.drain()
    expect(await defaults()).toEqual([])
    await harness.integration(org, 'chat')
    await harness.record(org, { type: 'pipeline.run.recovered' })
    await harness.drain()
    expect(await defaults()).toEqual([{ defaultKey: 'pipeline', userId: null, pattern: 'pipeline.run.*' }])
    expect(harness.sent).toHaveLength(1)
  })

  test('owners and admins get a mail about a support session, each their own, and nobody who no longer is one', async () => {
    const admin = await harness.person(org, 'admin')
    const developer = await harness.person(org, 'developer')
    const startSupportSession = () => harness.record(org, { type: 'org.support_access.started' })
    await startSupportSession()
    await harness.drain()
    expect(harness.sent.map(({ to }) => to).toSorted()).toEqual([org.owner.email, admin.email].toSorted())
    // One rank too low is as good as none: what was on its way is theirs no more.
    await startSupportSession()
    while (await shipAndFanOut(harness.deps));
    const lowered = { role: 'developer' } as const
    await harness.db.update(memberships).set(lowered).where(eq(memberships.userId, admin.userId))
    await harness.drain()
    expect(harness.sent.slice(2).map(({ to }) => to)).toEqual([org.owner.email])
    await harness.db
      .update(memberships)
      .set({ role: 'admin' })
      .where(eq(memberships.userId, developer.userId))
    await startSupportSession()
    await harness.drain()
    expect(
      harness.sent
        .slice(3)
        .map(({ to }) => to)
        .toSorted(),
    ).toEqual([org.owner.email, developer.email].toSorted())
    const added = await harness.db.select().from(notifications).where(eq(notifications.userId, admin.userId))
    expect(added).toHaveLength(2)
  })
})

test('recording takes part in the producer’s transaction: undone with it, nothing is delivered', async () => {
  const { url } = await subscribed('deploy.*')
  await expect(
    withTransaction(harness.db, async (tx) => {
      await recordEvent(tx, harness.clock.now, {
        orgId: org.id,
        type: 'deploy.failed',
        subject: 'deployments/dep_1',
        dedupKey: 'undone',
        source: 'test',
        actorId: null,
        data: { deployment_id: 'dep_1', code: 'X' },
      })
      throw new Error('undone')
    }),
  ).rejects.toThrow('undone')
  await harness.drain()
  expect(harness.received(url)).toEqual([])
})

test('running loops deliver an event soon, and give back what they had claimed when they stop', async () => {
  const { url } = await subscribed('deploy.*')
  // A first look has found nothing: from here on it is the event that wakes them.
  const { going: running } = await untilAsked(harness.db, /from "?outbox/, () =>
    startNotifications(harness.deps),
  )
  try {
    await harness.record(org, { type: 'deploy.failed' })
    await expect.poll(() => harness.received(url).length, { interval: 10, timeout: 10_000 }).toBe(1)
  } finally {
    await running.stop()
  }
  expect((await harness.messagesOf(org)).map(({ state }) => state)).toEqual(['sent'])
  expect(harness.warnings).toEqual([])
})

test('loops that stop give back at once what they had claimed and not started', async () => {
  const other = await harness.organization()
  for (const one of [org, other]) {
    const { integrationId } = await harness.integration(one, 'webhook')
    await harness.subscription(one, integrationId, 'deploy.*')
    await harness.record(one, { type: 'deploy.failed' })
  }
  while (await shipAndFanOut(harness.deps));
  // Another worker has one of its own.
  const leaseUntil = new Date('2999-01-01T00:00:00Z')
  const elsewhere = await harness.organization()
  const target = (await harness.integration(elsewhere, 'webhook')).integrationId
  const claimed = { state: 'claimed', worker: 'another', leaseUntil } as const
  const theirs = { orgId: elsewhere.id, id: 'msg_theirs', target, channel: 'webhook', ...claimed } as const
  const at = harness.clock.now()
  await harness.db.insert(messages).values({ ...theirs, nextAt: at, createdAt: at })
  // Claimed, and not checked yet: it is asked who may have it.
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { directory } = harness.deps
  const readMembers: typeof directory.readMembers = async (...given) => {
    asked.resolve()
    await answered.promise
    return directory.readMembers(...given)
  }
  const running = startNotifications({ ...harness.deps, directory: { ...directory, readMembers } })
  await asked.promise
  expect((await harness.messagesOf(org)).map(({ state }) => state)).toEqual(['claimed'])
  const stopped = running.stop()
  answered.resolve()
  await stopped
  const left = [...(await harness.messagesOf(org)), ...(await harness.messagesOf(other))]
  expect(left.map(({ state, worker, leaseUntil }) => [state, worker, leaseUntil])).toEqual([
    ['pending', null, null],
    ['pending', null, null],
  ])
  expect(await harness.messagesOf(elsewhere)).toMatchObject([claimed])
  await harness.db.delete(messages).where(eq(messages.orgId, elsewhere.id))
  await harness.drain()
  expect((await harness.messagesOf(org)).map(({ state }) => state)).toEqual(['sent'])
})

test('loops that stop still do what the last answers mean for an integration', async () => {
  const { integrationId, url } = await subscribed('deploy.*')
  const answered = Promise.withResolvers<Outcome>()
  harness.answer(() => answered.promise)
  await harness.record(org, { type: 'deploy.failed' })
  const running = startNotifications(harness.deps)
  await expect.poll(() => harness.received(url).length, { interval: 10 }).toBe(1)
  const stopped = running.stop()
  answered.resolve({ kind: 'refused', reason: 'endpoint_gone', retry: false, httpStatus: 410 })
  await stopped
  const isIt = and(eq(integrations.orgId, org.id), eq(integrations.id, integrationId))
  expect(await harness.db.select().from(integrations).where(isIt)).toMatchObject([{ state: 'gone' }])
  expect(harness.warnings).toEqual([])
  // And its owner hears of it, by whoever works next.
  await harness.drain()
  harness.clock.advance(60 * 60)
  await harness.drain()
  expect(harness.sent.filter(({ to }) => to === org.owner.email)).toMatchObject([{ by: 'email' }])
})

test('what was settled long ago is swept with everything that only it held; what is open stays', async () => {
  // In no month, on either engine: months go as a whole (months.test.ts).
  harness.clock.set('2025-06-02T10:00:00Z')
  const { url } = await subscribed('deploy.*')
  await subscribed('pipeline.*', 'daily')
  await harness.record(org, { type: 'deploy.failed' })
  await harness.record(org, { type: 'pipeline.run.failed' })
  await harness.drain()
  expect(harness.received(url)).toHaveLength(1)
  harness.clock.advance(91 * 24 * 60 * 60)
  await sweepDeliveries({ ...harness.deps, deliveryDays: 90 })
  expect((await harness.deliveriesOf(org)).map(({ type, state }) => [type, state])).toEqual([
    ['pipeline.run.failed', 'waiting'],
  ])
  expect((await harness.messagesOf(org)).map(({ state }) => state)).toEqual(['open'])
  const left = await harness.db.select().from(events).where(eq(events.orgId, org.id))
  expect(left.map(({ type }) => type)).toEqual(['pipeline.run.failed'])
})

test('nothing that a person wrote, no name, no address and no key is in any message, mail or row', async () => {
  const canary = 'CANARY'
  const named = await harness.person(org, 'owner', `${canary}-person`)
  const appId = await harness.app(org, 'billing', `${canary} app`)
  const places = [
    await harness.integration(org, 'webhook', { url: `https://hooks.test/${canary}-webhook` }),
    await harness.integration(org, 'chat', {
      url: `https://hooks.test/${canary}-chat`,
      botToken: `${canary}-token`,
      teamId: 'T1',
    }),
    await harness.integration(org, 'forum', {
      url: `https://forum.test/${canary}`,
      apiKey: `${canary}-key`,
      config: { category: 1 },
    }),
  ]
  for (const { integrationId } of places) await harness.subscription(org, integrationId, 'support.ticket.*')
  const about = { appId, actorId: org.owner.userId, concernsId: named.userId }
  await harness.record(org, { type: 'support.ticket.replied', ...about })
  await harness.drain()
  expect(harness.sent.map(({ by }) => by).toSorted()).toEqual(['chat', 'email', 'forum', 'webhook'])
  harness.answer(() => ({ kind: 'refused', reason: 'endpoint_gone', retry: false }))
  await harness.record(org, { type: 'support.ticket.replied', ...about })
  harness.clock.advance(2)
  await harness.drain()
  const said = harness.sent.map(({ what }) => what)
  expect(said.length).toBeGreaterThan(5)
  expect(said.filter((text) => text.includes(canary))).toEqual([])
  for (const table of [
    'outbox',
    'events',
    'deliveries',
    'messages',
    'message_targets',
    'attempts',
    'notifications',
    'subscriptions',
  ]) {
    const rows = await database.sql.query<{ text: string }>(
      `select t::text as text from ${table} t where org_id = '${org.id}'`,
    )
    expect([table, rows.filter(({ text }) => text.includes(canary))]).toEqual([table, []])
  }
})
