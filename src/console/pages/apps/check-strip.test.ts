import { expect, test } from 'vitest'
import { checkStrip } from './check-strip.ts'

test('a failed run differs from a passed one by more than color, and the strip says itself in words', async () => {
  const drawn = String(await checkStrip(['pass', 'pass', 'fail']))
  expect(drawn).toContain('aria-label="Last 3 results: 2 passed, 1 failed"')
  const heights = Array.from(drawn.matchAll(/<rect [^>]*height="(\d+)"/g), ([, height]) => height)
  expect(heights[0]).toBe(heights[1])
  expect(heights[2]).not.toBe(heights[1])
  expect(drawn).not.toContain('style=')
})
