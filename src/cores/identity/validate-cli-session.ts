/** Whose login of the client this is: for the API of its one organization, as its person; never a session. */
import { locally } from '../../../db/commit-locally.ts'
import { and, eq, isNull, sql } from '../../../db/drizzle.ts'
import { memberships, organizations, sessions, users } from '../../../db/schema.ts'
import { lowerOf } from '../../contracts/roles.ts'
import { preparedQuery } from '../prepared-query.ts'
import { SESSION_COLUMNS, USER_COLUMNS } from './live-session.ts'
import {
  isStale,
  matchOrganization,
  ORGANIZATION_COLUMNS,
  presentMembership,
  refused,
  type Presented,
  type ValidationDeps,
} from './validation.ts'

export async function validateCliSession(deps: ValidationDeps, { token, organization, audience }: Presented) {
  const now = deps.clock()
  const claims = await deps.cliTokens.access.verify(token, now)
  if (!claims || (audience ?? 'api') !== 'api') throw refused()
  const { sessionId, userId } = claims
  const [row] = await liveCliSession(deps.db).execute({ sessionId, userId, now: now.toISOString() })
  if (!row) throw refused()
  const { session, role, membershipId, user, org } = row
  // The first use since they were renewed, with whichever, ends the repeating of new ones: see refreshCliSession.
  if (session.lastUsedAt <= session.rotatedAt || isStale(session.lastUsedAt, now)) {
    await deps.db
      .update(sessions)
      .set({ lastUsedAt: now })
      .where(and(eq(sessions.id, session.id), eq(sessions.generation, session.generation), locally))
  }
  const found = {
    organization: { id: org.id, name: org.name, slug: org.slug },
    role: lowerOf(session.roleCap, role),
    membership: presentMembership(membershipId, role, user, org.timezone),
  }
  return {
    valid: true as const,
    kind: 'cli_session' as const,
    user: { id: user.id, email: user.email, name: user.name },
    ...matchOrganization(found, organization),
    carries_app_roles: session.carriesAppRoles,
    scopes: null,
    audiences: ['api' as const],
    expires_at: claims.expiresAt.toISOString(),
    cli_session_id: session.id,
  }
}

const liveCliSession = preparedQuery((db) =>
  db
    .select({
      session: SESSION_COLUMNS,
      role: memberships.role,
      membershipId: memberships.id,
      user: USER_COLUMNS,
      org: ORGANIZATION_COLUMNS,
    })
    .from(sessions)
    .innerJoin(
      memberships,
      and(eq(memberships.orgId, sessions.orgId), eq(memberships.userId, sessions.userId)),
    )
    .innerJoin(users, eq(users.id, sessions.userId))
    .innerJoin(organizations, eq(organizations.id, sessions.orgId))
    .where(
      and(
        eq(sessions.id, sql.placeholder('sessionId')),
        eq(sessions.userId, sql.placeholder('userId')),
        eq(sessions.kind, 'cli'),
        isNull(sessions.endedAt),
        sql`${sessions.expiresAt} > ${sql.placeholder('now')}::timestamptz`,
      ),
    )
    .prepare('live_cli_session'),
)
