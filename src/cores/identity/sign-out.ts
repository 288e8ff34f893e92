import { and, eq, isNull } from '../../../db/drizzle.ts'
import { sessions } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { requireSession } from '../principal.ts'
import { recordEnding } from '../record-ending.ts'
import { write, type Verb } from '../verb.ts'
import { currentMembership } from '../organizations/index.ts'

export const signOut: Verb<'signOut'> = write(
  { by: 'person', audit: 'session.ended' },
  async ({ tx, clock, userId, principal, audit }, { session_id }) => {
    const id = session_id === 'current' ? requireSession(principal).sessionId : session_id
    const [row] = await tx
      .update(sessions)
      .set({ endedAt: clock() })
      .where(and(eq(sessions.id, id), eq(sessions.userId, userId), isNull(sessions.endedAt)))
      .returning()
    if (!row) throw notFound()
    recordEnding(tx, 'session', [row])
    const current = await currentMembership(tx, row.userId, row.orgId)
    if (current) await audit('session.ended', undefined, { orgId: current.org.id })
    return {}
  },
)
