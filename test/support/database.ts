/** Databases for tests, migrated and fresh, on the engine the test project is about. */
import { createHash, randomBytes } from 'node:crypto'
import { cpSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { openEmbedded } from '../../db/embedded.ts'
import { migrate } from '../../db/migrate.ts'
import { readMigrations } from '../../db/read-migrations.ts'
import { watchStatements } from './crossing-statements.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** `url` is there on Postgres, for tests that want a second program or connection on the same database. */
export type TestDatabase = Connection & { readonly url?: string }

const shared = new Map<string, Promise<TestDatabase>>()

/** One for all files of a worker. Tests make their own organization in it, never clean up, never count all rows. */
export function testDatabase(whose: 'own' | 'vendor' = 'own'): Promise<TestDatabase> {
  const key = `${inject('engine')} ${whose}`
  const database = shared.get(key) ?? newDatabase()
  shared.set(key, database)
  return database
}

/** A database of one's own, for tests that need it empty or that break it. Close it. */
export async function newDatabase(): Promise<TestDatabase> {
  const made =
    inject('engine') === 'pglite' ? newEmbedded(inject('testFolder')) : newOnServer(inject('postgres'))
  return watchStatements(await made)
}

async function newEmbedded(parent: string): Promise<TestDatabase> {
  const folder = await mkdtemp(join(parent, 'data-'))
  await copySnapshot(folder)
  return connect({ folder })
}

/** `pooler` is there where walks run behind one in transaction mode. */
export type PostgresServer = { readonly url: string; readonly template: string; readonly pooler?: string }

async function newOnServer({ url, template, pooler }: PostgresServer): Promise<TestDatabase> {
  const name = `${template}_${randomBytes(4).toString('hex')}`
  await onServer(url, `create database ${name} template ${template}`)
  // A statement is planned once a connection, and not for each of its first values: most are asked a few times here. The
  // long tests plan as a server does.
  if (!inject('everyCase'))
    await onServer(url, `alter database ${name} set plan_cache_mode = force_generic_plan`)
  const own = databaseUrl(url, name)
  const connection = pooler
    ? await connect({ url: databaseUrl(pooler, name) }, { prepare: false })
    : await connect({ url: own })
  return {
    ...connection,
    url: own,
    async close() {
      await connection.close()
      await onServer(url, `drop database if exists ${name} with (force)`)
    },
  }
}

/** Runs one statement outside any of the test databases. */
export async function onServer(url: string, statement: string): Promise<readonly { name: string }[]> {
  const { sql, close } = await connect({ url }, { poolSize: 1 })
  try {
    return await sql.query<{ name: string }>(statement)
  } finally {
    await close()
  }
}

export function databaseUrl(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

/** Copying 974 files is five times as fast in one go as one after the other in the background. */
export async function copySnapshot(dataFolder: string): Promise<void> {
  cpSync(await snapshot(), dataFolder, { recursive: true })
}

/** A data folder with a migrated embedded database. Making one takes seconds, so it is kept between runs. */
export async function snapshot(): Promise<string> {
  const migrations = await readMigrations(join(ROOT, 'db', 'migrations'))
  const engine = await readFile(join(ROOT, 'node_modules/@electric-sql/pglite/package.json'), 'utf8')
  const { version } = JSON.parse(engine) as { version: string }
  const hash = createHash('sha256').update(JSON.stringify(migrations)).digest('hex').slice(0, 16)
  const folder = join(ROOT, 'node_modules', '.cache', `svc-database-${version}-${hash}`)
  if (await isThere(folder)) return folder

  await mkdir(dirname(folder), { recursive: true })
  const partial = await mkdtemp(`${folder}.partial-`)
  try {
    const { sql, close } = await connect({ embedded: openEmbedded(partial, { migrations }) })
    await migrate(sql, migrations)
    await close()
    await rename(partial, folder).catch(async (error: unknown) => {
      // Another run was faster.
      if (!(await isThere(folder))) throw error
    })
    return folder
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}

const isThere = (folder: string): Promise<boolean> =>
  readFile(join(folder, 'db', 'PG_VERSION')).then(
    () => true,
    () => false,
  )
