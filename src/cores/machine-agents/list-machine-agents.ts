import { machineAgents } from '../../../db/schema.ts'
import type { LivenessDeps } from '../grants/index.ts'
import { list, type Verb } from '../list.ts'
import { agentRows, isVisible, presentAgents } from './machine-agent-rows.ts'

export const listMachineAgents: Verb<'listMachineAgents', LivenessDeps> = list(
  {
    rows: 'machine_agents',
    desc: [machineAgents.id],
    search: [machineAgents.name],
    exact: [machineAgents.id, machineAgents.clientId],
  },
  async ({ db, clock, keyEpoch, member, page }) =>
    page({
      from: () => agentRows(db),
      where: isVisible(member),
      key: ({ agent }) => [agent.id],
      present: (rows) => presentAgents({ db, clock, keyEpoch }, member, rows),
    }),
)
