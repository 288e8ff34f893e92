/** decisions, 11: "retry now" and "recover since" exist for people: for admins, of their own organization, within limits. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { and, eq, inArray } from '../../db/drizzle.ts'
import {
  attempts,
  deliveries,
  integrations,
  messages,
  messageTargets,
  recoveries,
  subscriptions,
} from '../../db/schema.ts'
import {
  listDeliveries,
  listRecoveries,
  recoverDeliveries,
  replayFailedDeliveries,
  retryDelivery,
  showDelivery,
} from '../../src/contracts/deliveries.ts'
import { makeId } from '../../src/contracts/ids.ts'
import {
  connectWebhook,
  listIntegrations,
  pauseIntegration,
  removeIntegration,
  removeWebhookSecret,
  resumeIntegration,
  rotateWebhookSecret,
  updateIntegration,
} from '../../src/contracts/integrations.ts'
import { RECOVERY } from '../../src/contracts/limits.ts'
import { createSubscription } from '../../src/contracts/subscriptions.ts'
import {
  queueRecoveries,
  releaseStrandedMessages,
  sweepDeliveries,
} from '../../src/cores/notifications/index.ts'
import { openIntegrationSecret } from '../../src/cores/notifications/integrations/integration-secret.ts'
import { TOOLS } from '../../mcp/tools.ts'
import { newDatabase } from '../support/database.ts'
import { insertDelivery, type DeliveryRow } from '../support/deliveries.ts'
import { fakeChecks } from '../support/fake-integrations.ts'
import { makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { notificationHarness } from '../support/notification-harness.ts'
import { freshSecrets, startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let admin: Person
let integrationId: string
let subscriptionId: string

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service' }, { checks: fakeChecks })
})
afterAll(() => system.stop())

beforeEach(async () => {
  org = await makeOrganization(system)
  admin = org.owner
  ;({ integrationId, subscriptionId } = await connected(admin))
})

async function connected(by: Person) {
  const { id } = await by.call(connectWebhook, {
    name: 'Receiver',
    url: `https://hooks.test/${unique('secret')}`,
  })
  const subscription = await by.call(createSubscription, { integration_id: id, pattern: 'deploy.failed' })
  return { integrationId: id, subscriptionId: subscription.id }
}

const delivered = (row: DeliveryRow = {}, tries?: Parameters<typeof insertDelivery>[3], where = org) =>
  insertDelivery(system, where, { subscriptionId, integrationId, ...row }, tries)
const REFUSED = [{ outcome: 'failed', reason: 'server_error', httpStatus: 500 } as const]

/** One that waits for its next attempt, in an hour. */
async function retrying(row: Partial<typeof messages.$inferInsert> = {}) {
  const one = await delivered({ state: 'retrying', reason: 'server_error', settledAt: null }, REFUSED)
  const nextAt = new Date(system.clock.now().getTime() + 3_600_000)
  await system.db
    .update(messages)
    .set({ state: 'pending', nextAt, orderingKey: one.id, ...row })
    .where(eq(messages.id, one.messageId))
  return one
}

const messageOf = async (id: string, { db } = system) =>
  (await db.select().from(messages).where(eq(messages.id, id)))[0]!
const now = () => system.clock.now().getTime()
const deps = () => ({ db: system.db, clock: () => system.clock.now() })

/** So often and no longer: one that an earlier test left waits for ever, because nothing is sent here. */
async function workOff(rounds = 6) {
  for (let n = 0; n < rounds; n++) {
    while (await queueRecoveries(deps()));
    system.clock.advance(RECOVERY.everySeconds)
  }
}

describe('retry now', () => {
  const retry = (delivery_id: string, by = admin) => by.call(retryDelivery, { delivery_id })

  test('makes the next attempt due, under the same id', async () => {
    const { id, messageId } = await retrying()
    const { next_attempt_at } = await retry(id)
    expect(Date.parse(next_attempt_at)).toBeLessThanOrEqual(now())
    expect((await messageOf(messageId)).nextAt.getTime()).toBeLessThanOrEqual(now())
    expect(await messageOf(messageId)).toMatchObject({ state: 'pending', attempts: 1 })
    const rows = (await admin.call(listDeliveries, {})).deliveries
    expect(rows.map(({ id: listed, state }) => [listed, state])).toEqual([[id, 'retrying']])
    // Pressed twice it is the same attempt.
    await retry(id)
  })

  test('leaves the slot that a busy target has reserved for it, and says when that is', async () => {
    const slotAt = new Date(now() + 4_000)
    const { id, messageId } = await retrying({ nextAt: slotAt, slotAt })
    expect((await retry(id)).next_attempt_at).toBe(slotAt.toISOString())
    expect(await messageOf(messageId)).toMatchObject({ nextAt: slotAt, slotAt })
  })

  test('takes along the older ones of its subject, which it waits for, those never tried, and no other', async () => {
    const older = await retrying({ orderingKey: 'things/1', seq: 1 })
    const chosen = await retrying({ orderingKey: 'things/1', seq: 2 })
    const newer = await retrying({ orderingKey: 'things/1', seq: 3 })
    const untried = await retrying({ orderingKey: 'things/1', seq: 4, attempts: 0 })
    const others = await retrying({ orderingKey: 'things/2', seq: 1 })
    await retry(chosen.id)
    const isDue = async ({ messageId }: { messageId: string }) =>
      (await messageOf(messageId)).nextAt.getTime() <= now()
    expect(await Promise.all([older, chosen, newer, untried, others].map(isDue))).toEqual([
      true,
      true,
      false,
      true,
      false,
    ])
  })

  test('takes along the newer ones that only waited for it: they arrive after it, in order', async () => {
    const connection = await newDatabase()
    const { DATA_KEY } = freshSecrets()
    const harness = await notificationHarness(connection, DATA_KEY)
    const own = await startSystem(
      { SVC_SERVICES: 'api-gateway,auth-service', AUTH_MODE: 'self', DATA_KEY },
      { connection, clockOf: { clock: harness.clock, mails: [] } },
    )
    try {
      const { id: orgId, owner } = await makeOrganization(own)
      const receiver = await harness.integration({ id: orgId }, 'webhook')
      await harness.subscription({ id: orgId }, receiver.integrationId, 'application.check.*')
      harness.answer(() => ({ kind: 'refused', reason: 'server_error', retry: true, httpStatus: 500 }))
      const seconds = async (n: number) => {
        harness.clock.advance(n)
        await harness.drain()
      }
      const happens = (type: 'failed' | 'recovered') =>
        harness.record({ id: orgId }, { type: `application.check.${type}`, subject: 'checks/chk_1' })
      await happens('failed')
      // Twice refused, it is tried again in five minutes.
      for (const n of [0, 7]) await seconds(n)
      for (const type of ['recovered', 'failed', 'recovered'] as const) await happens(type)
      // Each learns from the one before it how long that is.
      for (const n of [0, 1, 1, 1]) await seconds(n)
      const [first, second, third, last] = (await harness.messagesOf({ id: orgId })).toSorted(
        (a, b) => a.seq - b.seq,
      )
      const due = [first, second, third, last].map((message) => message!.nextAt.getTime())
      expect(new Set(due).size).toBe(1)
      expect(due[0]).toBeGreaterThan(harness.clock.now().getTime() + 200_000)
      // As if it had been tried together with the first, before it had to wait for it; and the last by itself.
      const set = (row: typeof third, values: Partial<typeof messages.$inferInsert>) =>
        own.db.update(messages).set(values).where(eq(messages.id, row!.id))
      await set(third, { attempts: 1 })
      await set(last, { attempts: 1, nextAt: new Date(due[0]! + 1) })
      harness.answer(() => ({ kind: 'sent', httpStatus: 200 }))
      const before = harness.received(receiver.url).length
      const [delivery] = await harness.deliveriesOf({ id: orgId })
      await owner.call(retryDelivery, { delivery_id: delivery!.id })
      for (const n of [0, 1, 1, 1]) await seconds(n)
      const arrived = harness.received(receiver.url).slice(before)
      expect(arrived.map(({ type }) => type.split('.').at(-1))).toEqual(['failed', 'recovered', 'failed'])
      expect((await messageOf(last!.id, own)).nextAt.getTime()).toBe(due[0]! + 1)
    } finally {
      await own.stop()
      await connection.close()
    }
  })

  test('probes a target that does not answer, and does not break a wait the receiver asked for', async () => {
    const { id } = await retrying()
    const later = new Date(now() + 600_000)
    const where = and(eq(messageTargets.orgId, org.id), eq(messageTargets.target, integrationId))
    const target = { orgId: org.id, target: integrationId, nextAllowedAt: system.clock.now() }
    await system.db.insert(messageTargets).values({ ...target, unanswered: 5, probeAt: later })
    await retry(id)
    const [probed] = await system.db.select().from(messageTargets).where(where)
    expect(probed!.probeAt!.getTime()).toBeLessThanOrEqual(now())
    // It stays a probe: one message, and not everything that waits.
    expect(probed!.unanswered).toBe(5)
    await system.db.update(messageTargets).set({ heldUntil: later }).where(where)
    expect((await retry(id)).next_attempt_at).toBe(later.toISOString())
  })

  /** A lost answer is not a refusal: only a person who replays it may send it a second time. */
  test.each([
    ['unconfirmed', { state: 'failed', reason: 'outcome_unknown' } as const],
    ['sent', { state: 'sent' } as const],
    ['given up', { state: 'failed', reason: 'gave_up' } as const],
    ['dropped', { state: 'dropped', reason: 'subscription_off' } as const],
  ])('of what is %s is refused', async (_, row) => {
    const { id, messageId } = await delivered(row)
    const before = await messageOf(messageId)
    await expect(retry(id)).rejects.toMatchObject({ code: 'CONFLICT', hint: 'Replay it to send it again.' })
    expect(await messageOf(messageId)).toEqual(before)
  })

  test.each(['sending', 'claimed', 'open'] as const)('of what is %s is refused', async (state) => {
    const { id, messageId } = await retrying({ state })
    const before = await messageOf(messageId)
    await expect(retry(id)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await messageOf(messageId)).toEqual(before)
  })

  test('is the admins’ own', async () => {
    const { id, messageId } = await retrying()
    const before = await messageOf(messageId)
    const { owner: outsider } = await makeOrganization(system)
    await expect(retry(id, outsider)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(retry(makeId('dlv', now()))).rejects.toMatchObject({ code: 'NOT_FOUND' })
    for (const role of ['viewer', 'member', 'developer'] as const) {
      const person = await makeMember(system, org, role)
      await expect(retry(id, person)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
    expect(await messageOf(messageId)).toEqual(before)
    await retry(id, await makeMember(system, org, 'admin'))
  })
})

describe('recover since', () => {
  const since = () => new Date(now() - 60_000).toISOString()
  const recover = (input: object = {}, by = admin) =>
    by.call(recoverDeliveries, { integration_id: integrationId, since: since(), ...input })
  const failed = (row: DeliveryRow = {}, where = org) =>
    delivered({ state: 'failed', reason: 'gave_up', ...row }, REFUSED, where)
  const replayed = async (where = org) =>
    (await system.db.select().from(deliveries).where(eq(deliveries.orgId, where.id))).flatMap(
      ({ replayOf }) => (replayOf === null ? [] : [replayOf]),
    )
  const shown = async (by = admin, id = integrationId) =>
    (await by.call(listRecoveries, { integration_id: id })).recoveries

  test('queues what this integration missed since then, each once and under a new id', async () => {
    const old = await failed()
    system.clock.advance(3_600)
    const from = system.clock.now().toISOString()
    const missed = [
      await failed(),
      await failed({ reason: 'outcome_unknown' }),
      await delivered({ state: 'dropped', reason: 'endpoint_dead' }),
      // Of an email integration that was confirmed again.
      await delivered({ state: 'dropped', reason: 'address_suppressed' }),
      await delivered({ state: 'dropped', reason: 'address_unverified' }),
    ]
    await delivered()
    await delivered({ state: 'dropped', reason: 'subscription_off' })
    const other = await connected(admin)
    await failed(other)
    const started = await recover({ since: from })
    expect(started).toMatchObject({ state: 'running', queued: 0, since: from, include_unconfirmed: true })
    // What fails from now on is not part of it.
    await failed()
    await workOff()
    expect((await replayed()).toSorted()).toEqual(missed.map(({ id }) => id).toSorted())
    expect(await replayed()).not.toContain(old.id)
    expect(await shown()).toMatchObject([{ id: started.id, state: 'done', queued: missed.length }])
    // Asked again, what was queued is not queued a second time.
    const { id: second } = await recover({ since: from })
    await workOff()
    expect(await replayed()).toHaveLength(missed.length + 1)
    expect((await shown()).map(({ id }) => id)).toEqual([second, started.id])
  })

  test('leaves out what may have arrived, if that is asked', async () => {
    const [missed] = [await failed(), await failed({ reason: 'outcome_unknown' })]
    await recover({ include_unconfirmed: false })
    await workOff()
    expect(await replayed()).toEqual([missed.id])
  })

  async function failedMany(rows: number) {
    await failed()
    await system.db.execute(`
      insert into deliveries (org_id, id, event_id, type, subscription_id, integration_id, channel, message_id, state,
        reason, replay_of, created_at, settled_at)
      select org_id, id || n, event_id || n, type, subscription_id, integration_id, channel, message_id, state,
        reason, null, created_at, settled_at
      from deliveries, generate_series(2, ${rows}) n where org_id = '${org.id}'`)
    await system.db.execute(`
      insert into events
      select (jsonb_populate_record(e, jsonb_build_object('id', e.id || n))).*
      from events e, generate_series(2, ${rows}) n where e.org_id = '${org.id}'`)
  }

  test.runIf(inject('everyCase'))(
    'queues a batch at a time, and waits while enough of it are open',
    async () => {
      const rows = 2 * RECOVERY.batch + RECOVERY.open
      await failedMany(rows)
      await recover()
      const open = () =>
        system.db.$count(messages, and(eq(messages.orgId, org.id), eq(messages.state, 'pending')))
      while (await queueRecoveries(deps()));
      expect(await open()).toBe(RECOVERY.batch)
      await workOff(5)
      expect(await open()).toBe(RECOVERY.open)
      expect(await shown()).toMatchObject([{ state: 'running', queued: RECOVERY.open }])
      await system.db.update(messages).set({ state: 'sent' }).where(eq(messages.orgId, org.id))
      await workOff(5)
      await system.db.update(messages).set({ state: 'sent' }).where(eq(messages.orgId, org.id))
      await workOff(3)
      expect(await shown()).toMatchObject([{ state: 'done', queued: rows }])
      expect(new Set(await replayed()).size).toBe(rows)
    },
  )

  test('of one organization takes no turn from another’s, by several workers at once nothing is queued twice', async () => {
    const theirs = await makeOrganization(system)
    const their = await connected(theirs.owner)
    const mine = [await failed(), await failed(), await failed()]
    const missed = await failed(their, theirs)
    const many = [
      integrationId,
      (await connected(admin)).integrationId,
      (await connected(admin)).integrationId,
    ]
    for (const id of many) await recover({ integration_id: id })
    await recover({ integration_id: their.integrationId }, theirs.owner)
    await Promise.all(Array.from({ length: 4 }, () => queueRecoveries(deps())))
    await workOff(2)
    expect(await replayed(theirs)).toEqual([missed.id])
    expect((await replayed()).toSorted()).toEqual(mine.map(({ id }) => id).toSorted())
  })

  test('beside replays in bulk queues nothing twice', async () => {
    // So many that they overlap.
    const rows = inject('everyCase') ? 400 : 40
    await failedMany(rows)
    await recover()
    const from = since()
    await Promise.all([
      ...[1, 2, 3].map(() => admin.call(replayFailedDeliveries, { from })),
      queueRecoveries(deps()),
    ])
    const queued = await replayed()
    expect([queued.length, new Set(queued).size]).toEqual([rows, rows])
  })

  test('is the admins’ own, of their own organization', async () => {
    await failed()
    const { owner: outsider } = await makeOrganization(system)
    await expect(recover({}, outsider)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(shown(outsider)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(recover({ integration_id: makeId('int', now()) })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    for (const role of ['viewer', 'member', 'developer'] as const) {
      const person = await makeMember(system, org, role)
      await expect(recover({}, person)).rejects.toMatchObject({ code: 'FORBIDDEN' })
      await expect(shown(person)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
    expect(await shown()).toEqual([])
    await workOff(2)
    expect(await replayed()).toEqual([])
    await recover({}, await makeMember(system, org, 'admin'))
  })

  test('runs once at a time for an integration, and only while that is active', async () => {
    await failed()
    const both = await Promise.allSettled([recover(), recover()])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    await expect(recover()).rejects.toMatchObject({ code: 'CONFLICT' })
    await system.db.update(integrations).set({ state: 'off' }).where(eq(integrations.id, integrationId))
    await workOff(2)
    expect(await shown()).toMatchObject([{ state: 'stopped', queued: 0 }])
    await expect(recover()).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await replayed()).toEqual([])
  })

  test.runIf(inject('everyCase'))(
    'waits while its integration is paused, and goes on afterwards',
    async () => {
      const missed = await failed()
      const theirs = await makeOrganization(system)
      const their = await connected(theirs.owner)
      const theirMissed = await failed(their, theirs)
      await recover()
      await recover({ integration_id: their.integrationId }, theirs.owner)
      await admin.call(pauseIntegration, { integration_id: integrationId })
      await workOff(2)
      expect(await shown()).toMatchObject([{ state: 'running', queued: 0 }])
      expect(await replayed(theirs)).toEqual([theirMissed.id])
      await admin.call(resumeIntegration, { integration_id: integrationId })
      system.clock.advance(RECOVERY.pausedSeconds)
      await workOff(2)
      expect(await shown()).toMatchObject([{ state: 'done', queued: 1 }])
      expect(await replayed()).toEqual([missed.id])
    },
  )

  test('ends with its integration', async () => {
    await failed()
    const { id } = await recover()
    await admin.call(removeIntegration, { integration_id: integrationId })
    await workOff(2)
    const [row] = await system.db.select().from(recoveries).where(eq(recoveries.id, id))
    expect(row).toMatchObject({ state: 'stopped' })
    await expect(shown()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('leaves out what somebody chose not to have', async () => {
    await failed()
    await system.db.update(subscriptions).set({ enabled: false }).where(eq(subscriptions.id, subscriptionId))
    await recover()
    await workOff(2)
    expect(await replayed()).toEqual([])
  })
})

test('the ledger names an integration that was removed, in its own organization', async () => {
  const { id } = await delivered()
  await admin.call(removeIntegration, { integration_id: integrationId })
  expect((await admin.call(listDeliveries, {})).deliveries).toMatchObject([{ id, destination: 'Receiver' }])
  expect(await admin.call(showDelivery, { delivery_id: id })).toMatchObject({ destination: 'Receiver' })
  // The same id in another organization is another integration.
  const theirs = await makeOrganization(system)
  await delivered({ subscriptionId: null }, [], theirs)
  expect((await theirs.owner.call(listDeliveries, {})).deliveries).toMatchObject([{ destination: null }])
})

test('what a receiver answered is shown to admins for seven days', async () => {
  const daysAgo = (days: number) => new Date(now() - days * 24 * 60 * 60 * 1000)
  const { id, messageId } = await delivered({}, [
    { response: 'too long ago', requestHeaders: { 'webhook-id': '1' }, startedAt: daysAgo(7.1) },
    { response: 'thank you', requestHeaders: { 'webhook-id': '2' }, startedAt: daysAgo(6.9) },
  ])
  const shown = await admin.call(showDelivery, { delivery_id: id })
  expect(shown.attempts_made.map(({ response }) => response)).toEqual([null, 'thank you'])
  // What was sent along is kept as long.
  const headers = [null, { 'webhook-id': '2' }]
  expect(shown.attempts_made.map(({ request_headers }) => request_headers)).toEqual(headers)
  const developer = await makeMember(system, org, 'developer')
  await expect(developer.call(showDelivery, { delivery_id: id })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  // The rest of the attempt stays as long as its delivery.
  await sweepDeliveries({ ...deps(), deliveryDays: 90 })
  const kept = await system.db.select().from(attempts).where(eq(attempts.messageId, messageId))
  expect(
    kept
      .toSorted((a, b) => a.number - b.number)
      .map(({ number, httpStatus, response }) => [number, httpStatus, response]),
  ).toEqual([
    [1, 200, null],
    [2, 200, 'thank you'],
  ])
  expect(new Map(kept.map(({ number, requestHeaders }) => [number, requestHeaders]))).toEqual(
    new Map(headers.map((sent, at) => [at + 1, sent])),
  )
})

test('no agent reads what a receiver answered: no tool calls the operation, and no scope opens it', () => {
  expect(showDelivery.scope).toBeNull()
  const called = TOOLS.flatMap(({ operations }) => operations.map(({ name }) => name))
  expect(called).not.toContain('showDelivery')
})

describe('a paused integration', () => {
  const pause = (by = admin) => by.call(pauseIntegration, { integration_id: integrationId })
  const resume = (by = admin) => by.call(resumeIntegration, { integration_id: integrationId })
  /** As a worker leaves what it finds for a held target. */
  const held = () => retrying({ nextAt: new Date('9999-01-01T00:00:00Z') })
  const due = async (messageId: string) => (await messageOf(messageId)).nextAt.getTime()

  test('keeps what waits, says how much that is, and has it due in its order when it is resumed', async () => {
    expect(await pause()).toMatchObject({ state: 'paused', waiting: 0 })
    const waiting = [await held(), await held(), await held()]
    expect(await pause()).toMatchObject({ state: 'paused', waiting: 3 })
    const [listed] = (await admin.call(listIntegrations, {})).integrations
    expect(listed).toMatchObject({ state: 'paused', waiting: 3 })
    const { next_attempt_at } = await admin.call(showDelivery, { delivery_id: waiting[0]!.id })
    expect(next_attempt_at).toBeNull()
    const retried = admin.call(retryDelivery, { delivery_id: waiting[0]!.id })
    await expect(retried).rejects.toMatchObject({ code: 'CONFLICT', message: 'The integration is paused' })
    expect(await resume()).toMatchObject({ state: 'active', waiting: 0 })
    const times = await Promise.all(waiting.map(({ messageId }) => due(messageId)))
    expect(times.every((at) => at <= now())).toBe(true)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    const [target] = await system.db
      .select()
      .from(messageTargets)
      .where(and(eq(messageTargets.orgId, org.id), eq(messageTargets.target, integrationId)))
    expect(target!.heldUntil).toBeNull()
  })

  test('is paused and resumed by admins of its own organization, and only where it works', async () => {
    const other = await makeOrganization(system)
    for (const change of [pause, resume]) {
      await expect(change(other.owner)).rejects.toMatchObject({ code: 'NOT_FOUND' })
      const viewer = await makeMember(system, org, 'viewer')
      await expect(change(viewer)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
    await admin.call(updateIntegration, { integration_id: integrationId, enabled: false })
    await expect(pause()).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(resume()).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test.each([
    ['turned off', () => admin.call(updateIntegration, { integration_id: integrationId, enabled: false })],
    ['removed', () => admin.call(removeIntegration, { integration_id: integrationId })],
  ])('that is %s leaves nothing waiting for ever', async (_how, end) => {
    await pause()
    const { messageId } = await held()
    await end()
    expect(await due(messageId)).toBeLessThanOrEqual(now())
  })

  test('stays paused with another address, which is not sent to either', async () => {
    await pause()
    const { messageId } = await held()
    const url = `https://hooks.test/${unique('secret')}`
    expect(await admin.call(updateIntegration, { integration_id: integrationId, url })).toMatchObject({
      state: 'paused',
    })
    // Held still: the worker has due what waits for a hold that is over.
    await releaseStrandedMessages(deps())
    expect(await due(messageId)).toBeGreaterThan(now() + 1_000_000_000_000)
  })

  test('keeps what waits as long as deliveries are kept', async () => {
    await pause()
    const { id, messageId } = await held()
    // So does a digest that was not taken yet.
    const digest = await held()
    await system.db.update(messages).set({ state: 'open' }).where(eq(messages.id, digest.messageId))
    await sweepDeliveries({ ...deps(), deliveryDays: 90 })
    expect((await messageOf(messageId)).state).toBe('pending')
    expect((await messageOf(digest.messageId)).state).toBe('open')
    const later = () => new Date(now() + 91 * 86_400_000)
    await sweepDeliveries({ db: system.db, clock: later, deliveryDays: 90 })
    const rows = await system.db
      .select()
      .from(deliveries)
      .where(inArray(deliveries.id, [id, digest.id]))
    const over = { state: 'dropped', reason: 'paused_too_long' }
    expect(rows).toMatchObject([over, over])
  })

  test('stays held, however long nothing comes for it', async () => {
    const other = await makeOrganization(system)
    const their = await connected(other.owner)
    await pause()
    const target = { nextAllowedAt: system.clock.now(), orgId: other.id, target: their.integrationId }
    await system.db.insert(messageTargets).values(target)
    const later = () => new Date(now() + 91 * 86_400_000)
    await sweepDeliveries({ db: system.db, clock: later, deliveryDays: 90 })
    const left = await system.db
      .select()
      .from(messageTargets)
      .where(inArray(messageTargets.orgId, [org.id, other.id]))
    // Nothing was known of the other one but when it was last sent to.
    expect(left).toMatchObject([{ target: integrationId, heldUntil: new Date('9999-01-01T00:00:00Z') }])
  })

  test('is not taken for dead afterwards: its failures are counted anew', async () => {
    const other = await makeOrganization(system)
    const their = await connected(other.owner)
    const failingSince = new Date(now() - 6 * 86_400_000)
    await system.db
      .update(integrations)
      .set({ failingSince })
      .where(inArray(integrations.id, [integrationId, their.integrationId]))
    expect(await pause()).toMatchObject({ failing_since: failingSince.toISOString() })
    expect(await resume()).toMatchObject({ state: 'active', failing_since: null })
    expect((await other.owner.call(listIntegrations, {})).integrations).toMatchObject([
      { failing_since: failingSince.toISOString() },
    ])
  })
})

test('what was dropped while the integration was off is recovered, and replayed in bulk', async () => {
  const dropped = () => delivered({ state: 'dropped', reason: 'integration_off' })
  const since = new Date(now() - 3_600_000).toISOString()
  await dropped()
  expect(await admin.call(replayFailedDeliveries, { from: since })).toMatchObject({ replayed: 1 })
  await dropped()
  await admin.call(recoverDeliveries, { integration_id: integrationId, since })
  await workOff(2)
  const [recovery] = (await admin.call(listRecoveries, { integration_id: integrationId })).recoveries
  expect(recovery).toMatchObject({ state: 'done', queued: 1 })
})

describe('the secret of a webhook', () => {
  const rotate = (by = admin, more: { overlap_hours?: number } = {}) =>
    by.call(rotateWebhookSecret, { integration_id: integrationId, ...more })
  const shown = async () => (await admin.call(listIntegrations, {})).integrations[0]!

  test('is shown once, kept sealed, and gone when it is removed', async () => {
    const { secret, previous_secret_until } = await rotate()
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/)
    expect(Date.parse(previous_secret_until!)).toBeGreaterThan(now())
    expect(await shown()).toMatchObject({ own_secret: true, previous_secret_until })
    const [row] = await system.db.select().from(integrations).where(eq(integrations.id, integrationId))
    expect(JSON.stringify([row, await shown()])).not.toContain(secret.slice(6, 30))
    // The one that signed so far goes on beside the next one, and not that of the address.
    const next = await rotate()
    const [rotated] = await system.db.select().from(integrations).where(eq(integrations.id, integrationId))
    expect(openIntegrationSecret(system.system.gateway!.dataKeys, rotated!).signing).toEqual({
      secret: next.secret,
      previous: secret,
      previousUntil: next.previous_secret_until,
    })
    expect((await rotate(admin, { overlap_hours: 0 })).previous_secret_until).toBeNull()
    await admin.call(removeWebhookSecret, { integration_id: integrationId })
    expect(await shown()).toMatchObject({ own_secret: false, previous_secret_until: null })
  })

  test('is of admins of its own organization', async () => {
    const other = await makeOrganization(system)
    await expect(rotate(other.owner)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const removed = other.owner.call(removeWebhookSecret, { integration_id: integrationId })
    await expect(removed).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
