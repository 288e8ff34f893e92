/** Seven days of calls: questions to data sources, and everything else that agents and scripts called. */
import { html } from 'hono/html'
import { barChart } from '../../../pages/bar-chart.ts'
import { inkDefinitions, swatch } from '../../../pages/chart-inks.ts'
import { card } from '../../../pages/parts.ts'
import { emptyState, table } from '../../components.ts'
import { hasRole, type ConsoleSession } from '../../context.ts'
import { dayLabel, plural } from '../../format.ts'
import { functionsOf, type CallDay } from './facts.ts'

const SERIES = [
  { name: 'questions', ink: 'plain' },
  { name: 'function calls', ink: 'hatched' },
] as const

const TITLE = 'Questions and calls'

export function callsChart(session: ConsoleSession, days: readonly CallDay[]) {
  const questions = days.reduce((total, one) => total + one.questions, 0)
  const functions = days.reduce((total, one) => total + functionsOf(one), 0)
  const refused = days.reduce((total, one) => total + one.refused, 0)
  const whose = hasRole(session, 'admin') ? 'By all members and their agents' : 'By you and your agents'
  if (questions + functions === 0) {
    return card(
      TITLE,
      emptyState('No calls in the last seven days', 'Ask a question, or connect an assistant that does.'),
    )
  }
  const counts = `${plural(questions, 'question')}, ${plural(functions, 'function call')}`
  return card(
    TITLE,
    html`${inkDefinitions()}
      ${barChart(
        `Calls per day in the last seven days: ${counts}.`,
        SERIES,
        days.map((one) => ({ label: dayLabel(one.day), values: [one.questions, functionsOf(one)] })),
      )}
      <ul class="legend">
        <li>${swatch('plain')} ${plural(questions, 'question')} to data sources</li>
        <li>${swatch('hatched')} ${plural(functions, 'function call')}</li>
        ${refused > 0 && html`<li>${plural(refused, 'call')} refused</li>`}
      </ul>
      <details class="more">
        <summary>Show as table</summary>
        ${table(
          'Calls per day',
          ['Day', 'Questions', 'Function calls', 'Refused'],
          days.map((one) => [one.day, one.questions, functionsOf(one), one.refused]),
        )}
      </details>`,
    `${whose}, per day in UTC.`,
  )
}
