/** The delivery workbench: how every integration is, what was sent, and what was not and why. */
import { html } from 'hono/html'
import {
  listDeliveries,
  listIntegrationHealth,
  listRecoveries,
  replayFailedDeliveries,
  REPLAYS_MAX,
  summarizeDeliveries,
} from '../../../contracts/deliveries.ts'
import { listIntegrations, testIntegration } from '../../../contracts/integrations.ts'
import { button, linkButton } from '../../../pages/parts.ts'
import { formOf } from '../../fields.ts'
import { attempt, form, returnPath, text } from '../../forms.ts'
import { setFlash } from '../../flash.ts'
import { page } from '../../layout.ts'
import { cancelButton, dialog, filterOptions } from '../../components.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { deliveriesSince, deliveryChart } from './delivery-charts.ts'
import { deliveryHeadline } from './delivery-headline.ts'
import { deliveryTable, liveDeliveries, newestDeliveries, readDeliveries } from './delivery-list.ts'
import { exportDeliveries } from './deliveries-export.ts'
import { totalBeside } from '../../total-beside.ts'
import { momentOf, readFilters, type Filters } from './delivery-filters.ts'
import { DELIVERIES_PATH } from './delivery-labels.ts'
import { healthCard } from './integration-health.ts'
import { integrationPanel } from './integration-panel.ts'
import {
  integrationOptions,
  INTEGRATIONS_PATH,
  type Integration,
  type NamedIntegration,
} from '../integrations/integration-labels.ts'

export const deliveryListRoutes = () =>
  createRoutes()
    .get('/deliveries', (c) => (c.req.query('live') === 'true' ? showLive(c) : showDeliveries(c)))
    .get('/deliveries.csv', exportDeliveries)
    .post('/deliveries/replay', replayMany)
    .post('/deliveries/test', sendTest)

const DAY_MS = 24 * 60 * 60 * 1000

const TITLE = 'Deliveries'
const LEAD =
  'Every event and its deliveries: what was sent, what failed and why. Nothing is sent twice unless someone replays it, or a webhook asks for it.'

async function showDeliveries(c: PageContext) {
  organizationOf(c)
  const { call } = sessionOf(c)
  const filters = readFilters(c.req.query())
  const isFiltered = filterQuery(c) !== '' || c.req.query('cursor') !== undefined
  const { integration_id } = filters
  // Weeks of deliveries are counted only where that is shown, and once; how integrations are says which there are.
  const [deliveries, summary, health, listed] = await Promise.all([
    readDeliveries(c, filters, isFiltered),
    isFiltered ? undefined : call(summarizeDeliveries, { health: 'true' }),
    isFiltered && integration_id !== undefined ? call(listIntegrationHealth, {}) : undefined,
    isFiltered ? call(listIntegrations, {}) : undefined,
  ])
  const now = c.var.deps.clock()
  // Counts are kept longer than what they count.
  const keptSince = new Date(now.getTime() - c.var.deps.deliveryDays * DAY_MS)
  const total =
    summary === undefined
      ? deliveries.total
      : await totalBeside(
          {
            whole: deliveries.next_cursor === undefined ? deliveries.deliveries.length : undefined,
            charted: deliveriesSince(summary.days, keptSince),
          },
          () => call(listDeliveries, { limit: 1, count: 'true' }),
        )
  const integrations = listed?.integrations ?? []
  const named = summary?.health?.integrations ?? integrations
  return page(c, {
    title: TITLE,
    lead: LEAD,
    actions: html`${linkButton(`${DELIVERIES_PATH}${filterQuery(c, { live: 'true' })}`, 'Live', 'quiet')}
    ${linkButton(`${DELIVERIES_PATH}.csv${filterQuery(c)}`, 'Export CSV', 'quiet')} ${replayDialog(c, filters, named)}`,
    body: html`${summary?.health && html`${deliveryHeadline(summary, summary.health.integrations, now)}`}
    ${health && (await chosenPanel(c, filters, integrations, health.integrations))}
    ${deliveryTable(c, filters, { ...deliveries, total }, named)}
    ${summary?.health && html`${healthCard(c, summary.health)} ${deliveryChart(summary, now)}`}`,
  })
}

type Health = Parameters<typeof integrationPanel>[2]

async function chosenPanel(
  c: PageContext,
  { integration_id }: Filters,
  integrations: readonly Integration[],
  health: readonly Health[],
) {
  const one = integrations.find(({ id }) => id === integration_id)
  const its = health.find(({ id }) => id === integration_id)
  if (!one || !its) return null
  const { recoveries } = await sessionOf(c).call(listRecoveries, { integration_id: one.id })
  return integrationPanel(c, one, its, recoveries)
}

/** Only the list: what stays open for hours asks for nothing else. */
async function showLive(c: PageContext) {
  organizationOf(c)
  const filters = readFilters(c.req.query())
  if (c.req.query('part') === 'list') return c.html(newestDeliveries(c, await readDeliveries(c, filters)))
  const [deliveries, { integrations }] = await Promise.all([
    readDeliveries(c, filters),
    sessionOf(c).call(listIntegrations, {}),
  ])
  return page(c, {
    title: TITLE,
    lead: LEAD,
    actions: linkButton(`${DELIVERIES_PATH}${filterQuery(c)}`, 'Stop live', 'quiet'),
    body: liveDeliveries(c, filters, deliveries, integrations),
  })
}

/** The export and the live list apply the same filters and start at the first row. */
function filterQuery(c: PageContext, also: Record<string, string> = {}): string {
  const query = new URL(c.req.url).searchParams
  for (const name of ['cursor', 'cursor_page', 'cursor_back', 'live']) query.delete(name)
  for (const [name, value] of Object.entries(also)) query.set(name, value)
  return query.size === 0 ? '' : `?${query}`
}

const REPLAY = formOf(replayFailedDeliveries, ['from', 'to', 'integration_id', 'include_unconfirmed'], {
  from: { id: 'replay-from' },
  to: { id: 'replay-to' },
  integration_id: { id: 'replay-integration', name: 'integration' },
  include_unconfirmed: { name: 'unconfirmed' },
})

const replayDialog = (c: PageContext, filters: Filters, integrations: readonly NamedIntegration[]) =>
  dialog('replay-failed', 'Replay failed…', {
    title: 'Replay failed deliveries',
    hasCancel: true,
    content: form(
      c,
      `${DELIVERIES_PATH}/replay`,
      html`<p>Sends the failed deliveries of this period again, at most ${REPLAYS_MAX.toLocaleString('en')} at a time, each with a new ID.</p>
        ${REPLAY.show({
          now: { from: filters.from && momentOf(filters.from), integration_id: filters.integration_id },
          with: {
            integration_id: {
              options: filterOptions({
                all: 'All integrations',
                value: filters.integration_id,
                options: integrationOptions(integrations),
              }),
            },
          },
        }).all()}
        <div class="actions">${button('Replay')} ${cancelButton('replay-failed')}</div>`,
    ),
  })

async function replayMany(c: PageContext) {
  const input = REPLAY.read(c.get('form'))
  if (!replayFailedDeliveries.input.shape.from.safeParse(input.from).success) {
    setFlash(c, 'problem', 'Enter a start date and time in UTC.')
    return c.redirect(DELIVERIES_PATH, 303)
  }
  const result = await attempt(() => sessionOf(c).call(replayFailedDeliveries, input))
  if ('problem' in result) setFlash(c, 'problem', `${result.problem.message}.`)
  else setFlash(c, 'done', replayedMessage(result.done))
  return c.redirect(DELIVERIES_PATH, 303)
}

const replayedMessage = ({ replayed, more }: { replayed: number; more: boolean }): string =>
  replayed === 0
    ? 'No failed deliveries in this period.'
    : `${replayed === 1 ? '1 delivery' : `${replayed} deliveries`} queued again.${more ? ' There are more; replay again to continue.' : ''}`

/** Its result is the page of its delivery, which waits for the first attempt. */
async function sendTest(c: PageContext) {
  const integration_id = text(c.get('form'), 'integration')
  const result = await attempt(() => sessionOf(c).call(testIntegration, { integration_id }))
  if ('problem' in result) {
    const { message, hint } = result.problem
    setFlash(c, 'problem', [`${message}.`, hint].filter(Boolean).join(' '))
    const isOfIntegration = text(c.get('form'), 'back').startsWith(`${INTEGRATIONS_PATH}/`)
    return c.redirect(returnPath(c, isOfIntegration ? INTEGRATIONS_PATH : DELIVERIES_PATH), 303)
  }
  const query = new URLSearchParams({ integration: integration_id, after: '0' })
  return c.redirect(`${DELIVERIES_PATH}/${result.done.delivery_id}?${query}`, 303)
}
