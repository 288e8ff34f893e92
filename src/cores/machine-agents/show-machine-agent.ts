import type { LivenessDeps } from '../grants/index.ts'
import { read, type Verb } from '../verb.ts'
import { presentOne } from './machine-agent-rows.ts'

export const showMachineAgent: Verb<'showMachineAgent', LivenessDeps> = read(
  async (context, { machine_agent_id }) => {
    const { member } = context
    return presentOne(context, member, machine_agent_id)
  },
)
