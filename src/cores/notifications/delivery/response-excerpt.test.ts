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
  // What is removed before makes the end of what was read part of the excerpt.
  const answer = 'it was hunter2hun'
  const text = `${'\u0000'.repeat(4096 - answer.length)}${answer}`
  expect(responseExcerpt(text, ['hunter2hunter2'])).toBe('it was')
  expect(responseExcerpt(text.slice(1), ['hunter2hunter2'])).toBe(answer)
})
