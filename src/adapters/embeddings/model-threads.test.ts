/** Which text goes to which thread when: threads are played here and answer when the test says so. */
import { EventEmitter } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import type { EmbedOptions } from '../../cores/search/embedding-models.ts'
import { builtInModel, type BuiltInOptions } from './built-in.ts'

/** Too long for a batch. */
const LONG = ' word'.repeat(40)

class PlayedThread extends EventEmitter {
  given: string[] | undefined
  isEnded = false

  postMessage(texts: string[]): void {
    if (this.given) throw new Error('This thread is busy')
    this.given = texts
  }
  ref(): void {}
  unref(): void {}
  async terminate(): Promise<number> {
    this.isEnded = true
    return 0
  }
}

/** Every promise that can be settled is. */
const settled = () => setImmediate()

/** Time that passes when the test says so. */
function playedTimers() {
  let now = 0
  const due = new Set<{ readonly at: number; readonly work: () => void }>()
  const after = (ms: number, work: () => void) => {
    const timer = { at: now + ms, work }
    due.add(timer)
    return () => void due.delete(timer)
  }
  const pass = async (ms: number) => {
    const end = now + ms
    for (;;) {
      const [next] = [...due].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)
      if (!next) break
      due.delete(next)
      now = next.at
      next.work()
      await settled()
    }
    now = end
    await settled()
  }
  return { timers: { now: () => now, after, afterIdle: after }, pass }
}

function played(options: BuiltInOptions = {}) {
  const threads: PlayedThread[] = []
  const startThread = () => {
    const thread = new PlayedThread()
    threads.push(thread)
    return thread as unknown as Worker
  }
  const { timers, pass } = playedTimers()
  const model = builtInModel({ timers, startThread, threadsMax: 1, ...options })
  onTestFinished(() => model.close())
  const outcomes: Record<string, unknown> = {}
  /** `a1`: the first of organization a. */
  const ask = (name: string, rest = LONG, embedOptions: EmbedOptions = {}) => {
    void model.embed(name[0]!, name + rest, embedOptions).then(
      () => (outcomes[name] = 'answered'),
      (error: unknown) => (outcomes[name] = error instanceof ServiceError ? error.code : String(error)),
    )
  }
  const underWay = () => threads.map(({ given }) => given?.map((text) => text.split(' ')[0]).join(' ') ?? '')
  const answer = async (at = 0) => {
    const thread = threads[at]!
    const texts = thread.given!
    thread.given = undefined
    thread.emit('message', 'ready')
    thread.emit(
      'message',
      texts.map(() => Array(384).fill(1)),
    )
    await settled()
  }
  const fail = async (at: number) => {
    threads[at]!.emit('error', Object.assign(new Error('no memory'), { code: 'ERR_WORKER_OUT_OF_MEMORY' }))
    threads[at]!.emit('exit', 1)
    await settled()
  }
  return { threads, ask, answer, fail, underWay, outcomes, model, pass }
}

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
  const { ask, answer, model, pass } = played()
  ask('a0')
  await pass(10_000)
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
  expect(threads[0]!.given![0]!.split(' ')).toHaveLength(256)
})

test('short texts go together, long ones alone, and a question never with texts in bulk', async () => {
  const { ask, answer, underWay } = played()
  ask('a0')
  for (const name of many('a', 10)) ask(name, ' word')
  ask('b1', ' word')
  ask('c1')
  ask('d1', ' word')
  ask('e1', ' word', { kind: 'bulk' })
  ask('f1', LONG, { kind: 'bulk' })
  const batches: string[] = []
  for (let count = 0; count < 7; count += 1) {
    batches.push(underWay()[0]!)
    await answer()
  }
  // After eight questions it is the turn of the texts in bulk.
  expect(batches).toEqual(['a0', 'b1', 'c1', 'd1 a1 a2 a3 a4', 'e1', 'a5 a6 a7 a8 a9 a10', 'f1'])
})

test('at most eight go together', async () => {
  const { ask, answer, threads } = played()
  ask('a0')
  for (const name of many('a', 10)) ask(name, ' word')
  await answer()
  expect(threads[0]!.given).toHaveLength(8)
  await answer()
  expect(threads[0]!.given).toHaveLength(2)
})

test('another thread starts when enough texts wait, as long as there may be one', async () => {
  const { ask, answer, underWay, threads } = played({ threadsMax: 2 })
  for (const name of many('a', 4)) ask(name)
  expect(threads).toHaveLength(1)
  ask('a5')
  expect(underWay()).toEqual(['a1', 'a2'])
  for (const name of many('b', 16)) ask(name)
  expect(threads).toHaveLength(2)
  await answer(1)
  expect(underWay()).toEqual(['a1', 'b1'])
})

test('one thread suffices for questions one after the other; further ones end soon and the last one late', async () => {
  const { ask, answer, threads, pass } = played({ threadsMax: 2, extraIdleMs: 1_000, idleMs: 60_000 })
  for (const name of many('a', 5)) ask(name)
  for (const at of [1, 1, 1, 1, 0]) await answer(at)
  await pass(900)
  // The first is asked first, so the second stays idle.
  ask('b1')
  await answer(0)
  await pass(200)
  expect(threads.map(({ isEnded }) => isEnded)).toEqual([false, true])
  await pass(30_000)
  expect(threads[0]!.isEnded).toBe(false)
  await pass(60_000)
  expect(threads[0]!.isEnded).toBe(true)
  expect(threads).toHaveLength(2)
})

test('a further thread that cannot load the model: its text goes to another, and no more are tried', async () => {
  const { ask, answer, fail, underWay, threads, outcomes } = played({ threadsMax: 3 })
  for (const name of many('a', 12)) ask(name)
  expect(underWay()).toEqual(['a1', 'a2', 'a3'])
  await answer(0)
  await fail(1)
  expect(threads).toHaveLength(3)
  await answer(0)
  expect(underWay()[0]).toBe('a2')
  await answer(0)
  expect(outcomes).toMatchObject({ a1: 'answered', a4: 'answered', a2: 'answered' })
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

test('a text given up while it waits is not embedded, and one under way is not tried again', async () => {
  const { ask, answer, fail, underWay, threads, outcomes } = played()
  const [first, second] = [new AbortController(), new AbortController()]
  ask('a0')
  await answer()
  ask('a1', ' word')
  ask('a2', ' word', { signal: first.signal })
  ask('a3', ' word')
  ask('a4', ' word', { signal: second.signal })
  first.abort(new Error('gone'))
  await answer()
  expect(underWay()).toEqual(['a3 a4'])
  second.abort(new Error('gone'))
  await settled()
  expect(outcomes).toMatchObject({ a2: 'Error: gone', a4: 'Error: gone' })
  await fail(0)
  expect(threads[1]!.given).toEqual(['a3 word'])
  await answer(1)
  expect(outcomes).toMatchObject({ a1: 'answered', a3: 'answered' })
  expect(threads[1]!.given).toBeUndefined()
})

test('a question waits for so long, a text in bulk for as long as its caller does', async () => {
  const { ask, answer, outcomes, underWay, pass } = played({ timeoutMs: 1_000 })
  ask('a1')
  await pass(500)
  ask('b1', LONG, { kind: 'bulk' })
  ask('c1')
  await pass(400)
  await answer()
  expect(underWay()).toEqual(['c1'])
  ask('d1')
  await pass(900)
  await answer()
  expect(underWay()).toEqual(['d1'])
  await pass(900)
  await answer()
  expect(outcomes).toEqual({ a1: 'answered', c1: 'answered', d1: 'answered' })
  expect(underWay()).toEqual(['b1'])
})
