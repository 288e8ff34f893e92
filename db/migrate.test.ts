import { afterAll, beforeAll, expect, test } from 'vitest'
import { databaseUrl, onServer } from '../test/support/database.ts'
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts'
import { connect, type Connection } from './connect.ts'
import { dumpSchema } from '../scripts/generated/dump-schema.ts'
import { isMigrated, migrate } from './migrate.ts'
import { readMigrations, type Migration } from './read-migrations.ts'

let server: TestPostgres
const open: Connection[] = []
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => {
  for (const { close } of open) await close()
  await server.stop()
})

const migration = (name: string, ...statements: string[]): Migration => ({
  name,
  sha256: statements.join(),
  statements,
})
const FIRST = migration(
  '0000_people',
  'create table people (id int)',
  'create index people_by_id on people (id)',
)
const SECOND = migration('0001_pets', 'create table pets (id int)')

async function database(name: string): Promise<Connection> {
  await onServer(server.url, `create database ${name}`)
  return again(name)
}
async function again(name: string): Promise<Connection> {
  const connection = await connect({ url: databaseUrl(server.url, name) })
  open.push(connection)
  return connection
}

test('what is missing is applied once, in order, and the database knows whether it is ready', async () => {
  const { sql } = await database('ordered')
  expect(await isMigrated(sql, [FIRST])).toBe(false)
  expect(await migrate(sql, [FIRST])).toEqual({ applied: ['0000_people'], newer: [] })
  expect(await isMigrated(sql, [FIRST])).toBe(true)
  expect(await isMigrated(sql, [FIRST, SECOND])).toBe(false)
  expect(await migrate(sql, [FIRST, SECOND])).toEqual({ applied: ['0001_pets'], newer: [] })
  expect(await migrate(sql, [FIRST, SECOND])).toEqual({ applied: [], newer: [] })
  // An old replica stays ready while a new one has migrated already.
  expect(await isMigrated(sql, [FIRST])).toBe(true)
})

test('starters that come together share the work and never repeat it', async () => {
  await database('together')
  const starters = await Promise.all(Array.from({ length: 4 }, () => again('together')))
  const applied = await Promise.all(starters.map(({ sql }) => migrate(sql, [FIRST, SECOND])))
  expect(applied.flatMap((one) => one.applied).toSorted()).toEqual(['0000_people', '0001_pets'])
})

test('a migration that fails leaves nothing behind and is tried again', async () => {
  const { sql } = await database('failing')
  const broken = migration('0001_pets', 'create table pets (id int)', 'create table pets (id int)')
  await expect(migrate(sql, [FIRST, broken])).rejects.toThrow('already exists')
  expect(await migrate(sql, [FIRST, SECOND])).toEqual({ applied: ['0001_pets'], newer: [] })
})

test('an older program starts over a newer database, and says so', async () => {
  const { sql } = await database('newer')
  await migrate(sql, [FIRST, SECOND])
  expect(await migrate(sql, [FIRST])).toEqual({ applied: [], newer: ['0001_pets'] })
  // It waits for nobody: while a newer one migrates, an older one may be started again.
  const { sql: other } = await again('newer')
  await sql.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock(7566947)')
    expect(await migrate(other, [FIRST])).toEqual({ applied: [], newer: ['0001_pets'] })
  })
})

test('it does not where a newer migration breaks it, where one is missing between, or where a text was changed', async () => {
  const { sql } = await database('refused')
  const third = migration('0002_breaking-pets', 'drop table pets')
  await migrate(sql, [FIRST, SECOND])
  await expect(migrate(sql, [migration('0000_people', 'create table persons (id int)')])).rejects.toThrow(
    /^This database was made by a build of svc from before 0\.1\.0: the migration 0000_people, applied on \d{4}-\d\d-\d\d, is not the one of this version\. It cannot be upgraded, and nothing was changed\./,
  )
  await migrate(sql, [FIRST, SECOND, third])
  await expect(migrate(sql, [FIRST, SECOND])).rejects.toThrow(
    /^This database was changed by a newer version of svc, and this one cannot use it: it holds the migration 0002_breaking-pets, applied on \d{4}-\d\d-\d\d\. Nothing was changed\. Install that version or a later one, or restore a backup made before that day\.$/,
  )
  await sql.query(`update svc_migrations set name = '0002_toys' where name = '0002_breaking-pets'`)
  expect(await migrate(sql, [FIRST, SECOND])).toMatchObject({ newer: ['0002_toys'] })
  await sql.query(`delete from svc_migrations where name = '0001_pets'`)
  await expect(migrate(sql, [FIRST, SECOND])).rejects.toThrow('it holds the migration 0002_toys')
})

test.each([
  [
    'a database made before the first release',
    '0000_identity',
    /^This database was made by a build of svc from before 0\.1\.0: the migration 0000_identity, applied on \S+, is not .* Keep that build, export what you need with it, and load that into a new installation \(docs\/operating\.md, Upgrades\)\.$/,
  ],
  [
    'one with a migration that this program never had',
    '0000_elsewhere',
    /^This database was made by another build of svc: it holds the migration 0000_elsewhere, applied on \S+, which this version does not have\. Nothing was changed\. Start the build that made it, or name another data folder or database\.$/,
  ],
])('%s is refused, and nothing in it is changed', async (_, name, sentence) => {
  const { sql } = await database(`from_${name}`)
  await migrate(sql, [migration(name, 'create table people (name text)')])
  const contents = async () => [await dumpSchema(sql), await sql.query('select * from svc_migrations')]
  const before = await contents()
  await expect(migrate(sql, [FIRST, SECOND])).rejects.toThrow(sentence)
  expect(await contents()).toEqual(before)
  expect(await isMigrated(sql, [FIRST, SECOND])).toBe(false)
})

test('the migrations of the program are read in the order of the journal', async () => {
  const migrations = await readMigrations()
  expect(migrations[0]).toMatchObject({
    name: expect.stringMatching(/^0000_/),
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  const { sql } = await database('product')
  expect((await migrate(sql, migrations)).applied).toEqual(migrations.map(({ name }) => name))
})

test('a migration that waits for a long reader lets everybody else through, and is applied in the end', async () => {
  const { sql } = await database('held')
  await migrate(sql, [FIRST])
  const [reader, other] = [await again('held'), await again('held')]
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: isReading, resolve: reads } = Promise.withResolvers<void>()
  const reading = reader.sql.transaction(async (tx) => {
    await tx.query('select * from people')
    reads()
    await released
  })
  await isReading
  const migrating = migrate(sql, [FIRST, migration('0001_more', 'alter table people add column more int')])
  const isWaiting = async () =>
    (await other.sql.query(`select 1 from pg_locks where not granted and relation = 'people'::regclass`))
      .length
  await expect.poll(isWaiting).toBe(1)
  // Behind it: answered while the reader still reads.
  expect(await other.sql.query('select id from people')).toEqual([])
  release()
  await reading
  expect(await migrating).toMatchObject({ applied: ['0001_more'] })
})
