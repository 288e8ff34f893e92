/** Raises a support session from viewer to admin, once, with a reason that the owners read. */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { supportSessions, users } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { hasSupportSessionId, isLive } from './live-support-session.ts'
import { presentSupportSession, SUPPORT_SESSION_COLUMNS } from './present-support-session.ts'
import { recordSupportSessionEvent } from './record-support-session-event.ts'

export const elevateSupportSession =
  ({ db, clock }: Storage): Handler<'elevateSupportSession'> =>
  (principal, { support_session_id, reason }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      // To everybody but its own staff member it does not exist.
      if (member.supportSessionId !== support_session_id) throw notFound()
      const [elevated] = await tx
        .update(supportSessions)
        .set({ elevatedAt: clock(), elevationReason: reason })
        .where(
          and(
            hasSupportSessionId(orgId, support_session_id),
            isLive(clock),
            isNull(supportSessions.elevatedAt),
          ),
        )
        .returning()
      if (elevated) {
        const subject = `${member.userEmail ?? member.userId}: ${reason}`
        await recordAudit(tx, clock, member, { orgId, action: 'support.elevated', subject })
        await recordSupportSessionEvent(tx, clock, elevated, 'org.support_access.elevated')
      }
      const [found] = await tx
        .select(SUPPORT_SESSION_COLUMNS)
        .from(supportSessions)
        .innerJoin(users, eq(users.id, supportSessions.staffId))
        .where(hasSupportSessionId(orgId, support_session_id))
      if (!found) throw notFound()
      return presentSupportSession(found.session, found.staff, clock())
    })
