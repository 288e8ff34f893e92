import { expect, test } from 'vitest'
import { faultOf } from './what-counts.ts'

test.each([
  ["TypeError: Cannot read properties of undefined (reading 'x')", 'code'],
  ['TypeError: fetch failed', 'dependency'],
  ['panic: runtime error: index out of range [1] with length 1', 'code'],
  ['correction of <id> failed: column <text> does not exist', 'code'],
  ['connect ECONNREFUSED 127.0.0.1:5432', 'dependency'],
  ['upstream timed out', 'dependency'],
  ['login of admin refused: wrong password', 'request'],
  ['card declined: insufficient funds', 'request'],
  ['request failed', 'unknown'],
  ['nothing found for "TypeError: x is not a function"', 'unknown'],
  ['forbidden: remove "ReferenceError: index', 'request'],
])('%s is a fault of: %s', (text, fault) => {
  expect(faultOf(text)).toBe(fault)
})
