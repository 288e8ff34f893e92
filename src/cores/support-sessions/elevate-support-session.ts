/** Raises a support session from viewer to admin, once, with a reason that the owners read. */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { supportSessions, users } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { write, type Verb } from '../verb.ts'
import { hasSupportSessionId, isLive } from './live-support-session.ts'
import { presentSupportSession, SUPPORT_SESSION_COLUMNS } from './present-support-session.ts'
import { supportSessionEvent } from './support-session-event.ts'

export const elevateSupportSession: Verb<'elevateSupportSession'> = write(
  { audit: 'support.elevated', events: 'org.support_access.elevated' },
  async ({ tx, clock, member, orgId, userId, audit, event }, { support_session_id, reason }) => {
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
      await audit('support.elevated', `${member.userEmail ?? userId}: ${reason}`)
      await event(supportSessionEvent(elevated, 'org.support_access.elevated'))
    }
    const [found] = await tx
      .select(SUPPORT_SESSION_COLUMNS)
      .from(supportSessions)
      .innerJoin(users, eq(users.id, supportSessions.staffId))
      .where(hasSupportSessionId(orgId, support_session_id))
    if (!found) throw notFound()
    return presentSupportSession(found.session, found.staff, clock())
  },
)
