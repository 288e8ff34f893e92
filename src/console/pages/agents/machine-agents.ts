/** Machine agents: programs that call tools without a person, and who answers for them. */
import { html } from 'hono/html'
import { listMachineAgents } from '../../../contracts/machine-agents.ts'
import { linkButton } from '../../../pages/parts.ts'
import { day, emptyState, listCard, ROLE_LABELS, time } from '../../components.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { listOf } from '../../list-of.ts'
import { page } from '../../layout.ts'
import { agentsOffNotice } from './agent-labels.ts'
import { MACHINE_AGENTS_PATH, machineAgentPath, STATE_BADGES, type Agent } from './machine-agent-labels.ts'

const AGENTS = listOf(listMachineAgents, { search: { label: 'Name or ID' } })

export const machineAgentListRoutes = () => createRoutes().get('/agents/machine', showMachineAgents)

async function showMachineAgents(c: PageContext) {
  const organization = organizationOf(c)
  const session = sessionOf(c)
  const listed = await AGENTS.call(c, {})
  const mayCreate = hasRole(session, 'admin') && session.support === undefined
  const create = mayCreate && linkButton(`${MACHINE_AGENTS_PATH}/new`, 'Create machine agent')
  return page(c, {
    title: 'Machine agents',
    lead: `Programs that act in ${organization.name} without a person, such as a nightly job. A member answers for each.`,
    actions: create,
    body: html`${agentsOffNotice(organization)}
    ${listCard(c, {
      noun: 'machine agents',
      ...AGENTS.parts(c, listed),
      caption: 'Machine agents, newest first',
      columns: ['Machine agent', 'Owner', 'Role', 'Last used', 'Expires', 'State'],
      rows: listed.machine_agents.map(agentRow),
      empty: emptyState(
        mayCreate ? 'No machine agents yet' : 'You answer for no machine agent',
        'Like a service account, for an agent: with its own name, permissions and credentials.',
        create,
      ),
    })}`,
  })
}

const agentRow = (agent: Agent) => [
  html`<a href="${machineAgentPath(agent.id)}"><bdi>${agent.name}</bdi></a>`,
  html`<span title="${agent.owner.email}">${agent.owner.name}</span>`,
  ROLE_LABELS[agent.role].label,
  agent.last_used_at ? time(agent.last_used_at) : html`<span class="note">Never</span>`,
  day(agent.expires_at),
  STATE_BADGES[agent.state],
]
