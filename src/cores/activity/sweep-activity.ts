/** Deletes rows of activity that are older than the operator keeps them. */
import { lt } from '../../../db/drizzle.ts'
import { activity } from '../../../db/schema.ts'
import type { Storage } from '../dependencies.ts'

export type SweepActivityDeps = Storage & { readonly activityDays: number }

/** Once a day, because it reads the whole table: an index by time would cost every question a write. */
export async function sweepActivity({ db, clock, activityDays }: SweepActivityDeps): Promise<void> {
  await db
    .delete(activity)
    .where(lt(activity.at, new Date(clock().getTime() - activityDays * 24 * 60 * 60 * 1000)))
}
