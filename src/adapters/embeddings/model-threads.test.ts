/** Which text goes to which thread when: threads are played here and answer when the test says so. */
import { EventEmitter } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import type { EmbedOptions } from '../../cores/search/embedding-models.ts'
import { localModel, type LocalOptions } from './local-model.ts'
import type { ToModelThread } from './model-worker.ts'

class PlayedThread extends EventEmitter {
  readonly data: ToModelThread
  given: string | undefined
  isEnded = false
  /** How long it has worked, and how often somebody looked. */
  cpuMs = 0
  looks = 0

  constructor(data: ToModelThread) {
    super()
    this.data = data
  }
  postMessage(text: string): void {
    if (this.given !== undefined) throw new Error('This thread is busy')
    this.given = text
  }
  async cpuUsage(before = { user: 0, system: 0 }): Promise<NodeJS.CpuUsage> {
    this.looks += 1
    return { user: this.cpuMs * 1000 - before.user, system: 0 }
  }
  ref(): void {}
  unref(): void {}
  async terminate(): Promise<number> {
    this.isEnded = true
    this.emit('exit', 1)
    return 1
  }
}

/** Every promise that can be settled is. */
const settled = () => setImmediate()

function played(options: LocalOptions = {}) {
  const threads: PlayedThread[] = []
  const startThread = (data: ToModelThread) => {
    const thread = new PlayedThread(data)
    threads.push(thread)
    return thread as unknown as Worker
  }
  const model = localModel(undefined, { startThread, threadsMax: 1, ...options })
  onTestFinished(() => model.close())
  const outcomes: Record<string, unknown> = {}
  /** `a1`: the first of organization a. */
  const ask = (name: string, rest = '', embedOptions: EmbedOptions = {}) => {
    void model.embed(name[0]!, name + rest, embedOptions).then(
      () => (outcomes[name] = 'answered'),
      (error: unknown) => (outcomes[name] = error instanceof ServiceError ? error.code : String(error)),
    )
  }
  const underWay = () => threads.map(({ given }) => given?.split(' ')[0] ?? '')
  const load = (at = 0) => threads[at]!.emit('message', { loaded: LOADED })
  const answer = async (at = 0) => {
    const thread = threads[at]!
    thread.given = undefined
    load(at)
    thread.emit('message', new Float32Array(384).fill(1))
    await settled()
  }
  const fail = async (at: number) => {
    threads[at]!.emit('error', Object.assign(new Error('no memory'), { code: 'ERR_WORKER_OUT_OF_MEMORY' }))
    threads[at]!.emit('exit', 1)
    await settled()
  }
  return { threads, ask, answer, fail, load, underWay, outcomes, model }
}

const LOADED = { weights: 1 }

const many = (owner: string, count: number) => Array.from({ length: count }, (_, at) => `${owner}${at + 1}`)

test('sixty of one organization: another one waits for the text under way, and is not the one that is refused', async () => {
  const { ask, answer, underWay, outcomes } = played()
  for (const name of many('a', 60)) ask(name)
  ask('b1')
  await settled()
  // One is under way and 16 wait.
  expect(Object.values(outcomes)).toEqual(Array(43).fill('RATE_LIMITED'))
  expect(outcomes).toHaveProperty('a18')
  await answer()
  expect(underWay()).toEqual(['b1'])
  await answer()
  expect(underWay()).toEqual(['a2'])
  expect(outcomes).toMatchObject({ a1: 'answered', b1: 'answered' })
})

test('whoever is refused is told for how long, by what a text takes and how many wait', async () => {
  let now = 0
  const { ask, answer, model } = played({ now: () => now })
  ask('a0')
  now = 10_000
  await answer()
  const refusal = async () => model.embed('a', 'one more').catch((error: unknown) => error)
  for (const name of many('a', 17)) ask(name)
  // A quarter of the last time counts: 2.6 s for each of 16.
  expect(await refusal()).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 42 })
  ask('b1')
  expect(await refusal()).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 60 })
})

test('a text is cut before it waits', async () => {
  const { ask, threads } = played()
  ask('a1', ' word'.repeat(5000))
  expect(threads[0]!.given!.split(' ')).toHaveLength(256)
})

test('a question goes before texts in bulk, at every text', async () => {
  const { ask, answer, underWay } = played()
  ask('a1', '', { kind: 'bulk' })
  ask('a2', '', { kind: 'bulk' })
  ask('b1', '', { kind: 'bulk' })
  ask('c1')
  const order: string[] = []
  for (let count = 0; count < 5; count += 1) {
    order.push(underWay()[0]!)
    if (count === 1) ask('d1')
    await answer()
  }
  expect(order).toEqual(['a1', 'c1', 'd1', 'b1', 'a2'])
})

test('another thread starts when the first has loaded and enough texts wait, as long as there may be one', async () => {
  const { ask, answer, load, underWay, threads } = played({ threadsMax: 2 })
  for (const name of many('a', 5)) ask(name)
  expect(threads).toHaveLength(1)
  load()
  expect(underWay()).toEqual(['a1', 'a2'])
  for (const name of many('b', 16)) ask(name)
  expect(threads).toHaveLength(2)
  await answer(1)
  expect(underWay()).toEqual(['a1', 'b1'])
})

test('threads have the weights of the first, and each a part of the memory of its own', async () => {
  const { ask, answer, fail, load, threads } = played({ threadsMax: 3 })
  for (const name of many('a', 15)) ask(name)
  load()
  expect(threads.map(({ data }) => [data.loaded, data.thread])).toEqual([
    [undefined, 0],
    [LOADED, 1],
    [LOADED, 2],
  ])
  for (const at of [1, 2]) load(at)
  await fail(1)
  // The part of the one that ended is free again.
  expect(threads[3]!.data).toMatchObject({ loaded: LOADED, thread: 1 })
  await answer(0)
  expect(threads).toHaveLength(4)
})

test('one thread suffices for questions one after the other; further ones end soon and the last one late', async () => {
  const { ask, answer, load, threads } = played({ threadsMax: 2, extraIdleMs: 20, idleMs: 100_000 })
  for (const name of many('a', 5)) ask(name)
  load()
  for (const at of [1, 1, 1, 1, 0]) await answer(at)
  await expect.poll(() => threads.map(({ isEnded }) => isEnded)).toEqual([false, true])
  ask('b1')
  await answer(0)
  expect(threads).toHaveLength(2)
})

test('a further thread that cannot load: its text goes to another, and no more are tried', async () => {
  const { ask, answer, fail, load, underWay, threads, outcomes } = played({ threadsMax: 3 })
  for (const name of many('a', 12)) ask(name)
  load()
  expect(underWay()).toEqual(['a1', 'a2', 'a3'])
  await fail(1)
  expect(threads).toHaveLength(3)
  await answer(0)
  expect(underWay()[0]).toBe('a2')
  await answer(0)
  expect(outcomes).toMatchObject({ a1: 'answered', a2: 'answered' })
  for (const name of many('b', 16)) ask(name)
  expect(threads).toHaveLength(3)
})

test('the only thread that cannot load the model fails all that wait, at once', async () => {
  const { ask, fail, outcomes, threads } = played()
  for (const name of ['a1', 'a2', 'b1']) ask(name)
  await fail(0)
  expect(outcomes).toEqual({
    a1: 'EMBEDDING_UNAVAILABLE',
    a2: 'EMBEDDING_UNAVAILABLE',
    b1: 'EMBEDDING_UNAVAILABLE',
  })
  ask('a3')
  expect(threads).toHaveLength(2)
})

test('a thread that is ended before it has loaded is replaced, but not for ever', async () => {
  const { ask, answer, threads, outcomes } = played()
  ask('a1')
  for (let count = 1; count < 20; count += 1) {
    threads.at(-1)!.emit('exit', 1)
    await settled()
    expect([threads.length, outcomes]).toEqual([count + 1, {}])
  }
  threads.at(-1)!.emit('exit', 1)
  await settled()
  expect(outcomes).toEqual({ a1: 'EMBEDDING_UNAVAILABLE' })
  ask('a2')
  await answer(20)
  expect(outcomes).toMatchObject({ a2: 'answered' })
})

test('a text given up while it waits is not embedded, and one under way is not tried again', async () => {
  const { ask, answer, fail, underWay, threads, outcomes } = played()
  const [first, second] = [new AbortController(), new AbortController()]
  ask('a0')
  await answer()
  ask('a1')
  ask('a2', '', { signal: first.signal })
  ask('a3', '', { signal: second.signal })
  ask('a4')
  first.abort(new Error('gone'))
  await answer()
  expect(underWay()).toEqual(['a3'])
  second.abort(new Error('gone'))
  await settled()
  expect(outcomes).toMatchObject({ a2: 'Error: gone', a3: 'Error: gone' })
  await fail(0)
  expect(threads[1]!.given).toBe('a4')
  await answer(1)
  expect(outcomes).toMatchObject({ a1: 'answered', a4: 'answered' })
  expect(threads[1]!.given).toBeUndefined()
})

test('a text is given up for the time its thread has worked on it, and not for less', async () => {
  const { threads, ask, load, outcomes } = played({ cpuLimitMs: 80 })
  ask('a1')
  await settled()
  load()
  const [thread] = threads
  await expect.poll(() => thread!.looks).toBeGreaterThan(1)
  thread!.cpuMs = 80
  const seen = thread!.looks
  await expect.poll(() => thread!.looks).toBeGreaterThan(seen + 2)
  expect([thread!.isEnded, threads.length]).toEqual([false, 1])
  thread!.cpuMs = 81
  await expect.poll(() => thread!.isEnded).toBe(true)
  expect([threads.length, outcomes]).toEqual([2, {}])
})

test('the time that its thread takes to load is not that of the text', async () => {
  const { threads, ask, answer, load, outcomes } = played({ cpuLimitMs: 80 })
  ask('a1')
  // Begun after the thread's own, and as often.
  let ticks = 0
  const ticking = setInterval(() => (ticks += 1), 10)
  onTestFinished(() => clearInterval(ticking))
  await expect.poll(() => ticks).toBeGreaterThan(1)
  threads[0]!.cpuMs = 500
  await expect.poll(() => ticks).toBeGreaterThan(3)
  load()
  await expect.poll(() => threads[0]!.looks).toBeGreaterThan(0)
  threads[0]!.cpuMs = 560
  const seen = threads[0]!.looks
  await expect.poll(() => threads[0]!.looks).toBeGreaterThan(seen + 1)
  await answer()
  expect([outcomes, threads.length]).toEqual([{ a1: 'answered' }, 1])
})

test('a text that has ended a thread is not blamed for one that somebody else ends', async () => {
  const { threads, ask, answer, fail, load, underWay, outcomes } = played()
  ask('a1')
  await settled()
  load()
  await fail(0)
  load(1)
  threads[1]!.emit('exit', 1)
  await settled()
  expect(underWay()[2]).toBe('a1')
  await answer(2)
  expect(outcomes).toEqual({ a1: 'answered' })
})

test('what is done does not count when the next one is chosen', async () => {
  const { ask, answer, underWay } = played()
  for (const name of many('a', 3)) {
    ask(name)
    await settled()
    await answer()
  }
  for (const name of ['a4', 'a5', 'a6', 'b1', 'b2', 'b3']) ask(name)
  const order: (string | undefined)[] = []
  for (let nth = 0; nth < 6; nth++) {
    await settled()
    order.push(underWay()[0])
    await answer()
  }
  expect(order).toEqual(['a4', 'b1', 'a5', 'b2', 'a6', 'b3'])
})
