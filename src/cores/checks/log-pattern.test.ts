import { expect, test } from 'vitest'
import { isLogPattern, readLogPattern } from './log-pattern.ts'

test('between slashes it is a regular expression, otherwise text', () => {
  expect(readLogPattern('timeout (30s)')).toEqual({ text: 'timeout (30s)' })
  expect(readLogPattern('/')).toEqual({ text: '/' })
  expect(isLogPattern('/')).toBe(true)
  expect(readLogPattern('/(?i)time ?out/')).toEqual({ source: '(?i)time ?out' })
})

test.each(['/(/', '/[z-a]/', '/a{2,1}/', '/(?=lookahead)/', String.raw`/(a)\1/`, '/a{1000}{1000}/'])(
  '%s is refused',
  (pattern) => {
    expect(isLogPattern(pattern)).toBe(false)
  },
)

test.each([
  [
    'every kind of date',
    String.raw`/\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d{3,9})?(Z|[+-]\d{2}:?\d{2})/`,
  ],
  ['a long text', `/${'a'.repeat(498)}/`],
  ['an address', String.raw`/([0-9a-f]{2}:){5}[0-9a-f]{2} \d{1,3}(\.\d{1,3}){3}/`],
  ['many words', `/(?i)${Array.from({ length: 40 }, (_, n) => `failure${n}`).join('|')}/`],
])('%s is not too much', (_what, pattern) => {
  expect(isLogPattern(pattern)).toBe(true)
})

test.each([
  ['a step for each of a thousand', '/[^a]{0,1000}[0-9]{3}[A-Z]/'],
  ['nested', '/(a?b?c?){300}/'],
  ['one after the other', `/${'([a-z]{10}){100}'.repeat(31)}/`],
  ['long, in each other', `/(?:(?:${'a'.repeat(480)}){31}){32}/`],
  ['behind flags', `/(?:(?:${'a'.repeat(470)})(?i){31})(?i){32}/`],
  ['behind a quotation', String.raw`/(?:(?:${'a'.repeat(470)})\Q\E{31})\Q\E{32}/`],
])('what would take too long is refused, and at once: %s', (_what, pattern) => {
  const times = Array.from({ length: 3 }, () => {
    const started = performance.now()
    expect(isLogPattern(pattern)).toBe(false)
    return performance.now() - started
  })
  // What else the machine does at the time does not count.
  expect(Math.min(...times)).toBeLessThan(50)
})
