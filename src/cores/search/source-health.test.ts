import { expect, test } from 'vitest'
import { presentHealth, type HealthRow } from './source-health.ts'

const AT = Date.UTC(2026, 2, 1, 12)
const minutes = (count: number) => new Date(AT + count * 60_000)
const healthAt = (now: Date, row: Partial<HealthRow>) =>
  presentHealth(
    {
      checkedAt: null,
      errorAt: minutes(0),
      errorKind: 'unreachable',
      errorCode: 'ECONNREFUSED',
      problems: [],
      serverProblems: [],
      ...row,
    } as HealthRow,
    now,
  )

test.each([
  ['before any look', minutes(1), null, 1],
  ['after an earlier look', minutes(1), minutes(-1), 1],
  ['until a look that found nothing', minutes(2), minutes(1), 0],
  ['for an hour', minutes(59), null, 1],
  ['and no longer', minutes(60), null, 0],
])('the last error is a problem %s', (_when, now, checkedAt, count) => {
  const { problems, last_error } = healthAt(now, { checkedAt })
  expect(problems).toHaveLength(count)
  // It is told all the same.
  expect(last_error).toMatchObject({ at: minutes(0).toISOString(), kind: 'unreachable' })
})
