import { expect, test } from 'vitest'
import { soonerDueAt } from './recompute-due-times.ts'

const NOW = new Date('2026-11-15T12:00:00Z')
const NIGHTLY = { cron: '0 3 * * *', timezone: 'UTC', enabled: true }

test.each<[string, Partial<typeof NIGHTLY>, string, string | undefined]>([
  ['as the schedule says', {}, '2026-11-16T03:00:00Z', undefined],
  ['sooner than it says', {}, '2026-11-15T12:10:00Z', undefined],
  ['of a clock that was ahead for a year', {}, '2027-11-16T03:00:00Z', '2026-11-16T03:00:00.000Z'],
  ['of a clock that was ahead for a night', {}, '2026-11-17T03:00:00Z', '2026-11-16T03:00:00.000Z'],
  [
    'soon, of a clock that is ahead',
    { cron: '5 12 * * *' },
    '2026-11-17T12:05:00Z',
    '2026-11-15T12:05:00.000Z',
  ],
  ['of the next time, by a clock a little ahead', { cron: '5 12 * * *' }, '2026-11-16T12:05:00Z', undefined],
  ['rare, but right', { cron: '0 3 29 2 *' }, '2028-02-29T03:00:00Z', undefined],
  ['switched off', { enabled: false }, '2027-11-16T03:00:00Z', undefined],
  ['not readable any more', { cron: 'soon' }, '2027-11-16T03:00:00Z', undefined],
])('a due time %s', (_, given, due, expected) => {
  const found = soonerDueAt({ ...NIGHTLY, ...given, nextDueAt: new Date(due) }, NOW)
  expect(found?.toISOString()).toBe(expected)
})
