/** When somebody changes where an integration leads, or turns it on again, what was learned of its target is over. */
import type { Transaction } from '../../../../db/connect.ts'
import { and, eq } from '../../../../db/drizzle.ts'
import { messageTargets } from '../../../../db/schema.ts'
import type { Clock } from '../../dependencies.ts'
import { wakeTargets, type RecoveredTarget } from './attempts.ts'

export async function resetTarget(
  tx: Transaction,
  clock: Clock,
  { orgId, target }: RecoveredTarget,
): Promise<void> {
  // Messages before their target, as whoever claims locks them.
  await wakeTargets({ db: tx, clock }, [{ orgId, target }])
  await tx
    .update(messageTargets)
    .set({ unanswered: 0, probeAt: null, heldUntil: null, keepsSockets: true, answerMs: null })
    .where(and(eq(messageTargets.orgId, orgId), eq(messageTargets.target, target)))
}
