import { and, eq, isNull } from '../../../db/drizzle.ts'
import { sessions } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { requireSession, requireUserId } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { currentMembership } from './current-membership.ts'

export const signOut =
  ({ db, clock }: Storage): Handler<'signOut'> =>
  (principal, { session_id }) =>
    withTransaction(db, async (tx) => {
      const id = session_id === 'current' ? requireSession(principal).sessionId : session_id
      const [row] = await tx
        .update(sessions)
        .set({ endedAt: clock() })
        .where(
          and(eq(sessions.id, id), eq(sessions.userId, requireUserId(principal)), isNull(sessions.endedAt)),
        )
        .returning()
      if (!row) throw notFound()
      const current = await currentMembership(tx, row.userId, row.orgId)
      if (current) await recordAudit(tx, clock, principal, { orgId: current.org.id, action: 'session.ended' })
      return {}
    })
