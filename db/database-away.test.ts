import postgres from 'postgres'
import { describe, expect, onTestFinished, test } from 'vitest'
import { endCall, runCall } from './current-call.ts'
import { QueryError } from './drizzle.ts'
import { createGate, isLoss, mayChange, type DriverQuery } from './database-away.ts'
import { limitPlaces } from './places.ts'
import { watchSilence } from './watch-silence.ts'

test.each([
  ['insert into story values (1)', true],
  ['with x as (update story set part = 1 returning *) select * from x', true],
  ['delete from story', true],
  ['select updated_at from story', false],
  ['begin ', false],
])('%s: may change something: %s', (statement, changes) => expect(mayChange(statement)).toBe(changes))

test.each([
  ['08006', true],
  ['57P01', true],
  // A standby, or a server that was told to take no writes.
  ['25006', true],
  ['57014', false],
  ['23505', false],
])('the state %s says that the database is away: %s', (code, is) => {
  const error = Object.assign(Object.create(postgres.PostgresError.prototype) as Error, { code })
  expect(isLoss(error)).toBe(is)
  // As the query builder passes it on.
  expect(isLoss(new QueryError('select 1', [], error))).toBe(is)
})

describe('places', () => {
  const entered = () => {
    const order: number[] = []
    const places = limitPlaces(1, undefined)
    const enter = (which: number) =>
      places.enter().then(
        () => void order.push(which),
        () => void order.push(-which),
      )
    return { order, places, enter }
  }

  test('are as many as there are, also when they are handed on', async () => {
    const { order, places, enter } = entered()
    await enter(1)
    const second = enter(2)
    places.leave()
    await second
    const third = enter(3)
    await Promise.resolve()
    expect(order).toEqual([1, 2])
    places.leave()
    await third
    places.leave()
    await enter(4)
    expect(order).toEqual([1, 2, 3, 4])
  })

  test('are waited for no longer than somebody waits for the call, or for the one that it is a part of', async () => {
    const { order, places, enter } = entered()
    await enter(1)
    const waiting: Promise<void>[] = []
    runCall((outer) => {
      runCall((inner) => {
        waiting.push(enter(2))
        runCall(() => waiting.push(enter(3)))
        endCall(inner)
      })
      runCall(() => waiting.push(enter(4)))
      endCall(outer)
    })
    runCall(() => waiting.push(enter(5)))
    places.leave()
    await Promise.all(waiting)
    expect(order.toSorted((a, b) => a - b)).toEqual([-4, -3, -2, 1, 5])
  })
})

test('a silent database is asked less and less often while it answers, and soon again after a sign of life', async () => {
  const socket = { bytesRead: 0, destroyed: 0, destroy: () => void (socket.destroyed += 1) }
  const over = Promise.withResolvers<void>()
  const asked: number[] = []
  let looks = 0
  const silence = watchSilence({
    sockets: new Set([socket]) as unknown as Parameters<typeof watchSilence>[0]['sockets'],
    isWaiting: () => ++looks > 0,
    async ask() {
      asked.push(looks)
      if (asked.length === 2) socket.bytesRead += 1
      if (asked.length < 3) return
      over.resolve()
      throw new Error('no answer')
    },
    lookMs: 1,
  })
  silence.watch()
  await over.promise
  const [first, second, third] = asked as [number, number, number]
  // By looks, and not by any clock.
  expect([second - first, third - second]).toEqual([2 * first, first + 1])
  await expect.poll(() => socket.destroyed).toBe(1)
})

describe('the gate', () => {
  function query(isSent = false) {
    const one = {
      entered: false,
      rejected: undefined as unknown,
      state: null as unknown,
      strings: ['insert into story'],
      args: [1],
      options: {},
      resolve() {},
      reject: (error: unknown) => void (one.rejected = error),
      handler() {
        one.entered = true
        if (isSent) one.state = {}
      },
    }
    return one as typeof one & DriverQuery
  }
  const through = (gate: ReturnType<typeof createGate>, isSent?: boolean) => {
    const one = query(isSent)
    gate.guard(one)
    one.handler(one)
    return one
  }

  test('while the database is away some wait and the rest is refused; those that are sent are let be', async () => {
    const gate = createGate({ waitMs: 60_000, waiting: 2, lookMs: 5 })
    onTestFinished(() => gate.close())
    const sent = through(gate, true)
    const before = [1, 2, 3].map(() => through(gate))
    gate.lost(new Error('gone'))
    const after = through(gate)
    const all = [sent, ...before, after]
    expect(all.map(({ entered }) => entered)).toEqual([true, true, true, true, false])
    await expect
      .poll(() => all.map(({ rejected }) => rejected !== undefined))
      .toEqual([false, false, false, true, true])
    // As many wait as may: the next one is told at once.
    expect(through(gate).rejected).toMatchObject({ code: 'DATABASE_AWAY' })
    gate.found()
    expect(through(gate).entered).toBe(true)
  })

  test('whoever has waited long enough is refused, and what the driver then sends is nothing of theirs', async () => {
    const gate = createGate({ waitMs: 20, waiting: 2, lookMs: 5 })
    onTestFinished(() => gate.close())
    const one = through(gate)
    gate.lost(new Error('gone'))
    await expect.poll(() => one.rejected).toMatchObject({ code: 'DATABASE_AWAY' })
    expect([one.strings, one.args]).toEqual([['select 1'], []])
  })

  test('nobody is refused while it is there, however long they wait', async () => {
    const gate = createGate({ waitMs: 0, waiting: 0, lookMs: 1 })
    onTestFinished(() => gate.close())
    gate.lost(new Error('gone'))
    gate.found()
    const one = through(gate)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect([one.entered, one.rejected]).toEqual([true, undefined])
  })
})
