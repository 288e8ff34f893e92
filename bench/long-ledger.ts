/** The delivery ledger of a busy organization, read as the console reads it: in ms of all of the database's CPU. */
import { randomBytes } from 'node:crypto'
import { connect, type Connection } from '../db/connect.ts'
import { migrate } from '../db/migrate.ts'
import { readMigrations } from '../db/read-migrations.ts'
import { httpClient } from '../src/client/http-client.ts'
import { listDeliveries, showDelivery, summarizeDeliveries } from '../src/contracts/deliveries.ts'
import { databaseSeconds, makeMonths, postmasterOf } from './notifications.ts'
import { file, inTemporaryFolder } from './programs.ts'
import { metOrMissed } from './results.ts'
import { sized } from './sizes.ts'
import { knownVectors, startSourceSystem } from './source-system.ts'

/** `BENCH_ROWS` where there is room for more, or for less. */
const ROWS = Number(process.env['BENCH_ROWS'] ?? sized(10_000_000, 20_000))
/** As long as deliveries are kept. */
const DAYS = 90
const MONTHS = 4
const INTEGRATIONS = 20
const TARGET_MS = 30
const READS = sized(40, 3)
/**
 * Before anything is counted each of the ten connections of the pool has asked everything, and often enough that the server
 * keeps its plans: learning the tables of all months takes 20 to 45 ms, once a connection.
 */
const READS_BEFORE = sized(80, 1)
const DAY_MS = 86_400_000

export const longLedger = (url: string): Promise<string[]> =>
  inTemporaryFolder(async (folder) => {
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
    await makeMonths(connection, MONTHS)
    const source = await startSourceSystem(
      { SVC_DATA_DIR: folder, DATABASE_URL: own.href },
      knownVectors('known-vectors', 384, () => undefined),
    )
    try {
      await fillLedger(connection, source.owner.orgId)
      const call = httpClient(source.system.services.get('api-gateway')!, { token: source.token })
      const at = (daysAgo: number) => new Date(Date.now() - daysAgo * DAY_MS).toISOString()
      const { deliveries } = await call(listDeliveries, { limit: 1 })
      const reads = {
        'the newest page, with its total': () => call(listDeliveries, { count: 'true' }),
        'one day, 50 days ago, with its total': () =>
          call(listDeliveries, { from: at(50), to: at(49), count: 'true' }),
        'one integration, with its total': () =>
          call(listDeliveries, { integration_id: integrationOf(7), count: 'true' }),
        'the summary of 30 days': () => call(summarizeDeliveries, {}),
        'the summary with the health of integrations': () => call(summarizeDeliveries, { health: 'true' }),
        'one delivery and its attempts': () => call(showDelivery, { delivery_id: deliveries[0]!.id }),
      }
      const postmaster = await postmasterOf(connection)
      const lines: string[] = []
      for (const [what, read] of Object.entries(reads)) {
        for (let n = 0; n < READS_BEFORE; n++) await read()
        const before = databaseSeconds(postmaster)
        for (let n = 0; n < READS; n++) await read()
        const ms = ((databaseSeconds(postmaster) - before) * 1000) / READS
        lines.push(
          `the ledger at ${ROWS.toLocaleString('en')} rows, ${what}: ${ms.toFixed(1)} ms of database CPU (target ${TARGET_MS} ms: ${metOrMissed(ms <= TARGET_MS)})`,
        )
      }
      return lines
    } finally {
      await connection.close()
      await source.stop()
      await admin.sql.query(`drop database ${name} with (force)`)
      await admin.close()
    }
  })

const integrationOf = (n: number) => `int_${String(n).padStart(25, '0')}`

/** Rows first and then indexes. Counts as the triggers and the worker would have left them. */
async function fillLedger({ sql }: Connection, orgId: string): Promise<void> {
  const tables = ['deliveries', 'messages', 'attempts', 'events']
  await sql.query('alter table deliveries disable trigger user')
  const indexes = await sql.query<{ name: string; is_key: boolean; relation: string; definition: string }>(
    `select i.indexrelid::regclass::text as name, i.indisprimary as is_key, i.indrelid::regclass::text as relation,
       case when i.indisprimary
         then 'alter table ' || i.indrelid::regclass || ' add constraint ' || i.indexrelid::regclass || ' ' || pg_get_constraintdef(k.oid)
         else replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') end as definition
     from pg_index i left join pg_constraint k on k.conindid = i.indexrelid
     where i.indrelid = any($1::regclass[])`,
    [`{${tables.join(',')}}`],
  )
  for (const { name, is_key, relation } of indexes)
    await sql.query(is_key ? `alter table ${relation} drop constraint ${name}` : `drop index ${name}`)
  // Once: an id takes longer to make than all else of a row.
  await sql.query(`create unlogged table made_rows as
    select n, ms, to_timestamp(ms / 1000.0) as at, ${base36('ms')} || lpad(n::text, 16, '0') as suffix,
      'int_' || lpad((n % ${INTEGRATIONS})::text, 25, '0') as integration_id,
      case when n % 50 = 0 then 'failed' when n % 33 = 0 then 'dropped' else 'sent' end as state,
      case when n % 50 = 0 then 'gave_up' when n % 33 = 0 then 'subscription_off' end as reason
    from (
      select n, ${Date.now()}::bigint - (${ROWS} - n)::bigint * ${DAYS}::bigint * ${DAY_MS} / ${ROWS} as ms
      from generate_series(1, ${ROWS}) n
    ) times`)
  await sql.query(`
    insert into deliveries (org_id, id, event_id, type, integration_id, channel, message_id, state, reason, created_at, settled_at)
    select '${orgId}', 'dlv_' || suffix, 'evt_' || suffix, 'deploy.failed', integration_id, 'webhook', 'msg_' || suffix, state,
      reason, at, at + interval '250 ms' from made_rows`)
  await sql.query(`
    insert into messages (org_id, id, channel, integration_id, target, state, attempts, next_at, created_at)
    select '${orgId}', 'msg_' || suffix, 'webhook', integration_id, integration_id, state, 1, at, at from made_rows`)
  await sql.query(`
    insert into attempts (org_id, message_id, number, started_at, ended_at, outcome, http_status, duration_ms)
    select '${orgId}', 'msg_' || suffix, 1, at, at + interval '40 ms', 'sent', 200, 40 from made_rows`)
  await sql.query(`
    insert into events (org_id, id, source, dedup_key, type, subject, data, occurred_at, seq, recorded_at, fanned_out_at)
    select '${orgId}', 'evt_' || suffix, 'bench', suffix, 'deploy.failed', 'deployments/' || suffix,
      '{"deployment_id":"dep_1","code":"X"}', at, n, at, at from made_rows`)
  await sql.query('drop table made_rows')
  for (const { definition } of indexes.toSorted((a, b) => Number(b.is_key) - Number(a.is_key)))
    await sql.query(definition)
  await sql.query(`
    insert into integrations (org_id, id, kind, name, state, config, sealed, digest, created_at)
    select '${orgId}', 'int_' || lpad(n::text, 25, '0'), 'webhook', 'Receiver ' || n, 'active', '{}', '', n::text, now()
    from generate_series(0, ${INTEGRATIONS - 1}) n`)
  await sql.query(`
    insert into delivery_counts
    select org_id, date_trunc(case when created_at > now() - interval '3 days' then 'hour' else 'day' end, created_at, 'UTC'),
      integration_id, state, coalesce(reason, ''), count(*) from deliveries group by 1, 2, 3, 4, 5`)
  await sql.query('alter table deliveries enable trigger user')
  for (const table of [...tables, 'delivery_counts']) await sql.query(`vacuum analyze ${table}`)
  await sql.query('checkpoint')
}

/** Nine digits. */
export const base36 = (number: string): string =>
  Array.from(
    { length: 9 },
    (_, at) =>
      `substr('0123456789abcdefghijklmnopqrstuvwxyz', (${number} / ${36 ** (8 - at)} % 36)::int + 1, 1)`,
  ).join(' || ')
