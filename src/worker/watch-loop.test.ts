import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Storage } from '../cores/dependencies.ts'
import { createWatch, startWatchLoops, type WatchStep } from './watch-loop.ts'

const START = Date.parse('2026-11-15T12:00:00Z')
const at = (seconds: number) => new Date(START + seconds * 1000)
/** Of a look at this second: since when it has been looking. */
const sinceAt = (watch: ReturnType<typeof createWatch>, seconds: number) =>
  (watch.look(at(seconds)).since.getTime() - START) / 1000

test('it has been looking since the last gap', () => {
  const watch = createWatch()
  expect([0, 2, 30, 55].map((seconds) => sinceAt(watch, seconds))).toEqual([0, 0, 0, 0])
  // Frozen, or the clock was set: forward, then back.
  expect([600, 602, 60, 62].map((seconds) => sinceAt(watch, seconds))).toEqual([600, 600, 60, 60])
  watch.startOver()
  expect([64, 66].map((seconds) => sinceAt(watch, seconds))).toEqual([64, 64])
})

/** A database of which only the clock is asked, as the test sets it; that of the process is so many seconds ahead. */
function fakeDatabase(ahead = 0) {
  let [seconds, isAway] = [0, false]
  const execute = async () => {
    if (isAway) throw new Error('planted')
    return [{ ms: START + seconds * 1000 }]
  }
  return {
    db: { execute } as unknown as Storage['db'],
    clock: () => at(seconds + ahead),
    pass: (more: number) => (seconds += more),
    setAway: (away: boolean) => (isAway = away),
  }
}

const warnings: string[] = []

/** Runs the loop until one of the steps ends it, and returns what each look has seen, in seconds. */
async function looksOf(
  database: ReturnType<typeof fakeDatabase>,
  ...steps: ((look: number) => 'again' | 'wait' | 'end')[]
): Promise<{ now: number; since: number }[]> {
  warnings.length = 0
  const seen: { now: number; since: number }[] = []
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const log = {
    warn(event: string) {
      warnings.push(event)
      database.setAway(false)
    },
  }
  const looking = steps.map<WatchStep>((step) => async ({ clock, watch }) => {
    const seconds = (time: Date) => Math.round((time.getTime() - START) / 1000)
    seen.push({ now: seconds(clock()), since: seconds(watch.since) })
    const next = step(seen.length)
    if (next === 'end') resolve()
    return next === 'again' ? 1 : 0
  })
  const loop = startWatchLoops({ ...database, log }, [{ name: 'test', netMs: 1, steps: looking }])
  await ended
  await loop.stop()
  return seen
}

test('frozen in the midst of a turn, the next step knows', async () => {
  const database = fakeDatabase()
  const seen = await looksOf(
    database,
    (look) => {
      if (look === 3) database.pass(120)
      return 'wait'
    },
    (look) => (look === 4 ? 'end' : 'wait'),
  )
  expect(seen.slice(0, 4)).toEqual([
    { now: 0, since: 0 },
    { now: 0, since: 0 },
    { now: 0, since: 0 },
    { now: 120, since: 120 },
  ])
})

test('frozen while there is more and more to do, too', async () => {
  const database = fakeDatabase()
  const seen = await looksOf(database, (look) => {
    database.pass(look === 2 ? 120 : 1)
    return look === 4 ? 'end' : 'again'
  })
  expect(seen.map(({ since }) => since)).toEqual([0, 0, 121, 121])
})

test.each([
  ['a step that takes minutes is no gap while the database answers', false, 0],
  ['it is one if nothing was answered meanwhile', true, 80],
])('%s', async (_, isAway, since) => {
  const database = fakeDatabase()
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const seen: number[] = []
  const step: WatchStep = async ({ watch }) => {
    seen.push((watch.since.getTime() - START) / 1000)
    if (seen.length === 2) resolve()
    database.setAway(isAway)
    for (let n = 0; n < 4 && seen.length === 1; n++) {
      database.pass(20)
      await sleep(10)
    }
    database.setAway(false)
    return 0
  }
  const log = { warn() {} }
  const loop = startWatchLoops({ ...database, log }, [{ name: 'test', netMs: 1, steps: [step] }], 1)
  await ended
  await loop.stop()
  expect(seen).toEqual([0, since])
})

test('after a database that did not answer it starts over', async () => {
  const database = fakeDatabase()
  const seen = await looksOf(database, (look) => {
    database.pass(5)
    if (look === 2) database.setAway(true)
    return look === 3 ? 'end' : 'wait'
  })
  expect(seen.map(({ since }) => since)).toEqual([0, 0, 10])
})

test.each([
  ['a little ahead is gone by', 300, { now: 300, since: 300 }, 0],
  ['a year ahead is not', 365 * 86_400, { now: 0, since: 0 }, 1],
  ['a year behind neither', -365 * 86_400, { now: 0, since: 0 }, 1],
])('a clock that is %s', async (_, ahead, seen, warned) => {
  const looks = await looksOf(fakeDatabase(ahead), (look) => (look === 3 ? 'end' : 'wait'))
  expect(looks.slice(0, 3)).toEqual([seen, seen, seen])
  expect(warnings).toHaveLength(warned)
})
