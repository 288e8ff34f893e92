/**
 * Tables that grow with time have, on Postgres, a partition for each month (UTC), by the id of the row, which begins with
 * its time: made ahead, and dropped as a whole. `<table>_rest` has what belongs to none of them, so that nothing is ever
 * refused; embedded it has everything. What an older version left there becomes `<table>_until_<month>`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import { firstIdOf, type IdPrefix } from '../contracts/ids.ts'
import type { Storage } from './dependencies.ts'
import { separately } from './separately.ts'
import { withTransaction } from './transaction.ts'

/** By which column, and how its ids begin. */
export const MONTHLY = {
  activity: { column: 'id', prefix: 'act' },
  audit_log: { column: 'id', prefix: 'aud' },
  events: { column: 'id', prefix: 'evt' },
  deliveries: { column: 'id', prefix: 'dlv' },
  delivery_keys: { column: 'event_id', prefix: 'evt' },
  messages: { column: 'id', prefix: 'msg' },
  attempts: { column: 'message_id', prefix: 'msg' },
} as const satisfies Record<string, { column: string; prefix: IdPrefix }>

export type MonthlyTable = keyof typeof MONTHLY
const TABLES = Object.keys(MONTHLY) as MonthlyTable[]

export type PartitionDeps = Pick<Storage, 'db'> & {
  /** False for the embedded database: all is in one table there. */
  readonly partitions: boolean
}

/** Besides the one that is: longer than a worker is away. */
const MONTHS_AHEAD = 3
const DAY_MS = 24 * 60 * 60_000
/** Between when the rest is measured, and the month from which on it takes no rows: enough to go through a large one. */
const CUT_AHEAD_MS = 7 * DAY_MS
const CUT_STALE_MS = 2 * DAY_MS
/** All need the whole table for a moment. Behind a read they make everybody wait for so long; behind a long one, such as a backup, nobody. */
const LOCK_TIMEOUT = '250ms'
const LONG_READ = '1 second'
const LOCK_ATTEMPTS = 30
/** An arbitrary number: of several that start, one makes them. */
const MONTHS_LOCK = 7_382_003
const LOCK_PAUSE_MS = 2_000

type Partition = {
  readonly name: string
  /** The first moment that is not in it; null for the rest. */
  readonly end: number | null
  /** It has what came before there were months. */
  readonly isPast: boolean
}

const monthOf = (ms: number): number => {
  const at = new Date(ms)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth())
}
export const monthAfter = (month: number, months = 1): number => {
  const at = new Date(month)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months)
}
const digitsOf = (month: number): string => new Date(month).toISOString().slice(0, 7).replace('-', '')
const fromDigits = (digits: string): number =>
  Date.UTC(Number(digits.slice(0, 4)), Number(digits.slice(4)) - 1)

const boundOf = (table: MonthlyTable, ms: number): string => `'${firstIdOf(MONTHLY[table].prefix, ms)}'`

/** The oldest first, the rest at the end. */
export async function readPartitions(db: Database): Promise<ReadonlyMap<MonthlyTable, Partition[]>> {
  const rows = await db.execute<{ table: MonthlyTable; name: string }>(sql`
    select p.relname as table, c.relname as name
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where p.relnamespace = 'public'::regnamespace and p.relkind = 'p'`)
  const found = new Map<MonthlyTable, Partition[]>(TABLES.map((table) => [table, []]))
  for (const { table, name } of rows) found.get(table)?.push({ name, ...readName(name) })
  for (const of of found.values()) of.sort((a, b) => (a.end ?? Infinity) - (b.end ?? Infinity))
  return found
}

function readName(name: string): Omit<Partition, 'name'> {
  const [, until, digits] = /_(until_)?(\d{6})$/.exec(name) ?? []
  if (digits === undefined) return { end: null, isPast: false }
  return until
    ? { end: fromDigits(digits), isPast: true }
    : { end: monthAfter(fromDigits(digits)), isPast: false }
}

/** By the database's clock, which is the same for all processes. */
async function readNow(db: Database): Promise<number> {
  const [row] = await db.execute<{ ms: number }>(
    sql`select (extract(epoch from statement_timestamp()) * 1000)::float8 as ms`,
  )
  return row!.ms
}

/** At a start, before the first row: also after a long time without one there is a partition for each. */
export async function prepareMonths({ db, partitions }: PartitionDeps, at?: Date): Promise<void> {
  if (!partitions) return
  const [now, found] = [at?.getTime() ?? (await readNow(db)), await readPartitions(db)]
  for (const table of TABLES) {
    if (missingMonths(found.get(table)!, now).length === 0) continue
    if (await hasRest(db, table)) await dropStaleCut(db, table, now)
    else await makeMonths(db, table, found.get(table)!, now)
  }
}

/** The months ahead, and where rows came before there were any, a partition for those. */
export async function keepMonths({ db, partitions }: PartitionDeps, stopping?: AbortSignal): Promise<void> {
  if (!partitions) return
  const now = await readNow(db)
  const parts = separately(stopping)
  for (const table of TABLES) {
    await parts.run(async () => {
      const found = (await readPartitions(db)).get(table)!
      if (missingMonths(found, now).length === 0) return
      const isCovered = found.some(({ end }) => end !== null && end > now)
      if (!isCovered && (await hasRest(db, table))) await cutOffRest(db, table, found, now)
      await makeMonths(db, table, (await readPartitions(db)).get(table)!, now)
    })
  }
  parts.end()
}

function missingMonths(found: readonly Partition[], now: number): number[] {
  const covered = found.findLast(({ end }) => end !== null)?.end ?? 0
  const last = monthAfter(monthOf(now), MONTHS_AHEAD)
  const missing: number[] = []
  for (let month = Math.max(monthOf(now), covered); month <= last; month = monthAfter(month))
    missing.push(month)
  return missing
}

async function hasRest(db: Database, table: MonthlyTable): Promise<boolean> {
  const [row] = await db.execute(sql.raw(`select from ${table}_rest limit 1`))
  return row !== undefined
}

async function makeMonths(
  db: Database,
  table: MonthlyTable,
  found: readonly Partition[],
  now: number,
): Promise<void> {
  for (const month of missingMonths(found, now)) {
    const statement = `create table if not exists ${table}_${digitsOf(month)} partition of ${table}
      for values from (${boundOf(table, month)}) to (${boundOf(table, monthAfter(month))})`
    // Rows of a month that came before it stay where they are, and so do the others of that month.
    const isFree = await unlessRowsAreInTheWay(() => whenFree(db, table, [statement]))
    if (isFree === false) return
  }
}

/** Undefined: some are. */
async function unlessRowsAreInTheWay<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!hasCode(error, '23514')) throw error
    return undefined
  }
}

/**
 * What lies in the rest becomes a partition of its own, without being moved: that no row of it is of a coming month is made
 * sure of while others read and write, and then it takes a moment. Until then rows of that month would be refused, which
 * is why it is some days away; where nobody came back to end this, the next start or the next run takes it back.
 */
async function cutOffRest(
  db: Database,
  table: MonthlyTable,
  found: readonly Partition[],
  now: number,
): Promise<void> {
  const { column } = MONTHLY[table]
  const rest = `${table}_rest`
  await dropStaleCut(db, table, now)
  const known = await readCut(db, table)
  const cut = known ?? monthAfter(monthOf(now + CUT_AHEAD_MS))
  const constraint = cutName(table, cut)
  const before = found.findLast(({ end }) => end !== null)?.end
  const from = before === null || before === undefined ? undefined : boundOf(table, before)
  const isOlder = [
    `${column} < ${boundOf(table, cut)}`,
    ...(from === undefined ? [] : [`${column} >= ${from}`]),
  ]
  if (known === undefined) {
    const statement = `alter table ${rest} add constraint ${constraint} check (${isOlder.join(' and ')}) not valid`
    if (!(await whenFree(db, table, [statement]))) return
  }
  const isValid = await unlessRowsAreInTheWay(() =>
    withTransaction(db, async (tx) => {
      await tx.execute(sql.raw(`set local statement_timeout = 0`))
      await tx.execute(sql.raw(`alter table ${rest} validate constraint ${constraint}`))
      return true
    }),
  )
  // Ids that nobody made by the time: they stay, and so does the rest.
  if (!isValid) return withLocks(db, [`alter table ${rest} drop constraint ${constraint}`])
  const past = `${table}_until_${digitsOf(cut)}`
  // Where it is not free, the next run goes on from here.
  await whenFree(db, table, [
    `alter table ${table} detach partition ${rest}`,
    `alter table ${rest} rename to ${past}`,
    `alter table ${table} attach partition ${past} for values from (${from ?? 'minvalue'}) to (${boundOf(table, cut)})`,
    `create table ${rest} partition of ${table} default`,
    `alter table ${past} drop constraint ${constraint}`,
  ])
}

const cutName = (table: MonthlyTable, cut: number): string => `${table}_before_${digitsOf(cut)}`

async function readCut(db: Database, table: MonthlyTable): Promise<number | undefined> {
  const rows = await db.execute<{ name: string }>(sql`
    select conname as name from pg_constraint where conrelid = ${`${table}_rest`}::regclass and contype = 'c'`)
  const digits = rows.flatMap(({ name }) => /_before_(\d{6})$/.exec(name)?.[1] ?? [])[0]
  return digits === undefined ? undefined : fromDigits(digits)
}

async function dropStaleCut(db: Database, table: MonthlyTable, now: number): Promise<void> {
  const cut = await readCut(db, table)
  if (cut === undefined || cut > now + CUT_STALE_MS) return
  await withLocks(db, [`alter table ${table}_rest drop constraint ${cutName(table, cut)}`])
}

/** False: somebody reads the table for long. It is left as it is, and the next run finds it so. */
async function whenFree(db: Database, table: MonthlyTable, statements: readonly string[]): Promise<boolean> {
  if (await isReadForLong(db, table)) return false
  try {
    await withLocks(db, statements)
    return true
  } catch (error) {
    if (!hasCode(error, '55P03')) throw error
    return false
  }
}

/**
 * By a transaction that has been open for a while, or one of another role, of which that is not told, or a prepared one. One
 * that has ended since its lock was seen has no beginning any more.
 */
async function isReadForLong(db: Database, table: MonthlyTable): Promise<boolean> {
  const [row] = await db.execute<{ is: boolean }>(sql`
    select exists (
      select from pg_locks held left join pg_stat_activity who on who.pid = held.pid
      where held.locktype = 'relation' and held.granted and held.pid is distinct from pg_backend_pid()
        and held.database = (select oid from pg_database where datname = current_database())
        and held.relation in (
          select ${table}::regclass union all select inhrelid from pg_inherits where inhparent = ${table}::regclass)
        and (held.pid is null or who.query = '<insufficient privilege>'
          or who.xact_start < clock_timestamp() - ${LONG_READ}::interval)) as is`)
  return row!.is
}

/** In one transaction. Others are let through between two attempts. */
async function withLocks(db: Database, statements: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await withTransaction(db, async (tx) => {
        await tx.execute(sql.raw(`set local lock_timeout = '${LOCK_TIMEOUT}'`))
        await tx.execute(sql.raw(`select pg_advisory_xact_lock(${MONTHS_LOCK})`))
        for (const statement of statements) await tx.execute(sql.raw(statement))
      })
    } catch (error) {
      if (!hasCode(error, '55P03') || attempt === LOCK_ATTEMPTS) throw error
      await sleep(LOCK_PAUSE_MS)
    }
  }
}

/** Those that are over before, which `isFree` may still keep. Reads no row of them. */
export async function dropMonths(
  db: Database,
  table: MonthlyTable,
  before: number,
  isFree: (end: number) => Promise<boolean> = async () => true,
): Promise<void> {
  for (const { name, end } of (await readPartitions(db)).get(table)!) {
    if (end !== null && end <= before && (await isFree(end)))
      if (!(await whenFree(db, table, [`drop table if exists ${name}`]))) return
  }
}

/** What is not in a month, and is gone through row by row: embedded all, elsewhere what came before there were months. */
export async function outsideMonths(db: Database, table: MonthlyTable): Promise<string[]> {
  const found = (await readPartitions(db)).get(table)!
  return found.flatMap(({ name, end, isPast }) => (end === null || isPast ? [name] : []))
}

export function hasCode(error: unknown, code: string): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && at.code === code) return true
  }
  return false
}
