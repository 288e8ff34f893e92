/** The two charts above the activity list: calls per day by outcome, and the share that was refused. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { summarizeActivity } from '../../../contracts/activity.ts'
import { ACTIVITY_OUTCOMES, type ActivityOutcome } from '../../../contracts/list-filters.ts'
import { barChart } from '../../../pages/bar-chart.ts'
import { inkDefinitions, swatch, type Ink } from '../../../pages/chart-inks.ts'
import { percentWords, shareRing } from '../../../pages/share-ring.ts'
import { table } from '../../components.ts'
import { dayLabel, formatNumber } from '../../format.ts'

type Day = z.output<typeof summarizeActivity.output>['days'][number]

const INKS: Record<ActivityOutcome, Ink> = { answered: 'plain', refused: 'hatched', failed: 'dotted' }
const SERIES = ACTIVITY_OUTCOMES.map((name) => ({ name, ink: INKS[name] }))

const DAY_MS = 24 * 60 * 60 * 1_000
const CHART_DAYS = 30

/** The last 30 days of what the filters leave, as days in UTC: that is how they are counted. */
export function chartDays(from: string | undefined, to: string | undefined, now: Date): string[] {
  const last = Date.parse(to ?? now.toISOString().slice(0, 10))
  const first = Math.max(from === undefined ? 0 : Date.parse(from), last - (CHART_DAYS - 1) * DAY_MS)
  const days: string[] = []
  for (let day = first; day <= last; day += DAY_MS) days.push(new Date(day).toISOString().slice(0, 10))
  return days
}

/** Days without calls are included: a gap would look like a shorter period. */
export const withEmptyDays = (days: readonly string[], counted: readonly Day[]): Day[] =>
  days.map(
    (day) =>
      counted.find((one) => one.day === day) ?? { day, answered: 0, refused: 0, failed: 0, questions: 0 },
  )

/** Of all days, and of one outcome or of any. */
export const callsIn = (days: readonly Day[], outcome?: ActivityOutcome): number =>
  days.reduce((sum, day) => sum + (outcome === undefined ? callsOf(day) : day[outcome]), 0)

export function activityCharts(noun: 'Questions' | 'Calls', days: readonly Day[]) {
  const total = (outcome: ActivityOutcome): number => callsIn(days, outcome)
  const all = callsIn(days)
  const [first, last] = [days[0], days.at(-1)]
  if (!first || !last || all === 0) return null
  const share = percentWords(total('refused'), all)
  const span = `${dayLabel(first.day)} to ${dayLabel(last.day)}`
  const counts = ACTIVITY_OUTCOMES.map((outcome) => `${formatNumber(total(outcome))} ${outcome}`).join(', ')
  const busiest = days.reduce((most, day) => (callsOf(day) > callsOf(most) ? day : most), first)
  return html`<section class="card" aria-labelledby="charts-title">
    <h2 id="charts-title">${noun} per day</h2>
    <p class="lead">${span}, UTC.</p>
    ${inkDefinitions()}
    <div class="charts">
      ${barChart(
        `${noun} per day, ${span}: ${counts}; most on ${dayLabel(busiest.day)} with ${formatNumber(callsOf(busiest))}.`,
        SERIES,
        days.map((day) => ({
          label: dayLabel(day.day),
          values: ACTIVITY_OUTCOMES.map((outcome) => day[outcome]),
        })),
      )}
      ${shareRing(
        `Share refused: ${share}, ${formatNumber(total('refused'))} of ${formatNumber(all)}; ${formatNumber(total('failed'))} failed.`,
        ACTIVITY_OUTCOMES.map((outcome) => ({ value: total(outcome), ink: INKS[outcome] })),
        { figure: share, word: 'refused' },
      )}
    </div>
    <ul class="legend">${SERIES.map(({ name, ink }) => html`<li>${swatch(ink)} ${formatNumber(total(name))} ${name}</li>`)}</ul>
    <details class="more">
      <summary>Show as table</summary>
      ${table(
        `${noun} per day`,
        ['Day', 'Answered', 'Refused', 'Failed'],
        days.map((day) => [day.day, day.answered, day.refused, day.failed]),
      )}
    </details>
  </section>`
}

const callsOf = ({ answered, refused, failed }: Day): number => answered + refused + failed
