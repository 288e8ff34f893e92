import { write, type Verb } from '../verb.ts'
import { endMachineAgent } from './end-machine-agent.ts'
import { lockManageable } from './machine-agent-rows.ts'

export const removeMachineAgent: Verb<'removeMachineAgent'> = write(
  { author: 'viewer', audit: 'machine_agent.removed' },
  async ({ tx, clock, member, audit }, { machine_agent_id }) => {
    const agent = await lockManageable(tx, member, machine_agent_id)
    await endMachineAgent(tx, clock, agent)
    await audit('machine_agent.removed', agent.name)
    return {}
  },
)
