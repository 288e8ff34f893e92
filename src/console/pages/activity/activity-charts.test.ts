import { expect, test } from 'vitest'
import { chartDays, withEmptyDays } from './activity-charts.ts'

const now = new Date('2026-11-15T12:00:00Z')

test('cover the last 30 days, or the last 30 of what is filtered', () => {
  const days = chartDays(undefined, undefined, now)
  expect([days.length, days[0], days.at(-1)]).toEqual([30, '2026-10-17', '2026-11-15'])
  expect(chartDays('2026-11-13', undefined, now)).toEqual(['2026-11-13', '2026-11-14', '2026-11-15'])
  expect(chartDays('2020-01-01', '2026-03-01', now).at(0)).toBe('2026-01-31')
  expect(chartDays('2026-11-15', '2026-11-01', now)).toEqual([])
})

test('a day without calls is a day', () => {
  const counted = { day: '2026-11-14', answered: 2, refused: 1, failed: 0, questions: 3 }
  expect(withEmptyDays(['2026-11-13', '2026-11-14'], [counted])).toEqual([
    { day: '2026-11-13', answered: 0, refused: 0, failed: 0, questions: 0 },
    counted,
  ])
})
