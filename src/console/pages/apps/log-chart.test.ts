import { expect, test } from 'vitest'
import { countErrors, logChart, logSteps } from './log-chart.ts'

const NOW = new Date('2026-11-15T12:30:00Z')
const summary = (buckets: Parameters<typeof logSteps>[0]['buckets'], step_seconds = 3_600) => ({
  step_seconds,
  buckets,
  stored_bytes: 0,
  max_bytes: 1_000_000,
  dropped_today: 0,
  refused_today: 0,
})
const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000)

test('hours without lines are steps, too, and fatal counts as an error', () => {
  const steps = logSteps(
    summary([
      { at: '2026-11-15T09:00:00.000Z', counts: { info: 4, fatal: 1 } },
      { at: '2026-11-15T12:00:00.000Z', counts: { error: 2, trace: 7 } },
    ]),
    hoursAgo(4),
    NOW,
  )
  expect(steps.map(({ values }) => values)).toEqual([
    [0, 0, 0, 0],
    [4, 0, 0, 1],
    [0, 0, 0, 0],
    [0, 0, 0, 0],
    [0, 7, 0, 2],
  ])
  expect(countErrors(steps)).toBe(3)
})

test('many small steps become at most sixty bars, and no line is lost', () => {
  const buckets = Array.from({ length: 7 * 24 * 60 }, (_, at) => ({
    at: hoursAgo(at / 60).toISOString(),
    counts: { info: 1 },
  }))
  const steps = logSteps(summary(buckets, 60), hoursAgo(7 * 24), NOW)
  expect(steps.length).toBeLessThanOrEqual(62)
  expect(steps.reduce((sum, { values }) => sum + values[0]!, 0)).toBe(buckets.length)
})

test('a line from outside the time that was asked for is left out', () => {
  const steps = logSteps(summary([{ at: '2030-01-01T00:00:00Z', counts: { error: 5 } }]), hoursAgo(2), NOW)
  expect(countErrors(steps)).toBe(0)
})

test('it says itself in words', async () => {
  const steps = logSteps(summary([{ at: '2026-11-15T12:00:00Z', counts: { warn: 3 } }]), hoursAgo(1), NOW)
  expect(String(await logChart(steps))).toContain('0 info, 0 debug, 3 warnings, 0 errors.')
})
