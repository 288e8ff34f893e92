/** Whether a deployed fix worked, in numbers and in a sentence that says them. */
import type { FixEffect } from '../../../db/schema.ts'

const HOUR_MS = 3_600_000

const numbered = (count: number): string => count.toLocaleString('en')

const UNCOUNTED = 'the log is too large to be counted in two seconds'

/** Null: it was not deployed, or cites no line of the log that is still there. */
export function presentEffect(effect: FixEffect | null) {
  const isUncounted = effect?.uncounted_at !== undefined
  if (effect === null || (effect.error === null && !isUncounted)) return null
  const deployed = Date.parse(effect.deployed_at)
  const sum = (hours: FixEffect['hours'], key: 'errors' | 'lines') =>
    hours.reduce((total, hour) => total + hour[key], 0)
  const before = effect.hours.filter(({ at }) => Date.parse(at) < deployed)
  const since = effect.hours.filter(({ at }) => Date.parse(at) >= deployed)
  const first = Date.parse(effect.first_error_at ?? effect.deployed_at)
  const hoursBefore = Math.max(1, Math.round((deployed - first) / HOUR_MS))
  const [errorsBefore, errorsSince] = [sum(before, 'errors'), sum(since, 'errors')]
  const linesSince = sum(since, 'lines')
  const numbers = `${effect.came_back_at === null ? '' : 'Came back: '}${numbered(errorsBefore)} in ${hoursBefore === 1 ? 'an hour' : `${hoursBefore} hours`} before, ${numbered(errorsSince)} of ${numbered(linesSince)} ${linesSince === 1 ? 'line' : 'lines'} since`
  return {
    deployed_at: effect.deployed_at,
    measured_at: effect.measured_to,
    errors_before: errorsBefore,
    hours_before: hoursBefore,
    lines_before: sum(before, 'lines'),
    errors_since: errorsSince,
    lines_since: linesSince,
    came_back_at: effect.came_back_at,
    text: !isUncounted
      ? numbers
      : effect.error === null
        ? `Not known: ${UNCOUNTED}`
        : `${numbers}; now ${UNCOUNTED}`,
  }
}

export const presentHours = (effect: FixEffect | null) => effect?.hours.map((hour) => ({ ...hour })) ?? []
