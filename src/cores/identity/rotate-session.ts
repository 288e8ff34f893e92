import { and, eq } from '../../../db/drizzle.ts'
import { sessions } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { requireSession } from '../principal.ts'
import { write, type Verb } from '../verb.ts'
import { issueSessionToken } from './issue-session-token.ts'
import type { SessionDeps } from './start-session.ts'

/**
 * The old token stays good for a minute (tabs that left with it), then presenting it ends the session: see
 * validate-user. Compare-and-set, so that of two tabs one rotates and the other keeps what it has.
 */
export const rotateSession: Verb<'rotateSession', SessionDeps> = write(
  { by: 'principal' },
  async (context) => {
    const { tx, clock, principal } = context
    const { sessionId, generation } = requireSession(principal)
    const [row] = await tx
      .update(sessions)
      .set({ generation: generation + 1, rotatedAt: clock() })
      .where(and(eq(sessions.id, sessionId), eq(sessions.generation, generation)))
      .returning({ id: sessions.id })
    if (!row) throw new ServiceError('CONFLICT', 'The session was renewed a moment ago')
    return issueSessionToken(tx, context, sessionId)
  },
)
