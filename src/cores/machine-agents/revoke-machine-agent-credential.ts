import { and, eq } from '../../../db/drizzle.ts'
import { machineAgentCredentials } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { write, type Verb } from '../verb.ts'
import { revokeCredentials } from './credential-rows.ts'
import { lockManageable } from './machine-agent-rows.ts'

export const revokeMachineAgentCredential: Verb<'revokeMachineAgentCredential'> = write(
  { author: 'viewer', audit: 'machine_agent.credential_revoked' },
  async ({ tx, clock, member, audit }, { machine_agent_id, credential_id }) => {
    const agent = await lockManageable(tx, member, machine_agent_id)
    const [revoked] = await revokeCredentials(
      tx,
      clock,
      and(eq(machineAgentCredentials.agentId, agent.id), eq(machineAgentCredentials.id, credential_id)),
    )
    if (!revoked) throw notFound()
    await audit('machine_agent.credential_revoked', `${agent.name} (${revoked.startsWith}…)`)
    return {}
  },
)
