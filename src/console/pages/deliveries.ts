/** The delivery ledger: every event, every message about it, and why something was not sent. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { listDeliveries, replayFailed, REPLAYS_MAX, summarizeDeliveries } from '../../contracts/deliveries.ts'
import { listIntegrations } from '../../contracts/integrations.ts'
import { button, choice, inputField, linkButton, selectField } from '../../pages/parts.ts'
import { attempt } from '../attempt.ts'
import { leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { emptyState, filters, form, opens, pager, table, time } from '../parts.ts'
import { organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import { deliveryChart, deliveryCounters } from './delivery-charts.ts'
import { exportDeliveries } from './deliveries-export.ts'
import { asInput, filterFields, readFilters, type Filters } from './delivery-filters.ts'
import { CHANNEL_WORDS, destinationOf, LEDGER_PATH, outcomeBadge, reasonWords } from './delivery-words.ts'
import { KIND_WORDS, type Integration } from './integration-words.ts'
import { duration } from './measures.ts'
import { breakable } from './pattern-preview.ts'

type C = Context<ConsoleEnv>
type Delivery = z.output<typeof listDeliveries.output>['deliveries'][number]

export const deliveryListPages = () =>
  new Hono<ConsoleEnv>()
    .get('/deliveries', showLedger)
    .get('/deliveries.csv', exportDeliveries)
    .post('/deliveries/replay', replayMany)

async function showLedger(c: C) {
  organizationOf(c)
  const { call } = visitOf(c)
  const asked = readFilters(c.req.query())
  const [{ deliveries, next_cursor }, summary, { integrations }] = await Promise.all([
    call(listDeliveries, { ...asInput(asked), cursor: c.req.query('cursor') }),
    call(summarizeDeliveries, {}),
    call(listIntegrations, {}),
  ])
  return page(c, {
    title: 'Delivery ledger',
    lead: 'Every event and every message about it: what arrived, what did not, and why. No message is sent twice unless somebody presses Replay.',
    actions: html`${linkButton(`${LEDGER_PATH}.csv${filterQuery(c)}`, 'Export CSV', 'quiet')}
    ${replayWindow(c, asked, integrations)}`,
    body: html`${deliveryCounters(summary)} ${deliveryChart(summary, c.var.needs.clock())}
      <div class="card card-list">
        ${filters(c, 'Filter the ledger', filterFields(asked, integrations))}
        ${
          deliveries.length === 0
            ? nothing(c)
            : table(
                'Deliveries, newest first',
                ['When', 'Event', 'To', 'Outcome', 'Attempts'],
                deliveries.map(cells),
              )
        }
        ${pager(c, next_cursor)}
      </div>`,
  })
}

/** The export holds what the filters leave, from its first row on. */
function filterQuery(c: C): string {
  const query = new URL(c.req.url).searchParams
  query.delete('cursor')
  return query.size === 0 ? '' : `?${query}`
}

const cells = (one: Delivery) => [
  html`<a href="${LEDGER_PATH}/${one.id}">${time(one.created_at)}<span class="unseen">, ${one.type}</span></a>`,
  html`<div class="two-lines"><code>${breakable(one.type)}</code><span class="note id-text">${one.app !== null && html`${one.app} · `}${one.subject}</span></div>`,
  toWhom(one),
  html`<div class="two-lines">${outcomeBadge(one)} ${reasonWords(one.reason)} ${one.next_attempt_at && html`<span class="note">next ${time(one.next_attempt_at)}</span>`} ${one.replay_of !== null && html`<span class="note">a replay</span>`}</div>`,
  one.attempts === 0
    ? html`<span class="note">none</span>`
    : html`<span class="measure">${one.attempts}</span>${one.duration_ms !== null && html` <span class="note measure">${duration(one.duration_ms)}</span>`}`,
]

const toWhom = ({ channel, destination }: Delivery) =>
  channel === null
    ? html`<span class="note">nobody</span>`
    : html`<div class="two-lines"><span class="id-text">${destinationOf({ channel, destination })}</span><span class="note">${CHANNEL_WORDS[channel]}</span></div>`

const nothing = (c: C) =>
  Object.keys(c.req.query()).length > 0
    ? emptyState(
        'Nothing found',
        'No delivery fits these filters.',
        html`<a href="${LEDGER_PATH}">Show the whole ledger</a>`,
      )
    : emptyState(
        'Nothing has happened yet',
        'As soon as an event happens it is written down here, even one that nobody is told of. Send a test from a subscription to see one.',
        html`<a href="/console/subscriptions">Subscriptions</a>`,
      )

const replayWindow = (c: C, asked: Filters, integrations: readonly Integration[]) =>
  opens('replay-failed', 'Replay failed since…', {
    title: 'Replay what failed',
    content: form(
      c,
      `${LEDGER_PATH}/replay`,
      html`<p>Sends again what failed in that time, at most ${REPLAYS_MAX.toLocaleString('en')} at once, each under a new id.</p>
        ${inputField({ id: 'replay-from', name: 'from', label: 'Since (UTC)', type: 'datetime-local', required: true, value: asked.from ? `${asked.from}T00:00` : '' })}
        ${inputField({ id: 'replay-to', name: 'to', label: 'Until (UTC)', type: 'datetime-local', value: '', hint: 'Empty: until now.' })}
        ${selectField({
          id: 'replay-integration',
          name: 'integration',
          label: 'Destination',
          value: asked.integration_id ?? '',
          options: [
            { value: '', label: 'Every connection' },
            ...integrations.map(({ id, name, kind }) => ({
              value: id,
              label: `${name} (${KIND_WORDS[kind].toLowerCase()})`,
            })),
          ],
        })}
        ${choice('checkbox', 'unconfirmed', 'yes', false, 'Unconfirmed ones too', 'They may have arrived already, so they may arrive a second time.')}
        ${button('Replay')}`,
      'stack',
    ),
  })

async function replayMany(c: C) {
  const fields = c.get('form')
  const [from, to] = [momentOf(text(fields, 'from')), momentOf(text(fields, 'to'))]
  if (from === undefined) {
    leaveFlash(c, 'problem', 'Say since when: a day and a time in UTC.')
    return c.redirect(LEDGER_PATH, 303)
  }
  const tried = await attempt(() =>
    visitOf(c).call(replayFailed, {
      from,
      to,
      integration_id: text(fields, 'integration') || undefined,
      include_unconfirmed: text(fields, 'unconfirmed') === 'yes',
    }),
  )
  if ('problem' in tried) leaveFlash(c, 'problem', `${tried.problem.message}.`)
  else leaveFlash(c, 'done', replayedWords(tried.done))
  return c.redirect(LEDGER_PATH, 303)
}

const replayedWords = ({ replayed, more }: { replayed: number; more: boolean }): string =>
  replayed === 0
    ? 'Nothing failed in that time.'
    : `${replayed === 1 ? 'One is' : `${replayed} are`} on the way again.${more ? ' There is more: replay once again.' : ''}`

/** What `datetime-local` sends, read as UTC. */
function momentOf(typed: string): string | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(typed)) return undefined
  const time = new Date(`${typed.slice(0, 16)}Z`)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}
