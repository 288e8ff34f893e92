import type { Transaction } from '../../../db/connect.ts'
import { and, count, eq } from '../../../db/drizzle.ts'
import { apiTokens } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { TOKENS_PER_PERSON } from '../../contracts/limits.ts'
import type { Principal } from '../../contracts/operation.ts'
import { atLeast } from '../../contracts/roles.ts'
import { AUDIENCES, type Audience } from '../../contracts/scopes.ts'
import { makeApiToken } from '../../trust/api-token.ts'
import type { MemberPrincipal } from '../principal.ts'
import { write, type Verb } from '../verb.ts'
import { insertApiToken, isLive, presentApiToken, type TokenDeps } from './api-token-rows.ts'

export const createApiToken: Verb<'createApiToken', TokenDeps> = write(
  { author: ['viewer', 'update'], audit: 'token.created' },
  async (context, input) => {
    const { tx, clock, member, orgId, userId } = context
    if (input.role_cap !== undefined && !atLeast(member.role, input.role_cap))
      throw new ServiceError('FORBIDDEN', 'You cannot grant a role above your own')
    const most = await mostRights(tx, member)
    const roleCap = input.role_cap ?? most.roleCap
    // One at a time: a burst stays below the limit.
    const [live] = await tx
      .select({ count: count() })
      .from(apiTokens)
      .where(and(eq(apiTokens.orgId, orgId), eq(apiTokens.userId, userId), isLive(context)))
    if (live!.count >= TOKENS_PER_PERSON) {
      throw new ServiceError(
        'CONFLICT',
        `You already have ${TOKENS_PER_PERSON} API tokens. Revoke one first.`,
      )
    }
    const token = makeApiToken()
    const row = await insertApiToken(tx, context, member, token, {
      parentId: member.tokenId ?? null,
      name: input.name,
      roleCap,
      // One that is capped to viewing reads, whatever its person has or gets on apps.
      carriesAppRoles: most.carriesAppRoles && atLeast(roleCap, 'developer'),
      scopes: input.scopes ?? null,
      audiences: audiencesOf(member, input.audiences),
      expiresAt: expiryOf(member, clock(), input.expires_in_days),
    })
    return { ...presentApiToken(row, member.userName, clock()), token }
  },
)

/** Of a token that is not capped: what its maker may ever do, so that it rises with its person and not above that token. */
async function mostRights(tx: Transaction, { orgId, tokenId }: MemberPrincipal) {
  if (tokenId === undefined) return { roleCap: 'owner', carriesAppRoles: true } as const
  const [parent] = await tx
    .select({ roleCap: apiTokens.roleCap, carriesAppRoles: apiTokens.carriesAppRoles })
    .from(apiTokens)
    .where(and(eq(apiTokens.orgId, orgId), eq(apiTokens.id, tokenId)))
  return parent!
}

/** A token for the API does not make one for the MCP endpoints. */
function audiencesOf(member: Principal, requested: Audience[] | undefined): Audience[] {
  const allowed = member.kind === 'api_token' ? member.audiences : AUDIENCES
  const missing = (requested ?? []).filter((audience) => !allowed.includes(audience))
  if (missing.length === 0) return requested ?? [...allowed]
  throw new ServiceError('FORBIDDEN', 'A token cannot create one with audiences that it does not have', {
    hint: `It lacks ${missing.join(', ')}.`,
  })
}

/** A token created by a token does not outlive it; otherwise a stolen one could make itself permanent. */
function expiryOf(member: Principal, now: Date, days: number | undefined): Date | null {
  const wanted = days === undefined ? null : new Date(now.getTime() + days * 24 * 60 * 60 * 1000)
  if (member.kind !== 'api_token' || member.expiresAt === null) return wanted
  return wanted && wanted < member.expiresAt ? wanted : member.expiresAt
}
