/**
 * A database of the version before becomes one with a partition for each month while others write and read: no row is lost,
 * none is refused, nothing is delivered twice, and what was to come once comes once.
 */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { zstdDecompressSync } from 'node:zlib'
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

/** As producers of either version do. */
function startLoad(at: Connection, orgId: string, otherId: string) {
  const written = { activity: 0, audit_log: 0, outbox: 0 }
  const failures: unknown[] = []
  const over = new AbortController()
  const load = async (work: () => Promise<void>) => {
    while (!over.signal.aborted) await work().catch((error: unknown) => failures.push(error))
  }
  const loads = [
    load(async () => {
      await at.sql.query(
        `insert into activity (org_id, id, at, type, user_id, user_name, entry_point, outcome, duration_ms, question_bytes,
           answer_bytes, request_id)
         values ('${orgId}', $1, now(), 'function', 'usr_1', 'Somebody', 'mcp', 'answered', 1, 1, 1, 'req_1')`,
        [makeId('act', Date.now())],
      )
      written.activity++
    }),
    load(async () => {
      await at.sql.query(
        `insert into audit_log (org_id, id, at, action, actor_kind, actor_name)
         values ('${otherId}', $1, now(), 'organization.updated', 'system', 'Somebody')`,
        [makeId('aud', Date.now())],
      )
      written.audit_log++
    }),
    load(async () => {
      await at.sql.query(
        `insert into outbox (org_id, id, source, dedup_key, type, subject, data, occurred_at)
         values ('${orgId}', $1, 'load', $1, 'deploy.succeeded', 'things/' || $1, '{}', now())`,
        [makeId('evt', Date.now())],
      )
      written.outbox++
    }),
    load(async () => {
      await at.sql.query(`select * from activity where org_id = '${orgId}' order by id desc limit 50`)
      await at.sql.query(
        `select count(*) from deliveries join events using (org_id) where org_id = '${orgId}'`,
      )
    }),
  ]
  return {
    written,
    /** Says what failed. */
    async stop(): Promise<unknown[]> {
      over.abort()
      await Promise.all(loads)
      return failures
    },
  }
}

/** A table that somebody reads for long is left alone until the next time. */
async function keepUntilMade(at: Connection): Promise<void> {
  for (let times = 1; times <= 30; times++) {
    await keepMonths({ db: at.db, partitions: true })
    const left: string[] = []
    for (const [table, { length }] of await readPartitions(at.db)) {
      if (length <= 3 || (await countOf(at, `${table}_rest`)) > 0) left.push(table)
    }
    if (left.length === 0) return
  }
}

async function expectMonths(at: Connection): Promise<void> {
  for (const [table, partitions] of await readPartitions(at.db)) {
    expect(partitions.length, table).toBeGreaterThan(3)
    expect(await countOf(at, `${table}_rest`), table).toBe(0)
  }
}

/** Rows of a table as text, each once: what is not there in either is seen. */
async function rowsOf({ sql: queries }: Connection, table: string, columns: readonly string[]) {
  const rows = await queries.query<{ row: string }>(
    `select json_build_array(${columns.map((name) => `"${name}"`).join(', ')})::text as row from ${table} order by 1`,
  )
  return rows.map(({ row }) => row)
}

test(
  'what the walks of the version before left becomes months under load, and every row of it is as it was',
  { timeout: 300_000 },
  async () => {
    const before = await newDatabase()
    const all = await readMigrations()
    await migrate(
      before.sql,
      all.filter(({ name }) => name < FIRST_NEW),
    )
    const file = await readFile(new URL('../fixtures/walks-before-months.ndjson.zst', import.meta.url))
    const lines = zstdDecompressSync(file).toString().trim().split('\n')
    const filled = lines.map((line) => JSON.parse(line) as { table: string; rows: Record<string, unknown>[] })
    // Tables come in the order of their names, and some name others.
    await before.sql.transaction(async (tx) => {
      await tx.query(`set local session_replication_role = replica`)
      for (const { table, rows } of filled)
        await tx.query(
          `insert into ${table} overriding system value
           select * from json_populate_recordset(null::${table}, $1::text::json)
           on conflict do nothing`,
          [JSON.stringify(rows)],
        )
    })
    const of = (table: string) => filled.find((one) => one.table === table)!.rows
    expect(of('deliveries').length).toBeGreaterThan(1_000)
    // Of the partitioned ones, as they were; what the migration adds is beside it.
    const grown = TABLES.filter((table) => filled.some((one) => one.table === table))
    expect(grown).toEqual(
      expect.arrayContaining(['audit_log', 'events', 'deliveries', 'messages', 'attempts']),
    )
    const columns = new Map<string, string[]>()
    const known = new Map<string, string[]>()
    for (const table of grown) {
      columns.set(table, Object.keys(of(table)[0]!))
      known.set(table, await rowsOf(before, table, columns.get(table)!))
    }
    const load = startLoad(before, 'org_of_the_load', 'org_beside_it')
    await expect.poll(() => Math.min(...Object.values(load.written))).toBeGreaterThan(5)
    await migrate(before.sql, all)
    const months = { db: before.db, partitions: true }
    await prepareMonths(months)
    await keepUntilMade(before)
    const during = load.written.activity
    await expect.poll(() => load.written.activity).toBeGreaterThan(during + 5)
    expect(await load.stop()).toEqual([])
    await expectMonths(before)
    for (const table of grown) {
      const after = new Set(await rowsOf(before, table, columns.get(table)!))
      expect(
        known.get(table)!.filter((row) => !after.has(row)),
        table,
      ).toEqual([])
      const added = table === 'audit_log' ? load.written.audit_log : 0
      expect(await countOf(before, table), table).toBe(known.get(table)!.length + added)
    }
    for (const { table, rows } of filled)
      if (!grown.some((one) => one === table) && table !== 'outbox' && table !== 'installation_facts')
        expect(await countOf(before, table), table).toBe(rows.length)
    expect(await countOf(before, 'outbox')).toBe(of('outbox').length + load.written.outbox)
    // Each delivery and event is known by its key, so that none comes twice.
    const [keyless] = await before.db.execute<{ deliveries: number; events: number }>(sql`
      select (select count(*)::int from deliveries d where not exists (
          select from delivery_keys k
          where k.org_id = d.org_id and k.event_id = d.event_id and k.delivery_id = d.id)) as deliveries,
        (select count(*)::int from events e where not exists (
          select from event_keys k where k.org_id = e.org_id and k.source = e.source and k.dedup_key = e.dedup_key)) as events`)
    expect(keyless).toEqual({ deliveries: 0, events: 0 })
  },
)

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

    const load = startLoad(old, org.id, other.id)
    const { written } = load
    await expect.poll(() => Math.min(...Object.values(written))).toBeGreaterThan(5)
    const { applied } = await migrate(old.sql, await readMigrations())
    expect(applied).toEqual(expect.arrayContaining([FIRST_NEW, '0012_breaking-partitions']))
    const months = { db: old.db, partitions: true }
    await prepareMonths(months)
    // A start makes no months where rows would be in the way; the worker does.
    expect((await readPartitions(old.db)).get('activity')!.map(({ name }) => name)).toEqual(['activity_rest'])
    await keepUntilMade(old)
    const during = written.activity
    await expect.poll(() => written.activity).toBeGreaterThan(during + 5)
    expect(await load.stop()).toEqual([])

    await expectMonths(old)
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
