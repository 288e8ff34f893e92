/** A second secret or key, so that it can be rotated without a gap. */
import type { LivenessDeps } from '../grants/index.ts'
import { write, type Verb } from '../verb.ts'
import { insertCredential, presentCredential } from './credential-rows.ts'
import { lockManageable, refuseHigherAgent } from './machine-agent-rows.ts'

export const addMachineAgentCredential: Verb<'addMachineAgentCredential', LivenessDeps> = write(
  { author: 'viewer', audit: 'machine_agent.credential_added' },
  async ({ tx, clock, keyEpoch, member, audit }, { machine_agent_id, public_key }) => {
    const agent = await lockManageable(tx, member, machine_agent_id)
    await refuseHigherAgent(tx, member, agent)
    const { credential, secret } = await insertCredential(
      tx,
      { clock, keyEpoch },
      member,
      agent.id,
      public_key,
    )
    await audit('machine_agent.credential_added', `${agent.name} (${credential.startsWith}…)`)
    return { ...presentCredential(credential), secret }
  },
)
