/** Where the table of 100,000 rows lies: made at the first run, which takes minutes, and there at once from then on. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { rename, rm } from 'node:fs/promises'
import postgres from 'postgres'
import { lockDataFolder } from '../db/data-folder-lock.ts'
import { holdsDatabase, inPartialFolder } from '../db/embedded.ts'
import { openEmbeddedDatabases } from '../db/managed/embedded-databases.ts'
import type { Login } from '../db/managed/database-provisioner.ts'
import { scramVerifier } from '../db/wire/scram.ts'
import { file } from './programs.ts'
import { fillTable, TABLE } from './table-of-100k.ts'

/** Of the database, of its login, and of the folder that holds it. */
export const NAME = 'svc_bench_100k'

const CACHE = file('.cache/embedded-100k')
/** Changes with the rows: another number means to make them anew. */
const COMPLETE = 'complete 1'

const say = (what: string) => console.error(`    ${what}`)

/** A server with pgvector on which we are a superuser; without one what needs it is left out. */
export const pgvectorUrl = (): string | undefined => process.env['TEST_PGVECTOR_URL']

export const LEFT_OUT = 'Postgres: left out, TEST_PGVECTOR_URL names no server with pgvector'

export function databaseUrl(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

/** Gives the login a new password each time, so that none has to be kept. */
export async function on100kInPostgres(url: string): Promise<Login> {
  const password = randomBytes(16).toString('hex')
  const server = client(url)
  try {
    const known = await server.unsafe(`select from pg_database where datname = '${NAME}'`)
    if (known.length === 0) await server.unsafe(`create database ${NAME}`)
    const role = await server.unsafe(`select from pg_roles where rolname = '${NAME}'`)
    await server.unsafe(`${role.length === 0 ? 'create' : 'alter'} role ${NAME} login password '${password}'`)
    // Managed databases that are made on the same server take this from everybody who was not given it.
    await server.unsafe(`grant connect on database ${NAME} to ${NAME}`)
  } finally {
    await server.end()
  }
  const own = client(databaseUrl(url, NAME))
  try {
    const [found] = await own.unsafe<{ said: string | null }[]>(
      `select obj_description(to_regclass('${TABLE}'), 'pg_class') as said`,
    )
    if (found?.said !== COMPLETE) {
      say('Making the table of 100,000 rows in Postgres; it is kept')
      await own.unsafe('create extension if not exists vector')
      await fillTable(own, say)
      await own.unsafe(`grant select on ${TABLE} to ${NAME}`)
      await own.unsafe(`comment on table ${TABLE} is '${COMPLETE}'`)
    }
  } finally {
    await own.end()
  }
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port || 5432), ssl: 'disable', user: NAME, database: NAME, password }
}

/** A data folder that holds nothing but this database, for one process at a time. */
export async function on100kEmbedded(): Promise<{ dataFolder: string; release: () => void }> {
  const { release } = lockDataFolder(CACHE)
  const folder = join(CACHE, 'databases', NAME)
  // What the run before left of its own.
  await rm(join(CACHE, 'db'), { recursive: true, force: true })
  if (!(await holdsDatabase(folder))) {
    say('Making the table of 100,000 rows in an embedded database; it is kept')
    await inPartialFolder(folder, async (partial) => {
      await fillEmbedded(partial)
      await rename(join(partial, NAME), folder)
    })
  }
  return { dataFolder: CACHE, release }
}

async function fillEmbedded(folder: string): Promise<void> {
  const password = randomBytes(16).toString('hex')
  const verifier = scramVerifier(password)
  const databases = await openEmbeddedDatabases({
    folder,
    host: '127.0.0.1',
    port: 0,
    loginOf: async () => ({ verifier, orgId: 'org' }),
    saltKey: randomBytes(32),
  })
  try {
    await databases.create(NAME)
    const sql = client(`postgres://${NAME}:${password}@127.0.0.1:${databases.port}/${NAME}`)
    try {
      await fillTable(sql, say)
    } finally {
      await sql.end()
    }
  } finally {
    await databases.close()
  }
}

const client = (url: string): postgres.Sql => postgres(url, { max: 1, fetch_types: false, onnotice() {} })
