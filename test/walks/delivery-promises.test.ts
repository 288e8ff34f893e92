/**
 * decisions, 11: nothing lost, nothing twice. A worker dies or freezes at every single step it takes, before it and after
 * it, and another one goes on; and what a late, lost or reordered answer must not do.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { eq } from '../../db/drizzle.ts'
import { chatLinks, events, follows, integrations, subscriptions } from '../../db/schema.ts'
import {
  createSender,
  expireLeases,
  shipAndFanOut,
  type Outcome,
} from '../../src/cores/notifications/index.ts'
import { shipOutbox } from '../../src/cores/outbox.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { drainNotifications } from '../support/drain.ts'
import { makeAppMember } from '../support/make.ts'
import {
  notificationHarness,
  type HarnessOrg,
  type NotificationHarness,
} from '../support/notification-harness.ts'

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

const fanOut = async () => {
  while (await shipAndFanOut(harness.deps));
}

async function hook(pattern: string, config: Record<string, boolean> = {}) {
  const { integrationId, url } = await harness.integration(org, 'webhook', { config })
  await harness.subscription(org, integrationId, pattern)
  return { integrationId, url }
}

const settledOf = async () =>
  (await harness.deliveriesOf(org)).map(({ state, reason }) => reason ?? state).toSorted()

describe('a worker that stops at any step', () => {
  type Stop = { readonly step: number; readonly when: 'before' | 'after' }

  /** Every statement and every message is a step. At one of them it stops, and goes on when it is thawed, or never. */
  function stoppable({ step, when }: Stop) {
    let steps = 0
    const thawed = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<void>()
    async function pass<T>(work: () => Promise<T>): Promise<T> {
      const isHere = ++steps === step
      const isBeyond = steps > step
      const wait = () => {
        stopped.resolve()
        return thawed.promise
      }
      if (isBeyond || (isHere && when === 'before')) await wait()
      const result = await work()
      if (isHere && when === 'after') await wait()
      return result
    }
    const { deps } = harness
    const db = new Proxy(deps.db, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (name !== 'execute' && name !== 'transaction') return value
        return (...args: unknown[]) =>
          pass(() => (value as (...given: unknown[]) => Promise<unknown>).apply(target, args))
      },
    })
    const webhook = (message: Parameters<typeof deps.channels.webhook>[0]) =>
      pass(() => deps.channels.webhook(message))
    const run = drainNotifications({ ...deps, db, channels: { ...deps.channels, webhook } })
    const ended = run.then(
      () => true,
      () => true,
    )
    return {
      stopped: Promise.race([stopped.promise.then(() => true), ended.then(() => false)]),
      thaw: thawed.resolve,
      ended,
    }
  }

  async function prepare() {
    const { url } = await hook('deploy.*')
    await harness.record(org, { type: 'deploy.failed' })
    await harness.record(org, { type: 'deploy.failed' })
    // Fanning out is one transaction, which is there as a whole or not at all.
    await fanOut()
    return url
  }

  /** The stop was reached: there was such a step. */
  async function everyStop(run: (stop: Stop, url: string) => Promise<boolean>): Promise<number> {
    let stops = 0
    for (const when of ['before', 'after'] as const) {
      for (let step = 1; ; step++) {
        org = await harness.organization()
        harness.sent.length = 0
        if (!(await run({ step, when }, await prepare()))) break
        stops++
      }
    }
    return stops
  }

  test('killed: another one delivers it once, or it is unconfirmed; never twice, never forgotten', async () => {
    const unconfirmed: number[] = []
    const stops = await everyStop(async (stop, url) => {
      const isStopped = await stoppable(stop).stopped
      // Its leases run out, and nothing more is heard of it.
      await harness.later(10 * 60)
      await harness.drain()
      const ids = harness.received(url).map(({ id }) => id)
      expect([stop, ids.length - new Set(ids).size]).toEqual([stop, 0])
      const rows = await harness.deliveriesOf(org)
      expect([stop, rows.length, rows.filter(({ settledAt }) => settledAt === null)]).toEqual([stop, 2, []])
      const sent = rows.filter(({ state }) => state === 'sent')
      const events = new Set(harness.received(url).map(({ data }) => data.event_id))
      expect([stop, sent.filter(({ eventId }) => !events.has(eventId))]).toEqual([stop, []])
      const unknown = rows.filter(({ reason }) => reason === 'outcome_unknown')
      expect([stop, sent.length + unknown.length]).toEqual([stop, 2])
      unconfirmed.push(unknown.length)
      return isStopped
    })
    expect(stops).toBeGreaterThan(12)
    // Only where it died between the start of an attempt and its outcome.
    expect(unconfirmed.filter((n) => n === 0).length).toBeGreaterThan(stops / 2)
    expect(unconfirmed.some((n) => n > 0)).toBe(true)
  })

  test.runIf(inject('everyCase'))(
    'frozen for less than its leases: the other takes nothing from it, and everything arrives once',
    async () => {
      const stops = await everyStop(async (stop, url) => {
        const frozen = stoppable(stop)
        const isStopped = await frozen.stopped
        await harness.drain()
        frozen.thaw()
        await frozen.ended
        harness.clock.advance(2)
        await harness.drain()
        expect([stop, await settledOf()]).toEqual([stop, ['sent', 'sent']])
        expect([stop, harness.received(url).length]).toEqual([stop, 2])
        return isStopped
      })
      expect(stops).toBeGreaterThan(12)
    },
  )

  test('frozen for longer than its leases: what it still does when it thaws is not a second time', async () => {
    await everyStop(async (stop, url) => {
      const frozen = stoppable(stop)
      const isStopped = await frozen.stopped
      await harness.later(10 * 60)
      await harness.drain()
      frozen.thaw()
      await frozen.ended
      await harness.later(10 * 60)
      await harness.drain()
      const ids = harness.received(url).map(({ id }) => id)
      expect([stop, ids.length - new Set(ids).size]).toEqual([stop, 0])
      const rows = await harness.deliveriesOf(org)
      expect([stop, rows.filter(({ settledAt }) => settledAt === null)]).toEqual([stop, []])
      return isStopped
    })
  })
})

describe('an answer', () => {
  test('that is lost under a direct message is not followed by a second one', async () => {
    await harness.integration(org, 'chat', { botToken: 'xoxb-1', teamId: 'T1' })
    const { userId } = await harness.person(org, 'developer')
    const appId = await harness.app(org, 'billing')
    const at = harness.clock.now()
    await makeAppMember(harness, { orgId: org.id, appId, userId })
    await harness.db.insert(follows).values({
      orgId: org.id,
      userId,
      appId,
      categories: ['Failed deploys'],
      frequency: 'immediately',
      changedAt: at,
    })
    await harness.db.insert(chatLinks).values({
      orgId: org.id,
      userId,
      teamId: 'T1',
      chatUserId: `U-${userId}`,
      displayName: 'x',
      linkedAt: at,
    })
    harness.answer(() => ({ kind: 'unknown' }))
    await harness.record(org, { type: 'deploy.failed', appId })
    for (let day = 0; day < 4; day++) {
      await harness.drain()
      harness.clock.advance(24 * 60 * 60)
    }
    // And one mail, to the owner, which says so.
    expect(harness.sent.map(({ by }) => by)).toEqual(['direct_message', 'email'])
    expect(await settledOf()).toEqual(['outcome_unknown'])
  })

  test('that is awaited holds back what happened next to the same subject', async () => {
    const { url } = await hook('application.check.*')
    const subject = 'checks/chk_1'
    const answered = Promise.withResolvers<Outcome>()
    harness.answer(() => answered.promise)
    await harness.record(org, { type: 'application.check.failed', subject })
    await fanOut()
    const first = createSender(harness.deps, { worker: 'first' })
    await first.claim()
    await first.flush()
    await expect.poll(() => harness.received(url)).toHaveLength(1)
    harness.answer(() => ({ kind: 'sent', httpStatus: 200 }))
    await harness.record(org, { type: 'application.check.recovered', subject })
    for (let n = 0; n < 3; n++) {
      await harness.drain()
      harness.clock.advance(5)
    }
    const types = () => harness.received(url).map(({ type }) => type.split('.').at(-1))
    expect(types()).toEqual(['failed'])
    answered.resolve({ kind: 'sent', httpStatus: 200 })
    await first.nextOutcome()
    await first.flush()
    harness.clock.advance(5)
    await harness.drain()
    expect(types()).toEqual(['failed', 'recovered'])
  })

  test('that could not be written is written when the database answers again, and what was to start then starts', async () => {
    const { url } = await hook('deploy.*')
    let isDown = false
    const db = new Proxy(harness.deps.db, {
      get(target, name) {
        if (isDown) throw new Error('the database does not answer')
        return Reflect.get(target, name) as unknown
      },
    })
    const sender = createSender({ ...harness.deps, db }, { worker: 'this one' })
    const next = async () => {
      await harness.record(org, { type: 'deploy.failed' })
      await fanOut()
      await sender.claim()
    }
    await next()
    await sender.flush()
    await next()
    await sender.nextOutcome()
    isDown = true
    await expect(sender.flush()).rejects.toThrow('does not answer')
    isDown = false
    await sender.claim()
    while ((await sender.flush()) || sender.hasInFlight()) {
      await (sender.hasInFlight() && sender.nextOutcome())
    }
    expect([await settledOf(), sender.hasInFlight()]).toEqual([['sent', 'sent'], false])
    expect(harness.received(url)).toHaveLength(2)
  })

  test('that comes after its attempt was given up changes nothing, nor the attempt that followed it', async () => {
    const once = await hook('deploy.*')
    const again = await hook('deploy.*', { resend_on_unknown: true })
    const late = Promise.withResolvers<Outcome>()
    harness.answer(() => late.promise)
    await harness.record(org, { type: 'deploy.failed' })
    await fanOut()
    const slow = createSender(harness.deps, { worker: 'slow' })
    await slow.claim()
    await slow.flush()
    await expect.poll(() => harness.sent).toHaveLength(2)
    await harness.later(5 * 60)
    await expireLeases(harness.deps)
    harness.clock.advance(60)
    // The second attempt of the one that may be repeated, which is on its way when the first is answered after all.
    const second = Promise.withResolvers<Outcome>()
    harness.answer(() => second.promise)
    const other = createSender(harness.deps, { worker: 'other' })
    await other.claim()
    await other.flush()
    await expect.poll(() => harness.received(again.url)).toHaveLength(2)
    late.resolve({ kind: 'sent', httpStatus: 200 })
    await slow.nextOutcome()
    await slow.flush()
    const states = async () =>
      Object.fromEntries(
        (await harness.deliveriesOf(org)).map((row) => [row.integrationId!, row.reason ?? row.state]),
      )
    expect(await states()).toEqual({
      [once.integrationId]: 'outcome_unknown',
      [again.integrationId]: 'outcome_unknown',
    })
    const messages = await harness.messagesOf(org)
    expect(Object.fromEntries(messages.map((row) => [row.integrationId!, row.state]))).toEqual({
      [once.integrationId]: 'failed',
      [again.integrationId]: 'sending',
    })
    second.resolve({ kind: 'refused', reason: 'refused', retry: false, httpStatus: 400 })
    await other.nextOutcome()
    await other.flush()
    expect(await states()).toMatchObject({ [again.integrationId]: 'refused' })
    const repeated = messages.find(({ integrationId }) => integrationId === again.integrationId)!
    expect(
      (await harness.attemptsOf(org, repeated.id)).map(({ number, reason }) => [number, reason]),
    ).toEqual([
      [1, 'outcome_unknown'],
      [2, 'refused'],
    ])
    expect([harness.received(once.url).length, harness.received(again.url).length]).toEqual([1, 2])
  })
})

test('an attempt is on disk when it is committed, whatever the server’s own setting is', async () => {
  await database.sql.query(`create table commits (setting text)`)
  await database.sql.query(`
    create function note_commit() returns trigger language plpgsql as
    'begin insert into commits values (current_setting(''synchronous_commit'')); return null; end'`)
  // Deferred, so that it runs at the commit itself.
  await database.sql.query(`
    create constraint trigger note_commit after insert on attempts deferrable initially deferred
    for each row when (new.org_id = '${org.id}') execute function note_commit()`)
  let careless: Connection | undefined
  try {
    if (inject('engine') === 'postgres') {
      const [{ name } = { name: '' }] = await database.sql.query<{ name: string }>(
        `select current_database() as name`,
      )
      await database.sql.query(`alter database ${name} set synchronous_commit = off`)
      careless = await connect({ url: database.url! })
    } else {
      await database.sql.query(`set synchronous_commit = off`)
    }
    const { sql, db } = careless ?? database
    expect(await sql.query(`show synchronous_commit`)).toEqual([{ synchronous_commit: 'off' }])
    await hook('deploy.*')
    await harness.record(org, { type: 'deploy.failed' })
    await drainNotifications({ ...harness.deps, db })
    expect(await sql.query(`select * from commits`)).toEqual([{ setting: 'on' }])
  } finally {
    await careless?.close()
    if (!careless) await database.sql.query(`reset synchronous_commit`)
    await database.sql.query(`drop trigger note_commit on attempts`)
  }
})

test('no default is created on a chat channel that is lost; the next event asks again', async () => {
  const { integrationId } = await harness.integration(org, 'chat')
  await harness.db.update(integrations).set({ state: 'lost' }).where(eq(integrations.id, integrationId))
  const run = async () => {
    await harness.record(org, { type: 'pipeline.run.failed' })
    await harness.drain()
    return harness.db.select().from(subscriptions).where(eq(subscriptions.orgId, org.id))
  }
  expect(await run()).toEqual([])
  await harness.db.update(integrations).set({ state: 'active' }).where(eq(integrations.id, integrationId))
  expect(await run()).toMatchObject([{ pattern: 'pipeline.run.*', integrationId }])
})

test('what happened first is shipped first, wherever its row lies', async () => {
  const other = await harness.organization()
  // Without it no index has them in their order by chance.
  await database.sql.query(`drop index outbox_in_order`)
  // Written from the last to the first, more of them than are shipped at once.
  await database.sql.query(`
    insert into outbox (org_id, id, source, dedup_key, type, subject, data, occurred_at, seq) overriding system value
    select o, 'evt_' || o || n, 'test', 'order-' || n, 'deploy.failed', 'things/one', '{}', now(), 1000000 + n
    from generate_series(600, 1, -1) n, unnest(array['${org.id}', '${other.id}']) o`)
  await shipOutbox(harness.deps)
  for (const { id } of [org, other]) {
    const rows = await harness.db.select().from(events).where(eq(events.orgId, id))
    const seqs = rows.map(({ seq }) => seq - 1_000_000).toSorted((a, b) => a - b)
    expect(seqs).toEqual(Array.from({ length: 25 }, (_, n) => n + 1))
  }
  while (await shipOutbox(harness.deps));
  await database.sql.query(`create index outbox_in_order on outbox (org_id, seq)`)
  await database.sql.query(`update events set fanned_out_at = now() where subject = 'things/one'`)
})
