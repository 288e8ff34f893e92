import { expect, test } from 'vitest'
import { quoteIdentifier } from './quote-identifier.ts'

test.each([
  ['plain', '"plain"'],
  ['Mixed Case', '"Mixed Case"'],
  ['a"; drop table x; --', '"a""; drop table x; --"'],
  ['""', '""""""'],
])('%j is written as a name: %s', (name, quoted) => {
  expect(quoteIdentifier(name)).toBe(quoted)
})

test.each(['', 'a\0b'])('%j cannot be a name', (name) => {
  expect(() => quoteIdentifier(name)).toThrow('identifier')
})
