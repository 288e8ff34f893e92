/** Machine agents: programs that call tools without a person, and who answers for them. */
import { html } from 'hono/html'
import { listMachineAgents } from '../../../contracts/machine-agents.ts'
import { inputField, linkButton } from '../../../pages/parts.ts'
import { day, emptyState, listCard, ROLE_LABELS, time } from '../../components.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { page } from '../../layout.ts'
import { agentsOffNotice } from './agent-labels.ts'
import { MACHINE_AGENTS_PATH, machineAgentPath, STATE_BADGES, type Agent } from './machine-agent-labels.ts'

export const machineAgentListRoutes = () => createRoutes().get('/agents/machine', showMachineAgents)

async function showMachineAgents(c: PageContext) {
  const organization = organizationOf(c)
  const session = sessionOf(c)
  const search = c.req.query('search')?.trim().slice(0, 120) || undefined
  const { machine_agents, next_cursor, total } = await session.call(listMachineAgents, {
    search,
    cursor: c.req.query('cursor'),
    count: 'true',
  })
  const mayCreate = hasRole(session, 'admin') && session.support === undefined
  const create = mayCreate && linkButton(`${MACHINE_AGENTS_PATH}/new`, 'Create machine agent')
  return page(c, {
    title: 'Machine agents',
    lead: `Programs that act in ${organization.name} without a person, such as a nightly job. A member answers for each.`,
    actions: create,
    body: html`${agentsOffNotice(organization)}
    ${listCard(c, {
      label: 'Filter machine agents',
      filters: inputField({
        name: 'search',
        label: 'Name or ID',
        type: 'search',
        value: search ?? '',
        maxlength: 120,
      }),
      caption: 'Machine agents, newest first',
      columns: ['Machine agent', 'Owner', 'Role', 'Last used', 'Expires', 'State'],
      rows: machine_agents.map(agentRow),
      empty:
        search === undefined
          ? emptyState(
              mayCreate ? 'No machine agents yet' : 'You answer for no machine agent',
              'Like a service account, for an agent: with its own name, permissions and credentials.',
              create,
            )
          : emptyState(
              'No machine agents found',
              'Try part of the name, or a whole ID.',
              html`<a href="${MACHINE_AGENTS_PATH}">Show all machine agents</a>`,
            ),
      next: next_cursor,
      total,
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
