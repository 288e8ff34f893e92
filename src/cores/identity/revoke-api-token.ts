import { and, eq, isNull } from '../../../db/drizzle.ts'
import { apiTokens } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { atLeast } from '../../contracts/roles.ts'
import { recordAudit } from '../audit/index.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'

export const revokeApiToken =
  ({ db, clock }: Storage): Handler<'revokeApiToken'> =>
  (principal, { token_id }) =>
    withTransaction(db, async (tx) => {
      const member = requireMember(principal)
      const { orgId } = member
      const [row] = await tx
        .update(apiTokens)
        .set({ revokedAt: clock() })
        .where(
          and(
            eq(apiTokens.orgId, orgId),
            eq(apiTokens.id, token_id),
            // For everybody else a colleague's token does not exist.
            atLeast(member.role, 'admin') ? undefined : eq(apiTokens.userId, member.userId),
            isNull(apiTokens.revokedAt),
          ),
        )
        .returning()
      if (!row) throw notFound()
      const subject = `${row.name} (${row.startsWith}…)`
      await recordAudit(tx, clock, member, { orgId, action: 'token.revoked', subject })
      return {}
    })
