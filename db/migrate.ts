/** Brings a database to the schema of this program: numbered files, forward only, safe with several starters at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql, SqlQueries } from './connect.ts'
import type { Migration } from './read-migrations.ts'

/** Any fixed number does; ours spells "svc". */
const LOCK = 0x73_76_63

/** Builds from before this version had other migrations under these numbers; an earlier set began with 0000_identity. */
const FIRST_VERSION = '0.1.0'
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
  const rows = await sql.query<Row>(READ_RECORDED).catch(() => [])
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

type Row = { readonly name: string; readonly sha256: string; readonly day: string }
/** `day`: when it was applied. */
type Recorded = ReadonlyMap<string, Omit<Row, 'name'>>

const READ_RECORDED = `select name, sha256, to_char(applied_at at time zone 'UTC', 'YYYY-MM-DD') as day
  from svc_migrations order by name`

const byName = <R extends { readonly name: string }>(rows: readonly R[]): ReadonlyMap<string, R> =>
  new Map(rows.map((row) => [row.name, row]))

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
  return byName(await sql.query<Row>(READ_RECORDED))
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
  for (const [name, { sha256, day }] of recorded) {
    if (known.get(name)?.sha256 === sha256) continue
    if (hasOurs && isNewer(name, last) && !isBreaking(name)) continue
    return refusal({ name, day, isKnown: known.has(name), last })
  }
  return undefined
}

export function newerThan(migrations: readonly Migration[], recorded: Recorded): string[] {
  const known = byName(migrations)
  return [...recorded.keys()].filter((name) => !known.has(name)).toSorted()
}

type Refused = {
  readonly name: string
  readonly day: string
  readonly isKnown: boolean
  readonly last: string
}

/** For whoever runs it: what was found, who made it, what to do. Every refusal comes before anything is changed. */
function refusal({ name, day, isKnown, last }: Refused): string {
  const found = `the migration ${name}, applied on ${day}`
  if (name === UNRELEASED || isKnown) {
    return `This database was made by a build of svc from before ${FIRST_VERSION}: ${found}, is not the one of this version. It cannot be upgraded, and nothing was changed. Keep that build, export what you need with it, and load that into a new installation (docs/operating.md, Upgrades).`
  }
  if (isNewer(name, last)) {
    return `This database was changed by a newer version of svc, and this one cannot use it: it holds ${found}. Nothing was changed. Install that version or a later one, or restore a backup made before that day.`
  }
  return `This database was made by another build of svc: it holds ${found}, which this version does not have. Nothing was changed. Start the build that made it, or name another data folder or database.`
}

const isNewer = (name: string, last: string): boolean => numberOf(name) > numberOf(last)

/** As drizzle-kit begins a name: 0004_notifications is the fifth. */
const numberOf = (name: string): number => Number.parseInt(name, 10)

/**
 * 0007_breaking-drop-old-tokens. The name says it, because an older program knows nothing else of a newer migration.
 * test/repository/schema.test.ts finds those that lack the word.
 */
export const isBreaking = (name: string): boolean => /^\d+_breaking(?![a-z])/.test(name)
