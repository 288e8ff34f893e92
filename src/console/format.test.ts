import { expect, test } from 'vitest'
import { dateLabel, dayLabel, formatDuration, formatNumber, momentLabel } from './format.ts'

const asIntl = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })

const MOMENTS = Array.from({ length: 12 }, (_, month) => [
  new Date(Date.UTC(2026, month, 1)).toISOString(),
  new Date(Date.UTC(2027, month, 28, 23, 59, 59, 999)).toISOString(),
]).flat()

test.each(MOMENTS)('%s is written as people in Britain write it', (moment) => {
  const date = new Date(moment)
  expect(dayLabel(moment)).toBe(asIntl({ day: 'numeric', month: 'short' }).format(date))
  expect(dateLabel(moment)).toBe(asIntl({ dateStyle: 'medium' }).format(date))
  expect(momentLabel(moment)).toBe(`${asIntl({ dateStyle: 'medium', timeStyle: 'medium' }).format(date)} UTC`)
})

test('a moment of another time zone, and a day without a time, are those of UTC', () => {
  expect(momentLabel('2026-01-01T01:30:00+02:00')).toBe('31 Dec 2025, 23:30:00 UTC')
  expect(dayLabel('2026-11-05')).toBe('5 Nov')
})

test('what is no moment is a fault, not a label', () => {
  expect(() => momentLabel('soon')).toThrow(RangeError)
})

test.each([0, 7, 999, 1_000, 1_234_567, -5, -1_234, 0.5, 999.5])('%d has the same separators', (value) => {
  expect(formatNumber(value)).toBe(new Intl.NumberFormat('en-US').format(value))
})

test.each([
  [999, '999 ms'],
  [1_500, '1.5 s'],
  [119 * 60_000, '119 min'],
  [120 * 60_000, '2 h 0 min'],
  [1_074 * 60_000, '17 h 54 min'],
])('%d ms are %s', (ms, label) => {
  expect(formatDuration(ms)).toBe(label)
})
