import { afterAll, expect, test } from 'vitest'
import { createLineMatcher } from './index.ts'

const matcher = createLineMatcher({ taskMs: 500 })
const { matchLines } = matcher
afterAll(() => matcher.close())

/** Each position is a state of its own: no fast way, about a second for a line of 16 KiB. */
const SLOW = '(a|b)*a(a|b){60}$'
const noise = (length: number): string => {
  let state = 12_345
  return Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff
    return (state >> 8) % 2 === 0 ? 'a' : 'b'
  }).join('')
}

test('counts the lines that match, no further than asked', async () => {
  const lines = ['a timeout', 'fine', 'TIMEOUT', 'a time out']
  expect(await matchLines('org_1', { source: '(?i)time ?out', lines, most: 10 })).toBe(3)
  expect(await matchLines('org_1', { source: '(?i)time ?out', lines, most: 2 })).toBe(2)
  expect(await matchLines('org_1', { source: '^fine$', lines, most: 10 })).toBe(1)
})

test('an expression made to be slow is given up, and meanwhile everybody else is served', async () => {
  const lines = Array.from({ length: 50 }, () => noise(16_384))
  let turns = 0
  const slow = matchLines('org_1', { source: SLOW, lines, most: 100 })
  const next = matchLines('org_2', { source: 'b', lines: ['abc'], most: 1 })
  const started = performance.now()
  const counting = setInterval(() => turns++, 10)
  expect(await slow).toBeUndefined()
  clearInterval(counting)
  expect(performance.now() - started).toBeLessThan(10_000)
  // Of about fifty: on a busy machine each takes longer.
  expect(turns).toBeGreaterThan(10)
  // Whoever came after it has a new thread.
  expect(await next).toBe(1)
})

test('many slow tasks of one organization do not delay another one', async () => {
  const lines = Array.from({ length: 50 }, () => noise(16_384))
  const order: string[] = []
  const ask = async (orgId: string, source: string) => {
    await matchLines(orgId, { source, lines, most: 1 })
    order.push(orgId)
  }
  const slow = Array.from({ length: 4 }, () => ask('org_1', SLOW))
  // Whatever it asks for has taken no time before all of the other are done.
  await Promise.all([...slow, ask('org_2', 'a'), ask('org_2', 'b')])
  expect(order).toEqual(['org_1', 'org_2', 'org_2', 'org_1', 'org_1', 'org_1'])
})
