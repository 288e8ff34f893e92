/**
 * Whose token this is, and what it may do at this moment. Membership, role and switches are read on every call,
 * so a removal, a lowered role or "agents off" acts on the very next one.
 */
import { locally } from '../../../db/commit-locally.ts'
import { and, eq, isNull, lt, or, sql } from '../../../db/drizzle.ts'
import { apiTokens, memberships, organizations, sessions, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { SESSION_ROTATION_GRACE_SECONDS, UNKNOWN_CREDENTIAL_SECONDS } from '../../contracts/limits.ts'
import { lowerOf, type Role } from '../../contracts/roles.ts'
import type { Audience } from '../../contracts/scopes.ts'
import type { PersonValidation, WorkloadValidation } from '../../contracts/tokens.ts'
import { ACTOR_ASSERTION_TYPE, type Actor, type ActorAssertions } from '../../trust/actor-assertion.ts'
import { apiTokenHash, isApiToken } from '../../trust/api-token.ts'
import { jwtType } from '../../trust/hs256.ts'
import { refusedCredentials } from '../../trust/refused-credentials.ts'
import { isServiceAccountToken } from '../../trust/service-account-token.ts'
import { CLI_TOKEN_TYPE, USER_TOKEN_TYPE } from '../../trust/user-token.ts'
import { recordAudit } from '../record-audit.ts'
import { recordEnding } from '../record-ending.ts'
import { callLimitValues, countingCall, notCounting, type Counting } from '../count-call.ts'
import { countGrantCall, findLiveGrant, grantedScopes, touchGrant } from '../grants/index.ts'
import { findLiveSupportSession } from '../support-sessions/index.ts'
import { findLiveSession, SESSION_COLUMNS, USER_COLUMNS } from './live-session.ts'
import { mayHaveLost } from './lost-rotation.ts'
import { preparedQuery } from '../prepared-query.ts'
import { withTransaction } from '../transaction.ts'
import { scopesOf } from './api-token-rows.ts'
import type { WithWorkloads } from '../workloads/index.ts'
import { currentMembership } from '../organizations/index.ts'
import type { CliDeps } from './cli-sessions.ts'
import type { SessionDeps } from './start-session.ts'
import { validateWorkload } from './validate-workload.ts'

export type ValidationDeps = SessionDeps &
  CliDeps &
  WithWorkloads & {
    /** Undefined where no MCP server belongs to this installation. */
    readonly actorAssertions: ActorAssertions | undefined
    readonly keyEpoch: string
    readonly enterpriseAuth: boolean
    readonly mcpCallsPerMinute: number
  }

export type Presented = {
  token: string
  /** Id or slug of the organization that the request names. */
  organization?: string | undefined
  /** Whether to list all organizations of a person as well. */
  organizations?: boolean | undefined
  audience?: Audience | undefined
  requestId: string
  /** Of whoever shows it. */
  address: string
}

/** With the generation of a session, which stays inside the auth service. */
export type TokenValidation =
  | (PersonValidation & { session_generation?: number | undefined })
  | WorkloadValidation

/** "Last used" is for people who tidy up: a minute is precise enough, and most calls then write nothing. */
const LAST_USED_PRECISION_MS = 60_000

const refused = () => new ServiceError('UNAUTHENTICATED')

export const validateToken =
  (deps: ValidationDeps) =>
  async (presented: Presented): Promise<TokenValidation> => {
    if (isApiToken(presented.token)) return validateApiToken(deps, presented)
    switch (jwtType(presented.token)) {
      case USER_TOKEN_TYPE:
        return validateUser(deps, presented)
      case CLI_TOKEN_TYPE:
        return validateCliSession(deps, presented)
      case ACTOR_ASSERTION_TYPE:
        return validateActor(deps, presented)
      case undefined:
      default:
        // The cluster gives its tokens no type of their own.
        if (isServiceAccountToken(presented.token)) return validateWorkload(deps, presented)
        throw refused()
    }
  }

async function validateUser(
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

/** What a validation needs to know, as of a session. */
const TOKEN_COLUMNS = {
  orgId: apiTokens.orgId,
  id: apiTokens.id,
  roleCap: apiTokens.roleCap,
  carriesAppRoles: apiTokens.carriesAppRoles,
  scopes: apiTokens.scopes,
  scopeEdition: apiTokens.scopeEdition,
  audiences: apiTokens.audiences,
  expiresAt: apiTokens.expiresAt,
  lastUsedAt: apiTokens.lastUsedAt,
  previousHash: apiTokens.previousHash,
  previousUntil: apiTokens.previousUntil,
  previousLastUsedAt: apiTokens.previousLastUsedAt,
}
const ORGANIZATION_COLUMNS = {
  id: organizations.id,
  name: organizations.name,
  slug: organizations.slug,
  agentsEnabled: organizations.agentsEnabled,
  timezone: organizations.timezone,
}

/** What an installation with hosted auth knows of its members, because it has no rows of them. */
const presentMembership = (
  id: string,
  role: Role,
  user: Pick<typeof users.$inferSelect, 'emailVerifiedAt'>,
  timezone: string,
) => ({
  id,
  role,
  email_verified: user.emailVerifiedAt !== null,
  timezone,
})

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

/** For the API of its one organization, as its person; never a session. */
async function validateCliSession(deps: ValidationDeps, { token, organization, audience }: Presented) {
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

async function validateApiToken(deps: ValidationDeps, { token, organization, audience }: Presented) {
  const isCall = audience !== undefined && audience !== 'api'
  const secretHash = apiTokenHash(deps, token)
  const found = await liveToken(deps, isCall ? countedTokenBySecret : tokenBySecret, {
    secretHash,
    ...(isCall && callLimitValues(deps)),
  })
  if (audience !== undefined && !found.row.audiences.includes(audience)) throw refused()
  if (isCall && !found.agentsEnabled) throw refused()
  const now = deps.clock()
  const isPrevious = found.row.previousHash === secretHash
  const used = isPrevious ? 'previousLastUsedAt' : 'lastUsedAt'
  if (isStale(found.row[used], now)) {
    await deps.db
      .update(apiTokens)
      .set({ [used]: now })
      .where(
        and(
          eq(apiTokens.orgId, found.row.orgId),
          eq(apiTokens.id, found.row.id),
          // It may have been rotated since.
          eq(isPrevious ? apiTokens.previousHash : apiTokens.secretHash, secretHash),
          or(isNull(apiTokens[used]), lt(apiTokens[used], now)),
          locally,
        ),
      )
  }
  // What is made with a rotated-out value ends with that value, and so does an answer that somebody keeps.
  const ends = isPrevious ? earlier(found.row.previousUntil, found.row.expiresAt) : found.row.expiresAt
  return {
    valid: true as const,
    kind: 'api_token' as const,
    user: found.user,
    ...matchOrganization(found, organization),
    carries_app_roles: found.row.carriesAppRoles,
    scopes: scopesOf(found.row),
    audiences: found.row.audiences,
    expires_at: ends?.toISOString() ?? null,
    token_id: found.row.id,
    retry_after_seconds: found.retryAfterSeconds ?? undefined,
  }
}

/** The agent's credential behind the assertion is read again: it may have ended in the last 60 seconds. */
async function validateActor(deps: ValidationDeps, { token, organization, audience }: Presented) {
  const actor = await deps.actorAssertions?.verify(token, deps.clock())
  if (!actor) throw refused()
  if (actor.grantId !== undefined)
    return validateGrant(deps, actor, actor.grantId, { organization, audience })
  if (actor.tokenId === undefined || (audience ?? 'api') !== 'api') throw refused()
  const found = await liveToken(deps, tokenById, {
    orgId: actor.orgId,
    tokenId: actor.tokenId,
    keyEpoch: deps.keyEpoch,
  })
  if (found.user.id !== actor.userId || !found.agentsEnabled) throw refused()
  return {
    valid: true as const,
    kind: 'actor' as const,
    user: found.user,
    ...matchOrganization(found, organization),
    carries_app_roles: found.row.carriesAppRoles,
    // An assertion never opens more than its token does.
    scopes: actor.scopes.filter((scope) => scopesOf(found.row)?.includes(scope) ?? true),
    audiences: ['api' as const],
    expires_at: actor.expiresAt.toISOString(),
    token_id: found.row.id,
    client_id: actor.clientId,
  }
}

async function validateGrant(
  deps: ValidationDeps,
  actor: Actor & { expiresAt: Date },
  grantId: string,
  { organization, audience = 'api' }: Pick<Presented, 'organization' | 'audience'>,
) {
  // The MCP server names its endpoint, once for every call; for what is called behind it, the gateway names the API.
  const isCall = audience !== 'api'
  const found = await (isCall ? countGrantCall : findLiveGrant)(deps, grantId)
  if (!found || found.user.id !== actor.userId || found.organization.id !== actor.orgId) throw refused()
  if (isCall && found.grant.resource !== audience) throw refused()
  await touchGrant(deps, found.grant)
  const granted = grantedScopes(found.grant)
  return {
    valid: true as const,
    kind: 'actor' as const,
    // What stands in the row of a machine agent is nobody's address.
    user: found.machineAgent ? { ...found.user, email: null } : found.user,
    ...matchOrganization(found, organization),
    carries_app_roles: found.grant.carriesAppRoles,
    // What was approved and not yet removed; the agent's token may be older than that.
    scopes: actor.scopes.filter((scope) => granted.includes(scope)),
    audiences: ['api' as const],
    expires_at: actor.expiresAt.toISOString(),
    client_id: found.grant.clientId,
    client_name: found.grant.clientName ?? undefined,
    grant_id: grantId,
    machine_agent: found.machineAgent
      ? { id: found.machineAgent.id, owner_id: found.machineAgent.ownerId, scopes: [...granted] }
      : undefined,
    sources: found.grant.sources ?? undefined,
    retry_after_seconds: found.retryAfterSeconds ?? undefined,
  }
}

/** Any organization but the token's own does not exist for it. */
function matchOrganization(
  {
    organization,
    role,
    membership,
  }: Pick<PersonValidation, 'membership'> & {
    organization: NonNullable<PersonValidation['organization']>
    role: Role
  },
  requested: string | undefined,
) {
  const isRequested =
    requested === undefined || requested === organization.id || requested === organization.slug
  return isRequested ? { organization, role, membership } : { organization: null, role: null }
}

const tokenQuery = ({ start, retryAfterSeconds }: Counting, which: ReturnType<typeof and>) =>
  start
    .select({
      row: TOKEN_COLUMNS,
      role: memberships.role,
      membershipId: memberships.id,
      user: USER_COLUMNS,
      org: ORGANIZATION_COLUMNS,
      retryAfterSeconds,
    })
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

const hasSecret = or(
  eq(apiTokens.secretHash, sql.placeholder('secretHash')),
  and(
    eq(apiTokens.previousHash, sql.placeholder('secretHash')),
    sql`${apiTokens.previousUntil} > ${sql.placeholder('now')}::timestamptz`,
  ),
)
const tokenBySecret = preparedQuery((db) => tokenQuery(notCounting(db), hasSecret).prepare('token_by_secret'))
const countedTokenBySecret = preparedQuery((db) => {
  const token = sql`select ${apiTokens.id} from ${apiTokens} where ${hasSecret}`
  return tokenQuery(countingCall(db, token, sql`${apiTokens.id}`), hasSecret).prepare('counted_token')
})
const tokenById = preparedQuery((db) =>
  tokenQuery(
    notCounting(db),
    and(
      eq(apiTokens.orgId, sql.placeholder('orgId')),
      eq(apiTokens.id, sql.placeholder('tokenId')),
      // Found by its value it is that of our secrets; by its id it may be one from before a rotation.
      or(isNull(apiTokens.keyEpoch), eq(apiTokens.keyEpoch, sql.placeholder('keyEpoch'))),
    ),
  ).prepare('token_by_id'),
)

/** A secret that opened nothing a moment ago is not looked for again: none that does is ever found out by asking for it. */
const unknownSecrets = refusedCredentials()

/** What an API token opens at this moment, by its id; refused where it has ended. */
export async function findTokenRights(
  deps: Pick<ValidationDeps, 'db' | 'clock' | 'keyEpoch'>,
  { orgId, tokenId }: { readonly orgId: string; readonly tokenId: string },
) {
  const { row, role, user } = await liveToken(deps, tokenById, { orgId, tokenId, keyEpoch: deps.keyEpoch })
  return { user, role, scopes: scopesOf(row), audiences: row.audiences, carriesAppRoles: row.carriesAppRoles }
}

async function liveToken(
  { db, clock }: Pick<ValidationDeps, 'db' | 'clock'>,
  query: typeof tokenBySecret,
  which: Record<string, string | number>,
) {
  const digest = String(which['secretHash'] ?? '')
  if (unknownSecrets.pausedSeconds(digest) > 0) throw refused()
  const [found] = await query(db).execute({ ...which, now: clock().toISOString() })
  if (!found) {
    if (digest !== '') unknownSecrets.refuse(digest, UNKNOWN_CREDENTIAL_SECONDS, true)
    throw refused()
  }
  const { row, role, membershipId, user, org, retryAfterSeconds } = found
  return {
    row,
    retryAfterSeconds,
    role: lowerOf(row.roleCap, role),
    user: { id: user.id, email: user.email, name: user.name },
    organization: { id: org.id, name: org.name, slug: org.slug },
    agentsEnabled: org.agentsEnabled,
    membership: presentMembership(membershipId, role, user, org.timezone),
  }
}

const earlier = (one: Date | null, other: Date | null): Date | null =>
  one && other ? (one < other ? one : other) : (one ?? other)

const isStale = (lastUsedAt: Date | null, now: Date): boolean =>
  lastUsedAt === null || now.getTime() - lastUsedAt.getTime() > LAST_USED_PRECISION_MS
