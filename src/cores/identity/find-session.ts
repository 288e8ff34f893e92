/** Whose session it is, while it is live. */
import type { SQL } from 'drizzle-orm'
import { and, eq, gt, isNull } from '../../../db/drizzle.ts'
import { sessions, users } from '../../../db/schema.ts'
import { browserHash, type SessionDeps } from './start-session.ts'

export const findSession = (deps: SessionDeps, sessionId: string) =>
  findLive(deps, eq(sessions.id, sessionId))

/** By the cookie of the auth service's own pages. */
export const findBrowserSession = (deps: SessionDeps, browserSecret: string) =>
  findLive(deps, eq(sessions.browserSecretHash, browserHash(deps, browserSecret)))

async function findLive({ db, clock }: SessionDeps, isSession: SQL) {
  const [row] = await db
    .select({
      sessionId: sessions.id,
      userId: users.id,
      email: users.email,
      name: users.name,
      lastOrgId: users.lastOrgId,
    })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(isSession, isNull(sessions.endedAt), gt(sessions.expiresAt, clock())))
  return row
}
