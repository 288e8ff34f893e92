/**
 * A database of the version before becomes one with a partition for each month while others write and read: no row is lost,
 * none is refused, nothing is delivered twice, and what was to come once comes once.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import { migrate } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { shipAndFanOut } from '../../src/cores/notifications/index.ts'
import {
  keepMonths,
  MONTHLY,
  prepareMonths,
  readPartitions,
  type MonthlyTable,
} from '../../src/cores/partitions.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { notificationHarness } from '../support/notification-harness.ts'

/** The first that the version before did not have. */
const FIRST_NEW = '0011_keys'
const ACTIVITY_ROWS = 100_000
const DAY_MS = 86_400_000
const TABLES = (Object.keys(MONTHLY) as MonthlyTable[]).filter((table) => table !== 'delivery_keys')
/** What the notifications of an organization lie in. */
const FILLED = [
  'organizations',
  'users',
  'memberships',
  'integrations',
  'subscriptions',
  'default_subscriptions',
  'message_targets',
  'notifications',
  ...TABLES,
]

const names: string[] = []
const connections: Connection[] = []
let fresh: Connection
let old: Connection

async function newDatabase(): Promise<Connection> {
  const { url } = inject('postgres')
  const name = `months_${randomBytes(4).toString('hex')}`
  names.push(name)
  await onServer(url, `create database ${name}`)
  const connection = await connect({ url: databaseUrl(url, name) })
  connections.push(connection)
  return connection
}

beforeAll(async () => {
  const migrations = await readMigrations()
  fresh = await newDatabase()
  await migrate(fresh.sql, migrations)
  old = await newDatabase()
  await migrate(
    old.sql,
    migrations.filter(({ name }) => name < FIRST_NEW),
  )
})
afterAll(async () => {
  for (const connection of connections) await connection.close()
  for (const name of names) await onServer(inject('postgres').url, `drop database ${name} with (force)`)
})

/** The rows as they are; what the older table does not have is left out. */
async function copy(table: string): Promise<void> {
  const [found] = await fresh.sql.query<{ rows: string }>(
    `select coalesce(json_agg(t), '[]')::text as rows from ${table} t`,
  )
  await old.sql.query(
    `insert into ${table} select * from json_populate_recordset(null::${table}, $1::text::json)`,
    [found!.rows],
  )
}

async function countOf({ sql: queries }: Connection, table: string): Promise<number> {
  const [row] = await queries.query<{ n: number }>(`select count(*)::int as n from ${table}`)
  return row!.n
}

test(
  'a database of the version before becomes one with months, under load',
  { timeout: 300_000 },
  async () => {
    const dataKey = randomBytes(32).toString('hex')
    const begin = Date.now() - 40 * DAY_MS
    const filling = await notificationHarness(fresh, dataKey, begin)
    const [org, other] = [await filling.organization(), await filling.organization()]
    for (const one of [org, other]) {
      const { integrationId } = await filling.integration(one, 'webhook')
      await filling.subscription(one, integrationId, 'deploy.*')
      const hourly = await filling.integration(one, 'webhook')
      await filling.subscription(one, hourly.integrationId, 'deploy.*', 'daily')
    }
    // Sent, given up, waiting for another attempt, in an open digest, and not fanned out yet.
    await filling.record(org, { type: 'deploy.failed', dedupKey: 'the-first' })
    await filling.record(other, { type: 'deploy.failed' })
    await filling.drain()
    filling.answer(() => ({ kind: 'refused', reason: 'server_error', retry: true, httpStatus: 503 }))
    for (const one of [org, other]) await filling.record(one, { type: 'deploy.failed' })
    await filling.drain()
    await filling.record(org, { type: 'deploy.failed' })
    while (await shipAndFanOut(filling.deps));
    await fresh.sql.query(`update events set fanned_out_at = null where id = (select max(id) from events);
    insert into deliveries select (jsonb_populate_record(d, jsonb_build_object('id', '${makeId('dlv', begin)}',
      'replay_of', d.id, 'message_id', null))).* from deliveries d where state = 'sent' limit 1`)
    for (const table of FILLED) await copy(table)
    await old.sql.query(`
    insert into activity (org_id, id, at, type, user_id, user_name, entry_point, outcome, duration_ms, question_bytes,
      answer_bytes, request_id)
    select 'org_' || n % 7, '${makeId('act', begin).slice(0, -16)}' || lpad(n::text, 16, '0'), now() - interval '40 days',
      'function', 'usr_1', 'Somebody', 'mcp', 'answered', 1, 1, 1, 'req_1' from generate_series(1, ${ACTIVITY_ROWS}) n`)
    const before = new Map(
      await Promise.all(TABLES.map(async (table) => [table, await countOf(old, table)] as const)),
    )
    expect(before.get('deliveries')).toBeGreaterThan(6)

    // As producers of either version do.
    const written = { activity: 0, audit_log: 0, outbox: 0 }
    const failures: unknown[] = []
    const over = new AbortController()
    const load = async (work: () => Promise<void>) => {
      while (!over.signal.aborted) await work().catch((error: unknown) => failures.push(error))
    }
    const loads = [
      load(async () => {
        const now = Date.now()
        await old.sql.query(
          `insert into activity (org_id, id, at, type, user_id, user_name, entry_point, outcome, duration_ms, question_bytes,
           answer_bytes, request_id)
         values ('${org.id}', $1, now(), 'function', 'usr_1', 'Somebody', 'mcp', 'answered', 1, 1, 1, 'req_1')`,
          [makeId('act', now)],
        )
        written.activity++
      }),
      load(async () => {
        await old.sql.query(
          `insert into audit_log (org_id, id, at, action, actor_kind, actor_name)
         values ('${other.id}', $1, now(), 'organization.updated', 'system', 'Somebody')`,
          [makeId('aud', Date.now())],
        )
        written.audit_log++
      }),
      load(async () => {
        const id = makeId('evt', Date.now())
        await old.sql.query(
          `insert into outbox (org_id, id, source, dedup_key, type, subject, data, occurred_at)
         values ('${org.id}', $1, 'load', $1, 'deploy.succeeded', 'things/' || $1, '{}', now())`,
          [id],
        )
        written.outbox++
      }),
      load(async () => {
        await old.sql.query(`select * from activity where org_id = '${org.id}' order by id desc limit 50`)
        await old.sql.query(
          `select count(*) from deliveries join events using (org_id) where org_id = '${org.id}'`,
        )
      }),
    ]
    await expect.poll(() => Math.min(...Object.values(written))).toBeGreaterThan(5)
    const { applied } = await migrate(old.sql, await readMigrations())
    expect(applied).toEqual(expect.arrayContaining([FIRST_NEW, '0012_breaking-partitions']))
    const months = { db: old.db, partitions: true }
    await prepareMonths(months)
    // A start makes no months where rows would be in the way; the worker does.
    expect((await readPartitions(old.db)).get('activity')!.map(({ name }) => name)).toEqual(['activity_rest'])
    await keepMonths(months)
    const during = written.activity
    await expect.poll(() => written.activity).toBeGreaterThan(during + 5)
    over.abort()
    await Promise.all(loads)
    expect(failures).toEqual([])

    for (const [table, partitions] of await readPartitions(old.db)) {
      expect(partitions.length, table).toBeGreaterThan(3)
      expect(await countOf(old, `${table}_rest`), table).toBe(0)
    }
    expect(await countOf(old, 'activity')).toBe(before.get('activity')! + written.activity)
    expect(await countOf(old, 'audit_log')).toBe(before.get('audit_log')! + written.audit_log)
    for (const table of ['events', 'deliveries', 'messages', 'attempts'] as const)
      expect(await countOf(old, table), table).toBe(before.get(table))
    // Again nothing: all is made.
    const made = await readPartitions(old.db)
    await keepMonths(months)
    expect(await readPartitions(old.db)).toEqual(made)

    // What waited goes once, and what came once does not come again.
    const waiting = await old.db.execute<{ id: string; message: string; digest: string | null }>(sql`
    select d.id, m.id as message, m.digest_key as digest from deliveries d
    join messages m on m.org_id = d.org_id and m.id = d.message_id where d.state in ('waiting', 'retrying')`)
    expect(waiting.some(({ digest }) => digest !== null)).toBe(true)
    expect(waiting.some(({ digest }) => digest === null)).toBe(true)
    const harness = await notificationHarness(old, dataKey, begin + 60_000)
    await harness.record(org, { type: 'deploy.failed', dedupKey: 'the-first' })
    await harness.record(org, { type: 'deploy.failed', dedupKey: 'after-all' })
    while (await shipAndFanOut(harness.deps));
    const digests = await old.db.execute(sql`
    select from messages where org_id = ${org.id} and state = 'open' and digest_key is not null`)
    expect(digests, 'the open digest goes on').toHaveLength(1)
    harness.clock.set(new Date(Date.now() + DAY_MS).toISOString())
    await harness.drain()
    // What is too much for one digest goes in parts, one after the other: the more was written meanwhile, the more of them.
    const goOn = async () => {
      await old.db.execute(
        sql`update messages set next_at = now() - interval '1 day' where state in ('open', 'pending')`,
      )
      await harness.drain()
      return countOf(old, `messages where state in ('open', 'pending', 'claimed', 'sending')`)
    }
    await expect.poll(goOn, { timeout: 60_000 }).toBe(0)
    const [left] = await old.db.execute<{
      open: number
      unfanned: number
      keyless: number
      twice: number
    }>(sql`
    select (select count(*)::int from deliveries where state in ('waiting', 'retrying')) as open,
      (select count(*)::int from events where fanned_out_at is null) as unfanned,
      (select count(*)::int from deliveries d where not exists (
        select from delivery_keys k
        where k.org_id = d.org_id and k.event_id = d.event_id and k.delivery_id = d.id)) as keyless,
      (select count(*)::int from (
        select from deliveries where replay_of is null and integration_id is not null
        group by org_id, event_id, integration_id having count(*) > 1) again) as twice`)
    expect(left).toEqual({ open: 0, unfanned: 0, keyless: 0, twice: 0 })
    const [first] = await old.db.execute<{ n: number }>(
      sql`select count(*)::int as n from events where dedup_key = 'the-first'`,
    )
    expect(first!.n).toBe(1)
    expect(await countOf(old, `deliveries where replayed_at is not null`)).toBe(1)
    expect(await countOf(old, 'events')).toBe(before.get('events')! + written.outbox + 1)
  },
)
