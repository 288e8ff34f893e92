/** Blocks a client for one organization, or unblocks it. */
import { and, eq } from '../../../db/drizzle.ts'
import { organizationClientBlocks } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { requireMember } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'

export const blockOauthClient =
  ({ db, clock }: Storage): Handler<'blockOauthClient'> =>
  (principal, { client_id, blocked }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = await lockAuthor(tx, clock, requireMember(principal), 'admin')
      const changed = blocked
        ? await tx
            .insert(organizationClientBlocks)
            .values({ orgId, clientId: client_id, since: clock() })
            .onConflictDoNothing()
            .returning()
        : await tx
            .delete(organizationClientBlocks)
            .where(
              and(
                eq(organizationClientBlocks.orgId, orgId),
                eq(organizationClientBlocks.clientId, client_id),
              ),
            )
            .returning()
      if (changed.length > 0) {
        const action = blocked ? 'client.blocked' : 'client.unblocked'
        await recordAudit(tx, clock, principal, { orgId, action, subject: client_id })
      }
      return {}
    })
