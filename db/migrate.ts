/** Brings a database to the schema of this program: numbered files, forward only, safe with several starters at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql, SqlQueries } from './connect.ts'
import type { Migration } from './read-migrations.ts'

/** Any fixed number does; ours spells "svc". */
const LOCK = 0x73_76_63

/** The only set that existed before the first release began with this one. It was replaced by a new initial set. */
const UNRELEASED = '0000_identity'

type Migrated = {
  /** Names of those that were applied now. */
  readonly applied: readonly string[]
  /** Names of those of a newer program. They only add something, so this one works all the same. */
  readonly newer: readonly string[]
}

/** Applies what is missing, each migration in a transaction of its own. */
export async function migrate(sql: Sql, migrations: readonly Migration[]): Promise<Migrated> {
  // Nearly every start finds nothing to do: one statement says so, and no lock is taken. Where the table is missing, or
  // anything else is wrong, the full way says so better.
  const rows = await sql.query<Row>('select name, sha256 from svc_migrations').catch(() => [])
  const found = byName(rows)
  if (isComplete(found, migrations) && refusalOf(found, migrations) === undefined) {
    return { applied: [], newer: newerThan(migrations, found) }
  }
  const applied: string[] = []
  for (let attempt = 1; ; attempt++) {
    try {
      const { name, newer } = await sql.transaction((tx) => applyNext(tx, migrations))
      if (name === undefined) return { applied, newer }
      applied.push(name)
    } catch (error) {
      if (!isLockConflict(error) || attempt === LOCK_ATTEMPTS) throw error
      await sleep(LOCK_PAUSE_MS)
    }
  }
}

/**
 * Whoever waits for the lock of a table keeps everybody else waiting behind, and a backup may hold one for an hour. So a
 * migration waits briefly, lets the others through, and tries again.
 */
const LOCK_TIMEOUT = '2s'
const LOCK_PAUSE_MS = 1_000
/** Some ten minutes. */
const LOCK_ATTEMPTS = 200

/** A lock that was not free in time; or two waited for each other, and this one was ended. */
const isLockConflict = (error: unknown): boolean =>
  ['55P03', '40P01'].includes(String((error as { readonly code?: unknown } | null)?.code))

type Row = { name: string; sha256: string }
type Recorded = ReadonlyMap<string, string>

const byName = (rows: readonly Row[]): Recorded => new Map(rows.map(({ name, sha256 }) => [name, sha256]))

const isComplete = (recorded: Recorded, migrations: readonly Migration[]): boolean =>
  migrations.every(({ name }) => recorded.has(name))

/** For `/readyz`. A migration of a newer program is no obstacle to one that runs already: it may be on its way out. */
export async function isMigrated(sql: Sql, migrations: readonly Migration[]): Promise<boolean> {
  return isComplete(await readRecorded(sql), migrations)
}

/**
 * Who comes second waits for the lock and then finds the work done, because the list is read after it. The lock ends
 * with the transaction, also behind a pooler that hands connections around.
 */
async function applyNext(
  tx: SqlQueries,
  migrations: readonly Migration[],
): Promise<{ name: string | undefined; newer: string[] }> {
  // Building an index may take longer than any question may, and so may waiting for whoever builds it.
  await tx.query('set local statement_timeout = 0')
  await tx.query(`select pg_advisory_xact_lock(${LOCK})`)
  const recorded = await refuseUnknownMigrations(tx, migrations)
  await tx.query(
    'create table if not exists svc_migrations (name text primary key, sha256 text not null, applied_at timestamptz not null)',
  )
  const newer = newerThan(migrations, recorded)
  const next = migrations.find(({ name }) => !recorded.has(name))
  if (!next) return { name: undefined, newer }
  await tx.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`)
  for (const statement of next.statements) await tx.query(statement)
  await tx.query('insert into svc_migrations values ($1, $2, clock_timestamp())', [next.name, next.sha256])
  return { name: next.name, newer }
}

/** Empty where nothing was ever applied. */
async function readRecorded(sql: SqlQueries): Promise<Recorded> {
  const [table] = await sql.query<{ exists: boolean }>(
    `select to_regclass('svc_migrations') is not null as exists`,
  )
  if (!table?.exists) return new Map()
  return byName(await sql.query<Row>('select name, sha256 from svc_migrations order by name'))
}

/** Reads only: a database that another program made stays as it is. */
export async function refuseUnknownMigrations(
  sql: SqlQueries,
  migrations: readonly Migration[],
): Promise<Recorded> {
  const recorded = await readRecorded(sql)
  const problem = refusalOf(recorded, migrations)
  if (problem !== undefined) throw new Error(problem)
  return recorded
}

/**
 * During an upgrade, and after the program was taken back, an older one starts over a newer database. What only adds is
 * no obstacle; a migration that is called breaking is, and so is a gap before it.
 */
function refusalOf(recorded: Recorded, migrations: readonly Migration[]): string | undefined {
  const known = byName(migrations)
  const last = migrations.at(-1)?.name ?? ''
  const hasOurs = isComplete(recorded, migrations)
  for (const [name, sha256] of recorded) {
    if (known.get(name) === sha256) continue
    if (hasOurs && isNewer(name, last) && !isBreaking(name)) continue
    return refusal(name, known.has(name), last)
  }
  return undefined
}

function newerThan(migrations: readonly Migration[], recorded: Recorded): string[] {
  const known = byName(migrations)
  return [...recorded.keys()].filter((name) => !known.has(name)).toSorted()
}

function refusal(name: string, isKnown: boolean, last: string): string {
  if (name === UNRELEASED) {
    return 'This database was made by an earlier, unreleased version of svc, whose migrations are gone. Start with an empty data folder or database, or use that version.'
  }
  if (isKnown) {
    return `The migration ${name} was changed after it was applied to this database. Restore its text and put the change into a new migration.`
  }
  if (isNewer(name, last)) {
    return `This database is newer than this program and cannot be used by it: it holds the migration ${name}. Upgrade svc, or restore a backup made before.`
  }
  return `This database holds the migration ${name}, which this version of svc does not have. Use the version that applied it, or start with an empty data folder or database.`
}

const isNewer = (name: string, last: string): boolean => numberOf(name) > numberOf(last)

/** As drizzle-kit begins a name: 0004_notifications is the fifth. */
const numberOf = (name: string): number => Number.parseInt(name, 10)

/**
 * 0007_breaking-drop-old-tokens. The name says it, because an older program knows nothing else of a newer migration.
 * test/repository/schema.test.ts finds those that lack the word.
 */
export const isBreaking = (name: string): boolean => /^\d+_breaking(?![a-z])/.test(name)
