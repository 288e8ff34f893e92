/** Whose session it is, while it is live. */
import { and, eq, gt, isNull } from '../../../db/drizzle.ts'
import { sessions, users } from '../../../db/schema.ts'
import { browserHash, type SessionDeps } from './start-session.ts'

export async function findSession(deps: SessionDeps, sessionId: string) {
  const [row] = await deps.db
    .select({
      sessionId: sessions.id,
      userId: users.id,
      email: users.email,
      name: users.name,
      lastOrgId: users.lastOrgId,
    })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(sessions.id, sessionId), isNull(sessions.endedAt), gt(sessions.expiresAt, deps.clock())))
  return row
}

/** By the cookie of the auth service's own pages. */
export async function findBrowserSession(deps: SessionDeps, browserSecret: string) {
  const [row] = await deps.db
    .select({
      sessionId: sessions.id,
      userId: users.id,
      email: users.email,
      name: users.name,
      lastOrgId: users.lastOrgId,
    })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(
      and(
        eq(sessions.browserSecretHash, browserHash(deps, browserSecret)),
        isNull(sessions.endedAt),
        gt(sessions.expiresAt, deps.clock()),
      ),
    )
  return row
}
