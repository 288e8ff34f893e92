/** Agent clients: the applications that act in this organization, and which of them are blocked. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { blockOauthClient, listOauthClients, type OauthClient } from '../../../contracts/grants.ts'
import { act, submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { returnPath, statusOf, confirmDialog, formCard } from '../../forms.ts'
import { page } from '../../layout.ts'
import { badge, emptyState, time, listCard } from '../../components.ts'
import { createRoutes, organizationOf, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { endAccessLink } from '../receipts/end-access-link.ts'
import { clientSummary, clientLabel } from './client-labels.ts'

type Client = z.output<typeof OauthClient>
const PATH = '/console/agents/clients'
const BLOCK = formOf(blockOauthClient, ['client_id'], {
  client_id: { label: 'Metadata URL or client ID', placeholder: 'https://assistant.example/client.json' },
})

export const agentClientRoutes = () =>
  createRoutes()
    .get('/agents/clients', (c) => showClients(c))
    .post('/agents/clients/new', blockNew)
    .post('/agents/clients/block', setBlocked(true, 'Client blocked.'))
    .post('/agents/clients/unblock', setBlocked(false, 'Client unblocked.'))

async function showClients(c: PageContext, refused?: Refused) {
  requireRole(c, 'admin', 'Only owners and admins can view agent clients')
  const session = sessionOf(c)
  const { name } = organizationOf(c)
  const cursor = c.req.method === 'GET' ? c.req.query('cursor') : undefined
  const { oauth_clients: clients, next_cursor } = await session.call(listOauthClients, { cursor })
  return page(c, {
    title: 'Agent clients',
    lead: html`The applications behind the <a href="/console/agents?all=true">connected agents</a> of ${name}. To block
      all of them at once, <a href="/console/settings/security">turn off agents</a>.`,
    status: statusOf(refused?.problem),
    body: html`${listCard(c, {
      caption: 'Agent clients',
      columns: ['Client', 'Agents', 'Last used', 'Status', '(Actions)'],
      rows: clients.map((client, at) => clientRow(c, client, at)),
      empty: emptyState(
        'No clients yet',
        'When a member connects an assistant, its client is listed here. You can block a client before anyone connects it.',
        html`<a href="/console/agents">Connect an assistant</a>`,
      ),
      next: next_cursor,
    })}
    ${formCard(c, {
      of: BLOCK.show({ refused }),
      title: 'Block a client',
      lead: 'Also works for clients that nobody has connected yet. The value must match exactly; the URL is never fetched.',
      action: `${PATH}/new`,
      submit: 'Block',
      className: 'inline',
    })}`,
  })
}

const clientRow = (c: PageContext, client: Client, at: number) => [
  html`${clientSummary(client, wasHere(client))}<code class="note long">${client.client_id}</code>`,
  client.live_grants === 0
    ? html`<span class="note">None</span>`
    : html`<a href="/console/agents?${new URLSearchParams({ all: 'true', client_id: client.client_id }).toString()}">${client.live_grants}<span class="unseen"> agents of ${clientLabel(client)}</span></a>`,
  client.last_used_at ? time(client.last_used_at) : html`<span class="note">Never</span>`,
  client.blocked ? badge('Blocked', 'wait') : badge('Allowed', 'on'),
  html`<div class="row-actions">${client.live_grants > 0 && sessionOf(c).support === undefined && endAccessLink('client', client.client_id)} ${clientActions(c, client, at)}</div>`,
]

const wasHere = ({ name, live_grants, last_used_at }: Client): boolean =>
  name !== null || live_grants > 0 || last_used_at !== null

/** A client id is untrusted text, so the dialog is named by its position in the list. */
function clientActions(c: PageContext, client: Client, at: number) {
  const called = clientLabel(client)
  const fields = html`<input type="hidden" name="client_id" value="${client.client_id}" />`
  return client.blocked
    ? confirmDialog(c, {
        id: `client-${at}`,
        label: 'Unblock',
        name: `Unblock ${called}`,
        title: 'Unblock this client?',
        action: `${PATH}/unblock`,
        text: html`<span class="long">Members can connect ${called} again. Agents connected before the block work again unless they were disconnected or have expired.</span>`,
        fields,
        submit: 'Unblock client',
        kind: 'main',
      })
    : confirmDialog(c, {
        id: `client-${at}`,
        label: 'Block',
        name: `Block ${called}`,
        title: 'Block this client?',
        action: `${PATH}/block`,
        text: html`<span class="long">All agents of ${called} are refused on their next call, and no member can connect it. Other organizations are not affected.</span>`,
        fields,
        submit: 'Block client',
      })
}

const blockNew = submit(BLOCK, {
  input: () => ({ blocked: true }),
  again: showClients,
  done: () => [PATH, 'Client blocked.'],
})

const setBlocked = (blocked: boolean, done: string) =>
  act(blockOauthClient, {
    input: (sent) => ({ ...BLOCK.read(sent), blocked }),
    back: (c) => returnPath(c, PATH),
    done,
  })
