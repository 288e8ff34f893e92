/** What maintenance used: the pool of today, and each of the last 30 days. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { showMaintenanceUsage } from '../../../contracts/maintenance.ts'
import { barChart } from '../../../pages/bar-chart.ts'
import { inkDefinitions } from '../../../pages/chart-inks.ts'
import { emptyState, stats, table } from '../../components.ts'
import { dayLabel } from '../../format.ts'

export type Usage = z.output<typeof showMaintenanceUsage.output>

const number = (value: number): string => value.toLocaleString('en')

export const usageFigures = ({ today, ...usage }: Usage) =>
  stats('Maintenance at a glance', [
    {
      label: 'Tokens today',
      value: number(today.spent),
      note: html`${poolBar(today)} of ${number(today.allowance)}${today.reserved > 0 && `, ${number(today.reserved)} reserved`}${today.outage > 0 && `, ${number(today.outage)} by an outage of the provider`}`,
    },
    { label: 'Runs in 30 days', value: usage.runs, note: `${number(usage.run_tokens)} tokens` },
    {
      label: 'Acceptance rate',
      value: usage.acceptance_rate === null ? 'None' : `${Math.round(usage.acceptance_rate * 100)}%`,
      note:
        usage.acceptance_rate === null
          ? 'No proposal was decided in 30 days'
          : `${usage.proposals_accepted} of ${usage.proposals_decided} decided in 30 days`,
    },
    {
      label: 'Tokens per accepted proposal',
      value:
        usage.tokens_per_accepted_proposal === null ? 'None' : number(usage.tokens_per_accepted_proposal),
      note: usage.tokens_per_accepted_proposal === null ? 'None was accepted' : 'In 30 days',
    },
  ])

/** Spent, and behind it what is reserved. */
function poolBar({ spent, reserved, allowance }: Usage['today']) {
  const share = (tokens: number): string =>
    `${Math.min(100, (tokens / Math.max(1, allowance)) * 100).toFixed(1)}%`
  return html`<svg class="run-bar" width="100%" height="8" role="img" aria-label="${share(spent)} used"><rect class="strip-ground" width="100%" height="8" rx="3" /><rect class="ink-hatched" width="${share(spent + reserved)}" height="8" rx="3" /><rect class="ink-plain" width="${share(spent)}" height="8" rx="3" /></svg>`
}

export function usageChart({ days }: Usage) {
  const total = days.reduce((sum, { tokens }) => sum + tokens, 0)
  if (total === 0)
    return emptyState('No tokens yet', 'What runs and judged checks use is counted here by day.')
  return html`${inkDefinitions()}
    ${barChart(
      `Tokens of the last ${days.length} days: ${number(total)}.`,
      [{ name: 'tokens', ink: 'plain' }],
      days.map(({ day, tokens }) => ({ label: dayLabel(day), values: [tokens] })),
    )}
    <details class="more">
      <summary>Show as table</summary>
      ${table(
        'Tokens by day',
        ['Day (UTC)', 'Tokens'],
        days.map(({ day, tokens }) => [dayLabel(day), number(tokens)]),
      )}
    </details>`
}
