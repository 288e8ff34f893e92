import { expect, test } from 'vitest'
import { sign, unsign } from './sign.ts'

const KEY = new Uint8Array(32).fill(7)

test('what we signed comes back as it was', () => {
  expect(unsign(KEY, 'flash', sign(KEY, 'flash', 'Grüße, “Ada”'))).toBe('Grüße, “Ada”')
})

test('a signature for one purpose is worthless for another, and under another key', () => {
  expect(unsign(KEY, 'sign-in', sign(KEY, 'flash', 'x'))).toBeUndefined()
  expect(unsign(new Uint8Array(32), 'flash', sign(KEY, 'flash', 'x'))).toBeUndefined()
})

test.each([
  undefined,
  '',
  '.',
  'abc',
  'abc.def',
  `${sign(KEY, 'flash', 'x')}.`,
  `x${sign(KEY, 'flash', 'x')}`,
])('%j is not one of ours', (text) => {
  expect(unsign(KEY, 'flash', text)).toBeUndefined()
})
