import { expect, test } from 'vitest'
import { COUNT_MAX } from '../contracts/limits.ts'
import { totalBeside } from './total-beside.ts'

test.each([
  ['a list of one page is as long as that', { whole: 3, charted: COUNT_MAX }, 3, 0],
  ['as many as are told are in the chart', { whole: undefined, charted: COUNT_MAX + 5 }, COUNT_MAX, 0],
  ['fewer are counted', { whole: undefined, charted: COUNT_MAX - 1 }, 70, 1],
])('%s', async (_, beside, total, times) => {
  let counted = 0
  const count = async () => {
    counted += 1
    return { total: 70 }
  }
  expect([await totalBeside(beside, count), counted]).toEqual([total, times])
})
