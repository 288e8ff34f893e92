/** Connected agents: which assistants act for whom, with which permissions; limit or disconnect them. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listAskableDataSources } from '../../../contracts/data-sources.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import {
  listGrants,
  listOauthClients,
  narrowGrant,
  revokeGrant,
  type Grant as GrantShape,
} from '../../../contracts/grants.ts'
import { EXPOSED_MAX, PAGE_MAX } from '../../../contracts/limits.ts'
import { ScopeName } from '../../../contracts/fields.ts'
import { SCOPES, type Scope } from '../../../contracts/scopes.ts'
import { button, card, choice, linkButton, notice } from '../../../pages/parts.ts'
import { backField, form, returnPath, text, texts, dangerForm } from '../../forms.ts'
import { actAndReturn } from '../../flash.ts'
import { page } from '../../layout.ts'
import {
  copyable,
  day,
  dialog,
  emptyState,
  filterSelect,
  ownerFilter,
  time,
  listCard,
} from '../../components.ts'
import { createRoutes, hasRole, idOf, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { canQueryData, sourcesForm, sourceSummary, type Askable } from './grant-sources.ts'
import { clientSummary, clientLabel } from './client-labels.ts'

type Grant = z.output<typeof GrantShape>
const PATH = '/console/agents'

export const agentRoutes = () =>
  createRoutes()
    .get('/agents', showAgents)
    .post('/agents/:id/narrow', narrow)
    .post('/agents/:id/sources', limitSources)
    .post('/agents/:id/disconnect', disconnect)

async function showAgents(c: PageContext) {
  const organization = organizationOf(c)
  const session = sessionOf(c)
  const isAdmin = hasRole(session, 'admin')
  const isAll = isAdmin && c.req.query('all') === 'true'
  // Filters are part of an address that people edit: invalid values are ignored, not refused.
  const client = listGrants.input.shape.client_id.safeParse(c.req.query('client_id') || undefined).data
  const [{ grants, next_cursor, total }, clients] = await Promise.all([
    session.call(listGrants, {
      all: isAll ? 'true' : 'false',
      client_id: client,
      cursor: c.req.query('cursor'),
      count: 'true',
    }),
    isAdmin ? session.call(listOauthClients, { limit: PAGE_MAX }) : undefined,
  ])
  // Only an agent with access to all data sources needs the list; a limited one is narrowed from its own.
  const isOpen = grants.some((grant) => canQueryData(grant) && grant.sources === null)
  const { data_sources } = isOpen
    ? await session.call(listAskableDataSources, { limit: EXPOSED_MAX })
    : { data_sources: [] }
  return page(c, {
    title: 'Connected agents',
    lead: `Assistants that act in ${organization.name} on ${isAll ? 'behalf of its members' : 'your behalf'}.`,
    body: html`
      ${!organization.agents_enabled && notice('info', html`<p><strong>Agents are turned off.</strong> None of these agents has access until they are <a href="/console/settings/security">turned on</a> again.</p>`)}
      ${listCard(c, {
        label: 'Filter agents',
        filters: clients && agentFilters(isAll, client, clients.oauth_clients),
        caption: 'Connected agents, newest first',
        columns: ['Agent', ...(isAll ? ['User'] : []), 'Permissions', 'Last used', '(Actions)'],
        rows: grants.map((grant) => grantRow(c, grant, isAll, data_sources)),
        empty: emptyList(isAll, client !== undefined),
        next: next_cursor,
        total,
      })}
      ${howToConnect(c)}
    `,
  })
}

function agentFilters(
  isAll: boolean,
  client: string | undefined,
  known: z.output<typeof listOauthClients.output>['oauth_clients'],
) {
  const offered = known.filter(({ client_id, live_grants }) => live_grants > 0 || client_id === client)
  const options = offered.map((one) => ({ value: one.client_id, label: clientLabel(one) }))
  return html`${ownerFilter(isAll, 'agents')}
    ${filterSelect({ name: 'client_id', label: 'Client', value: client, all: 'All clients', options })}`
}

const emptyList = (isAll: boolean, isFiltered: boolean) =>
  isFiltered
    ? emptyState(
        'No agents of this client',
        isAll ? 'Nobody has connected it.' : 'You have not connected it. Another member may have.',
        html`<a href="${isAll ? `${PATH}?all=true` : PATH}">Show all clients</a>`,
      )
    : emptyState(
        isAll ? 'No connected assistants yet' : 'You have not connected an assistant yet',
        'Add the address below to your assistant. You then choose what it can do, and it is listed here.',
        linkButton('#about-connect-an-assistant', 'Connect an assistant', 'quiet'),
      )

const grantRow = (c: PageContext, grant: Grant, isAll: boolean, askable: readonly Askable[]) => [
  clientSummary(clientOf(grant)),
  ...(isAll
    ? [
        html`<div class="two-lines"><strong>${grant.user.name}</strong><span class="note">${grant.user.email}</span></div>`,
      ]
    : []),
  html`<ul class="lines">${grant.scopes.map((scope) => html`<li>${SCOPES[scope]} ${scope === 'data:read' && html`<span class="note">${sourceSummary(grant)}</span>`}</li>`)}</ul>`,
  html`${grant.last_used_at ? time(grant.last_used_at) : 'Never'} <span class="note">connected ${day(grant.created_at)}</span>`,
  html`<div class="row-actions">${grantActions(c, grant, askable)}</div>`,
]

const clientOf = ({ client_id, client_kind: kind, client_name: name, host }: Grant) => ({
  client_id,
  kind,
  name,
  host,
})

function grantActions(c: PageContext, grant: Grant, askable: readonly Askable[]) {
  const called = clientLabel(clientOf(grant))
  const isMine = grant.user.id === sessionOf(c).me.user.id
  const path = `${PATH}/${grant.id}`
  return dialog(
    `manage-${grant.id}`,
    'Manage',
    {
      title: called,
      content: html`
        ${
          grant.scopes.length > 1 &&
          form(
            c,
            `${path}/narrow`,
            html`${backField(c)}
            <fieldset>
              <legend>Permissions in ${organizationOf(c).name}</legend>
              ${grant.scopes.map((scope) => choice('checkbox', 'scopes', scope, true, SCOPES[scope], html`<code>${scope}</code>`))}
            </fieldset>
            <p class="note">Changes take effect on its next call. To add permissions, connect it again.</p>
            ${button('Save')}`,
          )
        }
        ${sourcesForm(c, `${path}/sources`, grant, isMine, askable)}
        ${dangerForm(c, `${path}/disconnect`, {
          title: 'Disconnect',
          text: html`${isMine ? 'The agent' : `The agent of ${grant.user.name}`} loses access on its next call and must be approved again to reconnect. Otherwise its access expires on ${day(grant.expires_at)}.`,
          submit: 'Disconnect agent',
        })}
      `,
    },
    isMine ? `Manage ${called}` : `Manage ${called} of ${grant.user.name}`,
  )
}

function howToConnect(c: PageContext) {
  const address = new URL('/platform', c.var.deps.mcpUrl).href
  return card(
    'Connect an assistant',
    html`${copyable('mcp-address', address, 'MCP server address')}
      <p>In Claude Code, for example:</p>
      ${copyable('mcp-add', `claude mcp add --transport http svc ${address}`, 'Command that connects Claude Code')}
      <p><a href="/console/connect">Instructions for other assistants</a></p>`,
    'Works with any assistant that supports MCP. Add this address as a remote server or custom connector, then sign in when prompted.',
  )
}

function narrow(c: PageContext) {
  const left = texts(c.get('form'), 'scopes').filter(
    (scope): scope is Scope => ScopeName.safeParse(scope).success,
  )
  return actAndReturn(c, returnPath(c, PATH), 'Permissions saved.', async () => {
    if (left.length === 0) {
      throw new ServiceError('INVALID_REQUEST', 'Keep at least one permission, or disconnect the agent')
    }
    await sessionOf(c).call(narrowGrant, { grant_id: idOf(c), scopes: left })
  })
}

async function limitSources(c: PageContext) {
  const [which, left] = [text(c.get('form'), 'which'), texts(c.get('form'), 'sources')]
  const back = returnPath(c, PATH)
  // Unchanged: nothing to save.
  if (which === 'all') return c.redirect(back, 303)
  return actAndReturn(c, back, 'Data sources saved.', async () => {
    if (left.length === 0) {
      throw new ServiceError('INVALID_REQUEST', 'Keep at least one data source, or disconnect the agent')
    }
    await sessionOf(c).call(narrowGrant, { grant_id: idOf(c), sources: left })
  })
}

const disconnect = (c: PageContext) =>
  actAndReturn(c, returnPath(c, PATH), 'Agent disconnected.', () =>
    sessionOf(c).call(revokeGrant, { grant_id: idOf(c) }),
  )
