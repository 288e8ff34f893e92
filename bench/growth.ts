/**
 * What does not grow: the database's CPU for an event, with ten thousand subscriptions and with five thousand organizations
 * that wait; for a year of activity that is over; a page of a list, from a table that is long; and the ledger.
 */
import { randomBytes } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { connect, type Connection } from '../db/connect.ts'
import { migrate } from '../db/migrate.ts'
import { readMigrations } from '../db/read-migrations.ts'
import { httpClient } from '../src/client/http-client.ts'
import { listActivity } from '../src/contracts/activity.ts'
import { firstIdOf } from '../src/contracts/ids.ts'
import { sweepActivity } from '../src/cores/activity/index.ts'
import { dataKeys } from '../src/trust/data-key.ts'
import { shipAndFanOut } from '../src/cores/notifications/index.ts'
import { notificationHarness } from '../test/support/notification-harness.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { base36, longLedger } from './long-ledger.ts'
import { databaseSeconds, inDatabase, makeMonths, postmasterOf } from './notifications.ts'
import { file, inTemporaryFolder } from './programs.ts'
import { metOrMissed } from './results.ts'
import { sized } from './sizes.ts'
import { knownVectors, startSourceSystem } from './source-system.ts'
import { timed } from './timing.ts'

const SUBSCRIPTIONS = sized(10_000, 100)
const ORGANIZATIONS = sized(5_000, 50)
const EVENTS = sized(5_000, 100)
const EVENT_TARGET_MS = 0.35
const ORGANIZATIONS_TARGET = 1.3
/** `BENCH_ROWS` where there is room for more. */
const ROWS = Number(process.env['BENCH_ROWS'] ?? sized(10_000_000, 20_000))
const FEW_ROWS = sized(1_000_000, 2_000)
const SWEEP_TARGET_SECONDS = 1
const LIST_TARGET = 2
/** Kept of each by default, with the one that goes next. */
const ACTIVITY_MONTHS = 13
const DELIVERY_MONTHS = 5
const DAY_MS = 86_400_000
const PAGES = sized(200, 10)

const PARTS: Readonly<Record<string, (url: string) => Promise<string[]>>> = {
  subscriptions: (url) => manySubscriptions(url),
  organizations: (url) => manyOrganizations(url),
  activity: (url) => longActivity(url),
  ledger: (url) => longLedger(url),
}

/** `BENCH_PART` names one of them, to be run alone: filling a table takes long. */
export async function growth(): Promise<string[]> {
  const asked = process.env['BENCH_PART']
  const parts = asked === undefined ? Object.values(PARTS) : [PARTS[asked]]
  const postgres = await startPostgres()
  try {
    const lines: string[] = []
    for (const part of parts) {
      if (!part) throw new Error(`BENCH_PART: one of ${Object.keys(PARTS).join(', ')}`)
      lines.push(...(await part(postgres.url)))
    }
    return lines
  } finally {
    await postgres.stop()
  }
}

const fanOutDatabase = <T>(url: string, work: (connection: Connection) => Promise<T>): Promise<T> =>
  inDatabase(url, work, DELIVERY_MONTHS)

/** From the outbox on. In ms of all of the server's CPU. */
async function cpuOfEvents(connection: Connection, waiting: string): Promise<number> {
  const harness = await notificationHarness(connection, undefined, Date.now())
  // What was there before makes it known to all connections, and is not counted.
  while (await shipAndFanOut(harness.deps));
  await connection.sql.query(waiting)
  await connection.sql.query('vacuum analyze')
  const postmaster = await postmasterOf(connection)
  const before = databaseSeconds(postmaster)
  while (await shipAndFanOut(harness.deps));
  const cpu = databaseSeconds(postmaster) - before
  const [row] = await connection.sql.query<{ n: number }>(
    `select count(*)::int as n from deliveries where type = 'deploy.failed' and state = 'waiting'`,
  )
  if (row!.n !== EVENTS) throw new Error(`${row!.n} deliveries of ${EVENTS} events`)
  return (cpu * 1000) / EVENTS
}

/** Of each of these organizations in turn. */
const eventsOf = (organizations: string) => `
  insert into outbox (org_id, id, source, dedup_key, type, subject, data, occurred_at)
  select o.id, '${firstIdOf('evt', Date.now())}' || lpad(n::text, 16, '0'), 'bench', 'growth-' || n, 'deploy.failed',
    'things/' || n, '{"deployment_id":"dep_1","code":"X"}', now()
  from generate_series(1, ${EVENTS}) n
  join (select id, row_number() over (order by id) - 1 as place, count(*) over () as places from (${organizations}) o) o
    on o.place = n % o.places`

const manySubscriptions = (url: string) =>
  fanOutDatabase(url, async (connection) => {
    const harness = await notificationHarness(connection)
    const org = await harness.organization()
    const { integrationId } = await harness.integration(org, 'webhook')
    const first = await harness.subscription(org, integrationId, 'deploy.failed')
    await connection.sql.query(`
      insert into subscriptions (org_id, id, integration_id, pattern, timing, enabled, created_at)
      select org_id, left(id, 20) || lpad(n::text, 9, '0'), integration_id, 'deploy.other_' || n, timing, enabled, created_at
      from subscriptions cross join generate_series(1, ${SUBSCRIPTIONS - 1}) n where id = '${first}'`)
    const ms = await cpuOfEvents(connection, eventsOf(`select '${org.id}' as id`))
    return [
      `${SUBSCRIPTIONS.toLocaleString('en')} subscriptions of which one matches: ${ms.toFixed(2)} ms of database CPU an event (target ${EVENT_TARGET_MS} ms: ${metOrMissed(ms <= EVENT_TARGET_MS)})`,
    ]
  })

async function manyOrganizations(url: string): Promise<string[]> {
  const cost = (organizations: number) =>
    fanOutDatabase(url, async (connection) => {
      const harness = await notificationHarness(connection)
      const org = await harness.organization()
      const { integrationId } = await harness.integration(org, 'webhook')
      await harness.subscription(org, integrationId, 'deploy.*')
      const copies = `cross join generate_series(1, ${organizations - 1}) n`
      const copy = (table: string, id: string) => `
        insert into ${table}
        select (jsonb_populate_record(t, jsonb_build_object('${id}', left(t.${id}, 20) || lpad(n::text, 9, '0')
          ${table === 'organizations' ? `, 'slug', t.slug || n` : ''}))).* from ${table} t ${copies}`
      await connection.sql.query(copy('organizations', 'id'))
      await connection.sql.query(copy('integrations', 'org_id'))
      await connection.sql.query(copy('subscriptions', 'org_id'))
      return cpuOfEvents(connection, eventsOf('select id from organizations'))
    })
  const [one, many] = [await cost(1), await cost(ORGANIZATIONS)]
  return [
    `${EVENTS.toLocaleString('en')} waiting events  of one organization ${one.toFixed(2)} ms of database CPU each, of ${ORGANIZATIONS.toLocaleString('en')} organizations ${many.toFixed(2)} ms: ${(many / one).toFixed(2)}x (target ${ORGANIZATIONS_TARGET}x: ${metOrMissed(many / one <= ORGANIZATIONS_TARGET)})`,
  ]
}

const longActivity = (url: string) =>
  inTemporaryFolder(async (folder) => {
    const [few, many] = [
      await pageOf(url, `${folder}/few`, FEW_ROWS),
      await pageOf(url, `${folder}/many`, ROWS),
    ]
    const ratio = (name: keyof typeof few.pages) => many.pages[name] / few.pages[name]
    return [
      ...(Object.keys(few.pages) as (keyof typeof few.pages)[]).map(
        (name) =>
          `a page of activity, ${name}  of ${ROWS.toLocaleString('en')} rows ${many.pages[name].toFixed(2)} ms of database CPU, of ${FEW_ROWS.toLocaleString('en')} ${few.pages[name].toFixed(2)} ms: ${ratio(name).toFixed(2)}x (target ${LIST_TARGET}x: ${metOrMissed(ratio(name) <= LIST_TARGET)})`,
      ),
      `sweeping a year of ${ROWS.toLocaleString('en')} rows: ${many.sweepSeconds.toFixed(2)} s of database CPU (target below ${SWEEP_TARGET_SECONDS} s: ${metOrMissed(many.sweepSeconds < SWEEP_TARGET_SECONDS)}), ${many.sweepMs.toFixed(0)} ms`,
    ]
  })

/** Over REST, as the console asks; half of the rows are this organization's. */
async function pageOf(url: string, folder: string, rows: number) {
  const name = `bench_${randomBytes(4).toString('hex')}`
  const admin = await connect({ url }, { poolSize: 1 })
  // It would be counted, too, at whatever moment it comes.
  await admin.sql.query('alter system set autovacuum = off')
  await admin.sql.query('select pg_reload_conf()')
  await admin.sql.query(`create database ${name}`)
  const own = new URL(url)
  own.pathname = `/${name}`
  const connection = await connect({ url: own.href }, { statementTimeoutMs: 0 })
  await migrate(connection.sql, await readMigrations(file('../db/migrations')))
  await makeMonths(connection, ACTIVITY_MONTHS)
  const source = await startSourceSystem(
    { SVC_DATA_DIR: folder, DATABASE_URL: own.href },
    knownVectors('known-vectors', 384, () => undefined),
  )
  try {
    const { orgId, userId } = source.owner
    await requireSpace(connection, rows)
    await fillActivity(connection, rows, orgId, userId!)
    const call = httpClient(source.system.services.get('api-gateway')!, { token: source.token })
    const ask = {
      'the newest': () => call(listActivity, { type: 'all' }),
      'of one kind': () => call(listActivity, { type: 'function' }),
      'of one person': () => call(listActivity, { type: 'all', user_id: userId! }),
      'of half a year ago': () =>
        call(listActivity, { type: 'all', to: new Date(Date.now() - 180 * DAY_MS).toISOString() }),
    }
    const pages = {} as Record<keyof typeof ask, number>
    const postmaster = await postmasterOf(connection)
    await connection.sql.query('checkpoint')
    for (const [kind, work] of Object.entries(ask) as [keyof typeof ask, () => Promise<unknown>][]) {
      for (let page = 0; page < PAGES / 4; page++) await work()
      const before = databaseSeconds(postmaster)
      for (let page = 0; page < PAGES; page++) await work()
      pages[kind] = ((databaseSeconds(postmaster) - before) * 1000) / PAGES
    }
    const before = databaseSeconds(postmaster)
    const { ms } = await timed(() =>
      // All of them are over then.
      sweepActivity({
        db: connection.db,
        clock: () => new Date(Date.now() + 62 * DAY_MS),
        activityDays: 30,
        log: { warn: () => {} },
        dataKeys: dataKeys('00'.repeat(32)),
      }),
    )
    const sweepSeconds = databaseSeconds(postmaster) - before
    const [left] = await connection.sql.query<{ n: number }>('select count(*)::int as n from activity')
    if (left!.n > 0) throw new Error(`${left!.n} rows are left`)
    return { pages, sweepSeconds, sweepMs: ms }
  } finally {
    await connection.close()
    await source.stop()
    await admin.sql.query(`drop database ${name} with (force)`)
    await admin.close()
  }
}

/** Measured: a row with its indexes, and what sorting them needs meanwhile. */
const ROW_BYTES = 900

/** A disk that is full ends more than this. */
async function requireSpace({ sql }: Connection, rows: number): Promise<void> {
  const [at] = await sql.query<{ folder: string }>(`select current_setting('data_directory') as folder`)
  const { bavail, bsize } = await statfs(at!.folder)
  const room = Math.floor((bavail * bsize * 0.8) / ROW_BYTES)
  if (rows > room)
    throw new Error(
      `BENCH_ROWS: there is space for ${room.toLocaleString('en')} rows of ${rows.toLocaleString('en')}`,
    )
}

/** Rows first and then indexes, which takes a third of the time, and leaves what there was. */
async function fillActivity({ sql }: Connection, rows: number, orgId: string, userId: string): Promise<void> {
  const indexes = await sql.query<{ name: string; is_key: boolean; definition: string }>(
    `select i.indexrelid::regclass::text as name, i.indisprimary as is_key, case when i.indisprimary
       then 'alter table activity add constraint ' || i.indexrelid::regclass || ' ' || pg_get_constraintdef(k.oid)
       else replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') end as definition
     from pg_index i left join pg_constraint k on k.conindid = i.indexrelid
     where i.indrelid = 'activity'::regclass`,
  )
  for (const { name, is_key } of indexes)
    await sql.query(is_key ? `alter table activity drop constraint ${name}` : `drop index ${name}`)
  await sql.query(rowsOf(rows, orgId, userId))
  for (const { definition } of indexes) await sql.query(definition)
  await sql.query('vacuum analyze activity')
}

/** The last 365 days, evenly. Ids as `makeId` makes them. */
const rowsOf = (rows: number, orgId: string, userId: string) => `
  insert into activity (org_id, id, at, type, name, user_id, user_name, entry_point, client_id, client_name, grant_id,
    outcome, duration_ms, question_bytes, answer_bytes, request_id)
  select case when n % 2 = 0 then '${orgId}' else 'org_' || lpad((n % 1000)::text, 25, '0') end,
    'act_' || ${base36('ms')} || lpad(n::text, 16, '0'), to_timestamp(ms / 1000.0),
    case when n % 3 = 0 then 'function' else 'data_source' end, case when n % 3 = 0 then 'whoami' else 'db_handbook' end,
    case when n % 20 = 0 then '${userId}' else 'usr_' || lpad((n % 997)::text, 25, '0') end, 'Somebody', 'mcp',
    'https://assistant.example/client.json', 'Assistant', 'grt_' || lpad((n % 997)::text, 25, '0'), 'answered', 40, 40,
    4000, 'req_bench'
  from (
    select n, (extract(epoch from now()) * 1000)::bigint - (${rows} - n)::bigint * (365 * ${DAY_MS}::bigint / ${rows}) as ms
    from generate_series(1, ${rows}) n
  ) times`
