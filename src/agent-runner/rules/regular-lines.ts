/** Lines that come as regularly as a clock. */
import { timeOf } from './picture.ts'
import type { LogLine } from './reader.ts'

/** Fewer say nothing about regularity. */
export const COUNT_MIN = 10
/** A line is missing that did not come for so many times as long as between two of them. */
export const MISSED_MIN = 12

/** Deviation of the time between two lines, as a share of it. `seen`: newest first. */
export function isRegular(seen: readonly LogLine[]): boolean {
  const gaps = gapsIn(seen)
  const mean = meanOf(gaps)
  const deviation = Math.sqrt(meanOf(gaps.map((gap) => (gap - mean) ** 2)))
  return gaps.length >= COUNT_MIN - 1 && mean > 0 && deviation <= 0.3 * mean
}

/** Between two of them. */
export const meanGapMs = (seen: readonly LogLine[]): number => meanOf(gapsIn(seen))

function gapsIn(seen: readonly LogLine[]): number[] {
  const times = seen.map(({ at }) => timeOf(at))
  return times.slice(1).map((time, index) => times[index]! - time)
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

export const everyText = (ms: number): string => {
  const count = Math.max(1, Math.round(ms / 60_000))
  return count === 1 ? 'every minute' : `every ${count} minutes`
}
