/**
 * Deletes what removed organizations have left: their databases, then their rows, some at a time. The trail stays, until the
 * operator's days are over; then it goes, too.
 */
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Handle } from '../../../db/connect.ts'
import { and, eq, getTableColumns, getTableName, isNotNull, isNull, lt, sql } from '../../../db/drizzle.ts'
import * as schema from '../../../db/schema.ts'
import type { ManagedDatabases } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import { separately } from '../separately.ts'
import { isAllSealed } from '../trail/index.ts'

export type EmptyDeps = Storage & {
  readonly managed: Pick<ManagedDatabases, 'remove'>
  /** How long the trail of a removed organization is kept. */
  readonly removedTrailDays: number
}

const ROWS_AT_ONCE = 5_000
const DAY_MS = 24 * 60 * 60 * 1000

const { removedOrganizations, dataSources, receipts } = schema

/** The sealed trail, and the receipt that is part of it. */
const TRAIL = ['audit_log', 'activity', 'trail_pending', 'trail_seals', 'receipts'] as const

/** Sessions are their people's, and only name the organization that was chosen last. */
const NOT_ITS_OWN = ['sessions', getTableName(removedOrganizations)]

const TABLES = (Object.values(schema) as unknown[])
  .filter((one): one is PgTable => typeof one === 'object' && one !== null && 'orgId' in one)
  .filter((table) => getTableColumns(table)['orgId']?.name === 'org_id')
  .map((table) => getTableName(table))
  .filter((name) => !NOT_ITS_OWN.includes(name))

export async function emptyRemovedOrganizations(deps: EmptyDeps, stopping?: AbortSignal): Promise<void> {
  const { db, clock } = deps
  const left = await db.select().from(removedOrganizations).where(isNull(removedOrganizations.emptiedAt))
  const each = separately(stopping)
  for (const { orgId } of left) {
    await each.run(async () => {
      await dropDatabases(deps, orgId)
      const others = TABLES.filter((name) => !(TRAIL as readonly string[]).includes(name))
      if (!(await deleteRows(db, orgId, others, stopping))) return
      await db
        .update(removedOrganizations)
        .set({ emptiedAt: clock() })
        .where(eq(removedOrganizations.orgId, orgId))
    })
  }
  const before = new Date(clock().getTime() - deps.removedTrailDays * DAY_MS)
  const over = await db
    .select()
    .from(removedOrganizations)
    .where(and(isNotNull(removedOrganizations.emptiedAt), lt(removedOrganizations.removedAt, before)))
  for (const { orgId } of over) {
    await each.run(async () => {
      if (!(await isProven(db, orgId)) || !(await deleteRows(db, orgId, TRAIL, stopping))) return
      await db.delete(removedOrganizations).where(eq(removedOrganizations.orgId, orgId))
    })
  }
  each.end()
}

/** Its receipt is signed and its trail sealed: neither is deleted before somebody could have kept it. */
async function isProven(db: Handle, orgId: string): Promise<boolean> {
  const pending = await db.$count(receipts, and(eq(receipts.orgId, orgId), isNull(receipts.finalAt)))
  return pending === 0 && isAllSealed(db, orgId)
}

/** Before their rows, which know their names. One that cannot be dropped keeps its row, and the others go. */
async function dropDatabases({ db, managed }: EmptyDeps, orgId: string): Promise<void> {
  const sources = await db.select().from(dataSources).where(eq(dataSources.orgId, orgId))
  const each = separately()
  for (const { id, physicalName } of sources) {
    await each.run(async () => {
      if (physicalName !== null) await managed.remove(physicalName)
      await db.delete(dataSources).where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, id)))
    })
  }
  each.end()
}

/** False: it was stopped. */
async function deleteRows(
  db: Handle,
  orgId: string,
  tables: readonly string[],
  stopping: AbortSignal | undefined,
): Promise<boolean> {
  for (const name of tables) {
    const table = sql.identifier(name)
    for (let count = ROWS_AT_ONCE; count === ROWS_AT_ONCE;) {
      if (stopping?.aborted) return false
      const [row] = await db.execute<{ count: number }>(sql`
        with next as (select tableoid, ctid from ${table} where org_id = ${orgId} limit ${String(ROWS_AT_ONCE)}::int),
          gone as (delete from ${table} where org_id = ${orgId}
            and (tableoid, ctid) in (select tableoid, ctid from next) returning 1)
        select count(*)::int as count from gone`)
      count = row!.count
    }
  }
  return true
}
