/** The filtered list of deliveries: as a table by itself, and as a narrow list beside the one that is shown. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listDeliveries } from '../../../contracts/deliveries.ts'
import type { Content } from '../../../pages/parts.ts'
import { breakable, emptyState, filterForm, listCard, noMatch, table, time } from '../../components.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { formatDuration } from '../../format.ts'
import { pager } from '../../pager.ts'
import type { NamedIntegration } from '../integrations/integration-labels.ts'
import { asInput, filterFields, type Filters } from './delivery-filters.ts'
import { DELIVERIES_PATH, destinationOf, failureWords, outcomeBadge } from './delivery-labels.ts'

type Page = z.output<typeof listDeliveries.output>
export type Delivery = Page['deliveries'][number]

/** Not counted where it is read every other second, or counted elsewhere. */
export const readDeliveries = (
  c: PageContext,
  filters: Filters,
  isCounted = c.req.query('live') !== 'true',
): Promise<Page> =>
  sessionOf(c).call(listDeliveries, {
    ...asInput(filters),
    cursor: c.req.query('cursor'),
    count: String(isCounted),
  })

/** Of the filters and the page of the list: going from one to the next keeps both. */
export function listQuery(c: PageContext): string {
  const query = new URL(c.req.url).searchParams
  for (const name of OWN_PARAMETERS) query.delete(name)
  return query.size === 0 ? '' : `?${query}`
}

/** Of one page, and not of the list. */
const OWN_PARAMETERS = ['after', 'part', 'live']

export function deliveryTable(
  c: PageContext,
  filters: Filters,
  { deliveries, next_cursor, total, age_seconds }: Page,
  integrations: readonly NamedIntegration[],
) {
  return listCard(c, {
    changes: 'deliveries',
    noun: 'deliveries',
    filters: filterFields(filters, integrations),
    caption: CAPTION,
    columns: COLUMNS,
    rows: rowsOf(c, deliveries),
    empty: emptyList(c),
    next: next_cursor,
    total,
    age: age_seconds,
  })
}

const CAPTION = 'Deliveries, newest first'
const COLUMNS = ['Time', 'Event', 'Destination', 'Status', 'Response', 'Attempts']

/** The newest, without pages: what the script shows again and again. */
export const newestDeliveries = (c: PageContext, { deliveries }: Page) =>
  deliveries.length === 0 ? emptyList(c) : table(CAPTION, COLUMNS, rowsOf(c, deliveries))

/** The script keeps it up to date; without it, there is a link. */
export function liveDeliveries(
  c: PageContext,
  filters: Filters,
  page: Page,
  integrations: readonly NamedIntegration[],
) {
  const url = new URL(c.req.url)
  url.searchParams.set('part', 'list')
  return html`<div class="card card-list">
    ${filterForm(c, 'Filter deliveries', html`<input type="hidden" name="live" value="true" />${filterFields(filters, integrations)}`)}
    <p class="live" role="status"><span class="live-mark" aria-hidden="true"></span><span data-refresh-status>The newest, as they happen.</span></p>
    <div data-refresh="${url.pathname}${url.search}">${newestDeliveries(c, page)}</div>
    <noscript><p><a href="">Refresh</a></p></noscript>
  </div>`
}

/** `query`: of the list that it is picked from. */
const pathOf = ({ id }: Delivery, query: string): string => `${DELIVERIES_PATH}/${id}${query}#delivery`

const rowsOf = (c: PageContext, deliveries: readonly Delivery[]) => {
  const [query, now] = [listQuery(c), c.var.deps.clock()]
  return deliveries.map((one) => cells(one, query, now))
}

const cells = (one: Delivery, query: string, now: Date) => [
  html`<a href="${pathOf(one, query)}">${time(one.created_at)}<span class="unseen">, ${one.type}</span></a>`,
  html`<div class="two-lines"><code>${breakable(one.type, '.')}</code><span class="note id-text">${one.app !== null && html`${one.app} · `}${one.subject}</span></div>`,
  destinationText(one),
  html`<div class="two-lines">${outcomeBadge(one)} ${one.next_attempt_at && html`<span class="note">${nextAttempt(one.attempts, one.next_attempt_at, now)}</span>`} ${one.replay_of !== null && html`<span class="note">Replay</span>`}</div>`,
  responseText(one),
  one.attempts === 0
    ? html`<span class="note">None</span>`
    : html`<span><span class="measure">${one.attempts}</span>${one.duration_ms !== null && html`<span class="note measure">, ${formatDuration(one.duration_ms)}</span>`}</span>`,
]

const nextAttempt = (attempts: number, at: string, now: Date): Content =>
  Date.parse(at) <= now.getTime() ? 'Due now' : html`${attempts === 0 ? 'Due' : 'Next'} ${time(at)}`

const destinationText = ({ channel, destination }: Delivery) =>
  channel === null
    ? html`<span class="note">No recipient</span>`
    : html`<span class="id-text">${destinationOf({ channel, destination })}</span>`

export const responseText = (one: Delivery) =>
  one.http_status === null && one.reason === null
    ? html`<span class="note">None</span>`
    : one.state === 'sent'
      ? html`<span class="note">HTTP ${one.http_status}</span>`
      : failureWords(one)

/** Beside the delivery that is shown: as much of each as tells them apart. */
export const deliveryPicks = (c: PageContext, { deliveries, ...paged }: Page, current: string) => {
  const query = listQuery(c)
  return html`<nav class="picks" aria-label="Deliveries">
    <div class="picks-head"><a href="${DELIVERIES_PATH}${query}">All deliveries</a></div>
    <ol>
      ${deliveries.map(
        (one) =>
          html`<li><a href="${pathOf(one, query)}" ${one.id === current && html`aria-current="true"`}>
            <span class="pick-line pick-event"><code>${breakable(one.type, '.')}</code>${outcomeBadge(one)}</span>
            <span class="pick-line note"><span>${one.channel === null ? 'No recipient' : destinationOf({ channel: one.channel, destination: one.destination })}</span>${time(one.created_at)}</span>
          </a></li>`,
      )}
    </ol>
    ${pager(c, deliveries.length, paged)}
  </nav>`
}

const emptyList = (c: PageContext) =>
  listQuery(c) !== ''
    ? noMatch(c, 'deliveries')
    : emptyState(
        'No deliveries yet',
        'Every event is listed here, even if nobody is notified. Send a test from an integration to see one.',
        html`<a href="/console/integrations">Integrations</a>`,
      )
