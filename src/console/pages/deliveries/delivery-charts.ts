/** Outcomes per day. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { summarizeDeliveries } from '../../../contracts/deliveries.ts'
import { barChart } from '../../../pages/bar-chart.ts'
import { inkDefinitions, swatch, type Ink } from '../../../pages/chart-inks.ts'
import { table } from '../../components.ts'
import { chartDays } from '../activity/activity-charts.ts'
import { dayLabel, formatNumber } from '../../format.ts'

type Summary = z.output<typeof summarizeDeliveries.output>
type Day = Summary['days'][number]
type Part = Exclude<keyof Day, 'day'>

const SERIES = [
  { part: 'sent', name: 'sent', ink: 'plain' },
  { part: 'failed', name: 'failed', ink: 'dotted' },
  { part: 'dropped', name: 'not sent', ink: 'hatched' },
  { part: 'open', name: 'pending', ink: 'hollow' },
] as const satisfies readonly { part: Part; name: string; ink: Ink }[]

/** Of the days since then, whatever became of them. */
export const deliveriesSince = (days: readonly Day[], since: Date): number =>
  days
    .filter(({ day }) => Date.parse(day) >= since.getTime())
    .reduce((sum, { sent, failed, dropped, open }) => sum + sent + failed + dropped + open, 0)

/** Days without events are included: a gap would look like a shorter period. */
export function deliveryChart({ days: counted }: Summary, now: Date) {
  const days = chartDays(undefined, undefined, now).map(
    (day) => counted.find((one) => one.day === day) ?? { day, sent: 0, failed: 0, dropped: 0, open: 0 },
  )
  const total = (part: Part): number => days.reduce((sum, day) => sum + day[part], 0)
  const [first, last] = [days[0], days.at(-1)]
  if (!first || !last || SERIES.every(({ part }) => total(part) === 0)) return null
  const span = `${dayLabel(first.day)} to ${dayLabel(last.day)}`
  return html`<section class="card" aria-labelledby="charts-title">
    <h2 id="charts-title">Deliveries per day</h2>
    <p class="lead">${span}, UTC.</p>
    ${inkDefinitions()}
    ${barChart(
      `Deliveries per day, ${span}: ${SERIES.map(({ part, name }) => `${formatNumber(total(part))} ${name}`).join(', ')}.`,
      SERIES,
      days.map((day) => ({ label: dayLabel(day.day), values: SERIES.map(({ part }) => day[part]) })),
    )}
    <ul class="legend">${SERIES.map(({ part, name, ink }) => html`<li>${swatch(ink)} ${formatNumber(total(part))} ${name}</li>`)}</ul>
    <details class="more">
      <summary>Show as table</summary>
      ${table(
        'Deliveries per day',
        ['Day', 'Sent', 'Failed', 'Not sent', 'Pending'],
        days.map((day) => [day.day, ...SERIES.map(({ part }) => day[part])]),
      )}
    </details>
  </section>`
}
