/** Deletes rows of activity that are older than the operator keeps them. */
import { sql } from '../../../db/drizzle.ts'
import type { Storage } from '../dependencies.ts'
import { inParts } from '../in-parts.ts'

export type SweepActivityDeps = Storage & { readonly activityDays: number }

/** Once a day, because it reads the whole table: an index by time would cost every question a write. */
export async function sweepActivity({ db, clock, activityDays }: SweepActivityDeps): Promise<void> {
  const before = new Date(clock().getTime() - activityDays * 24 * 60 * 60 * 1000).toISOString()
  await inParts(db, { table: 'activity' }, (isInPart) =>
    db.execute(sql`delete from activity where ${isInPart} and at < ${before}::timestamptz`),
  )
}
