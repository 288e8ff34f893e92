/** Agent clients: the programs that ask to act in this organization, and which of them stay outside. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { ServiceError } from '../../contracts/errors.ts'
import { blockOauthClient, listOauthClients, type OauthClient } from '../../contracts/grants.ts'
import { button, card, inputField, problemNotice } from '../../pages/parts.ts'
import { attempt, statusOf } from '../attempt.ts'
import { actAndReturn, leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { backField, badge, emptyState, form, opens, pager, table, time } from '../parts.ts'
import { backFrom, hasRole, organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import { clientLines, clientWord } from './client-words.ts'

type C = Context<ConsoleEnv>
type Client = z.output<typeof OauthClient>
const PATH = '/console/agents/clients'

export const agentClientPages = () =>
  new Hono<ConsoleEnv>()
    .get('/agents/clients', (c) => showClients(c))
    .post('/agents/clients/new', blockUnseen)
    .post('/agents/clients/block', (c) => setBlocked(c, true, 'The client is blocked.'))
    .post('/agents/clients/unblock', (c) => setBlocked(c, false, 'The client may connect again.'))

async function showClients(c: C, typed?: { client_id: string; problem: ServiceError }) {
  const visit = visitOf(c)
  const { name } = organizationOf(c)
  if (!hasRole(visit, 'admin')) {
    throw new ServiceError('FORBIDDEN', 'Only owners and admins see the clients of the organization')
  }
  const cursor = c.req.method === 'GET' ? c.req.query('cursor') : undefined
  const { oauth_clients: clients, next_cursor } = await visit.call(listOauthClients, { cursor })
  return page(c, {
    title: 'Agent clients',
    lead: html`The programs behind the <a href="/console/agents?all=true">connected agents</a> of ${name}. To keep
      all of them out at once, use the <a href="/console/settings/security">agents switch</a>.`,
    status: statusOf(typed?.problem),
    body: html`<div class="card card-list">
        ${
          clients.length === 0
            ? emptyState(
                'No client has been here yet',
                'As soon as somebody connects an assistant, its client is listed here. One that should never get in can be blocked below.',
                html`<a href="/console/agents">How an assistant connects</a>`,
              )
            : table(
                'Agent clients',
                ['Client', 'Agents', 'Last used', 'State', '(Actions)'],
                clients.map((client, at) => clientCells(c, client, at)),
              )
        }
        ${pager(c, next_cursor)}
      </div>
      ${blockCard(c, typed)}`,
  })
}

const clientCells = (c: C, client: Client, at: number) => [
  html`${clientLines(client, wasHere(client))}<code class="note long">${client.client_id}</code>`,
  client.live_grants === 0
    ? html`<span class="note">none</span>`
    : html`<a href="/console/agents?${new URLSearchParams({ all: 'true', client_id: client.client_id }).toString()}">${client.live_grants}<span class="unseen"> agents of ${clientWord(client)}</span></a>`,
  client.last_used_at ? time(client.last_used_at) : html`<span class="note">never</span>`,
  client.blocked ? badge('Blocked', 'wait') : badge('May connect', 'on'),
  html`<div class="row-actions">${clientActions(c, client, at)}</div>`,
]

const wasHere = ({ name, live_grants, last_used_at }: Client): boolean =>
  name !== null || live_grants > 0 || last_used_at !== null

/** A client id is anybody's text, so the window is named by its place in the list. */
function clientActions(c: C, client: Client, at: number) {
  const called = clientWord(client)
  const field = html`${backField(c)}<input type="hidden" name="client_id" value="${client.client_id}" />`
  return client.blocked
    ? opens(
        `client-${at}`,
        'Let in again',
        {
          title: 'Let it in again?',
          content: form(
            c,
            `${PATH}/unblock`,
            html`${field}
            <p class="long">People here may connect ${called} again. Agents that were connected before the block and have not ended since work again.</p>
            ${button('Let it in again')}`,
            'stack',
          ),
        },
        `Let in again: ${called}`,
      )
    : opens(
        `client-${at}`,
        'Block',
        {
          title: 'Block this client?',
          content: form(
            c,
            `${PATH}/block`,
            html`${field}
            <p class="long">Every agent of ${called}, whoever connected it, is refused on its next call, and nobody here can connect it. Other organizations are not touched.</p>
            ${button('Block the client', 'danger')}`,
            'stack',
          ),
        },
        `Block ${called}`,
      )
}

const blockCard = (c: C, typed: { client_id: string; problem: ServiceError } | undefined) =>
  card(
    'Block a client',
    html`${problemNotice(typed?.problem, ['client_id'])}
    ${form(
      c,
      `${PATH}/new`,
      html`${inputField({
        name: 'client_id',
        label: 'Metadata URL or client id',
        value: typed?.client_id ?? '',
        required: true,
        maxlength: 1024,
        autocomplete: 'off',
        placeholder: 'https://assistant.example/client.json',
        problem: typed?.problem,
      })}
      ${button('Block')}`,
      'inline',
    )}`,
    'Also one that nobody has connected yet. It is compared letter by letter and never fetched.',
  )

async function blockUnseen(c: C) {
  const client_id = text(c.get('form'), 'client_id').trim()
  const tried = await attempt(() => visitOf(c).call(blockOauthClient, { client_id, blocked: true }))
  if ('problem' in tried) return showClients(c, { client_id, problem: tried.problem })
  leaveFlash(c, 'done', 'The client is blocked.')
  return c.redirect(PATH, 303)
}

function setBlocked(c: C, blocked: boolean, done: string) {
  const back = backFrom(c)
  return actAndReturn(c, back.startsWith(PATH) ? back : PATH, done, () =>
    visitOf(c).call(blockOauthClient, { client_id: text(c.get('form'), 'client_id'), blocked }),
  )
}
