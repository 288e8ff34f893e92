import { expect, test } from 'vitest'
import { RE2JS } from 're2js'
import { countSteps } from '../../../test/support/count-steps.ts'
import { templateOf } from '../logs/index.ts'
import { isLogPattern, looksFor, patternFor, readLogPattern } from './log-pattern.ts'

const FILES = ['src/cores/checks/log-pattern.ts', 're2js/build/index.js']

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
])('what would take too long is refused, and with little work: %s', async (_what, pattern) => {
  let isAccepted: boolean | undefined
  const steps = await countSteps(FILES, () => void (isAccepted = isLogPattern(pattern)))
  expect(isAccepted).toBe(false)
  expect(steps).toBeGreaterThan(0)
  // Written out, there would be half a million instructions, each of many steps.
  expect(steps).toBeLessThan(100_000)
})

test.each([
  'payment failed',
  'payment  failed with\ttwo blanks',
  'TypeError: Cannot read properties of undefined (reading "price")\n    at sum (src/sum.js:2:3)',
  'GET /orders/12?page=3 took 1532ms [slow] {"a": 1}',
  '/not a pattern/',
  'user 42 of ada@example.test at 2026-11-18T01:02:03Z from 10.0.0.1: 0xdeadbeef',
  `long ${'word '.repeat(300)}`,
  `numbers ${'12 apples, '.repeat(80)}`,
  'x'.repeat(2_000),
])('the pattern made of a line finds it: %#', (line) => {
  const template = templateOf(line)
  const pattern = patternFor(template, line)
  expect(pattern.length).toBeLessThanOrEqual(500)
  expect(isLogPattern(pattern)).toBe(true)
  const read = readLogPattern(pattern)
  const isFound =
    'text' in read
      ? line.toLowerCase().includes(read.text.toLowerCase())
      : RE2JS.compile(read.source).matcher(line).find()
  expect(isFound).toBe(true)
  expect(looksFor(pattern, template, line)).toBe(true)
})

test('what another check counts is not taken for it', () => {
  expect(looksFor('panic', 'payment failed', 'payment failed')).toBe(false)
  expect(looksFor('/pay.*/', 'payment failed', 'payment failed')).toBe(false)
  expect(looksFor('PAYMENT', 'payment failed', 'payment failed')).toBe(true)
})
