/** The condition of a data source: a badge for lists, and every problem with what mends it. */
import { html } from 'hono/html'
import type { SourceHealth } from '../../../contracts/source-health.ts'
import { card } from '../../../pages/parts.ts'
import { badge, copyable, time } from '../../components.ts'
import { plural } from '../../format.ts'

/** Nothing where it was not checked: there it would stand in every row of a new organization. */
export function healthBadge({ checked_at, problems }: SourceHealth) {
  if (problems.length > 0) return badge(plural(problems.length, 'problem'), 'bad')
  return checked_at === null ? '' : badge('OK', 'on')
}

export const healthCard = (health: SourceHealth) =>
  card(
    'Health',
    html`<p class="switch-state">${healthBadge(health)} ${
      health.checked_at === null ? 'Not checked yet.' : html`<span>Checked ${time(health.checked_at)}.</span>`
    }</p>
      ${
        health.problems.length > 0 &&
        html`<ul class="lines">${health.problems.map(
          ({ text, statement }, at) =>
            html`<li>${statement === undefined ? text : withoutStatement(text, statement)}${statement !== undefined && copyable(`health-${at}`, statement, 'Statement to fix it')}</li>`,
        )}</ul>`
      }
      ${health.last_error && html`<p class="note">Last error ${time(health.last_error.at)}: ${health.last_error.cause}</p>`}`,
  )

/** The statement stands below, to be copied. */
const withoutStatement = (text: string, statement: string): string =>
  text.replace(statement, () => 'this statement')
