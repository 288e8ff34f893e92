/** Owners and admins are notified of a support session by the transaction that started or elevated it. */
import type { supportSessions } from '../../../db/schema.ts'

export const supportSessionEvent = <
  Type extends 'org.support_access.started' | 'org.support_access.elevated',
>(
  session: typeof supportSessions.$inferSelect,
  type: Type,
) => ({
  orgId: session.orgId,
  type,
  subject: `support-sessions/${session.id}`,
  source: 'support-access',
  // A support session is started once and elevated once.
  dedupKey: `${type}:${session.id}`,
  actorId: session.staffId,
  data: { support_session_id: session.id },
})
