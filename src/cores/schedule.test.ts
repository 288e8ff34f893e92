import { describe, expect, test } from 'vitest'
import { lastDueAt, nextDueAt, problemsWithCron } from './schedule.ts'

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

/** From the evening before to the morning after, in the zone's own time. */
const CHANGES = [
  // Berlin: 02:00 to 03:00 does not exist on one day, and comes twice on the other.
  [
    'Europe/Berlin',
    '2026-03-28T22:00Z',
    '2026-03-29T04:00Z',
    [
      ['30 1 * * *', '03-29T00:30'],
      ['0 2 * * *', '03-29T01:00'],
      ['30 2 * * *', '03-29T01:00'],
      ['0 3 * * *', '03-29T01:00'],
      ['0 2,14 * * *', '03-29T01:00'],
      ['0,30 2 * * *', '03-29T01:00'],
      ['0-30/15 2 * * *', '03-29T01:00'],
      ['0 1-3 * * *', '03-29T00:00 03-29T01:00'],
      ['0 1-2 29 3 *', '03-29T00:00 03-29T01:00'],
      ['0 0-23 * * *', '03-28T23:00 03-29T00:00 03-29T01:00 03-29T02:00 03-29T03:00 03-29T04:00'],
      ['30 * * * *', '03-28T22:30 03-28T23:30 03-29T00:30 03-29T01:30 03-29T02:30 03-29T03:30'],
    ],
  ],
  [
    'Europe/Berlin',
    '2026-10-24T22:00Z',
    '2026-10-25T04:00Z',
    [
      ['30 1 * * *', '10-24T23:30'],
      ['0 2 * * *', '10-25T00:00'],
      ['30 2 * * *', '10-25T00:30'],
      ['0 3 * * *', '10-25T02:00'],
      ['0 2,14 * * *', '10-25T00:00'],
      ['0,30 2 * * *', '10-25T00:00 10-25T00:30'],
      ['0-30/15 2 * * *', '10-25T00:00 10-25T00:15 10-25T00:30'],
      ['0 1-3 * * *', '10-24T23:00 10-25T00:00 10-25T02:00'],
      ['0 1-2 25 10 *', '10-24T23:00 10-25T00:00'],
      ['0 0-23 * * *', '10-24T23:00 10-25T00:00 10-25T01:00 10-25T02:00 10-25T03:00 10-25T04:00'],
      ['30 * * * *', '10-24T22:30 10-24T23:30 10-25T00:30 10-25T01:30 10-25T02:30 10-25T03:30'],
    ],
  ],
  [
    'America/New_York',
    '2026-03-08T04:00Z',
    '2026-03-08T10:00Z',
    [
      ['30 1 * * *', '03-08T06:30'],
      ['30 2 * * *', '03-08T07:00'],
      ['0 3 * * *', '03-08T07:00'],
      ['0 * * * *', '03-08T05:00 03-08T06:00 03-08T07:00 03-08T08:00 03-08T09:00 03-08T10:00'],
    ],
  ],
  [
    'America/New_York',
    '2026-11-01T03:00Z',
    '2026-11-01T09:00Z',
    [
      ['0 1 * * *', '11-01T05:00'],
      ['30 1 * * *', '11-01T05:30'],
      ['0 2 * * *', '11-01T07:00'],
      ['0 * * * *', '11-01T04:00 11-01T05:00 11-01T06:00 11-01T07:00 11-01T08:00 11-01T09:00'],
    ],
  ],
  // Lord Howe moves by half an hour: 01:30 to 02:00 comes twice, and 02:00 to 02:30 does not exist.
  [
    'Australia/Lord_Howe',
    '2026-04-04T12:00Z',
    '2026-04-04T18:00Z',
    [
      ['15 1 * * *', '04-04T14:15'],
      ['45 1 * * *', '04-04T14:45'],
      ['0 2 * * *', '04-04T15:30'],
      ['15 2 * * *', '04-04T15:45'],
      [
        '*/30 * * * *',
        '04-04T12:30 04-04T13:00 04-04T13:30 04-04T14:00 04-04T14:30 04-04T15:00 04-04T15:30 04-04T16:00 04-04T16:30 04-04T17:00 04-04T17:30 04-04T18:00',
      ],
    ],
  ],
  [
    'Australia/Lord_Howe',
    '2026-10-03T12:00Z',
    '2026-10-03T18:00Z',
    [
      ['45 1 * * *', '10-03T15:15'],
      ['15 2 * * *', '10-03T15:30'],
      ['30 2 * * *', '10-03T15:30'],
      ['0 3 * * *', '10-03T16:00'],
      [
        '*/30 * * * *',
        '10-03T12:30 10-03T13:00 10-03T13:30 10-03T14:00 10-03T14:30 10-03T15:00 10-03T15:30 10-03T16:00 10-03T16:30 10-03T17:00 10-03T17:30 10-03T18:00',
      ],
    ],
  ],
] as const

describe('across a change of the clocks a time of the day comes once, and what repeats goes on evenly', () => {
  const rows = CHANGES.flatMap(([zone, from, to, due]) =>
    due.map(([cron, expected]) => ({ zone, from, to, cron, expected })),
  )
  test.each(rows)('$zone, $cron from $from', ({ zone, from, to, cron, expected }) => {
    expect(dueBetween(cron, zone, from, to).map((time) => time.slice(5, 16))).toEqual(expected.split(' '))
  })

  test.each(CHANGES.map(([zone, from, to, due]) => ({ zone, from, to, crons: due.map(([cron]) => cron) })))(
    'looking back finds the same times: $zone from $from',
    ({ zone, from, to, crons }) => {
      for (const cron of crons) {
        const back: string[] = []
        const after = new Date(from)
        for (let until = new Date(to); ; until = new Date(until.getTime() - 1)) {
          const last = lastDueAt(cron, zone, { after, until })
          if (!last) break
          back.unshift(last.toISOString())
          until = last
        }
        expect(back, cron).toEqual(dueBetween(cron, zone, from, to))
      }
    },
  )

  test.each(['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'])(
    'a year in %s has 365 nights, each with one run',
    (zone) => {
      const crons = { '30 1 * * *': 1, '30 2 * * *': 1, '15 2 * * *': 1, '0 2,14 * * *': 2 }
      for (const [cron, aDay] of Object.entries(crons)) {
        const due = dueBetween(cron, zone, '2026-01-01T12:00Z', '2027-01-01T12:00Z')
        expect(due, cron).toHaveLength(aDay * 365)
      }
    },
  )
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
  ['0 3 * * *', 'Europe/Berlin', []],
  ['0 3 29 2 *', 'UTC', []],
  ['@daily', 'UTC', []],
  ['0 3 31 2 *', 'UTC', ['cron: never comes due']],
  ['0 3 30 2 *', 'UTC', ['cron: never comes due']],
  ['0 3 31 4,6,9,11 *', 'UTC', ['cron: never comes due']],
  ['0 3,15 31 2 *', 'Europe/Berlin', ['cron: never comes due']],
  ['', 'UTC', ['cron: must be a cron expression of five parts, such as 0 3 * * *']],
  ['0 3 * *', 'UTC', [expect.stringContaining('cron: must be')]],
  ['0 0 3 * * *', 'UTC', [expect.stringContaining('cron: must be')]],
  ['every day', 'UTC', [expect.stringContaining('cron: must be')]],
  ['*/0 * * * *', 'UTC', [expect.stringContaining('cron: must be')]],
  ['61 * * * *', 'UTC', [expect.stringContaining('cron: must be')]],
  ['2026-12-01T00:00:00', 'UTC', [expect.stringContaining('cron: must be')]],
  ['2026-12-01T00:00:00Z', 'UTC', [expect.stringContaining('cron: must be')]],
  ['0 3 * * 12:00', 'UTC', [expect.stringContaining('cron: must be')]],
  ['0  3 * *  MON-FRI', 'UTC', []],
  ['0 3 * * *', '+02:00', []],
])('%s in %s: %j', (cron, timezone, problems) => {
  expect(problemsWithCron(cron, timezone, NOW)).toEqual(problems)
})
