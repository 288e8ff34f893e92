import { expect, test } from 'vitest'
import type { Handle } from '../../../db/connect.ts'
import { setListener, type Listening } from '../../../db/listen.ts'
import { createSignal, doubled, POLL_MS, waitUntil } from './wait.ts'

/** Long enough that a wait which ends by it is seen to. */
const LONG_MS = 20_000

test('a wait ends when it is notified, or when its time is over', async () => {
  const signal = createSignal()
  const waits = [signal.wait(LONG_MS), signal.wait(LONG_MS)]
  signal.notify()
  await expect(Promise.all(waits)).resolves.toHaveLength(2)
  await expect(signal.wait(0)).resolves.toBeUndefined()
})

test('notified while nobody waits, it wakes whoever waits next', async () => {
  const signal = createSignal()
  signal.notify()
  await expect(signal.wait(LONG_MS)).resolves.toBeUndefined()
})

/** A database of which nothing is asked, and those who listen to it. */
function listening(state: Listening = 'listening') {
  const subscribers = new Set<Parameters<Parameters<typeof setListener>[1]['subscribe']>[0]>()
  const db = {} as Handle
  setListener(db, {
    state: () => state,
    subscribe(heard) {
      subscribers.add(heard)
      return () => void subscribers.delete(heard)
    },
  })
  return {
    db,
    subscribers,
    tell: (key: string) => subscribers.forEach((heard) => heard('pipelines', key)),
    tellAll: () => subscribers.forEach((heard) => heard(undefined, '')),
  }
}

test('whoever waits looks when it is told of its own, and not of that of another organization', async () => {
  const { db, subscribers, tell, tellAll } = listening()
  const looks = { mine: 0, theirs: 0 }
  const gone = new AbortController()
  const wait = (whose: keyof typeof looks, until: number) =>
    waitUntil(
      db,
      { topic: 'pipelines', key: `app_of_${whose}` },
      { seconds: 20, signal: gone.signal },
      async () => ++looks[whose] >= until,
    )
  const mine = wait('mine', 2)
  const theirs = wait('theirs', 3)
  await expect.poll(() => looks).toEqual({ mine: 1, theirs: 1 })
  tell('app_of_mine')
  await mine
  expect(looks).toEqual({ mine: 2, theirs: 1 })
  // Nobody knows what was missed while nobody listened.
  tellAll()
  await expect.poll(() => looks, { timeout: 5_000 }).toEqual({ mine: 2, theirs: 2 })
  gone.abort()
  await theirs
  expect(looks.theirs).toBe(2)
  expect(subscribers.size).toBe(0)
})

test('told again and again it looks once after each rest', async () => {
  const { db, tell } = listening()
  const gone = new AbortController()
  const rests: number[] = []
  let looks = 0
  await waitUntil(
    db,
    { topic: 'pipelines', key: 'app_1' },
    { seconds: 600, signal: gone.signal },
    async () => {
      looks++
      tell('app_1')
      return false
    },
    async (ms) => {
      for (let told = 0; told < 1_000; told++) tell('app_1')
      // A tenth of a second: ten looks in one.
      if (rests.push(ms) === 11) gone.abort()
    },
  )
  expect(rests).toEqual(Array(11).fill(100))
  expect(looks).toBe(11)
})

test('it returns when its time is over, and not sooner', async () => {
  const { db, tell } = listening()
  // Timers of the same length end in the order in which they began.
  const over = AbortSignal.timeout(200)
  const telling = setInterval(() => tell('app_1'), 1)
  const wait = { seconds: 0.2, signal: undefined }
  await waitUntil(db, { topic: 'pipelines', key: 'app_1' }, wait, async () => false)
  clearInterval(telling)
  expect(over.aborted).toBe(true)
})

test('where nobody tells it looks after growing pauses', async () => {
  const { db } = listening('polling')
  const looks: number[] = []
  await waitUntil(db, { topic: 'pipelines', key: 'app_1' }, { seconds: 2, signal: undefined }, async () => {
    looks.push(performance.now())
    return false
  })
  const pauses = looks.slice(1).map((at, nth) => at - looks[nth]!)
  // The last look is when its time is over.
  expect(pauses.length).toBeLessThanOrEqual(3)
  expect(pauses[0]).toBeGreaterThan(490)
  if (pauses.length === 3) expect(pauses[1]).toBeGreaterThan(990)
})

test('pauses double, up to four seconds', () => {
  expect([0, 1, 2, 3, 4, 2_000].map((looks) => doubled(POLL_MS, looks))).toEqual([
    500, 1_000, 2_000, 4_000, 4_000, 4_000,
  ])
})
