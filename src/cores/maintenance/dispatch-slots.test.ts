import { expect, test } from 'vitest'
import { newestSlot } from './dispatch-slots.ts'

const nightly = { nightlyCron: '0 3 * * *', timezone: 'Europe/Berlin' }
const at = (first: string, now: string) =>
  newestSlot({ ...nightly, nextSlotAt: new Date(first) }, new Date(now)).toISOString()

test('the time that has come', () => {
  expect(at('2026-03-02T02:00:00Z', '2026-03-02T02:00:01Z')).toBe('2026-03-02T02:00:00.000Z')
  expect(at('2026-03-02T02:00:00Z', '2026-03-02T13:00:00Z')).toBe('2026-03-02T02:00:00.000Z')
})

test('of several that passed while nobody looked, the newest', () => {
  expect(at('2026-03-02T02:00:00Z', '2026-03-05T02:10:00Z')).toBe('2026-03-05T02:00:00.000Z')
})

test('a night of 23 hours has its time, and one of 25 has it once', () => {
  // Berlin goes to summer time on 29 March 2026, and back on 25 October.
  expect(at('2026-03-28T02:00:00Z', '2026-03-29T01:05:00Z')).toBe('2026-03-29T01:00:00.000Z')
  expect(at('2026-10-24T01:00:00Z', '2026-10-25T02:30:00Z')).toBe('2026-10-25T02:00:00.000Z')
})
