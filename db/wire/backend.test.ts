import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createBackend, type Engine } from './backend.ts'
import type { Client } from './prepared-statements.ts'
import { readyForQuery, simpleQuery, SYNC } from './protocol-messages.ts'

const client = (): Client => ({ settings: [], statements: new Map(), parsed: new Set(), epoch: 0 })

/** Answers everything with `I`, except what hangs or never becomes ready. */
function fakeEngine(log: string[]): Engine {
  let abort: (reason: Error) => void = () => {}
  return {
    async run({ bytes }, onAnswer) {
      const text = Buffer.from(bytes).toString('latin1')
      if (text.includes('hang')) return new Promise((_, reject) => (abort = reject))
      if (!text.includes('break')) onAnswer(readyForQuery('I'), () => {})
    },
    async terminate() {
      log.push('terminate')
      abort(new Error('terminated'))
    },
    async stop() {
      log.push('stop')
    },
  }
}

function backendWith(log: string[]) {
  return createBackend({
    async open() {
      log.push('open')
      return fakeEngine(log)
    },
    closed: () => log.push('closed'),
    becameIdle: () => log.push('idle'),
    onProblem: (problem) => log.push(String(problem)),
  })
}

const work = (text: string) => ({ bytes: simpleQuery(text), complete: true })
const ignore = () => {}

test('clients get their turn in the order they came, and one that waited too long is told so and may come again', async () => {
  const backend = backendWith([])
  const [a, b, c] = [client(), client(), client()]
  await backend.take(a, 1000)
  await expect(backend.take(b, 20)).rejects.toMatchObject({ code: '57P03', fatal: false })
  const order: string[] = []
  const waiting = [
    backend.take(c, 1000).then(() => order.push('c')),
    backend.take(b, 1000).then(() => order.push('b')),
  ]
  backend.release(a)
  await waiting[0]
  backend.release(c)
  await waiting[1]
  expect(order).toEqual(['c', 'b'])
})

test('an engine that hangs or breaks is ended, and the next client has another', async () => {
  for (const [text, code, fatal] of [
    ['hang', '57014', false],
    ['break', '57P02', true],
  ] as const) {
    const log: string[] = []
    const backend = backendWith(log)
    const [a, b] = [client(), client()]
    await backend.take(a, 1000)
    await expect(backend.run(a, work(text), 20, ignore)).rejects.toMatchObject({ code, fatal })
    const next = backend.take(b, 1000)
    await backend.leave(a)
    await next
    expect(await backend.run(b, work('fine'), 1000, ignore)).toMatchObject({ status: 'I' })
    expect(log.filter((word) => word === 'open')).toHaveLength(2)
    expect(log.indexOf('closed')).toBeLessThan(log.lastIndexOf('open'))
  }
})

test('an engine that answers at the moment it is ended is not given to the next client', async () => {
  const log: string[] = []
  let answer = () => {}
  const backend = createBackend({
    async open() {
      log.push('open')
      const engine = fakeEngine(log)
      return {
        ...engine,
        run: (work, onAnswer) =>
          Buffer.from(work.bytes).includes('late')
            ? new Promise((settle) => {
                answer = () => {
                  onAnswer(readyForQuery('I'), () => {})
                  settle()
                }
              })
            : engine.run(work, onAnswer),
      }
    },
    closed: () => log.push('closed'),
    becameIdle() {},
    onProblem: (problem) => log.push(String(problem)),
  })
  const [a, b] = [client(), client()]
  await backend.take(a, 1000)
  const running = backend.run(a, work('late'), 1000, ignore)
  backend.interrupt(a, 'cancelled')
  answer()
  expect(await running).toMatchObject({ status: 'I' })
  backend.release(a)
  await backend.take(b, 1000)
  expect(await backend.run(b, work('fine'), 1000, ignore)).toMatchObject({ status: 'I' })
  expect(log.filter((word) => word === 'open')).toHaveLength(2)
})

test('nobody can interrupt what another client is running', async () => {
  const log: string[] = []
  const backend = backendWith(log)
  const [a, b] = [client(), client()]
  await backend.take(a, 1000)
  const running = backend.run(a, work('hang'), 10_000, ignore)
  backend.interrupt(b, 'cancelled')
  expect(log).not.toContain('terminate')
  backend.interrupt(a, 'cancelled')
  await expect(running).rejects.toMatchObject({ message: 'canceling statement due to user request' })
})

test('at its end those who wait and those who work are told, and nobody opens it again', async () => {
  const backend = backendWith([])
  const [a, b] = [client(), client()]
  await backend.take(a, 1000)
  const failures = [backend.run(a, work('hang'), 10_000, ignore), backend.take(b, 10_000)].map((under) =>
    under.catch((error: unknown) => error),
  )
  await backend.end()
  for (const failure of failures) expect(await failure).toMatchObject({ code: '57P01' })
  await expect(backend.take(b, 10)).rejects.toMatchObject({ code: '57P01' })
})

test('one that is in use is not closed as idle', async () => {
  const log: string[] = []
  const backend = backendWith(log)
  const a = client()
  await backend.take(a, 1000)
  await backend.closeIdle()
  expect(backend.open).toBe(true)
  expect(await backend.run(a, { bytes: SYNC, complete: true }, 1000, ignore)).toMatchObject({ status: 'I' })
  backend.release(a)
  await backend.closeIdle()
  expect(backend.open).toBe(false)
  expect(log.slice(-2)).toEqual(['stop', 'closed'])
})

test('a second end also waits until the engine is gone', async () => {
  const terminated = Promise.withResolvers<void>()
  const log: string[] = []
  const backend = createBackend({
    open: async () => ({ ...fakeEngine(log), terminate: () => terminated.promise }),
    closed: () => log.push('closed'),
    becameIdle: ignore,
    onProblem: ignore,
  })
  await backend.take(client(), 1000)
  const ends = [backend.end(), backend.end().then(() => log.push('second end'))]
  await setImmediate()
  expect(log).toEqual([])
  terminated.resolve()
  await Promise.all(ends)
  expect(log).toEqual(['closed', 'second end'])
})

test('a client that leaves does not wait for the engine of the next, which is told when it cannot be opened', async () => {
  const next = Promise.withResolvers<Engine>()
  const engines = [Promise.resolve(fakeEngine([])), next.promise]
  const problems: unknown[] = []
  const backend = createBackend({
    open: () => engines.shift() ?? Promise.reject(new Error('a third engine')),
    closed: ignore,
    becameIdle() {
      throw new Error('not idle')
    },
    onProblem: (problem) => problems.push(problem),
  })
  const [a, b] = [client(), client()]
  await backend.take(a, 1000)
  await expect(backend.run(a, work('break'), 1000, ignore)).rejects.toMatchObject({ code: '57P02' })
  const refused = backend.take(b, 1000).catch((error: unknown) => error)
  await backend.leave(a)
  next.reject(new Error('no folder'))
  expect(await refused).toEqual(new Error('no folder'))
  await setImmediate()
  expect(problems).toEqual([new Error('not idle')])
})
