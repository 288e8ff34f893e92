/** Ends sessions that are live. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, gt, isNull } from '../../../db/drizzle.ts'
import { sessions } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { recordEnding } from '../record-ending.ts'

export async function endSessions(
  tx: Transaction,
  clock: Clock,
  which: SQL,
): Promise<readonly { orgId: string | null }[]> {
  const now = clock()
  const ended = await tx
    .update(sessions)
    .set({ endedAt: now })
    .where(and(which, isNull(sessions.endedAt), gt(sessions.expiresAt, now)))
    .returning({ id: sessions.id, orgId: sessions.orgId })
  recordEnding(tx, 'session', ended)
  return ended
}
