/** Above the list: how many integrations work, and what of the last 24 hours has arrived. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { listIntegrationHealth, summarizeDeliveries } from '../../../contracts/deliveries.ts'
import { percentWords } from '../../../pages/share-ring.ts'
import { stats, time } from '../../components.ts'
import { formatDuration, plural } from '../../format.ts'
import { DELIVERIES_PATH } from './delivery-labels.ts'
import { conditionOf, isFailing } from './integration-condition.ts'

type Summary = z.output<typeof summarizeDeliveries.output>
type Integrations = z.output<typeof listIntegrationHealth.output>['integrations']

export function deliveryHeadline(summary: Summary, integrations: Integrations, now: Date) {
  const { p95_ms, ...counts } = summary.last_24_hours
  const missed = counts.failed + counts.unconfirmed + counts.retrying + counts.not_sent
  const all = counts.sent + missed
  return stats('Delivery summary', [
    workingIntegrations(integrations),
    {
      label: 'Arrived in 24 hours',
      value: all === 0 ? '–' : ofAll(counts.sent, all),
      note: all === 0 ? 'Nothing to deliver' : percentWords(counts.sent, all),
    },
    {
      label: 'Not arrived in 24 hours',
      value: missed,
      note: missed === 0 ? 'Everything arrived' : missedWords(counts),
      ...(missed > 0 && { href: `${DELIVERIES_PATH}?state=missed&from=${dayBefore(now)}` }),
    },
    {
      label: 'p95 latency',
      value: p95_ms === null ? '–' : formatDuration(p95_ms),
      note: 'From event to response',
    },
    summary.oldest_waiting_at !== null && {
      label: 'Waiting since',
      value: html`<span class="fact-time">${time(summary.oldest_waiting_at)}</span>`,
      note: 'The oldest in the queue',
      href: `${DELIVERIES_PATH}?state=waiting`,
    },
  ])
}

const dayBefore = (now: Date): string => new Date(now.getTime() - 86_400_000).toISOString()

const ofAll = (some: number, all: number) => html`${some} <span class="fact-of">of ${all}</span>`

/** Of those that were ever sent to, or are stopped: one that waits for its first event says nothing yet. */
function workingIntegrations(all: Integrations) {
  const used = all.map(conditionOf).filter((one) => one !== 'unused' && one !== 'off')
  const count = (condition: (typeof used)[number]) => used.filter((one) => one === condition).length
  const [never, unconfirmed] = [count('never'), count('unverified')]
  const failing = all.filter(isFailing).length
  const troubles = [
    failing > 0 && `${failing} failing${never > 0 ? ` (${never} never worked)` : ''}`,
    unconfirmed > 0 && `${unconfirmed} not confirmed`,
  ].filter((trouble) => trouble !== false)
  return {
    label: 'Working integrations',
    value: used.length === 0 ? '–' : ofAll(count('working'), used.length),
    note:
      used.length === 0
        ? `${plural(all.length, 'integration')}, nothing sent yet`
        : troubles.join(', ') || 'All that were sent to',
  }
}

const WORDS = {
  failed: 'failed',
  unconfirmed: 'unconfirmed',
  retrying: 'retrying',
  not_sent: 'not sent',
} as const

const missedWords = (counts: Record<keyof typeof WORDS, number>): string =>
  (Object.keys(WORDS) as (keyof typeof WORDS)[])
    .filter((name) => counts[name] > 0)
    .map((name) => `${counts[name]} ${WORDS[name]}`)
    .join(', ')
