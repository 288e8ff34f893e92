import { expect, test } from 'vitest'
import { readDay } from './day-filter.ts'

test.each(['2026-11-15', '2024-02-29', '1999-12-31'])('%s is a day', (day) => {
  expect(readDay(day)).toBe(day)
})

/** The year 0 is a date for JavaScript and an error for Postgres. */
test.each([
  undefined,
  '',
  'today',
  '2026-2-1',
  '2026-99-99',
  '2026-02-30',
  '0000-01-01',
  '2026-11-15T00:00:00Z',
])('%s is left out', (text) => {
  expect(readDay(text)).toBeUndefined()
})
