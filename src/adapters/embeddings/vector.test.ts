import { expect, test } from 'vitest'
import { checkedVector } from './vector.ts'

test('a vector of the right length comes back in single precision', () => {
  expect(checkedVector([0.5, -1, 0], 3)).toEqual(new Float32Array([0.5, -1, 0]))
})

test.each<[numbers: number[], why: string]>([
  [[1, 2], 'the vector has 2 dimensions and should have 3'],
  [[1, 2, 3, 4], 'the vector has 4 dimensions and should have 3'],
  [[], 'the vector has 0 dimensions and should have 3'],
  [[1, Number.NaN, 3], 'the vector contains a value that is not a number'],
  [[1, 2, Number.POSITIVE_INFINITY], 'the vector contains a value that is not a number'],
  [[1, 2, 1e39], 'the vector contains a value that is not a number'],
  [[0, 0, 0], 'the vector is zero'],
  [[0, -0, 1e-60], 'the vector is zero'],
])('%j is refused', (numbers, why) => {
  expect(checkedVector(numbers, 3)).toBe(why)
})
