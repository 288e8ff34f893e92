/** Its row and its user stay, for the activity and the audit trail to name; its client and credentials are gone. */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import { machineAgentCredentials, machineAgents, platformOauthClients } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import { endGrants } from '../grants/index.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { lockManageable } from './machine-agent-rows.ts'
import { isStanding } from './standing-grant.ts'

export const removeMachineAgent =
  ({ db, clock }: Storage): Handler<'removeMachineAgent'> =>
  (principal, { machine_agent_id }) =>
    withTransaction(db, async (tx) => {
      const { agent, member } = await lockManageable(tx, clock, requireMember(principal), machine_agent_id)
      const now = clock()
      await tx.update(machineAgents).set({ removedAt: now }).where(eq(machineAgents.id, agent.id))
      await tx
        .update(machineAgentCredentials)
        .set({ revokedAt: now })
        .where(and(eq(machineAgentCredentials.agentId, agent.id), isNull(machineAgentCredentials.revokedAt)))
      await tx.delete(platformOauthClients).where(eq(platformOauthClients.clientId, agent.clientId))
      await endGrants(tx, clock, isStanding(agent.id), 'agent_removed')
      await recordAudit(tx, clock, member, {
        orgId: agent.orgId,
        action: 'machine_agent.removed',
        subject: agent.name,
      })
      return {}
    })
