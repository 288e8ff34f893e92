import { supportSessions } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { requireRole } from '../principal.ts'
import { write, type Verb } from '../verb.ts'
import { endLiveSupportSessions } from './end-live-support-sessions.ts'
import { hasSupportSessionId } from './live-support-session.ts'

export const endSupportSession: Verb<'endSupportSession'> = write(
  { audit: 'support.ended' },
  async ({ tx, clock, member, orgId }, { support_session_id }) => {
    const [found] = await tx
      .select({ id: supportSessions.id })
      .from(supportSessions)
      .where(hasSupportSessionId(orgId, support_session_id))
    if (!found) throw notFound()
    if (member.supportSessionId !== support_session_id)
      requireRole(member, 'owner', 'Only an owner or the staff member may end a support session')
    await endLiveSupportSessions(tx, clock, member, support_session_id)
    return {}
  },
)
