import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { machineAgents, platformAccessGrants } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { write, type Verb } from '../verb.ts'
import { endGrant } from './end-grant.ts'
import type { LivenessDeps } from './live-grant.ts'
import { isManageable } from './grant-filters.ts'

export const revokeGrant: Verb<'revokeGrant', LivenessDeps> = write(
  {},
  async ({ tx, clock, member, userId }, { grant_id }) => {
    const [found] = await tx
      .select({ userId: platformAccessGrants.userId, agentId: platformAccessGrants.machineAgentId })
      .from(platformAccessGrants)
      .where(isManageable(tx, member, grant_id))
    if (!found) throw notFound()
    const reason = found.userId === userId ? 'disconnected' : 'revoked'
    const id = found.agentId === null ? grant_id : await currentGrant(tx, found.agentId)
    if (id === undefined || !(await endGrant(tx, clock, member, id, reason))) throw notFound()
    return {}
  },
)

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
