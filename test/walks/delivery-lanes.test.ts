/** decisions, 11, "No organization feels another": lanes, circuits, held targets, and fan-out round the organizations. */
import { randomUUID } from 'node:crypto'
import type { SQL } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import type { Database, Transaction } from '../../db/connect.ts'
import { and, eq, like, sql } from '../../db/drizzle.ts'
import { deliveries, events, integrations, messages, messageTargets } from '../../db/schema.ts'
import { FAN_OUT_EVENTS } from '../../src/contracts/limits.ts'
import {
  createSender,
  expireLeases,
  releaseStrandedMessages,
  shipAndFanOut,
  type Outcome,
} from '../../src/cores/notifications/index.ts'
import { finishAndStartAttempts } from '../../src/cores/notifications/delivery/attempts.ts'
import { claimMessages } from '../../src/cores/notifications/delivery/claim-messages.ts'
import { holdTarget, releaseTarget } from '../../src/cores/notifications/delivery/hold-target.ts'
import { resetTarget } from '../../src/cores/notifications/delivery/reset-target.ts'
import { shipOutbox } from '../../src/cores/outbox.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import type { NotificationDeps } from '../../src/worker/notifications.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { hasOneConnection } from '../support/left-out.ts'
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
  // Nothing that an earlier test left waiting takes part in the next.
  await database.sql.query(`delete from messages`)
  harness = await notificationHarness(database)
  waiting = []
  ;[org, other] = [await harness.organization(), await harness.organization()]
})

const fanOut = async () => {
  while (await shipAndFanOut(harness.deps));
}
const worker = (options: { inFlightMax?: number } = {}, deps: NotificationDeps = harness.deps) =>
  createSender(deps, { worker: randomUUID(), ...options })

async function hook(where: HarnessOrg, pattern = 'deploy.*') {
  const { integrationId, url } = await harness.integration(where, 'webhook')
  await harness.subscription(where, integrationId, pattern)
  return { integrationId, url }
}

async function record(where: HarnessOrg, count: number) {
  for (let n = 0; n < count; n++) await harness.record(where, { type: 'deploy.failed' })
}

const targetOf = async (where: HarnessOrg, target: string) =>
  (
    await harness.db
      .select()
      .from(messageTargets)
      .where(and(eq(messageTargets.orgId, where.id), eq(messageTargets.target, target)))
  )[0]!

const sentTo = (url: string) => harness.sent.filter(({ to }) => to === url).length

/** Those that have no answer. */
let waiting: ((outcome: Outcome) => void)[]

/** Answers nothing until it is told what to say, to all that wait. */
function hangs(which: (url: string) => boolean) {
  waiting = []
  harness.answer(({ to }) =>
    which(to) ? new Promise<Outcome>((resolve) => waiting.push(resolve)) : { kind: 'sent', httpStatus: 200 },
  )
  return (outcome: Outcome) => {
    for (const resolve of waiting.splice(0)) resolve(outcome)
  }
}

/** Posts whose attempts have begun and not ended, of all workers. */
async function countOnTheirWay(): Promise<number> {
  const [found] = await harness.db.execute<{ n: number }>(sql`
    select count(*)::int as n from attempts a join messages m on m.org_id = a.org_id and m.id = a.message_id
    where m.state = 'sending' and a.ended_at is null and a.carried_by is null`)
  return found!.n
}

/** Claims and starts what there is; what answers at once is written too. */
async function runOnce(sender: ReturnType<typeof worker>) {
  while ((await sender.claim()).hasMore);
  const flushed = async () => {
    await sender.flush()
    return (await countOnTheirWay()) - waiting.length
  }
  await expect.poll(flushed, { interval: 5 }).toBeLessThanOrEqual(0)
}

describe('lanes', () => {
  test('a target has two messages on their way and no third, however many workers there are', async () => {
    const { url, integrationId } = await hook(org)
    await record(org, 9)
    await fanOut()
    const answer = hangs(() => true)
    const workers = [worker(), worker(), worker()]
    await Promise.all(workers.map(runOnce))
    expect(sentTo(url)).toBe(2)
    expect(await targetOf(org, integrationId)).toMatchObject({ inFlight: 2 })
    for (let round = 0; round < 12; round++) {
      answer({ kind: 'sent', httpStatus: 200 })
      harness.clock.advance(1)
      await Promise.all(workers.map(runOnce))
      expect((await targetOf(org, integrationId)).inFlight).toBeLessThanOrEqual(2)
    }
    expect(new Set(harness.received(url).map(({ id }) => id)).size).toBe(9)
    expect([sentTo(url), (await targetOf(org, integrationId)).inFlight]).toEqual([9, 0])
  })

  test('what waits for a target that hangs is not looked at for two seconds', async () => {
    const { url } = await hook(org)
    await record(org, 2)
    await fanOut()
    hangs(() => true)
    const sender = worker()
    await runOnce(sender)
    expect(sentTo(url)).toBe(2)
    await record(org, 2)
    await fanOut()
    harness.clock.advance(1)
    const now = harness.clock.now().getTime()
    await runOnce(sender)
    const waiting = (await harness.messagesOf(org)).filter(({ state }) => state === 'pending')
    expect(waiting.map(({ nextAt }) => nextAt.getTime() - now >= 2_000)).toEqual([true, true])
    await sender.release()
  })

  test('what was claimed before others were on their way is given back, and goes when they have arrived', async () => {
    const { url, integrationId } = await hook(org)
    await record(org, 4)
    await fanOut()
    const answer = hangs(() => true)
    const [late, quick] = [worker(), worker()]
    // As if both had claimed at the same moment, before either of them started.
    await late.claim()
    await harness.db
      .update(messageTargets)
      .set({ inFlight: 2 })
      .where(and(eq(messageTargets.orgId, org.id), eq(messageTargets.target, integrationId)))
    await late.flush()
    expect(await countOnTheirWay()).toBe(0)
    expect([sentTo(url), (await targetOf(org, integrationId)).inFlight]).toEqual([0, 2])
    await harness.db
      .update(messageTargets)
      .set({ inFlight: 0 })
      .where(and(eq(messageTargets.orgId, org.id), eq(messageTargets.target, integrationId)))
    harness.clock.advance(1)
    await runOnce(quick)
    expect(sentTo(url)).toBe(2)
    answer({ kind: 'sent', httpStatus: 200 })
    await runOnce(quick)
  })

  test('an organization whose receivers hang has a quarter of the slots, and another one the rest', async () => {
    const hung = await Promise.all(Array.from({ length: 20 }, () => hook(org)))
    const quiet = await hook(other)
    await record(org, 3)
    await fanOut()
    hangs((url) => url !== quiet.url)
    const sender = worker({ inFlightMax: 8 })
    await runOnce(sender)
    await runOnce(sender)
    expect(hung.reduce((sum, { url }) => sum + sentTo(url), 0)).toBe(2)
    await record(other, 1)
    await fanOut()
    await runOnce(sender)
    expect(sentTo(quiet.url)).toBe(1)
    // What a process holds of one organization is bounded as well, so that it can claim the others'.
    expect(
      (await harness.messagesOf(org)).filter(({ state }) => state === 'claimed').length,
    ).toBeLessThanOrEqual(32)
    await sender.release()
  })

  // In full, with whole loops and by the clock: test/long/neighbors.test.ts.
  test.each([4, 20, 40])(
    'a healthy receiver is sent to at once beside %i of its own organization that hang',
    async (count) => {
      const [healthy, theirs] = [await hook(org), await hook(other)]
      await record(org, 1)
      await record(other, 1)
      await harness.drain()
      const hung = await Promise.all(Array.from({ length: count }, () => hook(org)))
      // Half of them answered before: nothing told them from the healthy one.
      for (const { integrationId } of hung.slice(count / 2)) {
        await harness.db
          .insert(messageTargets)
          .values({ orgId: org.id, target: integrationId, nextAllowedAt: harness.clock.now(), answerMs: 5 })
      }
      await record(org, 6)
      await fanOut()
      hangs((to) => hung.some(({ url }) => url === to))
      const sender = worker()
      for (let n = 0; n < 6; n++) await runOnce(sender)
      expect(sentTo(healthy.url)).toBe(7)
      const started = () => hung.reduce((sum, { url }) => sum + sentTo(url), 0)
      const before = started()
      for (let n = 0; n < 3; n++) {
        harness.clock.advance(2)
        await record(org, 1)
        await record(other, 1)
        await fanOut()
        await runOnce(sender)
        await runOnce(sender)
        expect([sentTo(healthy.url), sentTo(theirs.url)]).toEqual([8 + n, 2 + n])
      }
      // Those that hang get no more meanwhile, each has its two already.
      expect([before, started()]).toEqual([2 * count, 2 * count])
      await sender.release()
    },
  )

  test('targets that did not answer, or are slower than their fellows, share a quarter of the slots', async () => {
    const slow = await Promise.all(Array.from({ length: 8 }, () => hook(org)))
    const [healthy, theirs] = [await hook(org), await hook(other)]
    const known = (at: HarnessOrg, target: string, of: { answerMs: number; unanswered?: number }) =>
      harness.db
        .insert(messageTargets)
        .values({ orgId: at.id, target, nextAllowedAt: harness.clock.now(), ...of })
    const fellows = Array.from({ length: 10 }, (_, n) => `fellow_${n}`)
    for (const target of [...fellows, healthy.integrationId]) await known(org, target, { answerMs: 20 })
    for (const [n, { integrationId }] of slow.entries())
      await known(org, integrationId, n % 2 === 0 ? { answerMs: 3_000 } : { answerMs: 20, unanswered: 1 })
    // As slow, but so are all of its fellows.
    for (const target of [...fellows, theirs.integrationId]) await known(other, target, { answerMs: 3_000 })
    await record(org, 1)
    await record(other, 2)
    await fanOut()
    hangs((to) => to !== healthy.url)
    const sender = worker({ inFlightMax: 32 })
    await runOnce(sender)
    await runOnce(sender)
    expect(slow.reduce((sum, { url }) => sum + sentTo(url), 0)).toBe(2)
    expect([sentTo(healthy.url), sentTo(theirs.url)]).toEqual([1, 2])
    await sender.release()
  })

  test('how long a target takes to answer is remembered of its last few answers, and forgotten with its address', async () => {
    const { integrationId } = await hook(org)
    harness.answer(async () => {
      harness.clock.advance(4)
      return { kind: 'sent', httpStatus: 200 }
    })
    await record(org, 1)
    await harness.drain()
    expect((await targetOf(org, integrationId)).answerMs).toBeGreaterThanOrEqual(4_000)
    harness.answer(() => ({ kind: 'sent', httpStatus: 200 }))
    await record(org, 1)
    await harness.drain()
    const { answerMs } = await targetOf(org, integrationId)
    expect(answerMs).toBeGreaterThanOrEqual(3_000)
    expect(answerMs).toBeLessThan(3_500)
    // So is all else that was learned of it.
    const heldUntil = new Date(harness.clock.now().getTime() + 3_600_000)
    const trouble = { heldUntil, probeAt: heldUntil, unanswered: 3, keepsSockets: false }
    await harness.db.update(messageTargets).set(trouble).where(eq(messageTargets.target, integrationId))
    await withTransaction(harness.db, (tx) =>
      resetTarget(tx, harness.clock.now, { orgId: org.id, target: integrationId }),
    )
    expect(await targetOf(org, integrationId)).toMatchObject({
      answerMs: null,
      heldUntil: null,
      probeAt: null,
      unanswered: 0,
      keepsSockets: true,
    })
  })

  test('mails to a server that hangs take a quarter of the slots, whosever they are, and hide no webhook', async () => {
    const quiet = await hook(other, 'support.ticket.created')
    // Of one there are many more than the other: they fill all there is for mail.
    for (const [where, count] of [
      [org, 5],
      [other, 70],
    ] as const) {
      for (let n = 0; n < count; n++) {
        const { userId } = await harness.person(where, 'viewer')
        const about = { concernsId: userId, actorId: where.owner.userId }
        await harness.record(where, { type: 'support.ticket.replied', ...about })
      }
    }
    await fanOut()
    hangs((to) => to.includes('@'))
    const sender = worker({ inFlightMax: 8 })
    await runOnce(sender)
    await harness.record(other, { type: 'support.ticket.created' })
    await fanOut()
    await runOnce(sender)
    await runOnce(sender)
    expect(harness.sent.filter(({ by }) => by === 'email')).toHaveLength(2)
    expect(sentTo(quiet.url)).toBe(1)
    await sender.release()
  })
})

describe('circuits', () => {
  const UNKNOWN: Outcome = { kind: 'unknown' }

  test('a target that does not answer three times in a row is probed by one message at a time until it does', async () => {
    const { url, integrationId } = await hook(org)
    const neighbor = await hook(other)
    await record(org, 12)
    let says: Outcome = UNKNOWN
    harness.answer(({ to }) => (to === url ? says : { kind: 'sent', httpStatus: 200 }))
    await harness.drain()
    // Two were on their way when the third failure came.
    const first = sentTo(url)
    expect(first).toBeGreaterThanOrEqual(3)
    expect(first).toBeLessThanOrEqual(4)
    const seen: number[] = []
    for (const seconds of [5, 6, 10, 11, 11, 30]) {
      harness.clock.advance(seconds)
      await Promise.all([harness.drain(), harness.drain()])
      seen.push(sentTo(url) - first)
    }
    // After ten seconds or twenty, depending on whether there were three or four, and each time after twice as long.
    const probes = seen.at(-1)!
    expect(probes).toBeGreaterThanOrEqual(2)
    expect(probes).toBeLessThanOrEqual(3)
    expect(Math.max(...seen.map((n, at) => n - (seen[at - 1] ?? 0)))).toBe(1)
    // The other organization has its own circuits.
    await record(other, 5)
    await harness.drain()
    expect(sentTo(neighbor.url)).toBe(5)
    // Mended: the next probe finds it out, and what waited for it goes.
    says = { kind: 'sent', httpStatus: 200 }
    harness.clock.advance(300)
    for (let round = 0; round < 4; round++) {
      await harness.drain()
      harness.clock.advance(1)
    }
    expect(new Set(harness.received(url).map(({ id }) => id)).size).toBe(12)
    expect(harness.received(url)).toHaveLength(12)
    expect(await targetOf(org, integrationId)).toMatchObject({ unanswered: 0, probeAt: null, inFlight: 0 })
  })

  test('a probe that is on its way keeps every other worker from sending a second one', async () => {
    const { url } = await hook(org)
    await record(org, 8)
    harness.answer(() => UNKNOWN)
    await harness.drain()
    const before = sentTo(url)
    harness.clock.advance(60)
    const answer = hangs(() => true)
    const workers = [worker(), worker()]
    await Promise.all(workers.map(runOnce))
    harness.clock.advance(20)
    await Promise.all(workers.map(runOnce))
    expect(sentTo(url)).toBe(before + 1)
    answer({ kind: 'refused', reason: 'server_error', retry: true, httpStatus: 500 })
    harness.answer(() => ({ kind: 'sent', httpStatus: 200 }))
    for (let round = 0; round < 4; round++) {
      await Promise.all(workers.map(runOnce))
      harness.clock.advance(10)
    }
    // An error is an answer as well: it closed the circuit.
    expect(new Set(harness.received(url).map(({ id }) => id)).size).toBe(8)
  })

  /** So many messages, each to a target of its own that does not answer. */
  async function openCircuits(where: HarnessOrg, count: number, perTarget = 1) {
    await hook(where)
    await database.sql.query(`
      insert into outbox (org_id, id, source, dedup_key, type, subject, data, occurred_at)
      select '${where.id}', 'evt_' || gen_random_uuid(), 'test', gen_random_uuid()::text, 'deploy.failed',
        'things/' || n, json_build_object('deployment_id', n::text, 'code', 'BUILD_FAILED'), now()
      from generate_series(1, ${count * perTarget}) n`)
    await fanOut()
    await database.sql.query(`
      update messages m set target = 'hung_' || (n.n % ${count})
      from (select id, row_number() over () as n from messages where org_id = '${where.id}') n where m.id = n.id`)
    await database.sql.query(`
      insert into message_targets (org_id, target, next_allowed_at, unanswered)
      select distinct org_id, target, timestamptz '2000-01-01', 3 from messages where org_id = '${where.id}'`)
  }
  const heldOf = async (where: HarnessOrg) =>
    (await harness.messagesOf(where)).filter(({ state }) => ['claimed', 'sending'].includes(state))

  test('probes of many organizations are claimed no more than may be in flight, so that others are claimed', async () => {
    const hung = await Promise.all(Array.from({ length: 5 }, () => harness.organization()))
    for (const one of hung) await openCircuits(one, 40)
    const { url } = await hook(other)
    hangs((to) => to !== url)
    const sender = worker({ inFlightMax: 32 })
    for (let n = 0; n < 8 && sender.hasCapacity(); n++) {
      await sender.claim()
      await sender.flush()
      harness.clock.advance(11)
    }
    expect((await Promise.all(hung.map(heldOf))).flat()).toHaveLength(8)
    await record(other, 1)
    await fanOut()
    expect(sender.hasCapacity()).toBe(true)
    await runOnce(sender)
    expect(sentTo(url)).toBe(1)
    await sender.release()
  })

  test('a process holds one message of a target that does not answer, also before it is started', async () => {
    await openCircuits(org, 3, 5)
    const sender = worker()
    for (let n = 0; n < 3; n++) {
      await sender.claim()
      harness.clock.advance(11)
    }
    const targets = (await heldOf(org)).map(({ target }) => target)
    expect(targets.toSorted()).toEqual(['hung_0', 'hung_1', 'hung_2'])
    await sender.release()
  })

  test('a probe is one that may go: the oldest may wait for another of its subject', async () => {
    await openCircuits(org, 1, 3)
    await openCircuits(other, 1, 1)
    const [first, second] = (await harness.messagesOf(org)).toSorted((a, b) => a.seq - b.seq)
    await database.sql.query(`
      update messages set next_at = '2100-01-01' where id = '${first!.id}';
      update messages set ordering_key = '${first!.orderingKey}', next_at = '2000-01-01' where id = '${second!.id}'`)
    const sender = worker()
    await sender.claim()
    const held = await Promise.all([org, other].map(heldOf))
    expect(held.map((of) => of.length)).toEqual([1, 1])
    expect([first!.id, second!.id]).not.toContain(held[0]![0]!.id)
    await sender.release()
  })

  test('what was claimed before the circuit opened waits for the probe like all others', async () => {
    const { url, integrationId } = await hook(org)
    await record(org, 6)
    await fanOut()
    hangs(() => true)
    const sender = worker()
    await sender.claim()
    await harness.db
      .update(messageTargets)
      .set({ unanswered: 3, probeAt: harness.clock.now() })
      .where(and(eq(messageTargets.orgId, org.id), eq(messageTargets.target, integrationId)))
    await sender.flush()
    expect(await countOnTheirWay()).toBe(1)
    await expect.poll(() => sentTo(url)).toBe(1)
    expect((await targetOf(org, integrationId)).inFlight).toBe(1)
  })

  test('an answer in between starts the count anew, and a worker that died says nothing of the target', async () => {
    const { url, integrationId } = await hook(org)
    harness.answer(() =>
      sentTo(url) % 3 === 0 ? { kind: 'refused', reason: 'refused', retry: false, httpStatus: 404 } : UNKNOWN,
    )
    for (let n = 0; n < 7; n++) {
      await record(org, 1)
      await harness.drain()
      harness.clock.advance(1)
    }
    expect(sentTo(url)).toBe(7)
    for (let n = 0; n < 4; n++) {
      hangs(() => true)
      await record(org, 1)
      await fanOut()
      await runOnce(worker())
      await harness.later(10 * 60)
      await expireLeases(harness.deps)
    }
    expect(sentTo(url)).toBe(11)
    expect(await targetOf(org, integrationId)).toMatchObject({ unanswered: 1, inFlight: 0 })
  })
})

describe('Retry-After', () => {
  test('that came after a message was claimed holds that one too', async () => {
    const { url, integrationId } = await hook(org)
    await record(org, 1)
    await fanOut()
    const sender = worker()
    await sender.claim()
    await harness.db
      .update(messageTargets)
      .set({ heldUntil: new Date(harness.clock.now().getTime() + 60_000) })
      .where(and(eq(messageTargets.orgId, org.id), eq(messageTargets.target, integrationId)))
    await sender.flush()
    expect(await countOnTheirWay()).toBe(0)
    expect(sentTo(url)).toBe(0)
    harness.clock.advance(61)
    await harness.drain()
    expect(sentTo(url)).toBe(1)
  })

  test('does not end a pause that began while the message was on its way', async () => {
    const [paused, theirs] = [await hook(org), await hook(other)]
    const held = { orgId: org.id, id: paused.integrationId, kind: 'webhook' } as const
    const answer = hangs((url) => url === paused.url)
    await record(org, 1)
    await record(other, 1)
    await fanOut()
    const sender = worker()
    await runOnce(sender)
    await withTransaction(harness.db, (tx) => holdTarget(tx, harness.clock.now, held))
    answer({ kind: 'refused', reason: 'rate_limited', retry: true, httpStatus: 429, retryAfterSeconds: 60 })
    await sender.nextOutcome()
    await sender.flush()
    harness.answer(() => ({ kind: 'sent', httpStatus: 200 }))
    harness.clock.advance(3_600)
    await harness.drain()
    expect([sentTo(paused.url), sentTo(theirs.url)]).toEqual([1, 1])
    await withTransaction(harness.db, (tx) => releaseTarget(tx, harness.clock.now, held))
    harness.clock.advance(1)
    await harness.drain()
    expect((await harness.deliveriesOf(org)).map(({ state }) => state)).toEqual(['sent'])
  })

  test('holds everything for the target and nothing else', async () => {
    const [asked, same, theirs] = [await hook(org), await hook(org), await hook(other)]
    harness.answer(({ to }) =>
      to === asked.url && sentTo(asked.url) === 1
        ? { kind: 'refused', reason: 'rate_limited', retry: true, httpStatus: 429, retryAfterSeconds: 120 }
        : { kind: 'sent', httpStatus: 200 },
    )
    await record(org, 1)
    await harness.drain()
    await record(org, 4)
    await record(other, 1)
    for (const seconds of [0, 10, 60]) {
      harness.clock.advance(seconds)
      await harness.drain()
    }
    expect([asked, same, theirs].map(({ url }) => sentTo(url))).toEqual([1, 5, 1])
    harness.clock.advance(51)
    await harness.drain()
    expect(harness.received(asked.url)).toHaveLength(6)
    expect((await harness.deliveriesOf(org)).every(({ state }) => state === 'sent')).toBe(true)
  })
})

test('what a paused target is sent waits, and goes afterwards in its order; another one feels nothing', async () => {
  const [paused, fine, theirs] = [await hook(org), await hook(org), await hook(other)]
  const held = { orgId: org.id, id: paused.integrationId, kind: 'webhook' } as const
  await record(org, 1)
  await fanOut()
  const sender = worker()
  // Claimed before, and not started.
  await sender.claim()
  await withTransaction(harness.db, (tx) => holdTarget(tx, harness.clock.now, held))
  await runOnce(sender)
  await record(org, 3)
  await record(other, 1)
  await harness.drain()
  harness.clock.advance(86_400)
  await harness.drain()
  expect([paused, fine, theirs].map(({ url }) => sentTo(url))).toEqual([0, 4, 1])
  expect((await harness.deliveriesOf(org)).filter(({ state }) => state === 'waiting')).toHaveLength(4)
  await withTransaction(harness.db, (tx) => releaseTarget(tx, harness.clock.now, held))
  harness.clock.advance(1)
  await harness.drain()
  const subjects = (url: string) => harness.received(url).map(({ subject }) => subject)
  expect(subjects(paused.url)).toEqual(subjects(fine.url))
  expect((await harness.deliveriesOf(org)).every(({ state }) => state === 'sent')).toBe(true)
  expect(await targetOf(org, paused.integrationId)).toMatchObject({ heldUntil: null, inFlight: 0 })
})

test('more than a request can release is released by the worker, the oldest first', async () => {
  const [paused, theirs] = [await hook(org), await hook(other)]
  const held = { orgId: org.id, id: paused.integrationId, kind: 'webhook' } as const
  await record(org, 1)
  await record(other, 1)
  await fanOut()
  await withTransaction(harness.db, (tx) => holdTarget(tx, harness.clock.now, held))
  await harness.drain()
  const MANY = 1_200
  // The younger an id, the older the message: in no other order could they be released by chance.
  await database.sql.query(`
    insert into messages
    select (jsonb_populate_record(m, jsonb_build_object('id', left(m.id, 20) || lpad(n::text, 9, '0'), 'ordering_key',
      'things/' || n, 'seq', ${MANY} - n, 'created_at', m.created_at + (${MANY} - n) * interval '1 second'))).*
    from messages m cross join generate_series(1, ${MANY}) n where m.target = '${held.id}'`)
  const isHeldOf = `target = '${held.id}' and next_at > '9000-01-01'`
  const heldNow = async () =>
    (await database.sql.query<{ n: number }>(`select count(*)::int as n from messages where ${isHeldOf}`))[0]!
      .n
  expect(await heldNow()).toBe(MANY + 1)
  await withTransaction(harness.db, (tx) => releaseTarget(tx, harness.clock.now, held))
  expect(await heldNow()).toBe(MANY + 1 - 1_000)
  await releaseStrandedMessages(harness.deps)
  expect(await heldNow()).toBe(0)
  const [row] = await database.sql.query<{ in_order: boolean }>(`
    select bool_and(later) as in_order from (
      select next_at > lag(next_at) over (order by created_at, seq) as later from messages where target = '${held.id}'
    ) m where later is not null`)
  expect(row).toEqual({ in_order: true })
  expect(sentTo(theirs.url)).toBe(1)
  await database.sql.query(`delete from messages where target = '${held.id}'`)
})

test('what is given back in the moment of a release waits for no hold that is over', async () => {
  const [paused, busy, still, theirs] = [await hook(org), await hook(org), await hook(org), await hook(other)]
  const [held, heldShortly, stillHeld] = [paused, busy, still].map(
    ({ integrationId }) => ({ orgId: org.id, id: integrationId, kind: 'webhook' }) as const,
  )
  await record(org, 1)
  await record(other, 1)
  await fanOut()
  const sender = worker()
  await sender.claim()
  for (const one of [held!, heldShortly!, stillHeld!])
    await withTransaction(harness.db, (tx) => holdTarget(tx, harness.clock.now, one))
  // The release has looked for what waits, and found the claimed one not to be among it.
  await runOnce(sender)
  await database.sql.query(`update message_targets set held_until = null where target = '${held!.id}'`)
  // Since then its receiver has asked for a moment.
  const moment = new Date(harness.clock.now().getTime() + 1_000).toISOString()
  await database.sql.query(
    `update message_targets set held_until = '${moment}' where target = '${heldShortly!.id}'`,
  )
  harness.clock.advance(60)
  await harness.drain()
  const sent = () => [paused, busy, still, theirs].map(({ url }) => sentTo(url))
  expect(sent()).toEqual([0, 0, 0, 1])
  await releaseStrandedMessages(harness.deps)
  harness.clock.advance(1)
  await harness.drain()
  expect(sent()).toEqual([1, 1, 0, 1])
  await withTransaction(harness.db, (tx) => releaseTarget(tx, harness.clock.now, stillHeld!))
  harness.clock.advance(1)
  await harness.drain()
  expect(sent()).toEqual([1, 1, 1, 1])
})

test('a receiver that only asks to slow down is not failing; one that refuses is', async () => {
  const { url, integrationId } = await hook(org)
  const failingSince = async () =>
    (await harness.db.select().from(integrations).where(eq(integrations.id, integrationId)))[0]!.failingSince
  harness.answer(({ to }) =>
    to === url
      ? { kind: 'refused', reason: 'rate_limited', retry: true, httpStatus: 429 }
      : { kind: 'sent', httpStatus: 200 },
  )
  await record(org, 1)
  await harness.drain()
  expect([sentTo(url), await failingSince()]).toEqual([1, null])
  expect(await targetOf(org, integrationId)).toMatchObject({ unanswered: 0 })
  // Nor is one that only does not know whoever acted.
  harness.answer(() => ({ kind: 'refused', reason: 'no_forum_account', retry: false, httpStatus: 403 }))
  await record(org, 1)
  await harness.drain()
  expect([sentTo(url), await failingSince()]).toEqual([2, null])
  harness.answer(() => ({ kind: 'refused', reason: 'server_error', retry: true, httpStatus: 500 }))
  await record(org, 1)
  await harness.drain()
  expect(await failingSince()).not.toBeNull()
})

test('a target that broke a kept connection under a message has none from then on; others keep theirs', async () => {
  const [breaking, fine] = [await hook(org), await hook(org)]
  const keptFor: Record<string, (string | null)[]> = { [breaking.url]: [], [fine.url]: [] }
  const deps: NotificationDeps = {
    ...harness.deps,
    channels: {
      ...harness.deps.channels,
      webhook: async (message) => {
        keptFor[message.url]!.push(message.keptFor)
        return message.url === breaking.url && keptFor[message.url]!.length === 2
          ? { kind: 'unknown', brokeKeptSocket: true }
          : { kind: 'sent', httpStatus: 200 }
      },
    },
  }
  for (let n = 0; n < 4; n++) {
    await record(org, 1)
    await fanOut()
    await runOnce(worker({}, deps))
    harness.clock.advance(1)
  }
  const own = (integrationId: string) => `${org.id} ${integrationId}`
  expect(keptFor[breaking.url]).toEqual([
    own(breaking.integrationId),
    own(breaking.integrationId),
    null,
    null,
  ])
  expect(keptFor[fine.url]).toEqual(Array(4).fill(own(fine.integrationId)))
  // Until somebody says that it is another one.
  await withTransaction(harness.db, (tx) =>
    resetTarget(tx, harness.clock.now, { orgId: org.id, target: breaking.integrationId }),
  )
  await record(org, 1)
  await fanOut()
  await runOnce(worker({}, deps))
  expect(keptFor[breaking.url]!.at(-1)).toBe(own(breaking.integrationId))
})

test('a target that is reset, or answers again, gets no more a second than before', async () => {
  const { url, integrationId } = await hook(org)
  await record(org, 40)
  await harness.drain()
  const first = sentTo(url)
  const reset = () =>
    withTransaction(harness.db, (tx) =>
      resetTarget(tx, harness.clock.now, { orgId: org.id, target: integrationId }),
    )
  await reset()
  await harness.drain()
  // A few milliseconds have passed, by the clock that counts calls.
  expect(sentTo(url) - first).toBeLessThanOrEqual(3)
  // What waits for nothing but the target is due.
  await database.sql.query(`update messages set slot_at = null where state = 'pending'`)
  await reset()
  const waiting = (await harness.messagesOf(org)).filter(({ state }) => state === 'pending')
  expect(waiting.length).toBeGreaterThan(10)
  expect(waiting.every(({ nextAt }) => nextAt <= harness.clock.now())).toBe(true)
})

describe.skipIf(hasOneConnection)('workers at the same moment', () => {
  /** One to the first organization, two to a target of the other. */
  const [FIRST, CLAIMED, LAST] = ['msg_first', 'msg_claimed', 'msg_last']
  const claimer = () => ({ worker: randomUUID(), leaseSeconds: 60 })
  const lock = (tx: Transaction, table: 'messages' | 'message_targets', ids: readonly string[]) =>
    tx.execute(sql`select from ${sql.raw(table)}
      where org_id in (${org.id}, ${other.id}) and ${sql.raw(table === 'messages' ? 'id' : 'target')} in ${ids}
      for update nowait`)
  const waitingForLocks = async () =>
    (
      await database.sql.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
    ).length

  /** In a transaction that lasts until it is told to end. */
  async function holding(table: 'messages' | 'message_targets', ids: readonly string[]) {
    const [locked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const held = harness.db.transaction(async (tx) => {
      await lock(tx, table, ids)
      locked.resolve()
      await over.promise
    })
    await Promise.race([locked.promise, held])
    return async () => {
      over.resolve()
      await held
    }
  }

  beforeEach(async () => {
    const at = new Date(harness.clock.now().getTime() - 60_000)
    const rows = [
      [org, FIRST, 'int_first'],
      [other, CLAIMED, 'int_shared'],
      [other, LAST, 'int_shared'],
    ] as const
    for (const [{ id: orgId }, id, target] of rows) {
      const message = { orgId, id, channel: 'webhook', target, state: 'pending', nextAt: at } as const
      await harness.db.insert(messages).values({ ...message, orderingKey: id, createdAt: at })
      const targets = { orgId, target, nextAllowedAt: at }
      await harness.db.insert(messageTargets).values(targets).onConflictDoNothing()
    }
  })

  /** By a worker of its own, and the others not. Returns how to start it. */
  async function claimOne() {
    const by = claimer()
    const release = await holding('messages', [FIRST, LAST])
    const { claimed } = await claimMessages(harness.deps, by)
    await release()
    expect(claimed.map(({ id }) => id)).toEqual([CLAIMED])
    return () => finishAndStartAttempts(harness.deps, by, [], [claimed])
  }

  test('what one has claimed, another that chose it before does not lock', async () => {
    const [chosen, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const execute: typeof harness.db.execute = ((query: SQL) =>
      harness.db.execute(query).then(async (rows) => {
        chosen.resolve()
        await goOn.promise
        return rows
      })) as never
    const late = claimMessages(
      { ...harness.deps, db: Object.assign(Object.create(harness.db) as Database, { execute }) },
      claimer(),
    )
    await chosen.promise
    const start = await claimOne()
    const release = await holding('message_targets', ['int_first'])
    onTestFinished(release)
    goOn.resolve()
    await expect.poll(waitingForLocks, { timeout: 10_000 }).toBe(1)
    let started: readonly { id: string }[] = []
    const starting = start().then((result) => (started = result.started))
    // The other still waits, with all that it has locked.
    await expect.poll(() => started.map(({ id }) => id), { timeout: 10_000 }).toEqual([CLAIMED])
    await release()
    const { claimed } = await late
    expect(claimed.map(({ id }) => id)).not.toContain(CLAIMED)
    expect(claimed.map(({ id }) => id)).toContain(FIRST)
    await starting
  })
})

describe('fan-out', () => {
  test('goes round the organizations: a flood of one holds up the single event of another by one batch', async () => {
    await hook(org)
    const { url } = await hook(other)
    await record(org, 130)
    await record(other, 1)
    // Both at once: from the outbox to the events, and from those to the messages.
    await shipAndFanOut(harness.deps)
    const [theirs] = await harness.deliveriesOf(other)
    expect(theirs).toMatchObject({ state: 'waiting' })
    const flood = await harness.deliveriesOf(org)
    expect(flood.length).toBeGreaterThan(10)
    expect(flood.length).toBeLessThanOrEqual(50)
    await harness.drain()
    expect(sentTo(url)).toBe(1)
    expect(await harness.deliveriesOf(org)).toHaveLength(130)
  })

  test.runIf(inject('everyCase'))(
    'the turn of organizations with digests is over when they had it, however many others wait',
    async () => {
      const number = FAN_OUT_EVENTS + 50
      const { integrationId } = await harness.integration(org, 'webhook')
      await harness.subscription(org, integrationId, 'deploy.*', 'daily')
      await record(org, 1)
      await shipOutbox(harness.deps)
      // Others with the same, more than have their turn at once.
      for (const table of ['integrations', 'subscriptions', 'events']) {
        await database.sql.query(`
        insert into ${table} select (jsonb_populate_record(t, jsonb_build_object('org_id', t.org_id || '_' || n))).*
        from ${table} t, generate_series(2, ${number}) n where org_id = '${org.id}'`)
      }
      const asked: string[] = []
      const directory: typeof harness.deps.directory = {
        ...harness.deps.directory,
        readOrganization(db, orgId) {
          asked.push(orgId)
          return harness.deps.directory.readOrganization(db, orgId)
        },
      }
      const fannedOut = async () =>
        (
          await harness.db
            .select()
            .from(events)
            .where(like(events.orgId, `${org.id}%`))
        )
          .filter(({ fannedOutAt }) => fannedOutAt !== null)
          .map(({ orgId }) => orgId)
      await shipAndFanOut({ ...harness.deps, directory })
      const first = await fannedOut()
      expect(first.toSorted()).toEqual(asked.toSorted())
      expect(first).toHaveLength(FAN_OUT_EVENTS)
      await fanOut()
      expect(await fannedOut()).toHaveLength(number)
    },
  )

  test('an event that cannot be fanned out holds up those of its own subject, and no other', async () => {
    const { integrationId } = await harness.integration(org, 'webhook')
    const daily = await harness.subscription(org, integrationId, 'application.check.failed', 'hourly')
    const fine = await hook(org, 'application.check.*')
    // Both windows it could go into are taken already: the clocks of the workers differ by hours.
    const windows = [1, 2].map(
      (hours) => Math.floor(harness.clock.now().getTime() / 3_600_000 + hours) * 3_600,
    )
    for (const seconds of windows) {
      await database.sql.query(`
        insert into messages (org_id, id, channel, subscription_id, integration_id, target, digest_key, window_end, state,
          next_at, lease_until, created_at)
        values ('${org.id}', 'msg_${seconds}', 'webhook', '${daily}', '${integrationId}', '${integrationId}', 'sub:${daily}',
          to_timestamp(${seconds}), 'claimed', to_timestamp(${seconds}), to_timestamp(${seconds}) + interval '1 day', now());
        insert into digest_keys (org_id, digest_key, window_end, message_id)
        values ('${org.id}', 'sub:${daily}', to_timestamp(${seconds}), 'msg_${seconds}')`)
    }
    const subject = 'checks/chk_1'
    await harness.record(org, { type: 'application.check.recovered', subject: 'checks/chk_0' })
    await harness.record(org, { type: 'application.check.failed', subject })
    await harness.record(org, { type: 'application.check.recovered', subject })
    await harness.record(org, { type: 'application.check.recovered', subject: 'checks/chk_2' })
    await harness.drain()
    const subjects = () =>
      harness.received(fine.url).map(({ type, subject: of }) => `${of} ${type.split('.').at(-1)}`)
    expect(subjects().toSorted()).toEqual(['checks/chk_0 recovered', 'checks/chk_2 recovered'])
    expect(harness.warnings.map(({ event }) => event)).toEqual(['an event cannot be fanned out'])
    // It is tried a minute later, and each time a minute after that.
    harness.clock.advance(61)
    for (let round = 0; round < 2; round++) await harness.drain()
    expect(harness.warnings).toHaveLength(2)
    await database.sql.query(`delete from messages where digest_key = 'sub:${daily}';
      delete from digest_keys where digest_key = 'sub:${daily}'`)
    harness.clock.advance(61)
    await harness.drain()
    harness.clock.advance(1)
    await harness.drain()
    expect(subjects().slice(2)).toEqual(['checks/chk_1 failed', 'checks/chk_1 recovered'])
    const left = await harness.db.select().from(events).where(eq(events.orgId, org.id))
    expect(left.filter(({ fannedOutAt }) => fannedOutAt === null)).toEqual([])
  })

  test('by several workers at once every event has its deliveries once, in order within a subject', async () => {
    const { integrationId } = await hook(org)
    await hook(other)
    const digests = await harness.integration(other, 'webhook')
    const daily = await harness.subscription(other, digests.integrationId, 'deploy.*', 'daily')
    await Promise.all([record(org, 60), record(other, 60)])
    const all = () => harness.db.select().from(deliveries).where(eq(deliveries.integrationId, integrationId))
    await Promise.all([fanOut(), fanOut(), fanOut()])
    await fanOut()
    expect(await all()).toHaveLength(60)
    const theirs = await harness.deliveriesOf(other)
    expect(theirs).toHaveLength(120)
    const digest = theirs.filter(({ subscriptionId }) => subscriptionId === daily)
    expect([digest.length, new Set(digest.map(({ messageId }) => messageId)).size]).toEqual([60, 1])
  })
})
