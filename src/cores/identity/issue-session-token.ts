/** Signs the token of a live session, with the user and organization its holder wants to know first. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, gt, isNull } from '../../../db/drizzle.ts'
import { sessions, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { USER_TOKEN_SECONDS } from '../../contracts/limits.ts'
import { currentMembership } from '../organizations/index.ts'
import type { SessionDeps } from './start-session.ts'

export async function issueSessionToken(db: Handle, deps: SessionDeps, sessionId: string) {
  const now = deps.clock()
  const [row] = await db
    .select({ session: sessions, user: users })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(sessions.id, sessionId), isNull(sessions.endedAt), gt(sessions.expiresAt, now)))
  if (!row) throw new ServiceError('UNAUTHENTICATED')
  const { session, user } = row
  const current = await currentMembership(db, user.id, session.orgId)
  const expiresAt = new Date(Math.min(now.getTime() + USER_TOKEN_SECONDS * 1000, session.expiresAt.getTime()))
  const claims = { userId: user.id, sessionId: session.id, generation: session.generation }
  return {
    token: await deps.userTokens.sign(claims, now, expiresAt),
    expires_at: expiresAt.toISOString(),
    user: { id: user.id, email: user.email, name: user.name },
    organization: current
      ? { id: current.org.id, name: current.org.name, slug: current.org.slug, role: current.role }
      : null,
  }
}
