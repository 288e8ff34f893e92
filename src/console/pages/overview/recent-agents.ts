/** The agents that called last, each with its week. */
import { html } from 'hono/html'
import { card, linkButton } from '../../../pages/parts.ts'
import { strip } from '../../../pages/strip.ts'
import { emptyState, table, time } from '../../components.ts'
import { hasRole, type ConsoleSession } from '../../context.ts'
import { dayLabel, formatNumber, plural } from '../../format.ts'
import { agentPath, AGENTS_PATH } from '../agents/agent-labels.ts'
import { principalLabel } from '../agents/client-labels.ts'
import type { ActiveAgent, Facts } from './facts.ts'

const SHOWN = 5

export function recentAgents(session: ConsoleSession, { agents, agentCount, days }: Facts) {
  const seesAll = hasRole(session, 'admin')
  if (agents.length === 0) {
    return card(
      'Recent agents',
      agentCount === 0
        ? emptyState(
            'No assistant is connected yet',
            'Pick one, copy a command, and choose what it can do.',
            linkButton('/console/connect', 'Connect an assistant'),
          )
        : emptyState(
            'No agent has called in the last seven days',
            `${plural(agentCount, 'agent')} ${agentCount === 1 ? 'is' : 'are'} connected.`,
            linkButton(AGENTS_PATH, 'Connected agents', 'quiet'),
          ),
    )
  }
  return card(
    'Recent agents',
    html`${table(
      'Agents that called in the last seven days, the last one first',
      ['Agent', ...(seesAll ? ['User'] : []), 'Last call', 'Calls', 'Refused'],
      agents.slice(0, SHOWN).map((agent) => row(agent, seesAll, days)),
    )}
      <p class="note"><a href="${seesAll ? `${AGENTS_PATH}?all=true` : AGENTS_PATH}">Connected agents</a>${agentCount === 0 && ': none any more'}</p>`,
    undefined,
    'card-list',
  )
}

const row = (agent: ActiveAgent, seesAll: boolean, days: Facts['days']) => [
  html`<a href="${agentPath(agent.grant_id)}"><bdi>${principalLabel(agent.client_id, agent.client_name)}</bdi></a>`,
  ...(seesAll ? [agent.user.name] : []),
  time(agent.last_call_at),
  html`<span class="number-strip">${strip(
    `${plural(agent.calls, 'call')} in seven days`,
    days.map(({ day }) => ({
      label: dayLabel(day),
      value: agent.days.find((one) => one.day === day)?.calls ?? 0,
    })),
  )} ${formatNumber(agent.calls)}</span>`,
  agent.refused === 0 ? html`<span class="note">None</span>` : agent.refused,
]
