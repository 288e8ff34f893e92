/** Its row and its user stay, for the activity and the audit trail to name; its client and credentials are gone. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { machineAgentCredentials, machineAgents, platformOauthClients } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { endGrants } from '../grants/index.ts'
import { recordEnding } from '../record-ending.ts'
import { isStanding } from './standing-grant.ts'

/** The caller has locked it and writes the audit row. */
export async function endMachineAgent(
  tx: Transaction,
  clock: Clock,
  agent: Pick<typeof machineAgents.$inferSelect, 'id' | 'orgId' | 'clientId'>,
): Promise<void> {
  const now = clock()
  await tx.update(machineAgents).set({ removedAt: now }).where(eq(machineAgents.id, agent.id))
  await tx
    .update(machineAgentCredentials)
    .set({ revokedAt: now })
    .where(and(eq(machineAgentCredentials.agentId, agent.id), isNull(machineAgentCredentials.revokedAt)))
  await tx.delete(platformOauthClients).where(eq(platformOauthClients.clientId, agent.clientId))
  recordEnding(tx, 'machine_agent', [agent])
  await endGrants(tx, clock, isStanding(agent.id), 'agent_removed')
}
