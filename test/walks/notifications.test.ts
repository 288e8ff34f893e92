/** From an event to a message: matched, in order, in digests, retried, stopped, and never twice. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import {
  appMembers,
  chatLinks,
  events,
  inbox,
  integrations,
  memberships,
  outbox,
  personalFollows,
  subscriptions,
} from '../../db/schema.ts'
import { changeState, createSender, takeIn } from '../../src/cores/notifications/index.ts'
import { claimSends } from '../../src/cores/notifications/claim-sends.ts'
import { windowsAfter } from '../../src/cores/notifications/digest-windows.ts'
import { recordEvent, recordTestEvent } from '../../src/cores/notifications/record-event.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { startNotifications } from '../../src/worker/notifications.ts'
import { sweepDeliveries } from '../../src/worker/sweep.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { notificationHouse, type HouseOrg, type NotificationHouse } from '../support/notification-house.ts'

let database: TestDatabase
let house: NotificationHouse
let org: HouseOrg

beforeAll(async () => {
  database = await newDatabase()
})
afterAll(() => database?.close())
beforeEach(async () => {
  house = await notificationHouse(database)
  org = await house.organization()
})

async function subscribed(pattern: string, timing?: 'hourly' | 'daily') {
  const { integrationId, url } = await house.connection(org, 'webhook')
  const subscriptionId = await house.subscription(org, integrationId, pattern, timing)
  return { integrationId, url, subscriptionId }
}

describe('events', () => {
  test('nothing a person wrote fits into an event, and a refused one leaves nothing', async () => {
    const bad = [
      { type: 'deploy.failed', data: { deployment_id: 'dep_1', code: 'it broke again!' } },
      { type: 'deploy.failed', data: { deployment_id: 'dep_1', code: 'X', title: 'mine' } },
      { type: 'deploy.failed', subject: 'Title of a ticket' },
    ] as const
    for (const event of bad) await expect(house.record(org, event)).rejects.toThrow(/invalid|unrecognized/i)
    expect(await house.db.select().from(outbox).where(eq(outbox.orgId, org.id))).toEqual([])
  })

  test('the same event recorded twice is told once', async () => {
    const { url } = await subscribed('deploy.failed')
    await house.record(org, { type: 'deploy.failed', dedupKey: 'same' })
    await house.record(org, { type: 'deploy.failed', dedupKey: 'same' })
    await house.drain()
    expect(house.received(url)).toHaveLength(1)
    expect(await house.deliveriesOf(org)).toHaveLength(1)
  })

  test('a state is moved by one and moved back by the next; whoever comes second stays silent', async () => {
    const move = (to: string) =>
      withTransaction(house.db, (tx) =>
        changeState(tx, house.clock.now, { orgId: org.id, kind: 'check', subject: 'chk_1', to }),
      )
    expect(await move('failed')).toEqual({ seq: 1, from: null })
    expect(await Promise.all([move('ok'), move('ok'), move('ok')])).toEqual(
      expect.arrayContaining([{ seq: 2, from: 'failed' }, undefined, undefined]),
    )
    expect(await move('failed')).toEqual({ seq: 3, from: 'ok' })
  })

  test('recorded while nobody worked, everything arrives afterwards, once', async () => {
    const { url } = await subscribed('deploy.*')
    for (let n = 0; n < 30; n++) await house.record(org, { type: 'deploy.failed' })
    expect(house.noted).toEqual([])
    house.clock.advance(24 * 60 * 60)
    for (let round = 0; round < 5; round++) {
      await house.drain()
      house.clock.advance(2)
    }
    const ids = house.received(url).map(({ id }) => id)
    expect(ids).toHaveLength(30)
    expect(new Set(ids).size).toBe(30)
  })
})

describe('matching', () => {
  test('an exact type and every prefix with a star match; nothing else, and no other organization', async () => {
    const other = await house.organization()
    const theirs = await house.connection(other, 'webhook')
    await house.subscription(other, theirs.integrationId, 'pipeline.*')
    const right = await Promise.all(
      ['pipeline.run.failed', 'pipeline.run.*', 'pipeline.*'].map((pattern) => subscribed(pattern)),
    )
    const wrong = await Promise.all(
      ['pipeline.run', 'pipeline.run.recovered', 'pipeline.run.failed.*', 'pipe.*', 'svc.test'].map(
        (pattern) => subscribed(pattern),
      ),
    )
    await house.record(org, { type: 'pipeline.run.failed' })
    await house.drain()
    expect(right.map(({ url }) => house.received(url).length)).toEqual([1, 1, 1])
    expect(wrong.map(({ url }) => house.received(url).length)).toEqual([0, 0, 0, 0, 0])
    expect(house.received(theirs.url)).toEqual([])
    expect(await house.deliveriesOf(other)).toEqual([])
  })

  test('an event that nobody is to get has its row in the ledger', async () => {
    const eventId = await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    expect(await house.deliveriesOf(org)).toMatchObject([
      { eventId, state: 'dropped', reason: 'matched_nobody', subscriptionId: null, userId: null },
    ])
  })

  test('a test goes through the one subscription it is for, at once, whatever its timing', async () => {
    const daily = await subscribed('deploy.failed', 'daily')
    const greedy = await subscribed('svc.*')
    await withTransaction(house.db, (tx) =>
      recordTestEvent(tx, house.clock.now, {
        orgId: org.id,
        subscriptionId: daily.subscriptionId,
        actorId: org.owner.userId,
      }),
    )
    await house.drain()
    expect(house.received(daily.url)).toMatchObject([
      { type: 'svc.test', data: { subscription_id: daily.subscriptionId } },
    ])
    expect(house.received(greedy.url)).toEqual([])
  })

  test('a subscription that was switched off or deleted meanwhile gets nothing, and the ledger says why', async () => {
    const [paused, deleted] = [await subscribed('deploy.*', 'hourly'), await subscribed('deploy.*', 'hourly')]
    await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    const at = (id: string) => and(eq(subscriptions.orgId, org.id), eq(subscriptions.id, id))
    await house.db
      .update(subscriptions)
      .set({ enabled: false, disabledReason: 'paused' })
      .where(at(paused.subscriptionId))
    await house.db.delete(subscriptions).where(at(deleted.subscriptionId))
    house.clock.advance(60 * 60)
    await house.drain()
    expect(house.noted).toEqual([])
    expect((await house.deliveriesOf(org)).map(({ state, reason }) => [state, reason])).toEqual([
      ['dropped', 'subscription_off'],
      ['dropped', 'subscription_off'],
    ])
    expect((await house.sendsOf(org)).map(({ state }) => state)).toEqual(['dropped', 'dropped'])
  })
})

describe('digests', () => {
  test('fifty events at once in one window make one message with fifty notifications', async () => {
    const { url } = await subscribed('deploy.*', 'hourly')
    await Promise.all(Array.from({ length: 50 }, () => house.record(org, { type: 'deploy.failed' })))
    await Promise.all([house.drain(), house.drain(), house.drain()])
    expect(house.noted).toEqual([])
    house.clock.advance(60 * 60)
    await Promise.all([house.drain(), house.drain()])
    expect(house.noted).toHaveLength(1)
    expect(new Set(house.received(url).map(({ id }) => id)).size).toBe(50)
    house.clock.advance(60 * 60)
    await house.drain()
    expect(house.noted).toHaveLength(1)
  })

  test('what comes when its window was taken already goes into the next one', async () => {
    const { url } = await subscribed('deploy.*', 'hourly')
    await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    // Another worker whose clock is ahead has taken the window.
    const ahead = { ...house.needs, clock: () => new Date(house.clock.now().getTime() + 60 * 60 * 1000) }
    await claimSends(ahead, { worker: 'ahead', leaseSeconds: 5, after: '' })
    await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    const windows = await house.sendsOf(org)
    expect(windows.map(({ state }) => state)).toEqual(['claimed', 'open'])
    expect(windows[1]!.windowEnd!.getTime() - windows[0]!.windowEnd!.getTime()).toBe(60 * 60 * 1000)
    house.clock.advance(2 * 60 * 60)
    await house.drain()
    expect(house.noted).toHaveLength(2)
    expect(house.received(url)).toHaveLength(2)
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
    const { daily } = await windowsAfter(house.db, zone, new Date(now))
    expect(daily.toISOString()).toBe(new Date(end).toISOString())
  })

  test('hourly is the next full hour of the local clock, also where that is half past', async () => {
    const at = new Date('2026-11-15T08:10:00Z')
    expect((await windowsAfter(house.db, 'UTC', at)).hourly.toISOString()).toBe('2026-11-15T09:00:00.000Z')
    expect((await windowsAfter(house.db, 'Asia/Kolkata', at)).hourly.toISOString()).toBe(
      '2026-11-15T08:30:00.000Z',
    )
  })

  test('of a long digest a chat gets twenty lines and a count', async () => {
    const { integrationId } = await house.connection(org, 'chat')
    await house.subscription(org, integrationId, 'deploy.*', 'hourly')
    for (let n = 0; n < 23; n++) await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    house.clock.advance(60 * 60)
    await house.drain()
    const lines = house.noted[0]!.what.split('\n')
    expect(lines).toHaveLength(21)
    expect(lines.at(-1)).toBe('+3 more')
  })
})

describe('order', () => {
  test('"recovered" waits for a "failed" that is being retried; other subjects do not', async () => {
    const { url } = await subscribed('application.check.*')
    let refuses = true
    house.answer(({ what }) =>
      refuses && what.includes('check.failed')
        ? { kind: 'refused', reason: 'server_error', retry: true, httpStatus: 503, retryAfterSeconds: 60 }
        : { kind: 'sent', httpStatus: 200 },
    )
    const subject = 'checks/chk_1'
    await house.record(org, { type: 'application.check.failed', subject })
    await house.record(org, { type: 'application.check.recovered', subject })
    await house.record(org, { type: 'application.check.recovered', subject: 'checks/chk_2' })
    await house.drain()
    expect(house.received(url).map(({ type, subject: of }) => [type, of])).toEqual([
      ['application.check.failed', subject],
      ['application.check.recovered', 'checks/chk_2'],
    ])
    refuses = false
    house.clock.advance(61)
    await house.drain()
    house.clock.advance(1)
    await house.drain()
    expect(
      house
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
      await house.record(org, { type, subject, data: { check_id: 'chk_1', run_id: `run_${n}` } })
    }
    for (let round = 0; round < 8; round++) {
      await Promise.all([house.drain(), house.drain()])
      house.clock.advance(1)
    }
    const runs = house.noted
      .filter(({ to }) => to === url)
      .map(({ what }) => (JSON.parse(what) as { data: { run_id: string } }[])[0]!.data.run_id)
    expect(runs).toEqual(['run_0', 'run_1', 'run_2', 'run_3', 'run_4', 'run_5'])
  })
})

describe('limits and fairness', () => {
  test('a chat channel gets one message a second, each at its own turn; a webhook ten', async () => {
    const chat = await house.connection(org, 'chat')
    await house.subscription(org, chat.integrationId, 'deploy.*')
    const hook = await subscribed('deploy.*')
    for (let n = 0; n < 25; n++) await house.record(org, { type: 'deploy.failed' })
    const seen: number[][] = []
    for (let second = 0; second < 4; second++) {
      await house.drain()
      seen.push([chat.url, hook.url].map((url) => house.noted.filter(({ to }) => to === url).length))
      house.clock.advance(1)
    }
    expect(seen.map(([chats]) => chats)).toEqual([1, 2, 3, 4])
    expect(seen[0]![1]).toBeGreaterThanOrEqual(10)
    expect(seen[0]![1]).toBeLessThan(15)
    expect(seen[3]![1]).toBe(25)
    const turns = (await house.sendsOf(org))
      .filter(({ state }) => state === 'pending')
      .map((s) => s.nextAt.getTime())
    expect(new Set(turns).size).toBe(21)
  })

  test('a backlog of one organization delays the single event of another by no more than one claim', async () => {
    const { url } = await subscribed('deploy.*')
    await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    const [first] = await house.sendsOf(org)
    await backlog(first!.id, 500)
    const other = await house.organization()
    const theirs = await house.connection(other, 'webhook')
    await house.subscription(other, theirs.integrationId, 'deploy.*')
    await house.record(other, { type: 'deploy.failed' })
    while (await takeIn(house.needs));
    const { claimed } = await claimSends(house.needs, { worker: 'w', leaseSeconds: 60, after: '' })
    expect(claimed.some(({ orgId }) => orgId === other.id)).toBe(true)
    expect(claimed.filter(({ orgId }) => orgId === org.id).length).toBeGreaterThan(4)
    await database.sql.query(`delete from sends where org_id = '${org.id}'`)
    expect(house.received(url)).toHaveLength(1)
  })

  /** Messages that are long due, each for a target of its own. */
  const backlog = (like: string, count: number) =>
    database.sql.query(`
      insert into sends (org_id, id, channel, subscription_id, integration_id, target, state, next_at, created_at)
      select org_id, id || n, channel, subscription_id, integration_id, target || n, 'pending',
        next_at - interval '1 hour', created_at
      from sends cross join generate_series(1, ${count}) n where id = '${like}'`)
})

describe('outcomes', () => {
  test('a refusal is retried by the schedule under the same id until it is given up', async () => {
    const { url } = await subscribed('deploy.*')
    house.answer(() => ({ kind: 'refused', reason: 'server_error', retry: true, httpStatus: 500 }))
    await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    expect(await house.deliveriesOf(org)).toMatchObject([
      { state: 'retrying', reason: 'server_error', settledAt: null },
    ])
    for (let attempt = 2; attempt <= 12; attempt++) {
      const [send] = await house.sendsOf(org)
      house.clock.set(send!.nextAt.toISOString())
      await house.drain()
    }
    expect(new Set(house.received(url).map(({ id }) => id)).size).toBe(1)
    expect(house.received(url)).toHaveLength(10)
    const [send] = await house.sendsOf(org)
    expect(send).toMatchObject({ state: 'failed', attempts: 10 })
    expect(await house.deliveriesOf(org)).toMatchObject([{ state: 'failed', reason: 'gave_up' }])
    expect(
      (await house.attemptsOf(org, send!.id)).map((a) => [a.number, a.outcome, a.reason, a.httpStatus]),
    ).toEqual(Array.from({ length: 10 }, (_, n) => [n + 1, 'failed', 'server_error', 500]))
  })

  test('a lost answer is unconfirmed and never followed by a second message', async () => {
    const { url } = await subscribed('deploy.*')
    house.answer(() => {
      throw new Error('the connection broke')
    })
    await house.record(org, { type: 'deploy.failed' })
    for (let n = 0; n < 3; n++) {
      await house.drain()
      house.clock.advance(24 * 60 * 60)
    }
    expect(house.received(url)).toHaveLength(1)
    expect(await house.deliveriesOf(org)).toMatchObject([{ state: 'failed', reason: 'outcome_unknown' }])
  })

  test('a webhook whose owner says that it knows repetitions is asked again, under the same id', async () => {
    const { integrationId, url } = await house.connection(org, 'webhook', {
      config: { resend_on_unknown: true },
    })
    await house.subscription(org, integrationId, 'deploy.*')
    house.answer(() => (house.noted.length === 1 ? { kind: 'unknown' } : { kind: 'sent' }))
    await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    house.clock.advance(10)
    await house.drain()
    expect(new Set(house.received(url).map(({ id }) => id)).size).toBe(1)
    expect(house.received(url)).toHaveLength(2)
    expect(await house.deliveriesOf(org)).toMatchObject([{ state: 'sent', reason: null }])
  })

  test('a claim that ran out is taken again; an attempt that ran out is not', async () => {
    const { url } = await subscribed('deploy.*')
    await house.record(org, { type: 'deploy.failed' })
    while (await takeIn(house.needs));
    expect(
      (await claimSends(house.needs, { worker: 'dead', leaseSeconds: 60, after: '' })).claimed,
    ).toHaveLength(1)
    await house.drain()
    expect(house.noted).toEqual([])
    house.clock.advance(61)
    await house.drain()
    expect(house.received(url)).toHaveLength(1)

    const again = await subscribed('pipeline.*')
    await house.record(org, { type: 'pipeline.run.failed' })
    house.answer(() => new Promise<never>(() => {}))
    void house.drain()
    while (house.received(again.url).length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    house.answer(() => ({ kind: 'sent' }))
    house.clock.advance(10 * 60)
    await house.drain()
    expect(house.received(again.url)).toHaveLength(1)
    expect((await house.deliveriesOf(org)).map(({ state, reason }) => [state, reason])).toEqual([
      ['sent', null],
      ['failed', 'outcome_unknown'],
    ])
  })
})

describe('endpoints', () => {
  const stateOf = async (integrationId: string) =>
    (await house.db.select().from(integrations).where(eq(integrations.id, integrationId)))[0]!.state
  const toldOf = (userId: string) => house.db.select().from(inbox).where(eq(inbox.userId, userId))

  test('one that answers 410 is gone, what was queued for it is dropped, and owners and admins are told', async () => {
    const { integrationId, url } = await subscribed('deploy.*')
    const admin = await house.person(org, 'admin')
    const viewer = await house.person(org, 'viewer')
    house.answer(() => ({ kind: 'refused', reason: 'endpoint_gone', retry: false, httpStatus: 410 }))
    for (let n = 0; n < 30; n++) await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    expect(await stateOf(integrationId)).toBe('gone')
    const all = await house.deliveriesOf(org)
    expect(new Set(all.map(({ reason }) => reason))).toEqual(new Set(['endpoint_gone']))
    expect(new Set(all.map(({ state }) => state))).toEqual(new Set(['failed', 'dropped']))
    expect(house.received(url).length).toBeLessThanOrEqual(16)
    for (const { userId } of [org.owner, admin]) {
      expect(await toldOf(userId)).toMatchObject([{ type: 'svc.connection.stopped' }])
    }
    expect(await toldOf(viewer.userId)).toEqual([])
    expect(house.mails.map(({ to }) => to).toSorted()).toEqual([org.owner.email, admin.email].toSorted())
    expect(JSON.stringify(house.mails)).not.toContain(url)
  })

  test('one that fails for five days without a success is dead; a single success between keeps it', async () => {
    const [dead, alive] = [await subscribed('deploy.*'), await subscribed('deploy.*')]
    house.answer(({ to }) =>
      to === alive.url && house.noted.filter((n) => n.to === to).length === 3
        ? { kind: 'sent' }
        : { kind: 'refused', reason: 'not_reached', retry: false },
    )
    for (let day = 0; day < 6; day++) {
      await house.record(org, { type: 'deploy.failed' })
      await house.drain()
      house.clock.advance(24 * 60 * 60 + 1)
    }
    expect([await stateOf(dead.integrationId), await stateOf(alive.integrationId)]).toEqual([
      'dead',
      'active',
    ])
    await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    expect((await house.deliveriesOf(org)).some(({ reason }) => reason === 'endpoint_dead')).toBe(true)
    expect(house.mails).toHaveLength(1)
  })

  test('a chat channel that the service forgot is lost, and its subscriptions are off for that reason alone', async () => {
    const { integrationId } = await house.connection(org, 'chat')
    const [on, paused] = [
      await house.subscription(org, integrationId, 'deploy.*'),
      await house.subscription(org, integrationId, 'pipeline.*'),
    ]
    await house.db
      .update(subscriptions)
      .set({ enabled: false, disabledReason: 'paused' })
      .where(eq(subscriptions.id, paused))
    house.answer(() => ({ kind: 'refused', reason: 'connection_lost', retry: false, httpStatus: 404 }))
    await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    expect(await stateOf(integrationId)).toBe('lost')
    const rows = await house.db.select().from(subscriptions).where(eq(subscriptions.orgId, org.id))
    expect(Object.fromEntries(rows.map((row) => [row.id, row.disabledReason]))).toEqual({
      [on]: 'connection_lost',
      [paused]: 'paused',
    })
  })

  test('a forum posts in the name of whoever did it; where nobody did, nobody posts', async () => {
    const { integrationId } = await house.connection(org, 'forum', { apiKey: 'k', config: { category: 5 } })
    await house.subscription(org, integrationId, 'deploy.*', 'daily')
    await house.record(org, { type: 'deploy.failed', actorId: org.owner.userId })
    await house.record(org, { type: 'deploy.failed' })
    await house.drain()
    house.clock.advance(1)
    await house.drain()
    expect(house.noted).toMatchObject([{ by: 'forum', to: org.owner.userId }])
    expect((await house.deliveriesOf(org)).map(({ reason }) => reason)).toEqual(
      expect.arrayContaining([null, 'no_acting_person']),
    )
  })
})

describe('people', () => {
  async function follower(categories: ('Tickets' | 'Failed deploys')[] = ['Failed deploys']) {
    const person = await house.person(org, 'developer')
    const appId = await house.app(org, `app-${person.userId.slice(-6)}`)
    await house.db
      .insert(appMembers)
      .values({ orgId: org.id, appId, userId: person.userId, role: 'builder', addedAt: house.clock.now() })
    await house.db.insert(personalFollows).values({
      orgId: org.id,
      userId: person.userId,
      appId,
      categories,
      frequency: 'immediately',
      changedAt: house.clock.now(),
    })
    return { ...person, appId }
  }
  const link = (userId: string) =>
    house.db.insert(chatLinks).values({
      orgId: org.id,
      userId,
      teamId: 'T1',
      chatUserId: `U-${userId}`,
      displayName: 'x',
      linkedAt: house.clock.now(),
    })
  const reasons = async () => (await house.deliveriesOf(org)).map(({ reason, state }) => reason ?? state)
  const deploy = (appId: string) => house.record(org, { type: 'deploy.failed', appId })

  test('a follower is told by a message with app, category, code and link alone, and in the inbox', async () => {
    await house.connection(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    const person = await follower()
    await link(person.userId)
    await deploy(person.appId)
    await house.drain()
    const alias = `app-${person.userId.slice(-6)}`
    expect(house.noted).toEqual([
      {
        by: 'directMessage',
        to: `U-${person.userId}`,
        what: `${alias} · Failed deploys · BUILD_FAILED · <https://app.example.test/console/apps/${alias}|Open>`,
      },
    ])
    expect(await house.db.select().from(inbox).where(eq(inbox.userId, person.userId))).toMatchObject([
      { type: 'deploy.failed', summary: `${alias}: a deployment failed` },
    ])
  })

  test('inbox rows are there without any chat account, and the ledger says what was missing', async () => {
    const person = await follower()
    await deploy(person.appId)
    await house.drain()
    await house.connection(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    await deploy(person.appId)
    house.clock.advance(1)
    await house.drain()
    expect((await reasons()).toSorted()).toEqual(['no_chat_account', 'no_chat_workspace'])
    expect(await house.db.select().from(inbox).where(eq(inbox.userId, person.userId))).toHaveLength(2)
  })

  test('whoever is nobody to the app any more gets nothing that was on its way, nor an inbox row', async () => {
    await house.connection(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    const [removed, left] = [await follower(), await follower()]
    await link(removed.userId)
    await link(left.userId)
    await deploy(removed.appId)
    await deploy(left.appId)
    while (await takeIn(house.needs));
    await house.db.delete(appMembers).where(eq(appMembers.userId, removed.userId))
    await house.db.delete(memberships).where(eq(memberships.userId, left.userId))
    await house.drain()
    expect(house.noted).toEqual([])
    expect((await reasons()).toSorted()).toEqual(['no_longer_permitted', 'not_a_member'])
    await deploy(removed.appId)
    await house.drain()
    expect(await house.db.select().from(inbox).where(eq(inbox.userId, removed.userId))).toHaveLength(1)
  })

  test('also who is removed between the claim and the first byte', async () => {
    await house.connection(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    const person = await follower()
    await link(person.userId)
    await deploy(person.appId)
    while (await takeIn(house.needs));
    const sender = createSender(house.needs, { worker: 'this one' })
    expect((await sender.claim()).claimed).toHaveLength(1)
    await house.db.delete(appMembers).where(eq(appMembers.userId, person.userId))
    await sender.step()
    expect(house.noted).toEqual([])
    expect(await reasons()).toEqual(['no_longer_permitted'])
  })

  test('an account that the chat service deactivated is marked and not tried again', async () => {
    await house.connection(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    const person = await follower()
    await link(person.userId)
    house.answer(() => ({ kind: 'refused', reason: 'chat_account_inactive', retry: false }))
    await deploy(person.appId)
    await house.drain()
    await deploy(person.appId)
    house.clock.advance(5)
    await house.drain()
    expect(house.noted).toHaveLength(1)
    expect(await reasons()).toEqual(['chat_account_inactive', 'chat_account_inactive'])
  })
})

describe('defaults', () => {
  const seeded = async () =>
    (await house.db.select().from(subscriptions).where(eq(subscriptions.orgId, org.id))).map(
      ({ seedKey, userId, pattern }) => ({ seedKey, userId, pattern }),
    )
  const reply = (reporter: string, actor: string) =>
    house.record(org, { type: 'support.ticket.replied', concernsId: reporter, actorId: actor })

  test('a reporter gets a mail for replies of others to their own tickets, from the first one on', async () => {
    const reporter = await house.person(org, 'viewer')
    await reply(reporter.userId, reporter.userId)
    await house.drain()
    expect(await seeded()).toEqual([])
    await reply(reporter.userId, org.owner.userId)
    await reply(org.owner.userId, reporter.userId)
    await house.drain()
    expect(house.noted.map(({ by, to }) => `${by} ${to}`).toSorted()).toEqual(
      [`email ${reporter.email}`, `email ${org.owner.email}`].toSorted(),
    )
    expect(house.noted[0]!.what).toMatch(/https:\/\/site\.example\.test\/unsubscribe\/n1\.org_/)
  })

  test('many first events at once make one default; one that was deleted or stopped never comes back', async () => {
    const reporter = await house.person(org, 'viewer')
    const visits = () => house.record(org, { type: 'org.support_access.started' })
    await Promise.all([...Array(8)].flatMap(() => [reply(reporter.userId, org.owner.userId), visits()]))
    await Promise.all([house.drain(), house.drain(), house.drain()])
    expect((await seeded()).map(({ seedKey }) => String(seedKey)).toSorted()).toEqual(
      [`support_access:${org.owner.userId}`, `ticket_reporter:${reporter.userId}`].toSorted(),
    )
    expect(house.noted).toHaveLength(16)
    await house.db.delete(subscriptions).where(eq(subscriptions.orgId, org.id))
    await reply(reporter.userId, org.owner.userId)
    await visits()
    await house.drain()
    expect(await seeded()).toEqual([])
    expect(house.noted).toHaveLength(16)
  })

  test('pipelines are told to the connected channel from the first event on; without one the next event asks again', async () => {
    await house.record(org, { type: 'pipeline.run.failed' })
    await house.drain()
    expect(await seeded()).toEqual([])
    await house.connection(org, 'chat')
    await house.record(org, { type: 'pipeline.run.recovered' })
    await house.drain()
    expect(await seeded()).toEqual([{ seedKey: 'pipeline', userId: null, pattern: 'pipeline.run.*' }])
    expect(house.noted).toHaveLength(1)
  })

  test('of visits by support staff owners and admins get mails, each their own, and nobody who is that no more', async () => {
    const admin = await house.person(org, 'admin')
    const developer = await house.person(org, 'developer')
    const visit = () => house.record(org, { type: 'org.support_access.started' })
    await visit()
    await house.drain()
    expect(house.noted.map(({ to }) => to).toSorted()).toEqual([org.owner.email, admin.email].toSorted())
    await house.db.update(memberships).set({ role: 'viewer' }).where(eq(memberships.userId, admin.userId))
    await house.db.update(memberships).set({ role: 'admin' }).where(eq(memberships.userId, developer.userId))
    await visit()
    await house.drain()
    expect(
      house.noted
        .slice(2)
        .map(({ to }) => to)
        .toSorted(),
    ).toEqual([org.owner.email, developer.email].toSorted())
    const told = await house.db.select().from(inbox).where(eq(inbox.userId, admin.userId))
    expect(told).toHaveLength(1)
  })
})

test('recording takes part in the producer’s transaction: undone with it, nothing is told', async () => {
  const { url } = await subscribed('deploy.*')
  await expect(
    withTransaction(house.db, async (tx) => {
      await recordEvent(tx, house.clock.now, {
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
  await house.drain()
  expect(house.received(url)).toEqual([])
})

test('loops that run tell of an event soon, and give back what they had claimed when they stop', async () => {
  const { url } = await subscribed('deploy.*')
  const running = startNotifications(house.needs)
  try {
    // A first look has found nothing: from here on it is the event that wakes them.
    await new Promise((resolve) => setTimeout(resolve, 100))
    await house.record(org, { type: 'deploy.failed' })
    for (let waited = 0; house.received(url).length === 0 && waited < 10_000; waited += 10) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    expect(house.received(url)).toHaveLength(1)
  } finally {
    await running.stop()
  }
  expect((await house.sendsOf(org)).map(({ state }) => state)).toEqual(['sent'])
  expect(house.warnings).toEqual([])
})

test('what was settled long ago is swept with everything that only it held; what is open stays', async () => {
  const { url } = await subscribed('deploy.*')
  await subscribed('pipeline.*', 'daily')
  await house.record(org, { type: 'deploy.failed' })
  await house.record(org, { type: 'pipeline.run.failed' })
  await house.drain()
  expect(house.received(url)).toHaveLength(1)
  house.clock.advance(91 * 24 * 60 * 60)
  await sweepDeliveries({ ...house.needs, deliveryDays: 90 })
  expect((await house.deliveriesOf(org)).map(({ type, state }) => [type, state])).toEqual([
    ['pipeline.run.failed', 'waiting'],
  ])
  expect((await house.sendsOf(org)).map(({ state }) => state)).toEqual(['open'])
  const left = await house.db.select().from(events).where(eq(events.orgId, org.id))
  expect(left.map(({ type }) => type)).toEqual(['pipeline.run.failed'])
})

test('nothing that a person wrote, no name, no address and no key is in any message, mail or row', async () => {
  const canary = 'CANARY'
  const named = await house.person(org, 'owner', `${canary}-person`)
  const appId = await house.app(org, 'billing', `${canary} app`)
  const places = [
    await house.connection(org, 'webhook', { url: `https://hooks.test/${canary}-webhook` }),
    await house.connection(org, 'chat', {
      url: `https://hooks.test/${canary}-chat`,
      botToken: `${canary}-token`,
      teamId: 'T1',
    }),
    await house.connection(org, 'forum', {
      url: `https://forum.test/${canary}`,
      apiKey: `${canary}-key`,
      config: { category: 1 },
    }),
  ]
  for (const { integrationId } of places) await house.subscription(org, integrationId, 'support.ticket.*')
  const about = { appId, actorId: org.owner.userId, concernsId: named.userId }
  await house.record(org, { type: 'support.ticket.replied', ...about })
  await house.drain()
  expect(house.noted.map(({ by }) => by).toSorted()).toEqual(['chatWebhook', 'email', 'forum', 'webhook'])
  house.answer(() => ({ kind: 'refused', reason: 'endpoint_gone', retry: false }))
  await house.record(org, { type: 'support.ticket.replied', ...about })
  house.clock.advance(2)
  await house.drain()
  const said = [
    ...house.noted.map(({ what }) => what),
    ...house.mails.map(({ subject, text }) => subject + text),
  ]
  expect(said.length).toBeGreaterThan(5)
  expect(said.filter((text) => text.includes(canary))).toEqual([])
  for (const table of [
    'outbox',
    'events',
    'deliveries',
    'sends',
    'send_targets',
    'attempts',
    'inbox',
    'subscriptions',
  ]) {
    const rows = await database.sql.query<{ text: string }>(
      `select t::text as text from ${table} t where org_id = '${org.id}'`,
    )
    expect([table, rows.filter(({ text }) => text.includes(canary))]).toEqual([table, []])
  }
})
