import { expect, test } from 'vitest'
import { sampleLogs, STACK_TRACE } from './sample-logs.ts'

/** Functions with file, line and column, as far as they lie in the sample's own source. */
const framesOf = (trace: string): string[] =>
  Array.from(
    trace.matchAll(/at (\S+) \(.*(?:\/app|\/outdoor-shop)\/(src\/[^)]+)\)/g),
    ([, name, place]) => `${name} ${place}`,
  )

test('the stack trace in the logs is what the source of the sample app throws', async () => {
  const path = new URL('./app/src/orders.js', import.meta.url).href
  const { totalOf } = (await import(path)) as { totalOf: (order: object) => number }
  const order = { items: [{ sku: 'T-201', count: 2 }] }
  expect([totalOf(order), totalOf({ ...order, code: 'CLUB15' })]).toEqual([438, 372.3])
  try {
    totalOf({ ...order, code: 'club15' })
    expect.unreachable()
  } catch (error) {
    expect(framesOf((error as Error).stack!)).toEqual(framesOf(STACK_TRACE).slice(0, 2))
    expect(STACK_TRACE).toContain(String(error))
  }
})

test('a week of lines, in order, and the trace only since the deployment with the bug', () => {
  const now = new Date('2026-11-15T12:00:00Z')
  const brokenSince = new Date('2026-11-13T04:00:00Z')
  const logs = sampleLogs(now, brokenSince)
  const times = logs.map(({ at }) => at!.getTime())
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  expect(times[0]).toBeGreaterThan(now.getTime() - 7 * 86_400_000)
  expect(times.at(-1)).toBeLessThanOrEqual(now.getTime())
  expect(logs.length).toBeGreaterThan(300)
  expect(logs.length).toBeLessThan(600)
  const broken = logs.filter(({ level }) => level === 'error')
  expect(broken.length).toBeGreaterThan(8)
  expect(broken.every(({ at, text }) => at! >= brokenSince && text === STACK_TRACE)).toBe(true)
})
