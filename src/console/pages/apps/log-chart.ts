/** The volume of an app's logs by level. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { LogLevel } from '../../../contracts/log-levels.ts'
import type { summarizeLogs } from '../../../contracts/logs.ts'
import { barChart } from '../../../pages/bar-chart.ts'
import { inkDefinitions, swatch, type Ink } from '../../../pages/chart-inks.ts'
import { table } from '../../components.ts'
import { formatNumber } from '../../format.ts'

type Summary = z.output<typeof summarizeLogs.output>
type Counts = Summary['buckets'][number]['counts']

/** From the bottom up: what is wrong lies on top. */
const SERIES = [
  { name: 'info', levels: ['info'], ink: 'plain' },
  { name: 'debug', levels: ['debug', 'trace'], ink: 'hollow' },
  { name: 'warnings', levels: ['warn'], ink: 'hatched' },
  { name: 'errors', levels: ['error', 'fatal'], ink: 'dotted' },
] as const satisfies readonly { name: string; levels: readonly LogLevel[]; ink: Ink }[]

/** More bars than this cannot be told apart on a phone. */
const BARS_MAX = 60

export type LogSteps = readonly { readonly at: number; readonly values: readonly number[] }[]

/** Every step from `since` until now, also those without lines: a gap would look like a shorter time. */
export function logSteps({ buckets, step_seconds }: Summary, since: Date, now: Date): LogSteps {
  const span = now.getTime() - since.getTime()
  const merged = Math.max(1, Math.ceil(span / (step_seconds * 1_000) / BARS_MAX))
  const step = step_seconds * 1_000 * merged
  const first = Math.floor(since.getTime() / step) * step
  const steps = Array.from({ length: Math.floor((now.getTime() - first) / step) + 1 }, (_, at) => ({
    at: first + at * step,
    values: SERIES.map(() => 0),
  }))
  for (const { at, counts } of buckets) {
    const values = steps[Math.floor((Date.parse(at) - first) / step)]?.values
    valuesOf(counts).forEach((value, part) => {
      if (values !== undefined) values[part] = (values[part] ?? 0) + value
    })
  }
  return steps
}

const valuesOf = (counts: Counts): number[] =>
  SERIES.map(({ levels }) => levels.reduce((sum, level) => sum + (counts[level] ?? 0), 0))

/** Of errors, and of all lines. */
export const countErrors = (steps: LogSteps): number =>
  total(
    steps,
    SERIES.findIndex(({ name }) => name === 'errors'),
  )

const total = (steps: LogSteps, part: number): number =>
  steps.reduce((sum, { values }) => sum + (values[part] ?? 0), 0)

const LABEL = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
})
const labelOf = (at: number): string => LABEL.format(at)

export function logChart(steps: LogSteps) {
  const counts = SERIES.map(({ name }, part) => `${formatNumber(total(steps, part))} ${name}`).join(', ')
  const [first, last] = [steps[0], steps.at(-1)]
  if (first === undefined || last === undefined) return null
  return html`${inkDefinitions()}
    ${barChart(
      `Log lines from ${labelOf(first.at)} to ${labelOf(last.at)} UTC: ${counts}.`,
      SERIES,
      steps.map(({ at, values }) => ({ label: labelOf(at), values })),
    )}
    <ul class="legend">${SERIES.map(({ name, ink }, part) => html`<li>${swatch(ink)} ${formatNumber(total(steps, part))} ${name}</li>`)}</ul>
    <details class="more">
      <summary>Show as table</summary>
      ${table(
        'Log lines by level',
        ['From (UTC)', 'Info', 'Debug', 'Warnings', 'Errors'],
        steps.map(({ at, values }) => [labelOf(at), ...values]),
      )}
    </details>`
}
