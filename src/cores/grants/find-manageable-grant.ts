/** A grant that somebody may end; of a machine agent the one that it has now. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { machineAgents, platformAccessGrants } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { MemberPrincipal } from '../principal.ts'
import { isManageable } from './grant-filters.ts'

type Found = Pick<typeof platformAccessGrants.$inferSelect, 'id' | 'userId' | 'clientId' | 'clientName'>

export async function findManageableGrant(
  tx: Transaction,
  member: MemberPrincipal,
  grantId: string,
): Promise<Found> {
  const { id, userId, clientId, clientName, machineAgentId } = platformAccessGrants
  const [found] = await tx
    .select({ id, userId, clientId, clientName, machineAgentId })
    .from(platformAccessGrants)
    .where(isManageable(tx, member, grantId))
  if (!found) throw notFound()
  if (found.machineAgentId === null) return found
  const current = await currentGrant(tx, found.machineAgentId)
  if (current === undefined) throw notFound()
  return { ...found, id: current }
}

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
