import { expect, test } from 'vitest'
import type { ModelRequest } from '../contracts/model-port.ts'
import { tokenBound } from './token-bound.ts'

const request = (text: string): ModelRequest => ({
  system: 's',
  messages: [{ role: 'user', text }],
  tools: [],
  maxOutputTokens: 100,
})

test('the first request is bound by its bytes, whatever a tokenizer makes of them', () => {
  const bound = tokenBound()
  expect(bound.of(request('漢'.repeat(1_000)))).toBeGreaterThan(3_000 + 100)
})

test('later ones by what the one before used, and by the bytes that were added', () => {
  const bound = tokenBound()
  bound.settle(request('x'.repeat(10_000)), 2_500)
  expect(bound.of(request('x'.repeat(10_400)))).toBe(2_500 + 400 + 100)
  // Fewer bytes are not fewer tokens for certain.
  expect(bound.of(request('x'.repeat(9_000)))).toBe(2_500 + 100)
})

test('a provider that counts more than there are bytes changes nothing', () => {
  const bound = tokenBound()
  bound.settle(request('x'), 1_000_000)
  expect(bound.of(request('xy'))).toBeLessThan(1_000)
})
