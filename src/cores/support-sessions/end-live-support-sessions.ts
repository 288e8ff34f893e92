/** Ends the live support sessions of an organization, or one of them; one that has ended stays as it was. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { supportSessions } from '../../../db/schema.ts'
import { recordAudit } from '../record-audit.ts'
import type { MemberPrincipal } from '../principal.ts'
import type { Clock } from '../dependencies.ts'
import { recordEnding } from '../record-ending.ts'
import { isLive } from './live-support-session.ts'

export async function endLiveSupportSessions(
  tx: Transaction,
  clock: Clock,
  principal: MemberPrincipal,
  id?: string,
): Promise<void> {
  const { orgId } = principal
  const ended = await tx
    .update(supportSessions)
    .set({ endedAt: clock(), endedBy: principal.userId })
    .where(
      and(
        eq(supportSessions.orgId, orgId),
        id === undefined ? undefined : eq(supportSessions.id, id),
        isLive(clock),
      ),
    )
    .returning({ id: supportSessions.id, orgId: supportSessions.orgId })
  recordEnding(tx, 'support_session', ended)
  for (const session of ended) {
    await recordAudit(tx, clock, principal, { orgId, action: 'support.ended', subject: session.id })
  }
}
