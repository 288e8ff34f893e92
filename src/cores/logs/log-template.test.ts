import fc from 'fast-check'
import { expect, test } from 'vitest'
import { templateOf } from './log-template.ts'

test.each([
  ['Payment 4711 failed after 35 ms', 'Payment <n> failed after <n> ms'],
  ['took 3.5s, 99.5% done', 'took <n>s, <n>% done'],
  ['GET /orders/0b0f3c1a-8c1d-4f6e-9f5a-1c2d3e4f5a6b 500', 'GET /orders/<uuid> <n>'],
  ['2026-11-15T03:00:00.123Z started', '<time> started'],
  ['cannot reach 10.0.0.7:5432', 'cannot reach <address>'],
  ['no user "ada lovelace" here', 'no user <text> here'],
  ['commit 9fceb02d0ae598e95dc970b74767f19372d61af8 rejected', 'commit <id> rejected'],
  ['mail to ada@example.com bounced', 'mail to <email> bounced'],
  ['TypeError: x is undefined\n    at f (app.js:1:2)', 'TypeError: x is undefined'],
  ['  spaces   between ', 'spaces between'],
  [`${' '.repeat(1001)}x`, 'x'],
  ['\n \t\nfirst\nsecond', 'first'],
  [' \n\t', '<blank>'],
  ['http2 and sha256 stay words', 'http2 and sha256 stay words'],
])('%s', (line, template) => expect(templateOf(line)).toBe(template))

test('of a line without an end only its beginning counts', () => {
  for (const unit of ['a', '0', '"', 'a1', '@.', '1.', '-', '\u0000']) {
    const line = unit.repeat(200_000)
    expect(templateOf(line).length, unit).toBeLessThanOrEqual(500)
    expect(templateOf(line)).toBe(templateOf(line.slice(0, 1000)))
  }
})

test('every text has a template, of one line', () => {
  const unit = fc.constantFrom(' ', '\t', '\n', '\u00a0', '\u2003', '"', 'a', '7', '@', '.')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 2_000, size: 'max' }), (text) => {
      const template = templateOf(text)
      expect(template).not.toBe('')
      expect(template).not.toContain('\n')
    }),
  )
})
