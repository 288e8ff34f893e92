import { supportSessions } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember, requireRole } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { endLiveSupportSessions } from './end-live-support-sessions.ts'
import { hasSupportSessionId } from './live-support-session.ts'

export const endSupportSession =
  ({ db, clock }: Storage): Handler<'endSupportSession'> =>
  (principal, { support_session_id }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const [found] = await tx
        .select({ id: supportSessions.id })
        .from(supportSessions)
        .where(hasSupportSessionId(member.orgId, support_session_id))
      if (!found) throw notFound()
      if (member.supportSessionId !== support_session_id)
        requireRole(member, 'owner', 'Only an owner or the staff member may end a support session')
      await endLiveSupportSessions(tx, clock, member, support_session_id)
      return {}
    })
