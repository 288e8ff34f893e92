/** The operator sees what waits to be sent, of every organization: by API, on a page and in the metrics. Nobody else does. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { integrations, messages, messageTargets, outbox } from '../../db/schema.ts'
import { showMessageQueue } from '../../src/contracts/message-queue.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { makeOrganization, type Org } from '../support/make.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'
import { newWalker } from '../support/walker.ts'

let database: TestDatabase
let system: TestSystem
let calm: Org
let busy: Org
const PATH = '/auth/operator/message-queue'

beforeAll(async () => {
  // Its own: the queue is the whole installation's.
  database = await newDatabase()
  // Nothing listens: the metrics are read where they are made. The worker's loops are never started.
  system = await startSystem({ METRICS_PORT: '4001' }, { connection: { ...database, close: async () => {} } })
  ;[calm, busy] = [await makeOrganization(system), await makeOrganization(system)]
  // With hosted auth an organization has a name here once somebody of it called.
  for (const { owner } of [calm, busy]) await owner.call(whoAmI, {})
  await fill()
})
afterAll(async () => {
  await system?.stop()
  await database?.close()
})

const ago = (seconds: number) => new Date(system.clock.now().getTime() - seconds * 1000)

async function fill(): Promise<void> {
  let n = 0
  const message = (orgId: string, given: Partial<typeof messages.$inferInsert>) => ({
    orgId,
    id: `msg_queue${n++}`,
    channel: 'webhook' as const,
    target: 'int_slow',
    state: 'pending' as const,
    nextAt: ago(60),
    createdAt: ago(60),
    ...given,
  })
  await system.db.insert(messages).values([
    message(calm.id, {}),
    message(busy.id, { createdAt: ago(600), nextAt: ago(600) }),
    // Nobody tried it yet: it waits since it was made, also where its target put it off.
    message(busy.id, { createdAt: ago(7_200), nextAt: ago(-300) }),
    message(busy.id, { state: 'claimed', leaseUntil: ago(-60) }),
    message(busy.id, { state: 'sending', leaseUntil: ago(-60), attempts: 1, createdAt: ago(90_000) }),
    // It waits on purpose: for its next attempt, for the end of its digest.
    message(busy.id, { attempts: 2, createdAt: ago(90_000), nextAt: ago(-300) }),
    message(busy.id, {
      state: 'open',
      digestKey: 'sub:x',
      createdAt: ago(90_000),
      windowEnd: ago(-900),
      nextAt: ago(-900),
    }),
    message(busy.id, { state: 'sent', attempts: 1, createdAt: ago(90_000) }),
  ])
  await system.db.insert(outbox).values({
    orgId: calm.id,
    id: 'evt_queue',
    source: 'test',
    dedupKey: 'queue',
    type: 'deploy.failed',
    subject: 'things/one',
    data: {},
    occurredAt: ago(30),
  })
  const integration = (id: string, state: 'active' | 'dead') => ({
    orgId: busy.id,
    id,
    kind: 'webhook' as const,
    name: 'Receiver',
    state,
    config: {},
    sealed: 'x',
    digest: id,
    createdAt: ago(90_000),
  })
  await system.db
    .insert(integrations)
    .values([integration('int_slow', 'active'), integration('int_dead', 'dead')])
  const target = (name: string, unanswered: number) => ({
    orgId: busy.id,
    target: name,
    nextAllowedAt: ago(60),
    unanswered,
    probeAt: ago(-120),
  })
  await system.db
    .insert(messageTargets)
    .values([target('int_slow', 5), target('int_well', 2), target('int_dead', 9), target('int_removed', 9)])
}

const asOperator = () => system.as({ token: OPERATOR_TOKEN })(showMessageQueue, {})

test('the operator sees what is due, in flight and waiting, by organization, and which circuits are open', async () => {
  const queue = await asOperator()
  expect(queue).toMatchObject({ due: 4, in_flight: 1, events_waiting: 1, circuits_open: 1 })
  const of = (id: string) => queue.organizations.find((one) => one.id === id)
  // The one that waits longest first.
  expect(queue.organizations.map(({ id }) => id)).toEqual([busy.id, calm.id])
  expect(of(busy.id)).toMatchObject({
    name: busy.name,
    due: 3,
    in_flight: 1,
    events_waiting: 0,
    circuits_open: 1,
  })
  expect(of(calm.id)).toMatchObject({ due: 1, in_flight: 0, events_waiting: 1, circuits_open: 0 })
  const waited = (time: string | null) => (system.clock.now().getTime() - Date.parse(time!)) / 1000
  expect(waited(queue.waiting_since)).toBeCloseTo(7_200, -1)
  expect(waited(of(calm.id)!.waiting_since)).toBeCloseTo(60, -1)
  expect(queue.circuits).toMatchObject([{ organization_id: busy.id, target: 'int_slow', unanswered: 5 }])
})

test('nobody else sees any of it, owners of the organization included', async () => {
  for (const { owner } of [busy, calm]) {
    await expect(owner.call(showMessageQueue, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  }
  await expect(system.as({})(showMessageQueue, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  await expect(system.as({ token: `${OPERATOR_TOKEN}x` })(showMessageQueue, {})).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  })
})

test('the page shows it to whoever enters the operator’s token', async () => {
  const walker = newWalker(system)
  const asks = await walker.open(PATH)
  expect(asks.words).not.toContain(busy.id)
  const entered = await walker.submit(asks, 'Continue', { token: OPERATOR_TOKEN })
  expect(entered.location?.pathname).toBe(PATH)
  const page = await walker.open(PATH)
  expect(page.words).toContain('The oldest has waited for 2 h.')
  for (const { id, name } of [busy, calm]) {
    expect(page.words).toContain(id)
    expect(page.words).toContain(name)
  }
  expect(page.words).toContain('5 without an answer')
  expect(page.words).not.toContain('int_dead')
  expect(page.text).not.toContain(OPERATOR_TOKEN)
  expect((await walker.open('/auth/operator/registrations')).words).toContain('slots are used')
})

test('the metrics tell the same', async () => {
  const { text } = await system.system.metrics!.expose()
  const lines = text.split('\n').filter((line) => line.startsWith('svc_notification_'))
  expect(lines).toEqual(
    expect.arrayContaining([
      'svc_notification_messages_due 4',
      'svc_notification_messages_in_flight 1',
      'svc_notification_events_waiting 1',
      'svc_notification_circuits_open 1',
    ]),
  )
  const waiting = lines.filter((line) => line.startsWith('svc_notification_oldest_waiting_seconds'))
  expect(waiting.map((line) => /organization="(\w+)"/.exec(line)?.[1])).toEqual([busy.id, calm.id])
})
