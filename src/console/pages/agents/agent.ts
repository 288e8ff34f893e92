/** One agent: what it may do and until when, what it did, and how to give it less or nothing. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listActivity, summarizeActivity } from '../../../contracts/activity.ts'
import { listAskableDataSources } from '../../../contracts/data-sources.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { narrowGrant, revokeGrant, showGrant } from '../../../contracts/grants.ts'
import { ScopeName } from '../../../contracts/fields.ts'
import { CONNECTOR_SECONDS, EXPOSED_MAX, UNUSED_DAYS } from '../../../contracts/limits.ts'
import type { Scope } from '../../../contracts/scopes.ts'
import { card, linkButton, notice } from '../../../pages/parts.ts'
import { confirmDialog, returnPath, text, texts } from '../../forms.ts'
import { page } from '../../layout.ts'
import { day, emptyState, exactTime, pair, table, time } from '../../components.ts'
import { act, routeInput } from '../../act.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { beginOf } from '../../day-filter.ts'
import { ACCESS_PATH } from '../access/access.ts'
import { activityCharts, chartDays, withEmptyDays } from '../activity/activity-charts.ts'
import { ACTIVITY_PATH, CALL_COLUMNS, callCells } from '../activity/activity-rows.ts'
import { endAccessLink } from '../receipts/end-access-link.ts'
import { agentPath, AGENTS_PATH, agentsOffNotice, disconnectText, END_LABELS } from './agent-labels.ts'
import { agentDayPath } from './agent-day.ts'
import { clientLabel, clientOf, clientSummary } from './client-labels.ts'
import { permissionsCard, sourcesCard, unusedNotice } from './grant-cards.ts'
import { canQueryData } from './grant-sources.ts'
import { machineAgentPath } from './machine-agent-labels.ts'

type Grant = z.output<typeof showGrant.output>
type Call = z.output<typeof listActivity.output>['activity'][number]

/** Beside it is the page of all clients. */
const ID = ':grant_id{grt_[0-9a-z]{25}}'

export const agentRoutes = () =>
  createRoutes()
    .get(`/agents/${ID}`, showAgent)
    .post(`/agents/${ID}/narrow`, narrow)
    .post(`/agents/${ID}/preview`, preview)
    .post(`/agents/${ID}/narrow-to-used`, narrowToUsed)
    .post(`/agents/${ID}/sources`, limitSources)
    .post(`/agents/${ID}/disconnect`, disconnect)

const LAST_CALLS = 10

async function showAgent(c: PageContext) {
  const session = sessionOf(c)
  const { grant_id } = routeInput(c, showGrant)
  const days = chartDays(undefined, undefined, c.var.deps.clock())
  const ofAgent = { type: 'all', grant_id } as const
  const [grant, summary, last] = await Promise.all([
    session.call(showGrant, { grant_id }),
    session.call(summarizeActivity, { ...ofAgent, from: beginOf(days[0]) }),
    session.call(listActivity, { ...ofAgent, limit: LAST_CALLS }),
  ])
  // A limited agent is narrowed from its own list.
  const isOpen = grant.ended === null && canQueryData(grant) && grant.sources === null
  const { data_sources } = isOpen
    ? await session.call(listAskableDataSources, { limit: EXPOSED_MAX })
    : { data_sources: [] }
  const isMine = grant.user.id === session.me.user.id
  return page(c, {
    title: clientLabel(clientOf(grant)),
    lead: leadOf(c, grant, isMine),
    actions: grant.ended === null && disconnectDialog(c, grant, isMine),
    body: html`${stateNotice(c, grant)} ${unusedNotice(c, grant)}
      <div class="split">
        <div class="split-main">
          ${permissionsCard(c, grant)} ${sourcesCard(c, grant, isMine, data_sources)}
          ${activityCharts('Calls', withEmptyDays(days, summary.days)) ?? noCalls(grant)}
          ${last.activity.length > 0 && lastCalls(grant, last.activity)}
        </div>
        <div class="split-side">${accessCard(grant)}</div>
      </div>`,
  })
}

function leadOf(c: PageContext, { via, machine_agent_id, user }: Grant, isMine: boolean) {
  const { name } = organizationOf(c)
  if (via === 'machine') {
    return html`A ${machine_agent_id === null ? 'machine agent' : html`<a href="${machineAgentPath(machine_agent_id)}">machine agent</a>`} of ${name}: it acts without a person.`
  }
  return html`Acts for ${isMine ? 'you' : user.name} in ${name}${via === 'enterprise' && ', connected by your organization'}.`
}

function stateNotice(c: PageContext, { ended, blocked }: Grant) {
  if (ended !== null) {
    return notice(
      'info',
      html`<p><strong>This agent has no access any more.</strong> ${END_LABELS[ended.reason]}${ended.at && html` on ${exactTime(ended.at)}`}.</p>`,
    )
  }
  if (blocked) {
    return notice(
      'info',
      html`<p><strong>This client is blocked.</strong> All its agents are refused until an admin ${hasRole(sessionOf(c), 'admin') ? html`<a href="${AGENTS_PATH}/clients">unblocks it</a>` : 'unblocks it'}.</p>`,
    )
  }
  return agentsOffNotice(organizationOf(c))
}

const noCalls = ({ last_used_at, ended, via }: Grant) =>
  card(
    'Calls per day',
    emptyState(
      last_used_at === null ? 'No calls yet' : 'No calls in the last 30 days',
      ended !== null
        ? 'It made none that are still kept.'
        : via === 'machine'
          ? 'Calls of the program are counted here.'
          : 'Ask the assistant a question about your data. Its calls are counted here.',
    ),
  )

const lastCalls = ({ id }: Grant, calls: readonly Call[]) =>
  card(
    'Last calls',
    html`${table('The last calls of this agent, newest first', CALL_COLUMNS, calls.map(callCells))}
      <p class="note">All <a href="${ACTIVITY_PATH}?agent=${id}">questions</a> and <a href="${ACTIVITY_PATH}?type=function&amp;agent=${id}">functions</a> of this agent. Refused: <a href="${ACTIVITY_PATH}?agent=${id}&amp;outcome=refused">questions</a>, <a href="${ACTIVITY_PATH}?type=function&amp;agent=${id}&amp;outcome=refused">functions</a>.</p>`,
    undefined,
    'card-list',
  )

const DAY_SECONDS = 24 * 60 * 60

const accessCard = (grant: Grant) =>
  card(
    'Access',
    html`<dl class="pairs pairs-narrow">
      ${pair('Client', clientSummary(clientOf(grant)))}
      ${grant.via !== 'machine' && pair('User', html`${grant.user.name} <span class="note">${grant.user.email}</span>`)}
      ${grant.via === 'enterprise' && pair('Through', 'Your identity provider')}
      ${pair('Endpoint', html`<code>/${grant.resource}</code>`)}
      ${pair('Connected', day(grant.created_at))}
      ${pair('Last used', grant.last_used_at ? time(grant.last_used_at) : 'Never')}
      ${grant.ended === null && pair('Expires', html`${day(grant.expires_at)}${grant.via === 'consent' && html` <span class="note">or after ${CONNECTOR_SECONDS.refreshToken / DAY_SECONDS} days without a call</span>`}`)}
      ${pair('Client ID', html`<code>${grant.client_id}</code>`)}
    </dl>`,
  )

const disconnectDialog = (c: PageContext, grant: Grant, isMine: boolean) =>
  html`${linkButton(`${ACCESS_PATH}?grant_id=${grant.id}`, 'What it reaches', 'quiet')} ${linkButton(agentDayPath(grant.id, grant.last_used_at?.slice(0, 10)), 'What it did', 'quiet')} ${linkButton(`${ACTIVITY_PATH}?agent=${grant.id}`, 'Activity', 'quiet')}
  ${sessionOf(c).support === undefined && endAccessLink('agent', grant.id)}
  ${confirmDialog(c, {
    id: 'disconnect',
    label: 'Disconnect',
    title: 'Disconnect this agent?',
    action: `${agentPath(grant.id)}/disconnect`,
    text: disconnectText(grant, isMine),
    submit: 'Disconnect agent',
  })}`

/** The forms are on the page of a machine agent, too. */
function backOf(c: PageContext): string {
  const back = returnPath(c, `${AGENTS_PATH}/`)
  return back === `${AGENTS_PATH}/` ? agentPath(routeInput(c, showGrant).grant_id) : back
}

/** Nothing at all would be another thing than less. */
function someOf<T>(left: T[], what: string): T[] {
  if (left.length > 0) return left
  throw new ServiceError('INVALID_REQUEST', `Keep at least one ${what}, or disconnect the agent`)
}

const isScope = (scope: string): scope is Scope => ScopeName.safeParse(scope).success

const narrow = act(narrowGrant, {
  input: (sent) => ({ scopes: someOf(texts(sent, 'scopes').filter(isScope), 'permission') }),
  back: backOf,
  done: 'Permissions saved.',
})

/** To the page that says what the ticked ones would leave; the form's own token stays out of the address. */
function preview(c: PageContext) {
  const query = new URLSearchParams(routeInput(c, showGrant))
  const isAll = text(c.get('form'), 'which') === 'all'
  for (const name of ['scopes', 'sources'])
    for (const value of isAll ? [] : texts(c.get('form'), name)) query.append(name, value)
  return c.redirect(`${ACCESS_PATH}?${query.toString()}`, 303)
}

const narrowToUsed = act(narrowGrant, {
  // As previewed; the page of the agent names no days.
  input: (sent) => ({ used_within_days: Number(text(sent, 'used_within_days') || UNUSED_DAYS) }),
  back: backOf,
  done: 'Narrowed to what it used.',
})

const saveSources = act(narrowGrant, {
  input: (sent) => ({ sources: someOf(texts(sent, 'sources'), 'data source') }),
  back: backOf,
  done: 'Data sources saved.',
})

/** Unchanged: nothing to save. */
const limitSources = async (c: PageContext) =>
  text(c.get('form'), 'which') === 'all' ? c.redirect(backOf(c), 303) : saveSources(c)

const disconnect = act(revokeGrant, {
  back: (c) => returnPath(c, AGENTS_PATH),
  done: 'Agent disconnected.',
})
