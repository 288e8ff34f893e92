/** The list of deliveries: every event, where it was sent, and why something was not. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  listDeliveries,
  replayFailedDeliveries,
  REPLAYS_MAX,
  summarizeDeliveries,
} from '../../../contracts/deliveries.ts'
import { listIntegrations } from '../../../contracts/integrations.ts'
import { button, choice, inputField, linkButton } from '../../../pages/parts.ts'
import { attempt, form, text, utcMoment } from '../../forms.ts'
import { setFlash } from '../../flash.ts'
import { page } from '../../layout.ts'
import { breakable, dialog, emptyState, filterSelect, time, listCard } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { deliveryChart, deliveryCounters } from './delivery-charts.ts'
import { exportDeliveries } from './deliveries-export.ts'
import { asInput, filterFields, readFilters, type Filters } from './delivery-filters.ts'
import {
  CHANNEL_LABELS,
  destinationOf,
  DELIVERIES_PATH,
  outcomeBadge,
  reasonNote,
} from './delivery-labels.ts'
import { integrationOptions, type Integration } from '../integrations/integration-labels.ts'
import { formatDuration } from '../../format.ts'

type Delivery = z.output<typeof listDeliveries.output>['deliveries'][number]

export const deliveryListRoutes = () =>
  createRoutes()
    .get('/deliveries', showDeliveries)
    .get('/deliveries.csv', exportDeliveries)
    .post('/deliveries/replay', replayMany)

async function showDeliveries(c: PageContext) {
  organizationOf(c)
  const { call } = sessionOf(c)
  const filters = readFilters(c.req.query())
  const [{ deliveries, next_cursor, total }, summary, { integrations }] = await Promise.all([
    call(listDeliveries, { ...asInput(filters), cursor: c.req.query('cursor'), count: 'true' }),
    call(summarizeDeliveries, {}),
    call(listIntegrations, {}),
  ])
  return page(c, {
    title: 'Deliveries',
    lead: 'Every event and its deliveries: what was sent, what failed and why. Nothing is sent twice unless someone replays it.',
    actions: html`${linkButton(`${DELIVERIES_PATH}.csv${filterQuery(c)}`, 'Export CSV', 'quiet')}
    ${replayDialog(c, filters, integrations)}`,
    body: html`${deliveryCounters(summary)} ${deliveryChart(summary, c.var.deps.clock())}
      ${listCard(c, {
        label: 'Filter deliveries',
        filters: filterFields(filters, integrations),
        caption: 'Deliveries, newest first',
        columns: ['Time', 'Event', 'Destination', 'Status', 'Attempts'],
        rows: deliveries.map(cells),
        empty: emptyList(c),
        next: next_cursor,
        total,
      })}`,
  })
}

/** The export applies the same filters and starts at the first row. */
function filterQuery(c: PageContext): string {
  const query = new URL(c.req.url).searchParams
  for (const name of ['cursor', 'cursor_page', 'cursor_back']) query.delete(name)
  return query.size === 0 ? '' : `?${query}`
}

const cells = (one: Delivery) => [
  html`<a href="${DELIVERIES_PATH}/${one.id}">${time(one.created_at)}<span class="unseen">, ${one.type}</span></a>`,
  html`<div class="two-lines"><code>${breakable(one.type, '.')}</code><span class="note id-text">${one.app !== null && html`${one.app} · `}${one.subject}</span></div>`,
  destinationCell(one),
  html`<div class="two-lines">${outcomeBadge(one)} ${reasonNote(one.reason)} ${one.next_attempt_at && html`<span class="note">Next ${time(one.next_attempt_at)}</span>`} ${one.replay_of !== null && html`<span class="note">Replay</span>`}</div>`,
  one.attempts === 0
    ? html`<span class="note">None</span>`
    : html`<span class="measure">${one.attempts}</span>${one.duration_ms !== null && html` <span class="note measure">${formatDuration(one.duration_ms)}</span>`}`,
]

const destinationCell = ({ channel, destination }: Delivery) =>
  channel === null
    ? html`<span class="note">No recipient</span>`
    : html`<div class="two-lines"><span class="id-text">${destinationOf({ channel, destination })}</span><span class="note">${CHANNEL_LABELS[channel]}</span></div>`

const emptyList = (c: PageContext) =>
  Object.keys(c.req.query()).length > 0
    ? emptyState(
        'No deliveries found',
        'Try different filters.',
        html`<a href="${DELIVERIES_PATH}">Clear filters</a>`,
      )
    : emptyState(
        'No deliveries yet',
        'Every event is listed here, even if nobody is notified. Send a test event from a subscription to see one.',
        html`<a href="/console/subscriptions">Subscriptions</a>`,
      )

const replayDialog = (c: PageContext, filters: Filters, integrations: readonly Integration[]) =>
  dialog('replay-failed', 'Replay failed…', {
    title: 'Replay failed deliveries',
    content: form(
      c,
      `${DELIVERIES_PATH}/replay`,
      html`<p>Sends the failed deliveries of this period again, at most ${REPLAYS_MAX.toLocaleString('en')} at a time, each with a new ID.</p>
        ${inputField({ id: 'replay-from', name: 'from', label: 'From (UTC)', type: 'datetime-local', required: true, value: filters.from ? `${filters.from}T00:00` : '' })}
        ${inputField({ id: 'replay-to', name: 'to', label: 'To (UTC)', type: 'datetime-local', value: '', hint: 'Defaults to now.' })}
        ${filterSelect({ id: 'replay-integration', name: 'integration', label: 'Destination', value: filters.integration_id, all: 'All integrations', options: integrationOptions(integrations) })}
        ${choice('checkbox', 'unconfirmed', 'yes', false, 'Include unconfirmed', 'These may already have arrived and could arrive twice.')}
        ${button('Replay')}`,
    ),
  })

async function replayMany(c: PageContext) {
  const fields = c.get('form')
  const [from, to] = [utcMoment(text(fields, 'from')), utcMoment(text(fields, 'to'))]
  if (from === undefined) {
    setFlash(c, 'problem', 'Enter a start date and time in UTC.')
    return c.redirect(DELIVERIES_PATH, 303)
  }
  const result = await attempt(() =>
    sessionOf(c).call(replayFailedDeliveries, {
      from,
      to,
      integration_id: text(fields, 'integration') || undefined,
      include_unconfirmed: text(fields, 'unconfirmed') === 'yes',
    }),
  )
  if ('problem' in result) setFlash(c, 'problem', `${result.problem.message}.`)
  else setFlash(c, 'done', replayedMessage(result.done))
  return c.redirect(DELIVERIES_PATH, 303)
}

const replayedMessage = ({ replayed, more }: { replayed: number; more: boolean }): string =>
  replayed === 0
    ? 'No failed deliveries in this period.'
    : `${replayed === 1 ? '1 delivery' : `${replayed} deliveries`} queued again.${more ? ' There are more; replay again to continue.' : ''}`
