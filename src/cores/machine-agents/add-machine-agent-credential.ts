/** A second secret or key, so that it can be rotated without a gap. */
import type { Handler } from '../../contracts/operations.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import { requireMember } from '../principal.ts'
import { withTransaction } from '../transaction.ts'
import { insertCredential, presentCredential } from './credential-rows.ts'
import { lockManageable, refuseHigherAgent } from './machine-agent-rows.ts'

export const addMachineAgentCredential =
  ({ db, clock }: Storage): Handler<'addMachineAgentCredential'> =>
  (principal, { machine_agent_id, public_key }) =>
    withTransaction(db, async (tx) => {
      const { agent, member } = await lockManageable(tx, clock, requireMember(principal), machine_agent_id)
      await refuseHigherAgent(tx, member, agent)
      const { credential, secret } = await insertCredential(tx, clock, member, agent.id, public_key)
      await recordAudit(tx, clock, member, {
        orgId: agent.orgId,
        action: 'machine_agent.credential_added',
        subject: `${agent.name} (${credential.startsWith}…)`,
      })
      return { ...presentCredential(credential), secret }
    })
