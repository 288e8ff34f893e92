/** Activity is kept for as many days as the operator says: months that are over go as a whole. What is not sealed stays. */
import { sql } from '../../../db/drizzle.ts'
import { firstIdOf } from '../../contracts/ids.ts'
import type { Storage } from '../dependencies.ts'
import { inParts } from '../in-parts.ts'
import { dropMonths, outsideMonths } from '../partitions.ts'
import { emptySeals, sealRemoval, type SealDeps } from '../trail/index.ts'

export type SweepActivityDeps = SealDeps & { readonly activityDays: number }

/** Row by row only what is in no month: there is no index by time, which would cost every question a write. */
export async function sweepActivity(deps: SweepActivityDeps, stopping?: AbortSignal): Promise<void> {
  const { db, clock, activityDays } = deps
  const before = new Date(clock().getTime() - activityDays * 24 * 60 * 60 * 1000)
  const until = stopping ? { stopping } : {}
  const sealedTo = await sealRemoval(deps, before, until)
  if (sealedTo === undefined) return
  await dropMonths(db, 'activity', before.getTime(), (end) => isSealed(db, end))
  const isSealedRow = sql`(trail_order is null or trail_order <= ${String(sealedTo)}::bigint)`
  for (const table of await outsideMonths(db, 'activity')) {
    await inParts(db, { table }, (isInPart) =>
      db.execute(
        sql`delete from ${sql.raw(table)} where ${isInPart} and at < ${before.toISOString()}::timestamptz and ${isSealedRow}`,
      ),
    )
  }
  await emptySeals(deps, until)
}

async function isSealed(db: Storage['db'], end: number): Promise<boolean> {
  const [row] = await db.execute<{ is: boolean }>(
    sql`select not exists (select from trail_pending where id < ${firstIdOf('act', end)}) as is`,
  )
  return row!.is
}
