/** Brings a database to the schema of this program: numbered files, forward only, safe with several starters at once. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Sql, SqlQueries } from './connect.ts'

export type Migration = {
  readonly name: string
  readonly sha256: string
  readonly statements: readonly string[]
}

/** Any fixed number does; ours spells "svc". */
const LOCK = 0x73_76_63

/** The only set that existed before the first release began with this one. It was replaced by a new initial set. */
const UNRELEASED = '0000_identity'

/** The folder drizzle-kit writes: its journal gives the order. */
export async function readMigrations(
  folder = fileURLToPath(new URL('./migrations', import.meta.url)),
): Promise<Migration[]> {
  const journal = JSON.parse(await readFile(join(folder, 'meta', '_journal.json'), 'utf8')) as {
    entries: { tag: string }[]
  }
  return Promise.all(
    journal.entries.map(async ({ tag: name }) => {
      const text = await readFile(join(folder, `${name}.sql`), 'utf8')
      const sha256 = createHash('sha256').update(text).digest('hex')
      return { name, sha256, statements: text.split('--> statement-breakpoint') }
    }),
  )
}

/** Applies what is missing, each migration in a transaction of its own, and returns the names of those it applied. */
export async function migrate(sql: Sql, migrations: readonly Migration[]): Promise<string[]> {
  // Nearly every start finds nothing to do: one statement says so, and no lock is taken.
  if (await isUpToDate(sql, migrations)) return []
  const applied: string[] = []
  for (;;) {
    const next = await sql.transaction((tx) => applyNext(tx, migrations))
    if (!next) return applied
    applied.push(next)
  }
}

/** Where the table is missing, or anything else is wrong, the full way says so better. */
async function isUpToDate(sql: Sql, migrations: readonly Migration[]): Promise<boolean> {
  const rows = await sql
    .query<{ name: string; sha256: string }>('select name, sha256 from svc_migrations')
    .catch(() => [])
  const recorded = new Map(rows.map(({ name, sha256 }) => [name, sha256]))
  return (
    recorded.size === migrations.length &&
    migrations.every(({ name, sha256 }) => recorded.get(name) === sha256)
  )
}

/** For `/readyz`. A migration of a newer program is no obstacle to one that runs already: it may be on its way out. */
export async function isMigrated(sql: Sql, migrations: readonly Migration[]): Promise<boolean> {
  const recorded = await readRecorded(sql)
  return migrations.every(({ name }) => recorded.has(name))
}

/**
 * Who comes second waits for the lock and then finds the work done, because the list is read after it. The lock ends
 * with the transaction, also behind a pooler that hands connections around.
 */
async function applyNext(tx: SqlQueries, migrations: readonly Migration[]): Promise<string | undefined> {
  // Building an index may take longer than any question may, and so may waiting for whoever builds it.
  await tx.query('set local statement_timeout = 0')
  await tx.query(`select pg_advisory_xact_lock(${LOCK})`)
  const recorded = await refuseUnknownMigrations(tx, migrations)
  await tx.query(
    'create table if not exists svc_migrations (name text primary key, sha256 text not null, applied_at timestamptz not null)',
  )
  const next = migrations.find(({ name }) => !recorded.has(name))
  if (!next) return undefined
  for (const statement of next.statements) await tx.query(statement)
  await tx.query('insert into svc_migrations values ($1, $2, clock_timestamp())', [next.name, next.sha256])
  return next.name
}

/** Empty where nothing was ever applied. */
async function readRecorded(sql: SqlQueries): Promise<ReadonlyMap<string, string>> {
  const [table] = await sql.query<{ exists: boolean }>(
    `select to_regclass('svc_migrations') is not null as exists`,
  )
  if (!table?.exists) return new Map()
  const rows = await sql.query<{ name: string; sha256: string }>(
    'select name, sha256 from svc_migrations order by name',
  )
  return new Map(rows.map(({ name, sha256 }) => [name, sha256]))
}

/** Reads only: a database that another program made stays as it is. */
export async function refuseUnknownMigrations(
  sql: SqlQueries,
  migrations: readonly Migration[],
): Promise<ReadonlyMap<string, string>> {
  const recorded = await readRecorded(sql)
  const known = new Map(migrations.map(({ name, sha256 }) => [name, sha256]))
  const last = migrations.at(-1)?.name ?? ''
  for (const [name, sha256] of recorded) {
    if (known.get(name) !== sha256) throw new Error(refusal(name, known.has(name), last))
  }
  return recorded
}

function refusal(name: string, isKnown: boolean, last: string): string {
  if (name === UNRELEASED) {
    return 'This database was made by an earlier, unreleased version of svc, whose migrations are gone. Start with an empty data folder or database, or use that version.'
  }
  if (isKnown) {
    return `The migration ${name} was changed after it was applied to this database. Restore its text and put the change into a new migration.`
  }
  if (numberOf(name) > numberOf(last)) {
    return `This database is newer than this program: it holds the migration ${name}. Upgrade svc, or restore a backup made before.`
  }
  return `This database holds the migration ${name}, which this version of svc does not have. Use the version that applied it, or start with an empty data folder or database.`
}

/** As drizzle-kit begins a name: 0004_notifications is the fifth. */
const numberOf = (name: string): number => Number.parseInt(name, 10)
