/** Deletes used assertions that have expired, and old refusals. */
import { lt } from '../../../../db/drizzle.ts'
import { assertionRefusals, assertionUses } from '../../../../db/schema.ts'
import type { Storage } from '../../dependencies.ts'

const REFUSALS_KEPT_MS = 30 * 24 * 60 * 60 * 1000

export async function sweepAssertions({ db, clock }: Storage): Promise<void> {
  const now = clock()
  await db.delete(assertionUses).where(lt(assertionUses.expiresAt, now))
  await db
    .delete(assertionRefusals)
    .where(lt(assertionRefusals.refusedAt, new Date(now.getTime() - REFUSALS_KEPT_MS)))
}
