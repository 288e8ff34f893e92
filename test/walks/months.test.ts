/** Tables that grow have a partition for each month on Postgres, and are one table embedded. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { sql } from '../../db/drizzle.ts'
import { activity, auditLog, deliveries, events, messages } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { sweepActivity } from '../../src/cores/activity/index.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { sweepDeliveries } from '../../src/cores/notifications/index.ts'
import { shipOutbox } from '../../src/cores/outbox.ts'
import { keepMonths, prepareMonths, readPartitions, type MonthlyTable } from '../../src/cores/partitions.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import {
  notificationHarness,
  type HarnessOrg,
  type NotificationHarness,
} from '../support/notification-harness.ts'

const sealing = { dataKeys: dataKeys('00'.repeat(32)), log: { warn: () => {} } }

// Embedded there are no partitions.
const isServer = inject('engine') === 'postgres'
const DAY_MS = 86_400_000

let database: TestDatabase
beforeAll(async () => {
  database = await newDatabase()
})
afterAll(() => database.close())

const months = { partitions: isServer, get db() { return database.db } } // prettier-ignore
const at = (day: string): Date => new Date(`${day}T12:00:00Z`)
const namesOf = async (table: MonthlyTable) =>
  (await readPartitions(database.db)).get(table)!.map(({ name }) => name.replace(`${table}_`, ''))

const call = (orgId: string, when: Date) => ({
  orgId,
  id: makeId('act', when.getTime()),
  at: when,
  type: 'function' as const,
  userId: 'usr_1',
  userName: 'Somebody',
  entryPoint: 'mcp' as const,
  outcome: 'answered' as const,
  durationMs: 1,
  questionBytes: 1,
  answerBytes: 1,
  requestId: 'req_1',
})

async function placesOf(table: MonthlyTable, orgId: string): Promise<string[]> {
  const rows = await database.sql.query<{ place: string }>(
    `select distinct tableoid::regclass::text as place from ${table} where org_id = $1 order by 1`,
    [orgId],
  )
  return rows.map(({ place }) => place.replace(`${table}_`, ''))
}

async function countOf(table: MonthlyTable, orgId: string): Promise<number> {
  const [row] = await database.sql.query<{ n: number }>(
    `select count(*)::int as n from ${table} where org_id = $1`,
    [orgId],
  )
  return row!.n
}

test('none has more than four indexes', async () => {
  const tables = await database.sql.query<{ name: string; indexes: number }>(
    `select c.relname as name, count(*)::int as indexes from pg_index i join pg_class c on c.oid = i.indrelid
     where c.relkind = 'p' and c.relnamespace = 'public'::regnamespace group by 1`,
  )
  expect(tables.filter(({ indexes }) => indexes > 4)).toEqual([])
  expect(tables.length).toBeGreaterThan(6)
})

test.runIf(!isServer)('embedded, all of it is one table, and is deleted row by row', async () => {
  await prepareMonths(months, at('2026-05-15'))
  await keepMonths(months)
  expect(await namesOf('activity')).toEqual(['rest'])
  await database.db
    .insert(activity)
    .values([call('org_e', at('2025-01-01')), call('org_e', at('2026-05-01'))])
  await sweepActivity({ ...sealing, db: database.db, clock: () => at('2026-05-15'), activityDays: 365 })
  expect(await countOf('activity', 'org_e')).toBe(1)
})

describe.runIf(isServer)('on a server', () => {
  test('the months ahead are made at a start, also after a long time without one, by whoever is first', async () => {
    expect(await namesOf('activity')).toEqual(expect.arrayContaining(['202603', '202606', 'rest']))
    await Promise.all([1, 2, 3].map(() => prepareMonths(months, at('2027-09-15'))))
    for (const table of ['activity', 'audit_log', 'events', 'attempts'] as const)
      expect(await namesOf(table)).toEqual(expect.arrayContaining(['202709', '202710', '202711', '202712']))
  })

  test('a row lies in its month, and one without a month in the rest: nothing is refused', async () => {
    await database.db
      .insert(activity)
      .values([
        call('org_a', at('2026-03-31')),
        call('org_a', at('2026-04-01')),
        call('org_a', at('2031-01-01')),
      ])
    await database.db.insert(auditLog).values({
      orgId: 'org_a',
      id: makeId('aud', at('2026-04-30').getTime()),
      at: at('2026-04-30'),
      action: 'organization.updated',
      actorKind: 'system',
      actorName: 'Somebody',
    })
    expect(await placesOf('activity', 'org_a')).toEqual(['202603', '202604', 'rest'])
    expect(await placesOf('audit_log', 'org_a')).toEqual(['202604'])
    // Rows of a month that came before it stay where they are, and the others are made.
    await prepareMonths(months, at('2030-12-15'))
    await keepMonths(months)
    expect(await countOf('activity', 'org_a')).toBe(3)
  })

  test('activity goes by whole months, and the rest row by row; the audit trail stays', async () => {
    for (const orgId of ['org_b', 'org_c'])
      await database.db
        .insert(activity)
        .values([call(orgId, at('2026-03-10')), call(orgId, at('2026-04-10')), call(orgId, at('2024-01-01'))])
    const sweep = (day: string) =>
      sweepActivity({ ...sealing, db: database.db, clock: () => at(day), activityDays: 30 })
    await sweep('2026-04-29')
    for (const orgId of ['org_b', 'org_c'])
      expect(await placesOf('activity', orgId)).toEqual(['202603', '202604'])
    await sweep('2026-05-02')
    for (const orgId of ['org_b', 'org_c']) expect(await placesOf('activity', orgId)).toEqual(['202604'])
    expect(await namesOf('activity')).not.toContain('202603')
    expect(await namesOf('audit_log')).toContain('202603')
    expect(await countOf('audit_log', 'org_a')).toBe(1)
  })

  test('while somebody reads for long, as a backup does, months are neither made nor dropped, and nobody waits', async () => {
    const sweep = () =>
      sweepActivity({ ...sealing, db: database.db, clock: () => at('2026-09-15'), activityDays: 30 })
    const names = async () => [...(await namesOf('activity')), ...(await namesOf('attempts'))]
    const before = await names()
    expect(before).toContain('202604')
    await database.sql.transaction(async (reader) => {
      await reader.query('select from activity, attempts limit 1')
      const isLong = async () =>
        (
          await reader.query<{ is: boolean }>(
            `select clock_timestamp() > now() + interval '1.1 seconds' as is`,
          )
        )[0]
      await expect.poll(isLong, { timeout: 10_000 }).toEqual({ is: true })
      await sweep()
      await prepareMonths(months, at('2034-01-15'))
      expect(await names()).toEqual(before)
      // Those that nobody reads are made.
      expect(await namesOf('deliveries')).toContain('203402')
    })
    await prepareMonths(months, at('2034-01-15'))
    await sweep()
    expect(await namesOf('activity')).not.toContain('202604')
    expect(await namesOf('attempts')).toContain('203402')
  })

  test('what was begun of cutting off the rest is taken back before rows of that month come', async () => {
    await database.db.insert(activity).values(call('org_d', at('2035-01-01')))
    const begun = 'activity_before_204002'
    await database.sql.query(`alter table activity_rest add constraint ${begun} check (id <> '') not valid`)
    const isThere = async () =>
      (await database.sql.query(`select from pg_constraint where conname = '${begun}'`)).length === 1
    await prepareMonths(months, at('2040-01-28'))
    expect(await isThere()).toBe(true)
    await prepareMonths(months, at('2040-01-31'))
    expect(await isThere()).toBe(false)
  })
})

describe.runIf(isServer)('deliveries', () => {
  let own: TestDatabase
  let harness: NotificationHarness
  /** Of its own: months that are gone do not come back. */
  beforeEach(async () => {
    own = await newDatabase()
    harness = await notificationHarness(own)
  })
  afterEach(() => own.close())

  const partsOf = async (table: MonthlyTable) =>
    (await readPartitions(own.db)).get(table)!.map(({ name }) => name.replace(`${table}_`, ''))
  const sweep = (deliveryDays = 30) => sweepDeliveries({ ...harness.deps, deliveryDays })
  const LEDGER = ['deliveries', 'messages', 'events', 'attempts', 'delivery_keys'] as const

  test('a month goes when nothing of it waits, with its events and messages a month later', async () => {
    const [org, other] = [await harness.organization(), await harness.organization()]
    harness.clock.set('2026-03-30T10:00:00Z')
    await oneOpen(org, other)
    harness.clock.set('2026-04-05T10:00:00Z')
    // What is retried takes days.
    await sweep(1)
    for (const table of LEDGER) expect(await partsOf(table)).toContain('202603')

    await own.db.execute(sql`update messages set next_at = ${harness.clock.now().toISOString()}::timestamptz
      where state = 'pending'`)
    harness.clock.advance(1)
    await harness.drain()
    expect(await own.db.select().from(deliveries)).toHaveLength(2)
    harness.clock.set('2026-06-20T10:00:00Z')
    await sweep()
    for (const table of LEDGER) expect(await partsOf(table)).not.toContain('202603')
    expect(await partsOf('deliveries')).not.toContain('202604')
    expect(await partsOf('events')).toContain('202604')
    for (const table of [deliveries, events, messages]) expect(await own.db.select().from(table)).toEqual([])
  })

  /** Of the first; its receiver asks to wait. That of the other arrives. */
  async function oneOpen(...organizations: HarnessOrg[]) {
    for (const one of organizations) {
      const { integrationId } = await harness.integration(one, 'webhook')
      await harness.subscription(one, integrationId, 'deploy.*')
      await harness.record(one, { type: 'deploy.failed' })
    }
    let refused = 0
    harness.answer(() =>
      refused++ === 0
        ? { kind: 'refused', reason: 'server_error', retry: true, httpStatus: 503 }
        : { kind: 'sent', httpStatus: 200 },
    )
    await harness.drain()
    const open = await own.db.execute(sql`
      update messages set next_at = next_at + interval '400 days' where state = 'pending' returning id`)
    expect(open).toHaveLength(1)
  }

  test('what can never be sent, or fanned out, keeps nobody’s months: it is dropped with that reason', async () => {
    const [org, other] = [await harness.organization(), await harness.organization()]
    harness.clock.set('2026-03-30T10:00:00Z')
    await oneOpen(org, other)
    const stuck = await harness.record(org, { type: 'deploy.failed' })
    await shipOutbox(harness.deps)
    await own.db.execute(sql`update events set fan_out_again_at = '2099-01-01' where id = ${stuck}`)
    harness.clock.set('2026-04-20T10:00:00Z')
    await sweep(20)
    const rows = await harness.deliveriesOf(org)
    expect(rows.map(({ state, reason }) => `${state} ${reason}`)).toEqual([
      'dropped expired',
      'dropped expired',
    ])
    expect(rows.map(({ eventId }) => eventId)).toContain(stuck)
    expect((await harness.deliveriesOf(other)).map(({ state }) => state)).toEqual(['sent'])
    // It is read for a while, and then goes with its month.
    expect(await partsOf('deliveries')).toContain('202603')
    harness.clock.set('2026-06-20T10:00:00Z')
    await sweep(20)
    for (const table of LEDGER) expect(await partsOf(table)).not.toContain('202603')
  })

  test('the same event is one also where a month lies between', async () => {
    const org = await harness.organization()
    harness.clock.set('2026-05-31T23:59:00Z')
    await harness.record(org, { type: 'deploy.failed', dedupKey: 'the-same' })
    await harness.drain()
    harness.clock.advance(2 * 60)
    await harness.record(org, { type: 'deploy.failed', dedupKey: 'the-same' })
    await harness.drain()
    expect(await harness.deliveriesOf(org)).toHaveLength(1)
    // Its key is kept for as long as deliveries are.
    harness.clock.advance((31 * DAY_MS) / 1000)
    await sweep()
    expect(await harness.deliveriesOf(org)).toEqual([])
    await harness.record(org, { type: 'deploy.failed', dedupKey: 'the-same' })
    await harness.drain()
    expect(await harness.deliveriesOf(org)).toHaveLength(1)
  })

  test.runIf(inject('everyCase'))('a digest that fills over the end of a month is one message', async () => {
    const org = await harness.organization()
    const { integrationId, url } = await harness.integration(org, 'webhook')
    await harness.subscription(org, integrationId, 'deploy.*', 'daily')
    harness.clock.set('2026-07-31T23:00:00Z')
    await prepareMonths({ db: own.db, partitions: true }, harness.clock.now())
    await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    harness.clock.set('2026-08-01T01:00:00Z')
    await harness.record(org, { type: 'deploy.failed' })
    await harness.drain()
    harness.clock.set('2026-08-01T09:00:01Z')
    await harness.drain()
    expect(harness.sent.filter(({ to }) => to === url)).toHaveLength(1)
    const rows = await harness.deliveriesOf(org)
    expect(new Set(rows.map(({ messageId }) => messageId)).size).toBe(1)
    expect(rows.map(({ state }) => state)).toEqual(['sent', 'sent'])
  })
})
