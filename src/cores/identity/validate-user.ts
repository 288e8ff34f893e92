/** Whose session in a browser this is. One token of it is current; the one before is let in for a short grace. */
import { locally } from '../../../db/commit-locally.ts'
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { sessions, type users } from '../../../db/schema.ts'
import { SESSION_ROTATION_GRACE_SECONDS } from '../../contracts/limits.ts'
import { lowerOf } from '../../contracts/roles.ts'
import { currentMembership } from '../organizations/index.ts'
import { recordAudit } from '../record-audit.ts'
import { recordEnding } from '../record-ending.ts'
import { findLiveSupportSession } from '../support-sessions/index.ts'
import { withTransaction } from '../transaction.ts'
import { findLiveSession, SESSION_COLUMNS } from './live-session.ts'
import { mayHaveLost } from './lost-rotation.ts'
import { isStale, presentMembership, refused, type Presented, type ValidationDeps } from './validation.ts'

export async function validateUser(
  deps: ValidationDeps,
  { token, organization, organizations = false, audience, requestId }: Presented,
) {
  const now = deps.clock()
  const claims = await deps.userTokens.verify(token, now)
  // A person's own token is for the API alone; the MCP endpoints want a grant or an API token.
  if (!claims || (audience ?? 'api') !== 'api') throw refused()
  const found = await findLiveSession(deps.db, {
    sessionId: claims.sessionId,
    userId: claims.userId,
    organization,
    organizations,
    now: now.toISOString(),
  })
  if (!found) throw refused()
  const { session, user, membership: member } = found
  if (!isCurrent(session, claims.generation, now) && !(await isLostRotation(deps, session, claims))) {
    await endReplayedSession(deps, session, user, requestId)
    throw refused()
  }
  if (isStale(session.lastUsedAt, now)) {
    await deps.db
      .update(sessions)
      .set({ lastUsedAt: now })
      .where(and(eq(sessions.id, session.id), locally))
  }
  // Only where one is named: a support session never replaces somebody's own organizations.
  const supportSession =
    member === null && organization !== undefined
      ? await findLiveSupportSession(deps, user.id, organization)
      : undefined
  return {
    valid: true as const,
    kind: 'user' as const,
    user: { id: user.id, email: user.email, name: user.name },
    organization:
      supportSession?.organization ??
      (member && { id: member.orgId, name: member.orgName, slug: member.orgSlug }),
    role: supportSession?.level ?? (member && lowerOf(session.roleCap, member.role)),
    carries_app_roles: session.carriesAppRoles,
    membership: member ? presentMembership(member.id, member.role, user, member.timezone) : undefined,
    support_session_id: supportSession?.id,
    scopes: null,
    audiences: ['api' as const],
    expires_at: claims.expiresAt.toISOString(),
    session_id: session.id,
    session_generation: claims.generation,
    organizations: found.organizations,
  }
}

type Session = Pick<typeof sessions.$inferSelect, keyof typeof SESSION_COLUMNS>

function isCurrent(session: Session, generation: number, now: Date): boolean {
  if (generation === session.generation) return true
  const graceEnds = session.rotatedAt.getTime() + SESSION_ROTATION_GRACE_SECONDS * 1000
  return generation === session.generation - 1 && now.getTime() < graceEnds
}

/** Its rotation was lost with the database's tail: the session goes on from there. */
async function isLostRotation(
  { db, clock }: ValidationDeps,
  session: Session,
  { generation, issuedAt }: { readonly generation: number; readonly issuedAt: Date },
): Promise<boolean> {
  if (!(await mayHaveLost(db, session, { generation, issuedAt }))) return false
  const [mine] = await db
    .update(sessions)
    .set({ generation, rotatedAt: clock() })
    .where(and(eq(sessions.id, session.id), eq(sessions.generation, session.generation)))
    .returning({ id: sessions.id })
  if (mine) return true
  // Of several requests at once with the same token, one does it for all.
  const [after] = await db
    .select(SESSION_COLUMNS)
    .from(sessions)
    .where(and(eq(sessions.id, session.id), isNull(sessions.endedAt)))
  return after !== undefined && isCurrent(after, generation, clock())
}

/** An outdated token after its grace is held by two; nobody can tell which of them is honest, so both lose it. */
async function endReplayedSession(
  deps: ValidationDeps,
  session: Session,
  user: Pick<typeof users.$inferSelect, 'id' | 'name'>,
  requestId: string,
): Promise<void> {
  await withTransaction(deps.db, async (tx) => {
    await tx.update(sessions).set({ endedAt: deps.clock() }).where(eq(sessions.id, session.id))
    recordEnding(tx, 'session', [session])
    const current = await currentMembership(tx, user.id, session.orgId)
    if (!current) return
    const actor = { kind: 'user' as const, userId: user.id, userName: user.name, requestId }
    await recordAudit(tx, deps.clock, actor, { orgId: current.org.id, action: 'session.reused' })
  })
}
