import fc from 'fast-check'
import { expect, test } from 'vitest'
import { writtenOut } from './written-out.ts'

test.each([
  ['1e5', '100000'],
  ['1.50E+2', '150'],
  ['-1.5e-7', '-0.00000015'],
  ['123.456e1', '1234.56'],
  ['123.456e-2', '1.23456'],
  ['0e5', '0'],
  ['0.001e2', '0.1'],
  ['12345678901234567.89e1', '123456789012345678.9'],
  ['1e400', '1e400'],
  ['1e99999999999', '1e99999999999'],
  ['1.10', '1.10'],
  ['e5', 'e5'],
  ['x', 'x'],
])('%s is %s', (text, written) => {
  expect(writtenOut(text)).toBe(written)
})

test('every double keeps its value, and has no exponent', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const written = writtenOut(value.toExponential())
      expect(written).toMatch(/^-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/)
      expect(Number(written) === value).toBe(true)
    }),
  )
})
