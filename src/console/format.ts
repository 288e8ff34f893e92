/** Short texts for durations, sizes, counts and days. */
import { formatNumber } from '../pages/format-number.ts'

export { formatNumber }

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`
}

export const formatBytes = (count: number): string =>
  count < 1_024 ? `${count} B` : `${(count / 1_024).toFixed(1)} KiB`

export const plural = (count: number, noun: string): string =>
  `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
export const dayLabel = (day: string): string => DAY.format(new Date(day))
