/** The first page: seven days at a glance, what needs the reader, which agents are at work, and a question to ask. */
import { html } from 'hono/html'
import { AGENTS_TOLD_MAX } from '../../../contracts/limits.ts'
import { page } from '../../layout.ts'
import { changing, day, emptyState, roleBadge, ROLE_LABELS, stats } from '../../components.ts'
import { linkButton } from '../../../pages/parts.ts'
import {
  createRoutes,
  hasRole,
  sessionOf,
  type ConsoleSession,
  type Organization,
  type PageContext,
} from '../../context.ts'
import { AGENTS_PATH } from '../agents/agent-labels.ts'
import { ACTIVITY_PATH } from '../activity/activity-rows.ts'
import { SOURCES_PATH } from '../data-sources/source-labels.ts'
import { DELIVERIES_PATH } from '../deliveries/delivery-labels.ts'
import { isFailing } from '../deliveries/integration-condition.ts'
import { INTEGRATIONS_PATH } from '../integrations/integration-labels.ts'
import { askCard } from './ask-card.ts'
import { attentionCard } from './attention-card.ts'
import { callsChart } from './calls-chart.ts'
import { firstSteps } from './first-steps.ts'
import { factsOf, functionsOf, type Facts } from './facts.ts'
import { recentAgents } from './recent-agents.ts'

export const overviewRoutes = () => createRoutes().get('/', showOverview)

async function showOverview(c: PageContext) {
  const session = sessionOf(c)
  const { organization } = session
  if (!organization) return withoutOrganization(c, session)
  const facts = await factsOf(session, organization, c.var.deps.clock())
  return page(c, {
    title: organization.name,
    lead: html`${roleBadge(organization.role)} ${ROLE_LABELS[organization.role].about}.`,
    body: html`
      ${changing('numbers', ['activity', 'deliveries'], numbers(session, organization, facts))}
      <div class="split">
        <div class="split-side">${changing('attention', ['inbox', 'proposals', 'deliveries', 'checks'], attentionCard(facts))} ${firstSteps(c, session, facts)}</div>
        <div class="split-main">${askCard(c, facts.sources)} ${changing('calls', 'activity', html`${callsChart(session, facts.days)} ${recentAgents(session, facts)}`)}</div>
      </div>
      <p class="note">Organization <code>${organization.slug}</code> · Created ${day(organization.created_at)}</p>
    `,
  })
}

const NUMBER = new Intl.NumberFormat('en-US')

function numbers(session: ConsoleSession, organization: Organization, facts: Facts) {
  const questions = sum(facts.days.map((one) => one.questions))
  const functions = sum(facts.days.map(functionsOf))
  const today = facts.days.at(-1)
  const from = new URLSearchParams({ from: facts.days[0]?.day ?? '' })
  const seesAll = hasRole(session, 'admin')
  const { integrations } = facts
  const failing = integrations?.filter(isFailing).length ?? 0
  return stats('The last seven days', [
    {
      label: seesAll ? 'Questions, 7 days' : 'Your questions, 7 days',
      value: NUMBER.format(questions),
      note: `${NUMBER.format(today?.questions ?? 0)} today`,
      href: `${ACTIVITY_PATH}?${from}`,
    },
    {
      label: seesAll ? 'Function calls, 7 days' : 'Your function calls, 7 days',
      value: NUMBER.format(functions),
      note: `${NUMBER.format(today ? functionsOf(today) : 0)} today`,
      href: `${ACTIVITY_PATH}?type=function&${from}`,
    },
    {
      label: 'Data sources',
      value: facts.sources.exposed,
      note: 'Exposed to agents',
      href: SOURCES_PATH,
    },
    {
      label: seesAll ? 'Connected agents' : 'Your agents',
      value: organization.agents_enabled ? NUMBER.format(facts.agentCount) : 'Off',
      note: organization.agents_enabled && calledNote(facts.agents.length),
      href: seesAll ? `${AGENTS_PATH}?all=true` : AGENTS_PATH,
    },
    integrations !== undefined && {
      label: 'Integrations',
      value: integrations.length,
      note: failing === 0 ? 'None failing' : `${failing} failing`,
      href: failing === 0 ? INTEGRATIONS_PATH : DELIVERIES_PATH,
    },
  ])
}

/** Also those that have ended since; counted up to a limit. */
const calledNote = (count: number): string => `${count}${count < AGENTS_TOLD_MAX ? '' : '+'} called in 7 days`

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

const withoutOrganization = (c: PageContext, session: ConsoleSession) =>
  page(c, {
    title: `Welcome, ${session.me.user.name}`,
    lead: 'You are signed in but not a member of an organization yet.',
    body: emptyState(
      'Create an organization, or wait for an invitation',
      html`To join an existing organization, ask a colleague to invite <strong>${session.me.user.email}</strong>, then open the
        link you receive.`,
      linkButton('/console/organizations/new', 'Create organization'),
    ),
  })
