/** Owners and admins are notified of a support session by the transaction that started or elevated it. */
import type { Transaction } from '../../../db/connect.ts'
import type { supportSessions } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { recordEvent } from '../notifications/index.ts'

export async function recordSupportSessionEvent(
  tx: Transaction,
  clock: Clock,
  session: typeof supportSessions.$inferSelect,
  type: 'org.support_access.started' | 'org.support_access.elevated',
): Promise<void> {
  await recordEvent(tx, clock, {
    orgId: session.orgId,
    type,
    subject: `support-sessions/${session.id}`,
    source: 'support-access',
    // A support session is started once and elevated once.
    dedupKey: `${type}:${session.id}`,
    actorId: session.staffId,
    data: { support_session_id: session.id },
  })
}
