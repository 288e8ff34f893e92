/** Lines are kept for days: what is older goes, and on Postgres each coming day gets a partition, which goes as a whole. */
import { sql } from '../../../db/drizzle.ts'
import { logGroups, logLines, logUsage, logVolumes } from '../../../db/schema.ts'
import { LOG_DAYS } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import { hasCode, type PartitionDeps } from '../partitions.ts'
import { separately } from '../separately.ts'
import { withTransaction } from '../transaction.ts'
import type { LogApp } from './log-record.ts'

export type SweepLogsDeps = Storage & PartitionDeps

const DAY_MS = 24 * 60 * 60_000
/** More than the worker is ever away, over a weekend. Without its partition a line is kept all the same. */
const DAYS_AHEAD = 4
/** In one statement, so that nobody waits long behind it. */
const DELETED_AT_ONCE = 10_000

/** What fails for one app, or for a day, is tried again the next time; the others are swept all the same. */
export async function sweepLogs(deps: SweepLogsDeps, stopping?: AbortSignal): Promise<void> {
  const today = Math.floor(deps.clock().getTime() / DAY_MS) * DAY_MS
  const oldest = new Date(today - LOG_DAYS * DAY_MS)
  const parts = separately(stopping)
  if (deps.partitions) {
    await parts.run(() => createDays(deps, today))
    await parts.run(async () => {
      for (const name of await partitionsBefore(deps, oldest)) {
        await parts.run(() => withoutWaiting(deps, `drop table if exists ${name}`))
      }
    })
  }
  await parts.run(async () => {
    for (const app of await appsWithOldLines(deps, oldest)) {
      await parts.run(() => deleteOldLines(deps, app, oldest, stopping))
    }
  })
  await parts.run(async () =>
    deps.db.execute(sql`delete from ${logGroups} where last_day < ${isoDay(oldest)}::date`),
  )
  parts.end()
}

const isoDay = (day: Date): string => day.toISOString().slice(0, 10)
const partitionOf = (day: Date): string => `log_lines_${isoDay(day).replaceAll('-', '')}`

/**
 * Both need the whole table for a moment; behind a long search they would make everybody wait. So would looking through
 * what no partition has, after weeks without a worker: then lines stay there.
 */
const withoutWaiting = (deps: Storage, statement: string): Promise<unknown> =>
  withTransaction(deps.db, async (tx) => {
    await tx.execute(sql`set local lock_timeout = '2s'`)
    await tx.execute(sql`set local statement_timeout = '5s'`)
    await tx.execute(sql.raw(statement))
  })

/** The first that takes too long ends it: the others would, too. */
async function createDays(deps: Storage, today: number): Promise<void> {
  for (let n = 0; n <= DAYS_AHEAD; n++) await createDay(deps, new Date(today + n * DAY_MS))
}

async function createDay(deps: Storage, day: Date): Promise<void> {
  const next = new Date(day.getTime() + DAY_MS)
  try {
    await withoutWaiting(
      deps,
      `create table if not exists ${partitionOf(day)} partition of log_lines
       for values from ('${day.toISOString()}') to ('${next.toISOString()}')`,
    )
  } catch (error) {
    // Lines of this day came before its partition: they and the others of the day stay where they are.
    if (!hasCode(error, '23514')) throw error
  }
}

async function partitionsBefore(deps: Storage, oldest: Date): Promise<string[]> {
  const partitions = (await deps.db.execute(sql`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'log_lines'::regclass order by 1`)) as unknown as { name: string }[]
  return partitions
    .map(({ name }) => name)
    .filter((name) => /^log_lines_\d{8}$/.test(name) && name < partitionOf(oldest))
}

async function appsWithOldLines({ db }: Storage, oldest: Date): Promise<readonly LogApp[]> {
  return (await db.execute(sql`
    select distinct org_id as "orgId", app_id as id from ${logVolumes}
    where at < ${oldest.toISOString()}::timestamptz`)) as unknown as LogApp[]
}

/** The lines first: what was counted for them is taken off when they are gone. */
async function deleteOldLines(
  { db }: Storage,
  { orgId, id: appId }: LogApp,
  oldest: Date,
  stopping: AbortSignal | undefined,
): Promise<void> {
  const isOld = sql`org_id = ${orgId} and app_id = ${appId} and at < ${oldest.toISOString()}::timestamptz`
  for (;;) {
    const deleted = await db.execute(sql`
      delete from ${logLines} where ${isOld} and (org_id, app_id, number, at) in (
        select org_id, app_id, number, at from ${logLines} where ${isOld} order by at, number
        limit ${sql.raw(String(DELETED_AT_ONCE))})`)
    if ((deleted as unknown as { count: number }).count < DELETED_AT_ONCE) break
    // What was counted for them is taken off the next time, when all of them are gone.
    if (stopping?.aborted) return
  }
  await db.execute(sql`
    with gone as (delete from ${logVolumes} where ${isOld} returning bytes)
    update ${logUsage} set stored_bytes = greatest(0, stored_bytes - (select coalesce(sum(bytes), 0) from gone))
    where org_id = ${orgId} and app_id = ${appId}`)
}
