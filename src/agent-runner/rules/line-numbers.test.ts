import { expect, test } from 'vitest'
import { numberSlots, rising } from './line-numbers.ts'

test('numbers are read by their places in the template', () => {
  const slots = numberSlots('open sockets <n>, heap <n> MB', [
    'open sockets 1, heap 10 MB',
    'open  sockets 2, heap 1,500 MB\nmore',
    'something else',
  ])
  expect(slots).toEqual([
    { context: 'open sockets <n>, heap ', values: [1, 2] },
    { context: ', heap <n> MB', values: [10, 1_500] },
  ])
})

test('what rises all the time, what does not, and what falls', () => {
  expect(rising([1, 2, 3, 4, 5])).toBe(1)
  expect(rising([5, 4, 3, 2, 1])).toBe(-1)
  expect(rising([1, 9, 1, 9, 1, 9])).toBeLessThan(0.9)
  expect(rising([])).toBe(0)
})
