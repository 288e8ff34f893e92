/** A new sign-in in a browser replaces the session that the browser had; left alone, it would live on unseen. */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { sessions } from '../../../db/schema.ts'
import { recordAudit } from '../record-audit.ts'
import type { Storage } from '../dependencies.ts'
import { recordEnding } from '../record-ending.ts'
import { withTransaction } from '../transaction.ts'
import { currentMembership } from '../organizations/index.ts'

export async function endBrowserSession(
  { db, clock }: Storage,
  { sessionId, userId, name }: { sessionId: string; userId: string; name: string },
  requestId: string,
): Promise<void> {
  await withTransaction(db, async (tx) => {
    const [row] = await tx
      .update(sessions)
      .set({ endedAt: clock() })
      .where(and(eq(sessions.id, sessionId), isNull(sessions.endedAt)))
      .returning()
    if (row) recordEnding(tx, 'session', [row])
    const current = row && (await currentMembership(tx, userId, row.orgId))
    if (!current) return
    const actor = { kind: 'user' as const, userId, userName: name, requestId }
    await recordAudit(tx, clock, actor, { orgId: current.org.id, action: 'session.ended' })
  })
}
