import { and, count, eq } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { apiTokens, memberships } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { TOKENS_PER_PERSON } from '../../contracts/limits.ts'
import type { Principal } from '../../contracts/operation.ts'
import type { Handler } from '../../contracts/operations.ts'
import { atLeast } from '../../contracts/roles.ts'
import { makeApiToken } from '../../trust/api-token.ts'
import { requireMember } from '../principal.ts'
import type { Keys, Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import { insertApiToken, isLive, presentApiToken } from './api-token-rows.ts'

export const createApiToken =
  (deps: Storage & Keys): Handler<'createApiToken'> =>
  (principal, input) =>
    withTransaction(deps.db, async (tx) => {
      const member = requireMember(principal)
      const { orgId, userId } = member
      await lockMembership(tx, orgId, userId)
      const now = deps.clock()
      const roleCap = input.role_cap ?? (member.role === 'member' ? 'viewer' : member.role)
      if (!atLeast(member.role, roleCap))
        throw new ServiceError('FORBIDDEN', 'You cannot grant a role above your own')
      const [live] = await tx
        .select({ count: count() })
        .from(apiTokens)
        .where(and(eq(apiTokens.orgId, orgId), eq(apiTokens.userId, userId), isLive(deps.clock)))
      if (live!.count >= TOKENS_PER_PERSON) {
        throw new ServiceError(
          'CONFLICT',
          `You already have ${TOKENS_PER_PERSON} API tokens. Revoke one first.`,
        )
      }
      const token = makeApiToken()
      const row = await insertApiToken(tx, deps, member, token, {
        name: input.name,
        roleCap,
        scopes: input.scopes ?? null,
        audiences: input.audiences,
        expiresAt: expiryOf(member, now, input.expires_in_days),
      })
      return { ...presentApiToken(row, member.userName), token }
    })

/** One at a time: a burst stays below the limit, and no token slips past a removal that is under way. */
async function lockMembership(tx: Transaction, orgId: string, userId: string): Promise<void> {
  const [row] = await tx
    .select({ role: memberships.role })
    .from(memberships)
    .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, userId)))
    .for('update')
  if (!row) throw new ServiceError('FORBIDDEN')
}

/** A token created by a token does not outlive it; otherwise a stolen one could make itself permanent. */
function expiryOf(member: Principal, now: Date, days: number | undefined): Date | null {
  const wanted = days === undefined ? null : new Date(now.getTime() + days * 24 * 60 * 60 * 1000)
  if (member.kind !== 'api_token' || member.expiresAt === null) return wanted
  return wanted && wanted < member.expiresAt ? wanted : member.expiresAt
}
