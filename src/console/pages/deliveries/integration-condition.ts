/** How an integration is, told from what it was sent and what became of that. */
import type * as z from 'zod'
import type { listIntegrationHealth } from '../../../contracts/deliveries.ts'
import { badge } from '../../components.ts'

export type IntegrationHealth = z.output<typeof listIntegrationHealth.output>['integrations'][number]

/** In the order in which they are listed: what can be mended now comes first. */
const BADGES = {
  never: badge('Never worked', 'bad'),
  failing: badge('Failing', 'bad'),
  gone: badge('Gone (410)', 'bad'),
  lost: badge('Access lost', 'bad'),
  dead: badge('Stopped', 'bad'),
  unverified: badge('Not confirmed', 'wait'),
  paused: badge('Paused', 'wait'),
  working: badge('Working', 'on'),
  unused: badge('Nothing sent yet', 'off'),
  off: badge('Off', 'off'),
} as const

type Condition = keyof typeof BADGES

/** One that waits to be confirmed, or that somebody turned off, is as it should be. */
const FAILING: readonly Condition[] = ['never', 'failing', 'gone', 'lost', 'dead']

export function conditionOf(one: IntegrationHealth): Condition {
  const { state, failing_since, last_success_at, last_failure } = one
  if (state !== 'active') return state
  if (last_success_at === null) return failing_since !== null || last_failure !== null ? 'never' : 'unused'
  return failing_since === null && !isMissingAll(one) ? 'working' : 'failing'
}

/** Some failures set no `failing_since`: a receiver that only asks to slow down, an installation without a mail server. */
function isMissingAll({ last_24_hours: { sent, ...missed } }: IntegrationHealth): boolean {
  return sent === 0 && Object.values(missed).some((count) => count > 0)
}

export const isFailing = (one: IntegrationHealth): boolean => FAILING.includes(conditionOf(one))

export const rankOf = (one: IntegrationHealth): number => Object.keys(BADGES).indexOf(conditionOf(one))

export const conditionBadge = (one: IntegrationHealth) => BADGES[conditionOf(one)]
