/** Answers on a terminal: aligned, and unable to command it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatOutput } from './format-output.ts'
import { displayWidth, sanitizeLine, sanitizeLines } from './terminal-text.ts'

const table = (rows: readonly (readonly string[])[]) =>
  formatOutput({}, { columns: ['ID', 'NAME'], rows }, 'table')

test('columns stand below each other, also where letters are wide or have no width', () => {
  expect(
    table([
      ['a', 'b'],
      ['你好', 'c'],
      ['e\u0301', 'd'],
      ['', ''],
    ]),
  ).toBe(['ID    NAME', 'a     b', '你好  c', 'e\u0301     d', '-     -', ''].join('\n'))
})

test('fields, text, JSON and YAML', () => {
  expect(formatOutput({}, { fields: { a: 1, long: null } }, 'table')).toBe('a:     1\nlong:  -\n')
  expect(formatOutput({ a: 1 }, { text: 'said\n' }, 'table')).toBe('said\n')
  expect(formatOutput({ a: 1 }, { text: 'said\n' }, 'json')).toBe('{\n  "a": 1\n}\n')
  expect(formatOutput({ a: 1 }, { text: 'said\n' }, 'yaml')).toBe('a: 1\n')
})

/** A name or a hit may hold an escape sequence that rewrites the screen, or marks that turn its words around. */
describe('text from elsewhere', () => {
  test('is shown and not obeyed', () => {
    expect(sanitizeLine('a\u001b[2Jb\u009b1mc\u202ed\r\ne\tf')).toBe('a\\u001b[2Jb\\u009b1mc\\u202ed e f')
    expect(sanitizeLines('a\nb\u0007')).toBe('a\nb\\u0007')
    expect(table([['x', 'evil\nID  NAME\u001b]0;title\u0007']]).split('\n')).toHaveLength(3)
  })

  // oxlint-disable-next-line no-control-regex
  const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/
  const TURNS_AROUND = /[\u202a-\u202e\u2066-\u2069]/

  test('whatever it is, and in every format', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.constantFrom('table', 'json', 'yaml'), (text, format) => {
        const written = formatOutput({ text }, { columns: ['ID'], rows: [[text]] }, format)
        if (OBEYED.test(written)) return false
        // YAML is written as the server writes it.
        if (format === 'yaml') return true
        if (TURNS_AROUND.test(written)) return false
        return format === 'json'
          ? (JSON.parse(written) as { text: string }).text === text
          : written.split('\n').length === 3
      }),
    )
  })

  test('has a width', () => {
    expect([
      displayWidth('abc'),
      displayWidth('👍'),
      displayWidth('日本'),
      displayWidth('é'),
      displayWidth('ﷺ'),
    ]).toEqual([3, 2, 4, 1, 1])
  })
})
