/** Connected agents: which assistants act for whom, what each may do; narrow one, or end it. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { listAskableSources } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import {
  listGrants,
  listOauthClients,
  narrowGrant,
  revokeGrant,
  type Grant as GrantShape,
} from '../../contracts/grants.ts'
import { EXPOSED_MAX, PAGE_MAX } from '../../contracts/limits.ts'
import { ScopeName, SCOPES, type Scope } from '../../contracts/scopes.ts'
import { button, card, choice, linkButton, notice, selectField } from '../../pages/parts.ts'
import { actAndReturn } from '../flash.ts'
import { page } from '../layout.ts'
import { backField, copyable, day, emptyState, filters, form, opens, pager, table, time } from '../parts.ts'
import { backFrom, hasRole, organizationOf, text, texts, visitOf, type ConsoleEnv } from '../visit.ts'
import { asksData, sourcesForm, sourceWords, type Askable } from './agent-sources.ts'
import { clientLines, clientWord } from './client-words.ts'

type C = Context<ConsoleEnv>
type Grant = z.output<typeof GrantShape>
const PATH = '/console/agents'

export const agentPages = () =>
  new Hono<ConsoleEnv>()
    .get('/agents', showAgents)
    .post('/agents/:id/narrow', narrow)
    .post('/agents/:id/sources', limitSources)
    .post('/agents/:id/disconnect', disconnect)

async function showAgents(c: C) {
  const organization = organizationOf(c)
  const visit = visitOf(c)
  const isAdmin = hasRole(visit, 'admin')
  const isAll = isAdmin && c.req.query('all') === 'true'
  // Filters stand in an address that people edit: what makes no sense is left out, not refused.
  const client = listGrants.input.shape.client_id.safeParse(c.req.query('client_id') || undefined).data
  const [{ grants, next_cursor }, clients] = await Promise.all([
    visit.call(listGrants, {
      all: isAll ? 'true' : 'false',
      client_id: client,
      cursor: c.req.query('cursor'),
    }),
    isAdmin ? visit.call(listOauthClients, { limit: PAGE_MAX }) : undefined,
  ])
  // Only who may still ask all has anything to choose from; a list is narrowed by what stands in it.
  const isOpen = grants.some((grant) => asksData(grant) && grant.sources === null)
  const { data_sources } = isOpen
    ? await visit.call(listAskableSources, { limit: EXPOSED_MAX })
    : { data_sources: [] }
  return page(c, {
    title: 'Connected agents',
    lead: `Assistants that work in ${organization.name} on ${isAll ? 'somebody’s' : 'your'} behalf. Another organization has a list of its own.`,
    body: html`
      ${!organization.agents_enabled && notice('info', html`<p><strong>Agents are switched off.</strong> None of these gets in until they are <a href="/console/settings/security">switched on</a> again.</p>`)}
      <div class="card card-list">
        ${clients && agentFilters(c, isAll, client, clients.oauth_clients)}
        ${grants.length === 0 ? nobody(isAll, client !== undefined) : grantTable(c, grants, isAll, data_sources)}
        ${pager(c, next_cursor)}
      </div>
      ${howToConnect(c)}
    `,
  })
}

function agentFilters(
  c: C,
  isAll: boolean,
  client: string | undefined,
  known: z.output<typeof listOauthClients.output>['oauth_clients'],
) {
  const offered = known.filter(({ client_id, live_grants }) => live_grants > 0 || client_id === client)
  const isKnown = client === undefined || offered.some(({ client_id }) => client_id === client)
  return filters(
    c,
    'Filter agents',
    html`${selectField({
      name: 'all',
      label: 'Whose',
      value: String(isAll),
      options: [
        { value: 'false', label: 'Mine' },
        { value: 'true', label: 'Everybody’s' },
      ],
    })}
    ${selectField({
      name: 'client_id',
      label: 'Client',
      value: client ?? '',
      options: [
        { value: '', label: 'Every client' },
        ...(isKnown ? [] : [{ value: client, label: client }]),
        ...offered.map((one) => ({ value: one.client_id, label: clientWord(one) })),
      ],
    })}`,
  )
}

const nobody = (isAll: boolean, isFiltered: boolean) =>
  isFiltered
    ? emptyState(
        'No agent of this client',
        isAll ? 'Nobody has connected it.' : 'You have not connected it; somebody else may have.',
        html`<a href="${isAll ? `${PATH}?all=true` : PATH}">Show every client</a>`,
      )
    : emptyState(
        isAll ? 'Nobody has connected an assistant yet' : 'You have connected no assistant yet',
        'Give your assistant the address below. It brings you to a page where you decide what it may do, and from then on it is listed here.',
        linkButton('#about-connect-an-assistant', 'How to connect one', 'quiet'),
      )

const grantTable = (c: C, grants: readonly Grant[], isAll: boolean, askable: readonly Askable[]) =>
  table(
    'Connected agents, newest first',
    ['Agent', ...(isAll ? ['Person'] : []), 'May', 'Last used', '(Actions)'],
    grants.map((grant) => [
      clientLines(clientOf(grant)),
      ...(isAll
        ? [
            html`<div class="two-lines"><strong>${grant.user.name}</strong><span class="note">${grant.user.email}</span></div>`,
          ]
        : []),
      html`<ul class="lines">${grant.scopes.map((scope) => html`<li>${SCOPES[scope]} ${scope === 'data:read' && html`<span class="note">${sourceWords(grant)}</span>`}</li>`)}</ul>`,
      html`${grant.last_used_at ? time(grant.last_used_at) : 'never'} <span class="note">connected ${day(grant.created_at)}</span>`,
      html`<div class="row-actions">${grantActions(c, grant, askable)}</div>`,
    ]),
  )

const clientOf = ({ client_id, client_kind: kind, client_name: name, host }: Grant) => ({
  client_id,
  kind,
  name,
  host,
})

function grantActions(c: C, grant: Grant, askable: readonly Askable[]) {
  const called = clientWord(clientOf(grant))
  const isMine = grant.user.id === visitOf(c).me.user.id
  const path = `${PATH}/${grant.id}`
  return opens(
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
              <legend>What it may do in ${organizationOf(c).name}</legend>
              ${grant.scopes.map((scope) => choice('checkbox', 'scopes', scope, true, SCOPES[scope], html`<code>${scope}</code>`))}
            </fieldset>
            <p class="note">What you take away is gone on its next call. To allow more again, connect it anew.</p>
            ${button('Save')}`,
            'stack',
          )
        }
        ${sourcesForm(c, `${path}/sources`, grant, isMine, askable)}
        <div class="window-danger">
          ${form(
            c,
            `${path}/disconnect`,
            html`${backField(c)}
            <h3>Disconnect</h3>
            <p>${isMine ? 'It' : html`What acts for ${grant.user.name} here`} gets no further than its next call, and must be approved again to come back. Left alone, it ends on ${day(grant.expires_at)}.</p>
            ${button('Disconnect the agent', 'danger')}`,
            'stack',
          )}
        </div>
      `,
    },
    isMine ? `Manage ${called}` : `Manage ${called} of ${grant.user.name}`,
  )
}

function howToConnect(c: C) {
  const address = new URL('/platform', c.var.needs.mcpUrl).href
  return card(
    'Connect an assistant',
    html`${copyable('mcp-address', address, 'Address for assistants')}
      <p>In Claude Code, for example:</p>
      ${copyable('mcp-add', `claude mcp add --transport http svc ${address}`, 'A command that connects Claude Code')}
      <p><a href="/console/connect">Every assistant, step by step</a></p>`,
    'Any assistant that speaks MCP: add this address as a remote server or custom connector, then sign in when it asks.',
  )
}

function narrow(c: C) {
  const left = texts(c.get('form'), 'scopes').filter(
    (scope): scope is Scope => ScopeName.safeParse(scope).success,
  )
  return actAndReturn(c, agentListOr(backFrom(c)), 'What it may do was saved.', async () => {
    if (left.length === 0) {
      throw new ServiceError('INVALID_REQUEST', 'Leave it at least one thing it may do, or disconnect it')
    }
    await visitOf(c).call(narrowGrant, { grant_id: idOf(c), scopes: left })
  })
}

async function limitSources(c: C) {
  const [which, left] = [text(c.get('form'), 'which'), texts(c.get('form'), 'sources')]
  const back = agentListOr(backFrom(c))
  // As it was: there is nothing to save, and nothing to say.
  if (which === 'all') return c.redirect(back, 303)
  return actAndReturn(c, back, 'Which data sources it may ask was saved.', async () => {
    if (left.length === 0) {
      throw new ServiceError('INVALID_REQUEST', 'Leave it at least one data source, or disconnect it')
    }
    await visitOf(c).call(narrowGrant, { grant_id: idOf(c), sources: left })
  })
}

const disconnect = (c: C) =>
  actAndReturn(c, agentListOr(backFrom(c)), 'The agent was disconnected.', () =>
    visitOf(c).call(revokeGrant, { grant_id: idOf(c) }),
  )

const idOf = (c: C): string => c.req.param('id') ?? ''
const agentListOr = (back: string): string => (back.startsWith(PATH) ? back : PATH)
