/** The integrations of the organization and their status. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { INTEGRATION_KINDS, type IntegrationKind } from '../../../contracts/channels.ts'
import { listIntegrations } from '../../../contracts/integrations.ts'
import { card, inputField } from '../../../pages/parts.ts'
import { page } from '../../layout.ts'
import { badge, filterSelect, labelOptions, time, listCard } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { notificationsCard } from '../subscriptions/notifications-card.ts'
import {
  INTEGRATIONS_PATH,
  KIND_LABELS,
  pathOf,
  stateBadge,
  destinationSummary,
  type Integration,
} from './integration-labels.ts'

type Listed = z.output<typeof listIntegrations.output>

export const integrationListRoutes = () => createRoutes().get('/integrations', showIntegrations)

async function showIntegrations(c: PageContext) {
  const organization = organizationOf(c)
  const listed = await sessionOf(c).call(listIntegrations, {})
  return page(c, {
    title: 'Integrations',
    lead: html`Where notifications from ${organization.name} can be sent.`,
    body: html`
      ${listed.integrations.length > 0 && integrationsCard(c, listed.integrations)}
      ${await notificationsCard(c, listed.integrations.length > 0)}
      ${connectCard(listed)} ${emailCard(listed.email)}
    `,
  })
}

function integrationsCard(c: PageContext, all: readonly Integration[]) {
  const search = c.req.query('search')?.trim().slice(0, 120) ?? ''
  const kind = INTEGRATION_KINDS.find((one) => one === c.req.query('kind'))
  const shown = all.filter(
    (one) =>
      (kind === undefined || one.kind === kind) && one.name.toLowerCase().includes(search.toLowerCase()),
  )
  return listCard(c, {
    noun: 'integrations',
    filters: html`${inputField({ name: 'search', label: 'Name', type: 'search', value: search, maxlength: 120 })}
      ${filterSelect({ name: 'kind', label: 'Kind', value: kind, all: 'All kinds', options: labelOptions(INTEGRATION_KINDS, KIND_LABELS) })}`,
    caption: 'Integrations',
    columns: ['Integration', 'Status', 'Subscriptions', 'Last delivery'],
    rows: shown.map(integrationCells),
  })
}

const integrationCells = (one: Integration) => [
  html`<div class="two-lines"><a class="subject" href="${pathOf(one)}">${one.name}</a><span class="note">${destinationSummary(one)}</span></div>`,
  stateBadge(one),
  one.subscriptions === 0
    ? html`<a href="/console/subscriptions/new?integration=${one.id}">Add<span class="unseen"> a subscription for ${one.name}</span></a>`
    : html`<a href="/console/subscriptions?integration=${one.id}">${one.subscriptions}<span class="unseen"> of ${one.name}</span></a>`,
  one.last_success_at ? time(one.last_success_at) : html`<span class="note">Never</span>`,
]

const connectCard = (listed: Listed) =>
  card(
    'Add an integration',
    html`<ul class="ways">
      ${INTEGRATION_KINDS.map((kind) => {
        const about = CONNECT[kind](listed)
        return (
          about &&
          html`<li class="way"><h3><a href="${INTEGRATIONS_PATH}/new/${kind}">${KIND_LABELS[kind]}</a></h3><p class="note">${about}</p></li>`
        )
      })}
    </ul>`,
  )

/** Nothing where no further one can be connected. */
const CONNECT: Record<IntegrationKind, (listed: Listed) => string | null> = {
  chat: ({ chat_install }) =>
    chat_install
      ? 'Install the app in your workspace, or use an incoming webhook.'
      : 'Use an incoming webhook.',
  email: ({ email }) =>
    email.ready ? 'Sends email to an address, once somebody there has confirmed it.' : null,
  webhook: () => 'Sends signed POST requests to your endpoint.',
  forum: ({ integrations }) =>
    integrations.some(({ kind }) => kind === 'forum')
      ? null
      : 'Posts to a category of your Discourse forum, in the name of the person who acted.',
}

const emailCard = ({ ready, from }: Listed['email']) =>
  card(
    'Email',
    ready
      ? html`<p class="switch-state">${badge('Ready', 'on')} <span>Sent by this service${from && html` from <span class="long">${from}</span>`}. Every email has an unsubscribe link.</span></p>`
      : html`<p class="switch-state">${badge('No mail server', 'wait')} <span>The operator of this service has not set one up, so emails are not sent.</span></p>`,
    'For members: replies to their tickets, support sessions, and what is wrong with deliveries.',
  )
