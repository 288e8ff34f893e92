import { expect, test } from 'vitest'
import { span } from './attempts-timeline.ts'

test.each([
  ['2026-11-15T12:00:00Z', '2026-11-15T12:00:05Z', '5s'],
  ['2026-11-15T12:00:00Z', '2026-11-15T12:00:00Z', '0s'],
  ['2026-11-15T12:00:00Z', '2026-11-15T12:29:50Z', '30m'],
  ['2026-11-15T12:00:00Z', '2026-11-15T22:00:00Z', '10h'],
  ['2026-11-15T12:00:00Z', '2026-11-16T12:00:00Z', '1d'],
])('from %s to %s is %s', (from, to, words) => expect(span(from, to)).toBe(words))
