import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { machineAgents, platformAccessGrants } from '../../../db/schema.ts'
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
        .select({ userId: platformAccessGrants.userId, agentId: platformAccessGrants.machineAgentId })
        .from(platformAccessGrants)
        .where(isManageable(tx, member, grant_id))
      if (!found) throw notFound()
      const reason = found.userId === member.userId ? 'disconnected' : 'revoked'
      const id = found.agentId === null ? grant_id : await currentGrant(tx, found.agentId)
      if (id === undefined || !(await endGrant(tx, deps.clock, member, id, reason))) throw notFound()
      return {}
    })

/** Of a machine agent: a revoked credential has put another in place of the one that somebody saw. */
async function currentGrant(tx: Transaction, agentId: string): Promise<string | undefined> {
  // Whoever replaces it holds the agent.
  await tx
    .select({ id: machineAgents.id })
    .from(machineAgents)
    .where(eq(machineAgents.id, agentId))
    .for('update')
  const [grant] = await tx
    .select({ id: platformAccessGrants.id })
    .from(platformAccessGrants)
    .where(and(eq(platformAccessGrants.machineAgentId, agentId), isNull(platformAccessGrants.revokedAt)))
  return grant?.id
}
