/** Above the ledger: how delivery did in the last 24 hours, and what became of everything day by day. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { summarizeDeliveries } from '../../contracts/deliveries.ts'
import { barChart } from '../../pages/bar-chart.ts'
import { inkDefinitions, swatch, type Ink } from '../../pages/chart-inks.ts'
import type { Content } from '../../pages/parts.ts'
import { percentWords } from '../../pages/share-ring.ts'
import { table, time } from '../parts.ts'
import { chartDays } from './activity-charts.ts'
import { duration } from './measures.ts'

type Summary = z.output<typeof summarizeDeliveries.output>
type Day = Summary['days'][number]
type Part = Exclude<keyof Day, 'day'>

const SERIES = [
  { part: 'sent', name: 'sent', ink: 'plain' },
  { part: 'failed', name: 'failed', ink: 'dotted' },
  { part: 'dropped', name: 'not sent', ink: 'hatched' },
  { part: 'open', name: 'still open', ink: 'hollow' },
] as const satisfies readonly { part: Part; name: string; ink: Ink }[]

export function deliveryCounters({ last_24_hours, oldest_waiting_at }: Summary) {
  const { sent, failed, unconfirmed, p95_ms } = last_24_hours
  const settled = sent + failed + unconfirmed
  return html`<dl class="facts counters" aria-label="The last 24 hours">
    ${counter('Arrived in 24 hours', settled === 0 ? '–' : percentWords(sent, settled), `${sent} of ${settled}`)}
    ${counter('Failed', failed, html`<a href="/console/deliveries?state=failed">Show what failed</a>`)}
    ${counter('Unconfirmed', unconfirmed, html`<a href="/console/deliveries?reason=outcome_unknown">May have arrived</a>`)}
    ${counter('From event to answer', p95_ms === null ? '–' : duration(p95_ms), '95 of 100 were faster')}
    ${
      oldest_waiting_at === null
        ? counter('Under way', 'Nothing', 'No message waits')
        : counter(
            'Under way since',
            html`<span class="counter-time">${time(oldest_waiting_at)}</span>`,
            html`<a href="/console/deliveries?state=waiting">Waiting</a> · <a href="/console/deliveries?state=retrying">Retrying</a>`,
          )
    }
  </dl>`
}

const counter = (label: string, figure: Content, note: Content) =>
  html`<div class="counter"><dt>${label}</dt><dd>${figure}</dd><dd class="note">${note}</dd></div>`

/** Days on which nothing happened are days too: a gap would look like a shorter time. */
export function deliveryChart({ days: counted }: Summary, now: Date) {
  const days = chartDays(undefined, undefined, now).map(
    (day) => counted.find((one) => one.day === day) ?? { day, sent: 0, failed: 0, dropped: 0, open: 0 },
  )
  const total = (part: Part): number => days.reduce((sum, day) => sum + day[part], 0)
  const [first, last] = [days[0], days.at(-1)]
  if (!first || !last || SERIES.every(({ part }) => total(part) === 0)) return null
  const span = `${dayWord(first.day)} to ${dayWord(last.day)}`
  return html`<section class="card" aria-labelledby="charts-title">
    <h2 id="charts-title">Outcomes per day</h2>
    <p class="lead">${span}, days in UTC.</p>
    ${inkDefinitions()}
    ${barChart(
      `Outcomes per day, ${span}: ${SERIES.map(({ part, name }) => `${total(part)} ${name}`).join(', ')}.`,
      SERIES,
      days.map((day) => ({ label: dayWord(day.day), values: SERIES.map(({ part }) => day[part]) })),
    )}
    <ul class="legend">${SERIES.map(({ part, name, ink }) => html`<li>${swatch(ink)} ${total(part)} ${name}</li>`)}</ul>
    <details class="more">
      <summary>The same in numbers</summary>
      ${table(
        'Outcomes per day',
        ['Day', 'Sent', 'Failed', 'Not sent', 'Still open'],
        days.map((day) => [day.day, ...SERIES.map(({ part }) => day[part])]),
      )}
    </details>
  </section>`
}

const SHOWN = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const dayWord = (day: string): string => SHOWN.format(new Date(day))
