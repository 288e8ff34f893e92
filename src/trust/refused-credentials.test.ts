import { expect, test } from 'vitest'
import { refusedCredentials } from './refused-credentials.ts'

function atTime() {
  let now = 0
  const refused = refusedCredentials(() => now)
  return { ...refused, advance: (seconds: number) => (now += seconds * 1000) }
}

test('the more calls of a credential are refused, the longer each waits, up to a minute', () => {
  const { refuse } = atTime()
  const waits = Array.from({ length: 2_000 }, () => refuse('a', 1, false).waitSeconds)
  expect(waits.filter((wait) => wait === 1)).toHaveLength(16)
  expect(waits.filter((wait) => wait === 2)).toHaveLength(16)
  expect(Math.max(...waits)).toBe(60)
  expect(refuse('b', 1, false)).toEqual({ waitSeconds: 1, isFlood: false })
})

test('the first sixteen refusals are recorded, the others are a flood, until it has waited', () => {
  const { refuse, advance } = atTime()
  const floods = Array.from({ length: 18 }, () => refuse('a', 1, false).isFlood)
  expect(floods.filter((isFlood) => isFlood)).toHaveLength(2)
  advance(2)
  expect(refuse('a', 1, false)).toEqual({ waitSeconds: 1, isFlood: false })
})

test('a credential that was told to wait is paused for that long, and no other is', () => {
  const { refuse, pausedSeconds, advance } = atTime()
  refuse('a', 3, true)
  refuse('b', 3, false)
  expect([pausedSeconds('a'), pausedSeconds('b')]).toEqual([3, 0])
  advance(1.5)
  expect(pausedSeconds('a')).toBe(2)
  advance(1.5)
  expect(pausedSeconds('a')).toBe(0)
})

test('nobody is told to come back before the limit has passed, however long it lasts', () => {
  const { refuse } = atTime()
  expect(refuse('a', 90, true).waitSeconds).toBe(90)
})
