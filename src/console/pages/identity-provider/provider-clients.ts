/** Identity provider > Clients: which assistants may connect through it, and what they get at most. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  allowIdentityProviderClient,
  createIdentityProviderClient,
  forbidIdentityProviderClient,
  listIdentityProviderClients,
} from '../../../contracts/identity-provider.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { RESOURCE_SCOPES, RESOURCES, DEFAULT_SCOPES } from '../../../contracts/scopes.ts'
import { choice, linkButton, notice } from '../../../pages/parts.ts'
import { copyable, emptyState, listCard, time } from '../../components.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { act, submit } from '../../act.ts'
import { formOf, refuse, type Refused } from '../../fields.ts'
import { attempt, confirmDialog, formCard, returnPath, statusOf } from '../../forms.ts'
import { page } from '../../layout.ts'
import { IDENTITY_PROVIDER } from '../../navigation.ts'
import { principalLabel } from '../agents/client-labels.ts'
import { CLIENT_PRESETS } from './client-presets.ts'
import { ENDPOINT_LABELS, isSensitive, scopeBoxes, scopesSummary } from './provider-labels.ts'
import { isOwner, mayChange, notOnNotice, providerPage, requireProvider } from './provider-page.ts'

export type AllowedClient = z.output<typeof listIdentityProviderClients.output>['clients'][number]

const PATH = `${IDENTITY_PROVIDER}/clients`

export const providerClientRoutes = () =>
  createRoutes()
    .get('/identity-provider/clients', showClients)
    .get('/identity-provider/clients/allow', showAllow)
    .post('/identity-provider/clients/allow', allow)
    .get('/identity-provider/clients/create', (c) => showCreate(c))
    .post('/identity-provider/clients/create', create)
    .post('/identity-provider/clients/forbid', forbid)

async function showClients(c: PageContext) {
  const provider = await requireProvider(c)
  const { clients, next_cursor } = await sessionOf(c).call(listIdentityProviderClients, {
    cursor: c.req.query('cursor'),
  })
  return providerPage(c, 'Clients', {
    lead: 'The assistants that may connect through it, and what each can do at most.',
    actions:
      mayChange(c) &&
      html`${linkButton(`${PATH}/create`, 'Create a client')} ${linkButton(`${PATH}/allow`, 'Allow a client', 'quiet')}`,
    body: html`${notOnNotice(provider)}
    ${listCard(c, {
      caption: 'Allowed clients',
      columns: ['Client', 'At most', 'Endpoints', 'Agents', 'Last used', '(Actions)'],
      rows: clients.map((client, at) => clientRow(c, client, at)),
      empty: emptyState(
        'No client is allowed yet',
        'Until one is, no assistant can connect through the identity provider.',
        mayChange(c) && presetLinks(),
      ),
      next: next_cursor,
    })}`,
  })
}

const presetLinks = () =>
  html`${CLIENT_PRESETS.map(({ id, label }) => linkButton(`${PATH}/allow?preset=${id}`, label, 'quiet'))}
    ${linkButton(`${PATH}/allow`, 'Another client', 'quiet')}`

const editPath = ({ client_id }: { client_id: string }): string =>
  `${PATH}/allow?${new URLSearchParams({ client_id }).toString()}`

const labelOf = ({ client_id, name }: AllowedClient): string => principalLabel(client_id, name)

function clientRow(c: PageContext, client: AllowedClient, at: number) {
  const called = labelOf(client)
  const agents = new URLSearchParams({ all: 'true', client_id: client.client_id })
  return [
    html`<a href="${editPath(client)}" title="${client.client_id}"><bdi>${called}</bdi></a> ${client.is_public && html`<span class="badge badge-wait">public</span>`}`,
    scopesSummary(client.max_scopes),
    client.resources.map((resource) => `/${resource}`).join(', '),
    client.live_grants === 0
      ? html`<span class="note">None</span>`
      : html`<a href="/console/agents?${agents.toString()}">${client.live_grants}<span class="unseen"> agents of ${called}</span></a>`,
    client.last_used_at ? time(client.last_used_at) : html`<span class="note">Never</span>`,
    html`<div class="row-actions">${mayChange(c) && forbidDialog(c, client, `forbid-${at}`)}</div>`,
  ]
}

/** A client id is untrusted text, so the dialog is named by its position in the list. */
const forbidDialog = (c: PageContext, client: AllowedClient, id: string) =>
  confirmDialog(c, {
    id,
    label: 'Forbid',
    name: `Forbid ${labelOf(client)}`,
    title: 'Forbid this client?',
    action: `${PATH}/forbid`,
    text: html`<span class="long">Agents that connected <bdi>${labelOf(client)}</bdi> through the identity provider lose access on their next call. ${client.is_own ? 'You created it here, so it is deleted with its secret. To allow it again, create another.' : 'Members may still approve it themselves, unless you block it or require the identity provider.'}</span>`,
    fields: html`<input type="hidden" name="client_id" value="${client.client_id}" />`,
    submit: 'Forbid client',
  })

const LEAST = { max_scopes: [...DEFAULT_SCOPES.platform], resources: ['platform'] }

const ALLOW = formOf(allowIdentityProviderClient, ['client_id', 'max_scopes', 'resources', 'may_be_public'])
const CREATE = formOf(createIdentityProviderClient, ['name', 'max_scopes', 'resources'])

/** What is shown before anybody typed anything. */
type Known = Partial<Pick<AllowedClient, 'client_id' | 'may_be_public'>> & {
  max_scopes: readonly string[]
  resources: readonly string[]
}

async function showAllow(c: PageContext) {
  await requireProvider(c)
  const client_id = c.req.query('client_id')
  const preset = CLIENT_PRESETS.find(({ id }) => id === c.req.query('preset'))
  if (client_id === undefined) {
    return allowPage(
      c,
      preset ? { ...LEAST, client_id: preset.client_id, may_be_public: preset.isPublic } : LEAST,
    )
  }
  const known = await findAllowed(c, client_id)
  return allowPage(c, known ?? { ...LEAST, client_id }, known)
}

/** At most 200 may be allowed: one page has them all. */
async function findAllowed(c: PageContext, client_id: string): Promise<AllowedClient | undefined> {
  const { clients } = await sessionOf(c).call(listIdentityProviderClients, { limit: PAGE_MAX })
  return clients.find((one) => one.client_id === client_id)
}

function allowPage(c: PageContext, now: Known, known?: AllowedClient, refused?: Refused) {
  const isOpen = mayChange(c) && (isOwner(c) || !known?.max_scopes.some(isSensitive))
  return page(c, {
    title: known ? labelOf(known) : 'Allow a client',
    lead: known
      ? 'What this client can do at most, for everybody who connects it through the identity provider.'
      : 'Nobody gets more by it than their own role and your rules allow.',
    status: statusOf(refused?.problem),
    body: html`${!known && presetTabs(c)}
    ${
      isOpen
        ? clientForm(c, now, known, refused)
        : notice(
            'info',
            html`<p>Only an owner can change this client: it may have permissions that only owners give.</p>`,
          )
    }`,
  })
}

const presetTabs = (c: PageContext) => {
  const chosen = c.req.query('preset')
  const link = (href: string, label: string, isCurrent: boolean) =>
    html`<a href="${href}" class="button button-quiet button-small" ${isCurrent && html`aria-current="true"`}>${label}</a>`
  return html`<nav class="actions" aria-label="Known clients">
    ${CLIENT_PRESETS.map(({ id, label }) => link(`${PATH}/allow?preset=${id}`, label, chosen === id))}
    ${link(`${PATH}/allow`, 'Another client', chosen === undefined)}
  </nav>`
}

function clientForm(
  c: PageContext,
  now: Known,
  known: AllowedClient | undefined,
  refused: Refused | undefined,
) {
  const form = ALLOW.show({ now, refused })
  const preset = CLIENT_PRESETS.find(({ client_id }) => client_id === form.value('client_id'))
  return formCard(c, {
    of: form,
    action: `${PATH}/allow`,
    shown: known ? [] : form.shown,
    fields: html`${
      known
        ? html`<p class="long"><code>${known.client_id}</code></p><input type="hidden" name="client_id" value="${known.client_id}" />`
        : form.field('client_id', preset && { hint: preset.hint })
    }
    ${termFields(c, form.list)}
    ${
      !known?.is_own &&
      html`<fieldset>
        <legend>Proof of who it is</legend>
        ${form.field('may_be_public')}
      </fieldset>`
    }
    ${known && html`<p class="note">If you give less than before, its agents are disconnected and connect again by themselves.</p>`}`,
    submit: known ? 'Save' : 'Allow client',
    cancel: PATH,
  })
}

const termFields = (c: PageContext, list: (key: 'max_scopes' | 'resources') => readonly string[]) =>
  html`<fieldset>
      <legend>At most it can</legend>
      ${RESOURCES.map((resource) => scopeBoxes('max_scopes', RESOURCE_SCOPES[resource], (scope) => list('max_scopes').includes(scope), isOwner(c)))}
    </fieldset>
    <fieldset>
      <legend>Endpoints</legend>
      ${RESOURCES.map((resource) => choice('checkbox', 'resources', resource, list('resources').includes(resource), ENDPOINT_LABELS[resource], html`<code>/${resource}</code>`))}
    </fieldset>`

async function showCreate(c: PageContext, refused?: Refused) {
  await requireProvider(c)
  const form = CREATE.show({ now: LEAST, refused })
  return page(c, {
    title: 'Create a client',
    lead: 'An ID and a secret for an assistant, for this identity provider only. Enter them at the assistant.',
    status: statusOf(refused?.problem),
    body: formCard(c, {
      of: form,
      action: `${PATH}/create`,
      fields: html`${form.field('name')} ${termFields(c, form.list)}`,
      submit: 'Create client',
      cancel: PATH,
    }),
  })
}

async function create(c: PageContext) {
  const result = await attempt(() =>
    sessionOf(c).call(createIdentityProviderClient, CREATE.read(c.get('form'))),
  )
  if ('problem' in result) return showCreate(c, refuse(c, result.problem))
  return clientCreated(c, result.done)
}

/** Shown in this response and nowhere else: not in a cookie, not in an address. */
const clientCreated = (c: PageContext, made: z.output<typeof createIdentityProviderClient.output>) =>
  page(c, {
    title: 'Client created',
    status: 201,
    body: html`<div class="card">
      ${notice('info', html`<p><strong>Copy the secret now.</strong> It is not stored and cannot be shown again.</p>`)}
      <h2>Client ID</h2>
      ${copyable('client-id', made.client_id, `Client ID of ${labelOf(made)}`)}
      <h2>Secret</h2>
      ${copyable('secret', made.secret, `Secret of ${labelOf(made)}`)}
      <h2>Token endpoint</h2>
      ${copyable('token-endpoint', made.token_endpoint, 'Token endpoint')}
      <h2>MCP server</h2>
      ${made.resource_urls.map((url, at) => copyable(`resource-${at}`, url, `MCP server ${url}`))}
      <p class="note">Enter the client ID at your identity provider, too: its assertions must name it.</p>
      <div class="actions">${linkButton(PATH, 'Done')}</div>
    </div>`,
  })

const allow = submit(ALLOW, {
  again: async (c, refused) => {
    await requireProvider(c)
    return allowPage(c, LEAST, await findAllowed(c, ALLOW.read(refused.form).client_id), refused)
  },
  done: (client) => [PATH, `${labelOf(client)} allowed.`],
})

const forbid = act(forbidIdentityProviderClient, {
  input: ['client_id'],
  back: (c) => returnPath(c, PATH),
  done: 'Client forbidden.',
})
