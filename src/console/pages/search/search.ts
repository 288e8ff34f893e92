/** Search from everywhere (Ctrl-K): pages, data sources, agents, apps, tickets, proposals and ids, as far as the reader may see them. */
import { html } from 'hono/html'
import { summarizeApps } from '../../../contracts/app-summaries.ts'
import { listApps } from '../../../contracts/apps.ts'
import { listAskableDataSources, listDataSources } from '../../../contracts/data-sources.ts'
import { showDelivery } from '../../../contracts/deliveries.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { listGrants } from '../../../contracts/grants.ts'
import { idPattern } from '../../../contracts/ids.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { listIntegrations } from '../../../contracts/integrations.ts'
import { listProposalQueue } from '../../../contracts/proposals.ts'
import { searchTickets } from '../../../contracts/tickets.ts'
import { button, inputField } from '../../../pages/parts.ts'
import { emptyState } from '../../components.ts'
import {
  createRoutes,
  hasRole,
  organizationOf,
  sessionOf,
  type ConsoleSession,
  type PageContext,
} from '../../context.ts'
import { actsFor } from '../../acts.ts'
import { linkList, optionList, QUERY_MAX_CHARACTERS, type Found, type FoundGroup } from '../../found-list.ts'
import { page } from '../../layout.ts'
import { placesFor, SEARCH } from '../../navigation.ts'
import { agentPath } from '../agents/agent-labels.ts'
import { clientLabel, clientOf } from '../agents/client-labels.ts'
import { appPath, STATUS_LABELS, ticketPath } from '../apps/app-labels.ts'
import { visibleWords } from '../apps/source-text.ts'
import { DELIVERIES_PATH } from '../deliveries/delivery-labels.ts'
import { INTEGRATIONS_PATH } from '../integrations/integration-labels.ts'
import { pathOf } from '../data-sources/source-labels.ts'
import { incidentPath } from '../incidents/incident-labels.ts'
import { findActs } from './find-acts.ts'
import { PROPOSAL_LABELS, proposalPath, unlessOff } from '../maintenance/maintenance-labels.ts'

/** Of each kind: more do not fit, and one more letter finds better. */
const LIMIT = 5

export const searchRoutes = () => createRoutes().get('/search', showSearch)

async function showSearch(c: PageContext) {
  organizationOf(c)
  const query = c.req.query('q')?.trim().slice(0, QUERY_MAX_CHARACTERS) ?? ''
  const groups = (await search(sessionOf(c), query)).filter(({ found }) => found.length > 0)
  if (c.req.query('part') === 'options')
    return c.html(groups.length === 0 ? html`<p class="found-none">Nothing found.</p>` : optionList(groups))
  return page(c, {
    title: 'Search',
    lead: 'What you can do, pages, data sources, agents, apps, tickets, proposals and IDs.',
    body: html`<div class="card">
      <form method="get" action="${SEARCH}" role="search" class="inline">
        ${inputField({ name: 'q', label: 'Search for', type: 'search', value: query, maxlength: QUERY_MAX_CHARACTERS, autocomplete: 'off' })}
        ${button('Search')}
      </form>
      ${groups.length === 0 ? emptyState('Nothing found', 'Try another word, or a whole ID.') : linkList(groups)}
    </div>`,
  })
}

async function search(session: ConsoleSession, query: string): Promise<FoundGroup[]> {
  const pages = { title: 'Pages', found: findPlaces(session, query) }
  if (query === '') return [{ title: 'Do', found: actsFor(session) }, pages]
  const [acts, incidents, sources, agents, apps, tickets, proposals, ids] = await Promise.all(
    [findActs, findIncidents, findSources, findAgents, findApps, findTickets, findProposals, findIds].map(
      (find) => unlessRefused(find(session, query)),
    ),
  )
  return [
    { title: 'IDs', found: ids ?? [] },
    { title: 'Do', found: acts ?? [] },
    pages,
    { title: 'Data sources', found: sources ?? [] },
    { title: 'Apps', found: apps ?? [] },
    { title: 'Incidents', found: incidents ?? [] },
    { title: 'Tickets', found: tickets ?? [] },
    { title: 'Proposals', found: proposals ?? [] },
    { title: 'Agents', found: agents ?? [] },
  ]
}

/** What somebody may not ask for is not found; a service that is down is an error. */
const unlessRefused = (found: Promise<Found[]>): Promise<Found[]> =>
  found.catch((error: unknown) => {
    const isRefusal =
      error instanceof ServiceError && ['FORBIDDEN', 'NOT_FOUND', 'INVALID_REQUEST'].includes(error.code)
    if (isRefusal) return []
    throw error
  })

const includes = (text: string, query: string): boolean => text.toLowerCase().includes(query.toLowerCase())

/** Those whose name begins so first, then those whose group does. */
function findPlaces(session: ConsoleSession, query: string): Found[] {
  const rank = ({ label, group }: { label: string; group: string }): number =>
    [
      label.toLowerCase().startsWith(query.toLowerCase()),
      includes(label, query),
      includes(group, query),
    ].indexOf(true)
  return placesFor(session)
    .filter((place) => rank(place) >= 0)
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, query === '' ? undefined : LIMIT)
    .map(({ href, label, group }) => ({ href, label, note: group }))
}

async function findSources(session: ConsoleSession, search: string): Promise<Found[]> {
  const asked = { search, limit: LIMIT }
  const sources = hasRole(session, 'developer')
    ? (await session.call(listDataSources, asked)).data_sources.map(({ source_id, name }) => ({
        id: source_id,
        name,
      }))
    : (await session.call(listAskableDataSources, asked)).data_sources
  return sources.map(({ id, name }) => ({ href: pathOf(id), label: name, note: id }))
}

async function findAgents(session: ConsoleSession, search: string): Promise<Found[]> {
  const isAll = hasRole(session, 'admin')
  const { grants } = await session.call(listGrants, { all: String(isAll), search, limit: LIMIT })
  return grants.map((grant) => ({
    href: agentPath(grant.id),
    label: clientLabel(clientOf(grant)),
    note: grant.user.name,
  }))
}

async function findApps({ call }: ConsoleSession, search: string): Promise<Found[]> {
  const { apps } = await call(listApps, { search, limit: LIMIT })
  return apps.map(({ alias, name }) => ({ href: appPath(alias), label: name, note: alias }))
}

/** What is wrong now: checks that fail, and the newest finding of each app. */
async function findIncidents({ call }: ConsoleSession, query: string): Promise<Found[]> {
  if (query.length < INCIDENT_LETTERS) return []
  const { apps } = await call(summarizeApps, { limit: INCIDENT_APPS })
  const wrong = apps.flatMap(({ alias, name, checks, finding_id: finding }) => [
    ...checks
      .filter(({ enabled, state }) => enabled && state === 'fail')
      .map((check) => ({ alias, id: check.id, label: `${check.name} fails`, note: name })),
    ...(finding === null ? [] : [{ alias, id: finding, label: `Newest finding of ${name}`, note: alias }]),
  ])
  return wrong
    .filter(({ id, label, note }) => includes(`incident ${label} ${note} ${id}`, query))
    .slice(0, LIMIT)
    .map(({ alias, id, label, note }) => ({ href: incidentPath(alias, id), label, note }))
}
const INCIDENT_APPS = 50
/** Fewer would find all of them, at the cost of reading every app for each letter. */
const INCIDENT_LETTERS = 3

async function findTickets({ call }: ConsoleSession, search: string): Promise<Found[]> {
  const { tickets } = await call(searchTickets, { search, limit: LIMIT })
  return tickets.map(({ id, app, title, status }) => ({
    href: ticketPath(app, id),
    label: title,
    note: `${app} · ${STATUS_LABELS[status].label}`,
  }))
}

/** Of those that wait for a reviewer; an app has at most one a day. */
async function findProposals({ call, organization }: ConsoleSession, query: string): Promise<Found[]> {
  const org_id = organization?.id ?? ''
  const listed = await unlessOff(call(listProposalQueue, { org_id, limit: PAGE_MAX }))
  return (listed?.proposals ?? [])
    .filter(({ id, app, title }) => [id, app, title ?? ''].some((word) => includes(word, query)))
    .slice(0, LIMIT)
    .map(({ id, app, title, state }) => ({
      href: proposalPath(app, id),
      label: title === null ? `Proposal ${id.slice(-6)}` : visibleWords(title),
      note: `${app} · ${PROPOSAL_LABELS[state].label}`,
    }))
}

/** Ids of what is found by nothing else; tickets and agents are found by theirs above. */
async function findIds({ call }: ConsoleSession, id: string): Promise<Found[]> {
  if (idPattern('dlv').test(id)) {
    const { type } = await call(showDelivery, { delivery_id: id })
    return [{ href: `${DELIVERIES_PATH}/${id}`, label: id, note: `Delivery of ${type}` }]
  }
  if (idPattern('int').test(id)) {
    const { integrations } = await call(listIntegrations, {})
    const own = integrations.filter((one) => one.id === id)
    return own.map(({ name }) => ({ href: `${INTEGRATIONS_PATH}/${id}`, label: name, note: 'Integration' }))
  }
  return []
}
