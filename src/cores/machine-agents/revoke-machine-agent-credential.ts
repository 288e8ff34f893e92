import { and, eq } from '../../../db/drizzle.ts'
import { machineAgentCredentials } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { revokeCredentials } from './credential-rows.ts'
import { lockManageable } from './machine-agent-rows.ts'

export const revokeMachineAgentCredential =
  ({ db, clock }: Storage): Handler<'revokeMachineAgentCredential'> =>
  (principal, { machine_agent_id, credential_id }) =>
    withTransaction(db, async (tx) => {
      const { agent, member } = await lockManageable(tx, clock, requireMember(principal), machine_agent_id)
      const [revoked] = await revokeCredentials(
        tx,
        clock,
        and(eq(machineAgentCredentials.agentId, agent.id), eq(machineAgentCredentials.id, credential_id)),
      )
      if (!revoked) throw notFound()
      await recordAudit(tx, clock, member, {
        orgId: agent.orgId,
        action: 'machine_agent.credential_revoked',
        subject: `${agent.name} (${revoked.startsWith}…)`,
      })
      return {}
    })
