/** The connections of the organization: where its notifications can go, and how each of them does. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { INTEGRATION_KINDS, listIntegrations } from '../../contracts/integrations.ts'
import { card, inputField, selectField } from '../../pages/parts.ts'
import { page } from '../layout.ts'
import { badge, emptyState, filters, table, time } from '../parts.ts'
import { organizationOf, visitOf, type ConsoleEnv } from '../visit.ts'
import {
  INTEGRATIONS_PATH,
  KIND_WORDS,
  pathOf,
  stateBadge,
  whereItLeads,
  type Integration,
} from './integration-words.ts'

type C = Context<ConsoleEnv>
type Listed = z.output<typeof listIntegrations.output>

export const integrationListPages = () => new Hono<ConsoleEnv>().get('/integrations', showIntegrations)

async function showIntegrations(c: C) {
  const organization = organizationOf(c)
  const listed = await visitOf(c).call(listIntegrations, {})
  return page(c, {
    title: 'Integrations',
    lead: html`Where notifications of ${organization.name} can go. What goes where is decided by <a href="/console/subscriptions">subscriptions</a>.`,
    body: html`
      ${listed.integrations.length > 0 && connectionsCard(c, listed.integrations)}
      ${waysCard(listed)} ${mailCard(listed.email)}
    `,
  })
}

function connectionsCard(c: C, all: readonly Integration[]) {
  const search = c.req.query('search')?.trim().slice(0, 120) ?? ''
  const kind = INTEGRATION_KINDS.find((one) => one === c.req.query('kind'))
  const shown = all.filter(
    (one) =>
      (kind === undefined || one.kind === kind) && one.name.toLowerCase().includes(search.toLowerCase()),
  )
  return html`<div class="card card-list">
    ${filters(
      c,
      'Filter connections',
      html`${inputField({ name: 'search', label: 'Name', type: 'search', value: search, maxlength: 120 })}
      ${selectField({
        name: 'kind',
        label: 'Kind',
        value: kind ?? '',
        options: [
          { value: '', label: 'Every kind' },
          ...INTEGRATION_KINDS.map((value) => ({ value, label: KIND_WORDS[value] })),
        ],
      })}`,
    )}
    ${
      shown.length === 0
        ? emptyState(
            'No connection matches',
            'Try a shorter part of the name, or every kind.',
            html`<a href="${INTEGRATIONS_PATH}">Show all connections</a>`,
          )
        : table(
            'Connections',
            ['Connection', 'State', 'Subscriptions', 'Last arrived'],
            shown.map(connectionCells),
          )
    }
  </div>`
}

const connectionCells = (one: Integration) => [
  html`<div class="two-lines"><a class="subject" href="${pathOf(one)}">${one.name}</a><span class="note">${whereItLeads(one)}</span></div>`,
  stateBadge(one),
  one.subscriptions === 0
    ? html`<a href="/console/subscriptions/new?integration=${one.id}" >none yet<span class="unseen">: subscribe ${one.name}</span></a>`
    : html`<a href="/console/subscriptions?integration=${one.id}" >${one.subscriptions}<span class="unseen"> of ${one.name}</span></a>`,
  one.last_success_at ? time(one.last_success_at) : html`<span class="note">never</span>`,
]

const waysCard = ({ integrations, chat_install }: Listed) =>
  card(
    integrations.length === 0 ? 'Connect the first one' : 'Connect another',
    html`<ul class="ways">
      ${way('chat', 'Chat channel', chat_install ? 'Install the app in your workspace, or paste the address of an incoming webhook.' : 'Paste the address of an incoming webhook.')}
      ${way('webhook', 'Signed webhook', 'A program of yours receives what happened, signed so that it can be sure who sent it.')}
      ${
        integrations.some(({ kind }) => kind === 'forum')
          ? null
          : way('forum', 'Forum', 'Posts in a category of your Discourse, in the name of whoever acted.')
      }
    </ul>`,
  )

const way = (kind: string, title: string, about: string) =>
  html`<li class="way"><h3><a href="${INTEGRATIONS_PATH}/new/${kind}">${title}</a></h3><p class="note">${about}</p></li>`

const mailCard = ({ ready, from }: Listed['email']) =>
  card(
    'E-mail',
    ready
      ? html`<p class="switch-state">${badge('Ready', 'on')} <span>Sent by this service${from && html` from <span class="long">${from}</span>`}. Every mail has a link that ends it.</span></p>`
      : html`<p class="switch-state">${badge('No mail server', 'wait')} <span>The operator of this service has not set one up, so mails stand in the ledger as not sent.</span></p>`,
    'For people: replies to their own tickets, and visits of support staff.',
  )
