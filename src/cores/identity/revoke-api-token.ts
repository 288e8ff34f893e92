/** Revokes an API token, and those that were made with it. */
import { and, eq } from '../../../db/drizzle.ts'
import { apiTokens } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { atLeast } from '../../contracts/roles.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { revokeApiTokens } from '../api-tokens/index.ts'
import { withTransaction } from '../transaction.ts'

export const revokeApiToken =
  ({ db, clock }: Storage): Handler<'revokeApiToken'> =>
  (principal, { token_id }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      const revoked = await revokeApiTokens(
        tx,
        clock,
        and(
          eq(apiTokens.orgId, orgId),
          eq(apiTokens.id, token_id),
          // For everybody else a colleague's token does not exist.
          atLeast(member.role, 'admin') ? undefined : eq(apiTokens.userId, member.userId),
        ),
      )
      if (revoked.length === 0) throw notFound()
      for (const { name, startsWith } of revoked) {
        const subject = `${name} (${startsWith}…)`
        await recordAudit(tx, clock, member, { orgId, action: 'token.revoked', subject })
      }
      return {}
    })
