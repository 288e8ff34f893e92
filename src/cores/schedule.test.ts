import { describe, expect, test } from 'vitest'
import { lastDueAt, nextDueAt, problemWithSchedule } from './schedule.ts'

const NOW = new Date('2026-11-15T12:00:00Z')

/** All times of a schedule between two moments, as ISO text. */
function dueBetween(cron: string, timezone: string, from: string, to: string): string[] {
  const due: string[] = []
  for (let at = new Date(from); ;) {
    const next = nextDueAt(cron, timezone, at)
    if (!next || next > new Date(to)) return due
    due.push(next.toISOString())
    at = next
  }
}

describe('across the change of the clocks every day has one run', () => {
  test.each([
    // Berlin, 2026-03-29: 02:00 to 03:00 does not exist; 2026-10-25: 02:00 to 03:00 comes twice.
    ['Europe/Berlin', '0 3 * * *', '2026-03-27T12:00:00Z', '2026-03-30T12:00:00Z', 3],
    ['Europe/Berlin', '30 2 * * *', '2026-03-27T12:00:00Z', '2026-03-30T12:00:00Z', 3],
    ['Europe/Berlin', '30 2 * * *', '2026-10-23T12:00:00Z', '2026-10-26T12:00:00Z', 3],
    ['America/New_York', '30 2 * * *', '2026-03-06T12:00:00Z', '2026-03-09T12:00:00Z', 3],
    ['America/New_York', '30 1 * * *', '2026-10-30T12:00:00Z', '2026-11-02T12:00:00Z', 3],
    // Lord Howe moves by half an hour: 2026-04-05 back, 2026-10-04 forward.
    ['Australia/Lord_Howe', '15 2 * * *', '2026-04-03T00:00:00Z', '2026-04-06T00:00:00Z', 3],
    ['Australia/Lord_Howe', '45 1 * * *', '2026-04-03T00:00:00Z', '2026-04-06T00:00:00Z', 3],
    ['Australia/Lord_Howe', '15 2 * * *', '2026-10-02T00:00:00Z', '2026-10-05T00:00:00Z', 3],
  ])('%s, %s from %s', (timezone, cron, from, to, count) => {
    const due = dueBetween(cron, timezone, from, to)
    expect(due, due.join(', ')).toHaveLength(count)
  })
})

describe('the last time', () => {
  test.each([
    ['* * * * *', '2026-11-15T12:00:30Z', '2026-11-15T12:00:00.000Z'],
    ['0 3 * * *', '2026-11-15T12:00:00Z', '2026-11-15T02:00:00.000Z'],
    ['0 3 * * *', '2026-11-15T02:00:00Z', '2026-11-15T02:00:00.000Z'],
    ['0 3 1 1 *', '2026-11-15T12:00:00Z', '2026-01-01T02:00:00.000Z'],
  ])('of %s before %s', (cron, until, expected) => {
    const window = { after: new Date('2025-11-15T00:00:00Z'), until: new Date(until) }
    expect(lastDueAt(cron, 'Europe/Berlin', window)?.toISOString()).toBe(expected)
  })

  test('is none when it lies at or before the other one', () => {
    const window = { after: new Date('2026-11-15T02:00:00Z'), until: NOW }
    expect(lastDueAt('0 3 * * *', 'Europe/Berlin', window)).toBeUndefined()
  })
})

test.each([
  ['0 3 * * *', 'Europe/Berlin', undefined],
  ['0 3 29 2 *', 'UTC', undefined],
  ['0 3 31 2 *', 'UTC', 'cron: never comes due'],
  ['0 3 * *', 'UTC', 'cron: must be'],
  ['0 0 3 * * *', 'UTC', 'cron: must be'],
  ['every day', 'UTC', 'cron: must be'],
  ['@daily', 'UTC', undefined],
  ['0 3 * * *', 'Mars/Olympus', 'timezone: must be'],
])('%s in %s: %s', (cron, timezone, problem) => {
  const found = problemWithSchedule(cron, timezone, NOW)
  expect(found?.slice(0, problem?.length)).toBe(problem)
})
