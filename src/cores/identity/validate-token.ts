/**
 * Whose token is this, and what may it do at this moment? Membership, role and switches are read anew on every call,
 * so a removal, a lowered role or "agents off" acts on the very next one.
 */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, gt, isNull, lt, or, sql } from '../../../db/drizzle.ts'
import { apiTokens, memberships, organizations, sessions, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { SESSION_ROTATION_GRACE_SECONDS } from '../../contracts/limits.ts'
import { lowerOf, type Role } from '../../contracts/roles.ts'
import type { Audience, Scope } from '../../contracts/scopes.ts'
import type { Actor, ActorAssertions } from '../../trust/actor-assertion.ts'
import { isApiToken } from '../../trust/api-token.ts'
import { jwtType } from '../../trust/hs256.ts'
import { ACTOR_ASSERTION_TYPE } from '../../trust/actor-assertion.ts'
import { USER_TOKEN_TYPE } from '../../trust/user-token.ts'
import { recordAudit } from '../audit/index.ts'
import { findLiveGrant, touchGrant } from '../grants/index.ts'
import { findLiveVisit } from '../support-access/index.ts'
import { builtOnce } from '../built-once.ts'
import { withTransaction } from '../transaction.ts'
import { apiTokenHash } from './api-tokens.ts'
import { workplaceOf, type SessionNeeds } from './sessions.ts'

export type ValidationNeeds = SessionNeeds & {
  /** Undefined where no MCP server belongs to this installation. */
  readonly actorAssertions: ActorAssertions | undefined
  readonly keyEpoch: string
}

export type Presented = {
  token: string
  /** Id or slug of the organization a person means. */
  organization?: string | undefined
  audience?: Audience | undefined
  requestId: string
}

export type Validated = {
  kind: 'user' | 'api_token' | 'actor'
  user: { id: string; email: string; name: string }
  organization: { id: string; name: string; slug: string } | null
  role: Role | null
  scopes: Scope[] | null
  audiences: Audience[]
  expiresAt: Date | null
  tokenId?: string | undefined
  sessionId?: string | undefined
  sessionGeneration?: number | undefined
  clientId?: string | undefined
  grantId?: string | undefined
  /** A visit of support staff, in an organization that is not theirs. */
  supportSessionId?: string | undefined
  /** What the grant was given for; undefined: all that its person may ask. */
  sources?: readonly string[] | undefined
}

/** "Last used" is for people who tidy up: a minute is precise enough, and most calls then write nothing. */
const LAST_USED_PRECISION_MS = 60_000

const refused = () => new ServiceError('UNAUTHENTICATED')

export const validate =
  (needs: ValidationNeeds) =>
  async (presented: Presented): Promise<Validated> => {
    if (isApiToken(presented.token)) return validateApiToken(needs, presented)
    switch (jwtType(presented.token)) {
      case USER_TOKEN_TYPE:
        return validateUser(needs, presented)
      case ACTOR_ASSERTION_TYPE:
        return validateActor(needs, presented)
      default:
        throw refused()
    }
  }

async function validateUser(needs: ValidationNeeds, { token, organization, audience, requestId }: Presented) {
  const now = needs.clock()
  const claims = await needs.userTokens.verify(token, now)
  // A person's own token is for the API alone; the MCP endpoints want a grant or an API token.
  if (!claims || (audience ?? 'api') !== 'api') throw refused()
  const membership = needs.db
    .select({
      orgId: organizations.id,
      orgName: sql<string>`${organizations.name}`.as('org_name'),
      orgSlug: organizations.slug,
      role: memberships.role,
    })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.orgId))
    .where(
      and(
        eq(memberships.userId, sessions.userId),
        organization === undefined
          ? undefined
          : or(eq(organizations.id, organization), eq(organizations.slug, organization)),
      ),
    )
    // The one last chosen, or else the first one joined: being removed from one does not hide the others.
    .orderBy(sql`${memberships.orgId} is distinct from ${sessions.orgId}`, memberships.joinedAt)
    .limit(1)
    .as('membership')
  const [row] = await needs.db
    .select({ session: sessions, user: users, membership: { ...membership._.selectedFields } })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .leftJoinLateral(membership, sql`true`)
    .where(
      and(
        eq(sessions.id, claims.sessionId),
        eq(sessions.userId, claims.userId),
        isNull(sessions.endedAt),
        gt(sessions.expiresAt, now),
      ),
    )
  if (!row) throw refused()
  const { session, user } = row
  if (!isCurrent(session, claims.generation, now)) {
    await endReplayedSession(needs, session, user, requestId)
    throw refused()
  }
  if (isStale(session.lastUsedAt, now)) {
    await needs.db.update(sessions).set({ lastUsedAt: now }).where(eq(sessions.id, session.id))
  }
  const member = row.membership?.orgId == null ? null : row.membership
  // Only where one is named: a visit never takes the place of somebody's own organizations.
  const visit =
    member === null && organization !== undefined
      ? await findLiveVisit(needs, user.id, organization)
      : undefined
  return {
    kind: 'user' as const,
    user: { id: user.id, email: user.email, name: user.name },
    organization:
      visit?.organization ?? (member && { id: member.orgId, name: member.orgName, slug: member.orgSlug }),
    role: visit?.level ?? (member && member.role),
    supportSessionId: visit?.id,
    scopes: null,
    audiences: ['api' as const],
    expiresAt: claims.expiresAt,
    sessionId: session.id,
    sessionGeneration: claims.generation,
  }
}

type Session = typeof sessions.$inferSelect

function isCurrent(session: Session, generation: number, now: Date): boolean {
  if (generation === session.generation) return true
  const graceEnds = session.rotatedAt.getTime() + SESSION_ROTATION_GRACE_SECONDS * 1000
  return generation === session.generation - 1 && now.getTime() < graceEnds
}

/** An outdated token after its grace is in two hands; nobody can tell which hand is honest, so both lose it. */
async function endReplayedSession(
  needs: ValidationNeeds,
  session: Session,
  user: typeof users.$inferSelect,
  requestId: string,
): Promise<void> {
  await withTransaction(needs.db, async (tx) => {
    await tx.update(sessions).set({ endedAt: needs.clock() }).where(eq(sessions.id, session.id))
    const place = await workplaceOf(tx, user.id, session.orgId)
    if (!place) return
    const by = { kind: 'user' as const, userId: user.id, userName: user.name, requestId }
    await recordAudit(tx, needs.clock, by, { orgId: place.org.id, action: 'session.reused' })
  })
}

async function validateApiToken(needs: ValidationNeeds, { token, organization, audience }: Presented) {
  const found = await liveToken(needs, tokenBySecret, { secretHash: apiTokenHash(needs, token) })
  if (audience !== undefined && !found.row.audiences.includes(audience)) throw refused()
  if (audience !== undefined && audience !== 'api' && !found.agentsEnabled) throw refused()
  const now = needs.clock()
  if (isStale(found.row.lastUsedAt, now)) {
    await needs.db
      .update(apiTokens)
      .set({ lastUsedAt: now })
      .where(
        and(
          eq(apiTokens.orgId, found.row.orgId),
          eq(apiTokens.id, found.row.id),
          or(isNull(apiTokens.lastUsedAt), lt(apiTokens.lastUsedAt, now)),
        ),
      )
  }
  return {
    kind: 'api_token' as const,
    user: found.user,
    ...placeMeant(found, organization),
    scopes: found.row.scopes,
    audiences: found.row.audiences,
    expiresAt: found.row.expiresAt,
    tokenId: found.row.id,
  }
}

/** The agent's credential is looked at again behind the assertion: it may have ended in the last 60 seconds. */
async function validateActor(needs: ValidationNeeds, { token, organization, audience }: Presented) {
  const actor = await needs.actorAssertions?.verify(token, needs.clock())
  if (!actor || (audience ?? 'api') !== 'api') throw refused()
  if (actor.grantId !== undefined) return validateGrant(needs, actor, actor.grantId, organization)
  if (actor.tokenId === undefined) throw refused()
  const found = await liveToken(needs, tokenById, { orgId: actor.orgId, tokenId: actor.tokenId })
  if (found.user.id !== actor.userId || !found.agentsEnabled) throw refused()
  return {
    kind: 'actor' as const,
    user: found.user,
    ...placeMeant(found, organization),
    // An assertion never opens more than its token does.
    scopes: actor.scopes.filter((scope) => found.row.scopes?.includes(scope) ?? true),
    audiences: ['api' as const],
    expiresAt: actor.expiresAt,
    tokenId: found.row.id,
    clientId: actor.clientId,
  }
}

async function validateGrant(
  needs: ValidationNeeds,
  actor: Actor & { expiresAt: Date },
  grantId: string,
  organization: string | undefined,
) {
  const found = await findLiveGrant(needs, grantId)
  if (!found || found.user.id !== actor.userId || found.organization.id !== actor.orgId) throw refused()
  await touchGrant(needs, found.grant)
  return {
    kind: 'actor' as const,
    user: found.user,
    ...placeMeant(found, organization),
    // What was approved and not yet taken away; the agent's token may be older than that.
    scopes: actor.scopes.filter((scope) => found.grant.scopes.includes(scope)),
    audiences: ['api' as const],
    expiresAt: actor.expiresAt,
    clientId: found.grant.clientId,
    grantId,
    sources: found.grant.sources ?? undefined,
  }
}

/** Naming another organization than the token's own: as unknown as one that does not exist. */
function placeMeant(
  { organization, role }: { organization: NonNullable<Validated['organization']>; role: Role },
  meant: string | undefined,
) {
  const isMeant = meant === undefined || meant === organization.id || meant === organization.slug
  return isMeant ? { organization, role } : { organization: null, role: null }
}

const tokenQuery = (db: Handle, which: ReturnType<typeof and>) =>
  db
    .select({ row: apiTokens, role: memberships.role, user: users, org: organizations })
    .from(apiTokens)
    .innerJoin(
      memberships,
      and(eq(memberships.orgId, apiTokens.orgId), eq(memberships.userId, apiTokens.userId)),
    )
    .innerJoin(users, eq(users.id, apiTokens.userId))
    .innerJoin(organizations, eq(organizations.id, apiTokens.orgId))
    .where(
      and(
        which,
        isNull(apiTokens.revokedAt),
        or(isNull(apiTokens.expiresAt), sql`${apiTokens.expiresAt} > ${sql.placeholder('now')}::timestamptz`),
      ),
    )

const tokenBySecret = builtOnce((db) =>
  tokenQuery(db, eq(apiTokens.secretHash, sql.placeholder('secretHash'))).prepare('token_by_secret'),
)
const tokenById = builtOnce((db) =>
  tokenQuery(
    db,
    and(eq(apiTokens.orgId, sql.placeholder('orgId')), eq(apiTokens.id, sql.placeholder('tokenId'))),
  ).prepare('token_by_id'),
)

async function liveToken(
  { db, clock }: ValidationNeeds,
  query: typeof tokenBySecret,
  which: Record<string, string>,
) {
  const [found] = await query(db).execute({ ...which, now: clock().toISOString() })
  if (!found) throw refused()
  const { row, role, user, org } = found
  return {
    row,
    role: lowerOf(row.roleCap, role),
    user: { id: user.id, email: user.email, name: user.name },
    organization: { id: org.id, name: org.name, slug: org.slug },
    agentsEnabled: org.agentsEnabled,
  }
}

const isStale = (lastUsedAt: Date | null, now: Date): boolean =>
  lastUsedAt === null || now.getTime() - lastUsedAt.getTime() > LAST_USED_PRECISION_MS
