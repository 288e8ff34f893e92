import { expect, test } from 'vitest'
import { soonest } from './update-check.ts'

const now = new Date('2026-03-02T12:00:00Z')
const at = (seconds: number): Date => new Date(now.getTime() + seconds * 1000)

test.each([
  ['never run', null, null, 0],
  ['run long ago', at(-60), at(-61), 0],
  ['run a moment ago', at(-3), at(-4), 7],
  ['under way, with nothing settled yet', null, at(-1), 9],
  ['under way, and settled long ago', at(-600), at(-1), 9],
  ['by a clock that was ahead', at(3_600), at(3_600), 10],
])('a changed check that was %s', (_what, lastRunAt, lastStartedAt, waits) => {
  expect(soonest({ lastRunAt, lastStartedAt }, now)).toEqual(at(waits))
})
