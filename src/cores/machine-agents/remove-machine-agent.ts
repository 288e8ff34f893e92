/** Its row and its user stay, for the activity and the audit trail to name; its client and credentials are gone. */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { machineAgentCredentials, machineAgents, platformOauthClients } from '../../../db/schema.ts'
import { endGrants } from '../grants/index.ts'
import { recordEnding } from '../record-ending.ts'
import { write, type Verb } from '../verb.ts'
import { lockManageable } from './machine-agent-rows.ts'
import { isStanding } from './standing-grant.ts'

export const removeMachineAgent: Verb<'removeMachineAgent'> = write(
  { author: 'viewer', audit: 'machine_agent.removed' },
  async ({ tx, clock, member, audit }, { machine_agent_id }) => {
    const agent = await lockManageable(tx, member, machine_agent_id)
    const now = clock()
    await tx.update(machineAgents).set({ removedAt: now }).where(eq(machineAgents.id, agent.id))
    const revoked = await tx
      .update(machineAgentCredentials)
      .set({ revokedAt: now })
      .where(and(eq(machineAgentCredentials.agentId, agent.id), isNull(machineAgentCredentials.revokedAt)))
      .returning({ id: machineAgentCredentials.id })
    recordEnding(
      tx,
      'machine_credential',
      revoked.map(({ id }) => ({ id, orgId: agent.orgId })),
    )
    await tx.delete(platformOauthClients).where(eq(platformOauthClients.clientId, agent.clientId))
    await endGrants(tx, clock, isStanding(agent.id), 'agent_removed')
    await audit('machine_agent.removed', agent.name)
    return {}
  },
)
