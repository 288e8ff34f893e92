import { and, eq, inArray, lt } from '../../../db/drizzle.ts'
import { loads } from '../../../db/schema.ts'
import { LOAD_DAYS } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'

/** Rows of loads that ended long ago; what they staged is gone. */
export async function sweepLoads({ db, clock }: Storage): Promise<void> {
  const before = new Date(clock().getTime() - LOAD_DAYS * 24 * 60 * 60_000)
  await db
    .delete(loads)
    .where(
      and(
        inArray(loads.state, ['succeeded', 'failed', 'canceled']),
        eq(loads.isStaged, false),
        lt(loads.finishedAt, before),
      ),
    )
}
