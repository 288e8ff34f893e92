/** Whose API token this is, by its secret or, behind an assertion, by its id. */
import { locally } from '../../../db/commit-locally.ts'
import { and, eq, isNull, lt, or, sql } from '../../../db/drizzle.ts'
import { apiTokens, memberships, organizations, users } from '../../../db/schema.ts'
import { UNKNOWN_CREDENTIAL_SECONDS } from '../../contracts/limits.ts'
import { lowerOf } from '../../contracts/roles.ts'
import { apiTokenHash } from '../../trust/api-token.ts'
import { refusedCredentials } from '../../trust/refused-credentials.ts'
import { callLimitValues, countingCall, notCounting, type Counting } from '../count-call.ts'
import { preparedQuery } from '../prepared-query.ts'
import { scopesOf } from './api-token-rows.ts'
import { USER_COLUMNS } from './live-session.ts'
import {
  isStale,
  matchOrganization,
  ORGANIZATION_COLUMNS,
  presentMembership,
  refused,
  type Presented,
  type ValidationDeps,
} from './validation.ts'

export async function validateApiToken(deps: ValidationDeps, { token, organization, audience }: Presented) {
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

type ById = { readonly orgId: string; readonly tokenId: string }

/** By its id, for whoever was let in with it a moment ago; refused where it has ended. */
export const liveTokenById = (
  deps: Pick<ValidationDeps, 'db' | 'clock' | 'keyEpoch'>,
  { orgId, tokenId }: ById,
) => liveToken(deps, tokenById, { orgId, tokenId, keyEpoch: deps.keyEpoch })

/** What an API token opens at this moment, by its id; refused where it has ended. */
export async function findTokenRights(deps: Pick<ValidationDeps, 'db' | 'clock' | 'keyEpoch'>, token: ById) {
  const { row, role, user } = await liveTokenById(deps, token)
  return { user, role, scopes: scopesOf(row), audiences: row.audiences, carriesAppRoles: row.carriesAppRoles }
}

/** A secret that opened nothing a moment ago is not looked for again: none that does is ever found out by asking for it. */
const unknownSecrets = refusedCredentials()

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

/** What a validation needs to know of a token. */
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

const earlier = (one: Date | null, other: Date | null): Date | null =>
  one && other ? (one < other ? one : other) : (one ?? other)
