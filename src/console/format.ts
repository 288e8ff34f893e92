/** Short texts for durations, sizes, counts and days. */
import { formatNumber } from '../pages/format-number.ts'

export { formatNumber }

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const minutes = Math.round(ms / 60_000)
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export const formatBytes = (count: number): string =>
  count < 1_024 ? `${count} B` : `${(count / 1_024).toFixed(1)} KiB`

export const plural = (count: number, noun: string): string =>
  `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' })
const MONTHS = Array.from({ length: 12 }, (_, at) => MONTH.format(Date.UTC(2000, at)))

/** Put together by hand: `Intl` takes ten times as long, and a list has two in each row. */
const inWords = (moment: string) => {
  const [year, month, day] = moment.split(/[-T]/, 3) as [string, string, string]
  return { day: `${Number(day)} ${MONTHS[Number(month) - 1]}`, year, clock: moment.slice(11, 19) }
}

const inUtc = (iso: string): string => new Date(iso).toISOString()

/** 5 Nov */
export const dayLabel = (iso: string): string => inWords(inUtc(iso)).day

/** 5 Nov 2026 */
export function dateLabel(iso: string): string {
  const { day, year } = inWords(inUtc(iso))
  return `${day} ${year}`
}

/** 5 Nov 2026, 16:10:02 UTC */
export function momentLabel(iso: string): string {
  const { day, year, clock } = inWords(inUtc(iso))
  return `${day} ${year}, ${clock} UTC`
}
