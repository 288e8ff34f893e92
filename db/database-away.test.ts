import { describe, expect, onTestFinished, test } from 'vitest'
import { createGate, mayChange, type DriverQuery } from './database-away.ts'

test.each([
  ['insert into story values (1)', true],
  ['with x as (update story set part = 1 returning *) select * from x', true],
  ['delete from story', true],
  ['select updated_at from story', false],
  ['begin ', false],
])('%s: may change something: %s', (statement, changes) => expect(mayChange(statement)).toBe(changes))

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
