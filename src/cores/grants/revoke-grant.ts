import { platformAccessGrants } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { endGrant } from './end-grant.ts'
import type { LivenessDeps } from './live-grant.ts'
import { isManageable } from './grant-filters.ts'

export const revokeGrant =
  (deps: LivenessDeps): Handler<'revokeGrant'> =>
  (principal, { grant_id }) =>
    withTransaction(deps.db, async (tx) => {
      const member = requireMember(principal)
      const [found] = await tx
        .select({ userId: platformAccessGrants.userId })
        .from(platformAccessGrants)
        .where(isManageable(member, grant_id))
      if (!found) throw notFound()
      const reason = found.userId === member.userId ? 'disconnected' : 'revoked'
      if (!(await endGrant(tx, deps.clock, member, grant_id, reason))) throw notFound()
      return {}
    })
