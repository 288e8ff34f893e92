import { expect, test } from 'vitest'
import { bestMatch, searchPattern } from './message-words.ts'

const match = (text: string, path = 'a.js', line = 1) => ({
  text,
  path,
  line,
  ref: `file:${path}#L${line}-L${line}`,
})

test('pairs of words are searched, whatever stands between them in the log', () => {
  expect(searchPattern('ride <n> closed: day rate, fare NaN EUR')).toBe(
    'closed: day|rate, fare|day rate|fare NaN|NaN EUR',
  )
  expect(searchPattern('<n> <uuid> <n>')).toBeNull()
})

test('the statement that agrees longest is taken, and one that throws before one that logs', () => {
  const template = 'checkout failed: amount must be whole'
  const logs = match('log.error(`checkout failed: ${e}`)')
  const throws = match("throw new Error('amount must be whole')", 'b.js')
  expect(bestMatch([logs, throws], template)).toBe(throws)
  expect(bestMatch([match('// amount must be whole')], template)).toBeNull()
  expect(bestMatch([match('amount')], template)).toBeNull()
  expect(bestMatch([logs, { ...logs, path: 'c.js' }], template)).toBeNull()
})
