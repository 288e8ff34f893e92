/** The error of an incident over time, and its exact lines. */
import { html } from 'hono/html'
import { LOG_DAYS } from '../../../contracts/limits.ts'
import { barChart } from '../../../pages/bar-chart.ts'
import { inkDefinitions } from '../../../pages/chart-inks.ts'
import { card } from '../../../pages/parts.ts'
import { badge, exactTime } from '../../components.ts'
import { plural } from '../../format.ts'
import { tabPath, type App } from '../apps/app-tabs.ts'
import { visibleText } from '../apps/source-text.ts'
import type { Incident } from './incident-labels.ts'

type Log = NonNullable<Incident['log']>

/** Hours in a bar: more bars than these cannot be told apart on a phone. */
const HOURS = 3
const STEP_MS = HOURS * 3_600_000

export function incidentLog({ alias }: App, log: Log, now: Date) {
  const steps = stepsOf(log, now)
  const about = `Lines of this error by ${HOURS} hours, from ${labelOf(steps[0]!.at)} to now: ${plural(log.count, 'line')}.`
  return html`${card(
    'Over time',
    html`${inkDefinitions()}
      ${barChart(
        about,
        [{ name: 'lines', ink: 'dotted' }],
        steps.map(({ at, lines }) => ({ label: labelOf(at), values: [lines] })),
      )}`,
    log.count === 1
      ? html`One line in ${LOG_DAYS} days, ${exactTime(log.first_at)}.`
      : html`${plural(log.count, 'line')} in ${LOG_DAYS} days, from ${exactTime(log.first_at)} to ${exactTime(log.last_at)}.`,
  )}
  ${card(
    'Its lines',
    html`<ol class="log log-exact" aria-label="The newest lines, newest first">${log.lines.map((line, at) => lineItem(line, at === 0))}</ol>
      <p><a href="${tabPath(alias, 'logs')}?${new URLSearchParams({ group: log.group_id })}">All lines like this</a></p>`,
    html`<code class="long">${visibleText(log.template)}</code>`,
  )}`
}

/** Every step, also those without a line: a gap would look like a shorter time. In UTC, as everywhere. */
function stepsOf({ hours }: Pick<Log, 'hours'>, now: Date): { at: number; lines: number }[] {
  const end = Math.floor(now.getTime() / STEP_MS) * STEP_MS
  const steps = Array.from({ length: (LOG_DAYS * 24) / HOURS + 1 }, (_, at) => ({
    at: end - LOG_DAYS * 24 * 3_600_000 + at * STEP_MS,
    lines: 0,
  }))
  for (const { at, lines } of hours) {
    const step = steps[Math.floor((Date.parse(at) - steps[0]!.at) / STEP_MS)]
    if (step) step.lines += lines
  }
  return steps
}

const LABEL = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
})
const labelOf = (at: number): string => LABEL.format(at)

/** What somebody's program wrote is text and nothing else. Stack traces are folded, but the newest. */
function lineItem({ id, at, level, service, text }: Log['lines'][number], isOpen: boolean) {
  const [first = '', ...rest] = text.split('\n')
  const line = html`${service !== null && html`<span class="note">${service}</span> `}<code>${visibleText(first)}</code>`
  return html`<li id="${id}">
    ${exactTime(at)} ${badge(level, level === 'warn' ? 'wait' : level === 'error' || level === 'fatal' ? 'bad' : 'off')}
    ${rest.length === 0 ? html`<span>${line}</span>` : html`<details ${isOpen && 'open'}><summary>${line}</summary><pre>${rest.map((part) => html`${visibleText(part)}\n`)}</pre></details>`}
  </li>`
}
