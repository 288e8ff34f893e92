/** Activity is kept for as many days as the operator says: months that are over go as a whole. */
import { sql } from '../../../db/drizzle.ts'
import type { Storage } from '../dependencies.ts'
import { inParts } from '../in-parts.ts'
import { dropMonths, outsideMonths } from '../partitions.ts'

export type SweepActivityDeps = Storage & { readonly activityDays: number }

/** Row by row only what is in no month: there is no index by time, which would cost every question a write. */
export async function sweepActivity({ db, clock, activityDays }: SweepActivityDeps): Promise<void> {
  const before = new Date(clock().getTime() - activityDays * 24 * 60 * 60 * 1000)
  await dropMonths(db, 'activity', before.getTime())
  for (const table of await outsideMonths(db, 'activity')) {
    await inParts(db, { table }, (isInPart) =>
      db.execute(
        sql`delete from ${sql.raw(table)} where ${isInPart} and at < ${before.toISOString()}::timestamptz`,
      ),
    )
  }
}
