import { expect, test } from 'vitest'
import { responseExcerpt } from './response-excerpt.ts'

test('of no answer, and of an empty one, nothing is kept', () => {
  expect([responseExcerpt(undefined, []), responseExcerpt(' \u0000\r\n', [])]).toEqual([null, null])
})

test('is at most a kilobyte, and ends with a whole character', () => {
  const kept = responseExcerpt('ü✓'.repeat(1_000), [])!
  expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(1024)
  expect(kept).toMatch(/^(ü✓)+ü?$/)
})

test('has no characters that control a terminal or turn a line around', () => {
  expect(responseExcerpt('a\u001b[31mb\u202ec\u2066d\u0007\ne\tf', [])).toBe('abcd\ne\tf')
})

test('a secret that is cut off at the end of what was read is not shown in part', () => {
  const secret = 'hunter2hunter2'
  const text = `${' '.repeat(4096 - 'password='.length - 6)}password=${secret}`.slice(0, 4096)
  expect(responseExcerpt(text, [secret])).toBeNull()
})
