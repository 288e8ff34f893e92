import { expect, test } from 'vitest'
import { encodingFor } from './compress.ts'

test.each([
  ['gzip, br', 'br'],
  ['gzip', 'gzip'],
  ['br;q=0, gzip;q=0.5', 'gzip'],
  ['identity', undefined],
  ['', undefined],
  [undefined, undefined],
])('of %s it takes %s', (accepted, taken) => {
  expect(encodingFor(accepted)).toBe(taken)
})
