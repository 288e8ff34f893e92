import { expect, test } from 'vitest'
import { readLogPattern } from './log-pattern.ts'

const finds = (pattern: string, line: string): boolean => {
  const read = readLogPattern(pattern)
  if (!read || 'text' in read) throw new Error('not a regular expression')
  return read.regex.test(line)
}

test('between slashes it is a regular expression, otherwise text', () => {
  expect(readLogPattern('timeout (30s)')).toEqual({ text: 'timeout (30s)' })
  expect(readLogPattern('/')).toEqual({ text: '/' })
  expect(finds('/time ?out/', 'a timeout occurred')).toBe(true)
  expect(finds('/(?i)TIMEOUT/', 'a timeout occurred')).toBe(true)
  expect(finds('/^timeout/', 'a timeout occurred')).toBe(false)
})

test.each(['/(/', '/[z-a]/', '/a{2,1}/', '/(?=lookahead)/', String.raw`/(a)\1/`, '/a{1000}{1000}/'])(
  '%s is refused',
  (pattern) => {
    expect(readLogPattern(pattern)).toBeUndefined()
  },
)

test.each(['/(a+)+$/', '/^(a|a)*$/', '/(.*a){20}$/'])(
  '%s does not hang on what would hang others',
  (pattern) => {
    const started = performance.now()
    expect(finds(pattern, `${'a'.repeat(5_000)}!`)).toBe(false)
    expect(performance.now() - started).toBeLessThan(5_000)
  },
)
