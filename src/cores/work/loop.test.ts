import { setImmediate as immediately, setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { Handle } from '../../../db/connect.ts'
import { setListener, type Listening, type Topic } from '../../../db/listen.ts'
import { pauseMs, startLoops, type Loop, type Loops, type Next } from './loop.ts'

/** Long enough that a turn which nothing but the time brings is not taken. */
const LONG_MS = 60_000

let state: Listening = 'listening'
let tell: (topic: Topic | undefined) => void
const warnings: unknown[] = []
const running: Loops[] = []

const start = (...loops: readonly Loop[]): Loops => startResting(loops)

function startResting(loops: readonly Loop[], rest?: Parameters<typeof startLoops>[2]): Loops {
  const db = {} as Handle
  setListener(db, {
    state: () => state,
    subscribe(heard) {
      tell = (topic) => heard(topic, '')
      return () => {}
    },
  })
  const log = { warn: (_: string, fields?: object) => void warnings.push(fields) }
  const started = startLoops({ db, log, clock: () => NOW }, loops, rest)
  running.push(started)
  return started
}

const NOW = new Date('2026-11-15T12:00:00Z')
const inMs = (ms: number) => new Date(NOW.getTime() + ms)

/** A loop whose turns end one after the other as they are given, and then find nothing. */
function counting(topic: Topic, ...turns: readonly (() => Next)[]) {
  let count = 0
  const loop = { name: topic, topics: [topic], netMs: LONG_MS, turn: async () => turns[count++]?.() ?? null }
  return { turns: () => count, loop }
}

/** What is to happen has happened by then, and what is not would have. */
const settle = () => sleep(60)

afterEach(async () => {
  for (const loops of running.splice(0)) await loops.stop()
  state = 'listening'
  warnings.length = 0
})

test('it takes turns while there is more, then when it is told of its own work', async () => {
  const again = (): Next => 'again'
  const [checks, loads] = [counting('checks', again, again), counting('loads')]
  start(checks.loop, loads.loop)
  await settle()
  expect([checks.turns(), loads.turns()]).toEqual([3, 1])
  tell('loads')
  await settle()
  expect([checks.turns(), loads.turns()]).toEqual([3, 2])
  // After a connection was lost nobody knows what was missed.
  tell(undefined)
  await settle()
  expect([checks.turns(), loads.turns()]).toEqual([4, 3])
})

test('told in the midst of a turn, it takes another one', async () => {
  const { turns, loop } = counting('checks', () => {
    tell('checks')
    return null
  })
  start(loop)
  await settle()
  expect(turns()).toBe(2)
})

test('a flood of notifications is not one of looks, and its last one is looked at', async () => {
  const { turns, loop } = counting('checks')
  const rests: number[] = []
  const rested = Promise.withResolvers<void>()
  startResting([loop], (ms) => {
    rests.push(ms)
    return rested.promise
  })
  for (let told = 0; told < 1_000; told++) {
    await immediately()
    tell('checks')
  }
  expect([turns(), rests]).toEqual([1, [20]])
  rested.resolve()
  await expect.poll(turns).toBe(2)
})

test('it takes a turn only if something is due, if it is woken, or every sixth time', async () => {
  const { turns, loop } = counting('checks')
  let asked = 0
  let due: Date | null = null
  const loops = start({
    ...loop,
    async due() {
      asked++
      return due
    },
  })
  const after = async (wake: () => void) => {
    wake()
    await settle()
    return [asked, turns()]
  }
  const told = () => tell('checks')
  expect(await after(() => {})).toEqual([1, 1])
  expect(await after(told)).toEqual([2, 1])
  expect(await after(() => loops.wake('checks'))).toEqual([3, 2])
  due = inMs(LONG_MS)
  expect(await after(told)).toEqual([4, 2])
  due = inMs(0)
  expect(await after(told)).toEqual([5, 3])
  due = null
  for (const looks of [6, 7]) expect(await after(told)).toEqual([looks, 3])
  expect(await after(told)).toEqual([8, 4])
})

test('it looks when something is due, and after its net', async () => {
  const dueSoon = counting(
    'checks',
    () => inMs(1),
    () => inMs(1),
    () => inMs(LONG_MS),
  )
  const net = { ...counting('loads'), name: 'loads' }
  start(dueSoon.loop, { ...net.loop, netMs: 1 })
  await expect.poll(net.turns).toBeGreaterThan(3)
  expect(dueSoon.turns()).toBe(3)
})

const NET = { isTold: true, netMs: 20_000 }
const POLLING = { isTold: false, netMs: 20_000 }
test.each([
  ['as a net where it is told', NET, null, [20_000, 20_000, 20_000]],
  ['longer and longer where it is not', POLLING, null, [500, 1_000, 2_000, 4_000, 4_000]],
  ['until something is due', NET, inMs(7_000), [7_000, 7_000]],
  ['no longer than that where it is not told', POLLING, inMs(700), [500, 700, 700]],
  ['a moment where something is due that could not be done', NET, inMs(-1), [200, 400, 800, 1_000, 1_000]],
] as const)('it waits %s', (_, how, next, expected) => {
  expect(
    expected.map((_ms, idle) => pauseMs({ ...how, idle, leftMs: next && next.getTime() - NOW.getTime() })),
  ).toEqual(expected)
})

test('a turn that fails is not repeated because it is told of work, but when the database is back', async () => {
  const fail = (): Next => {
    throw new Error('planted')
  }
  const { turns, loop } = counting('checks', fail, fail)
  start(loop)
  tell('checks')
  await settle()
  expect(turns()).toBe(1)
  tell(undefined)
  await settle()
  expect(turns()).toBe(2)
  // By itself after a while.
  await expect.poll(turns).toBeGreaterThan(2)
  expect(warnings).toMatchObject([{ loop: 'checks', error: { message: 'planted' } }, { loop: 'checks' }])
})

test('it waits longer after each turn that fails, up to a while, and begins anew after one that does not', async () => {
  const fail = (): Next => {
    throw new Error('planted')
  }
  const FAILURES = 9
  const { turns, loop } = counting(
    'checks',
    ...Array.from({ length: FAILURES }, () => fail),
    () => 'again',
    fail,
  )
  start(loop)
  for (let n = 1; n < FAILURES + 2; n++) {
    await expect.poll(turns).toBeGreaterThanOrEqual(n)
    // The database is back: nobody waits for the time itself.
    tell(undefined)
  }
  await expect.poll(() => warnings.length).toBe(FAILURES + 1)
  expect(warnings.map((one) => (one as { againMs: number }).againMs)).toEqual([
    250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 250,
  ])
})

test('it stops after the turn that it is in', async () => {
  let ended = 0
  const loops = start({
    name: 'slow',
    beside: 2,
    async turn() {
      await sleep(20)
      ended++
      return 'again'
    },
  })
  await loops.stop()
  expect(ended).toBe(2)
})
