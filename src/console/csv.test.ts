import { expect, test } from 'vitest'
import { csvLine } from './csv.ts'

/** Spreadsheets run a cell that begins so, and names of people are among the values. */
test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '＝1'])('%j is text, not a formula', (cell) => {
  expect(csvLine([cell])).toBe(`"'${cell}"\r\n`)
})

test('quotes, commas and line breaks stay in their cell', () => {
  expect(csvLine(['a"b', 'c,d', 'e\nf', null, 7, true])).toBe('"a""b","c,d","e\nf",,7,true\r\n')
})
