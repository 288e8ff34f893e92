/** Brings a database to the schema of this program: numbered files, forward only, safe with several starters at once. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sql, SqlQueries } from './connect.ts'

export type Migration = {
  readonly name: string
  readonly sha256: string
  readonly statements: readonly string[]
}

/** Any fixed number does; ours spells "svc". */
const LOCK = 0x73_76_63

/** The folder drizzle-kit writes: its journal gives the order. */
export async function readMigrations(folder: string): Promise<Migration[]> {
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
  const applied: string[] = []
  for (;;) {
    const next = await sql.transaction((tx) => applyNext(tx, migrations))
    if (!next) return applied
    applied.push(next)
  }
}

/** For `/readyz`. A migration of a newer program is no obstacle to one that runs already: it may be on its way out. */
export async function isMigrated(sql: Sql, migrations: readonly Migration[]): Promise<boolean> {
  const [table] = await sql.query<{ there: boolean }>(
    `select to_regclass('svc_migrations') is not null as there`,
  )
  if (!table?.there) return false
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
  await tx.query(
    'create table if not exists svc_migrations (name text primary key, sha256 text not null, applied_at timestamptz not null)',
  )
  const recorded = await readRecorded(tx)
  refuseForeign(recorded, migrations)
  const next = migrations.find(({ name }) => !recorded.has(name))
  if (!next) return undefined
  for (const statement of next.statements) await tx.query(statement)
  await tx.query('insert into svc_migrations values ($1, $2, clock_timestamp())', [next.name, next.sha256])
  return next.name
}

async function readRecorded(sql: SqlQueries): Promise<Map<string, string>> {
  const rows = await sql.query<{ name: string; sha256: string }>(
    'select name, sha256 from svc_migrations order by name',
  )
  return new Map(rows.map(({ name, sha256 }) => [name, sha256]))
}

function refuseForeign(recorded: ReadonlyMap<string, string>, migrations: readonly Migration[]): void {
  const known = new Map(migrations.map(({ name, sha256 }) => [name, sha256]))
  for (const [name, sha256] of recorded) {
    if (!known.has(name)) {
      throw new Error(
        `This database is newer than this program: it holds the migration ${name}. Upgrade svc, or restore a backup made before.`,
      )
    }
    if (known.get(name) !== sha256) {
      throw new Error(
        `The migration ${name} was changed after it was applied to this database. Put its text back; what is to change belongs into a new migration.`,
      )
    }
  }
}
