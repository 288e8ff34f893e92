/** Two tests load the real weights; what happens when a thread misbehaves is played by threads that do so on command. */
import { execFile } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { promisify, inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { COSINE_MIN, cosine, readGolden } from '../../../test/support/golden-embeddings.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { localModel, startModelThread, type LocalOptions } from './local-model.ts'
import type { ToModelThread } from './model-worker.ts'

type Line = { readonly event: string; readonly [field: string]: unknown }

function open(options: LocalOptions = {}) {
  const lines: Line[] = []
  const write = (event: string, fields = {}) => void lines.push({ event, ...fields })
  const model = localModel(undefined, { log: { warn: write, error: write }, ...options })
  onTestFinished(() => model.close())
  return { ...model, lines, embed: (text: string) => model.embed('org_a', text) }
}

test('the real model: known numbers, and what is related is nearer', async () => {
  const { embed } = open()
  const example = await embed('This is an example sentence')
  expect(example).toHaveLength(384)
  for (const [index, number] of [0.067_66, 0.063_56, 0.048_73, 0.079_41].entries()) {
    expect(Math.abs(example[index]! - number)).toBeLessThan(0.002)
  }
  const [question, related, unrelated] = await Promise.all([
    embed('How do I get my money back?'),
    embed('Refunds are paid within two weeks.'),
    embed('The cat sleeps on the warm roof.'),
  ])
  expect(cosine(question, related)).toBeGreaterThan(cosine(question, unrelated) + 0.1)
})

/** The long test does it 200 times. */
test.runIf(inject('everyCase'))(
  'the real model: threads over the same weights, ended at any moment, lose no text',
  async () => {
    const threads: Worker[] = []
    const startThread = (data: ToModelThread) => {
      const thread = startModelThread(data)
      threads.push(thread)
      return thread
    }
    const { embed } = open({ startThread, threadsMax: 2 })
    const golden = readGolden().slice(0, 10)
    let answered = 0
    const vectors = golden.map(({ text }) => embed(text).finally(() => (answered += 1)))
    for (const count of [1, 3, 6]) {
      await expect.poll(() => answered, { timeout: 60_000, interval: 5 }).toBeGreaterThanOrEqual(count)
      await threads.at(-1)!.terminate()
    }
    for (const [at, { text, vector }] of golden.entries()) {
      expect(cosine(await vectors[at]!, vector), text).toBeGreaterThan(COSINE_MIN)
    }
  },
)

/** Answers with the number of texts it has seen and the length of this one; some words make it misbehave. */
const PLAYED = `
  const { parentPort } = require('node:worker_threads')
  let seen = 0
  parentPort.postMessage({ loaded: {} })
  parentPort.on('message', (text) => {
    const is = (word) => text.startsWith(word)
    if (is('die')) process.exit(3)
    if (is('throw')) throw Object.assign(new Error(text), { code: text })
    if (is('hang')) for (;;);
    if (is('slow')) return
    if (is('fail')) return parentPort.postMessage({ failed: 'ENOENT' })
    if (is('short')) return parentPort.postMessage(new Float32Array([1, 2, 3]))
    if (is('nan')) return parentPort.postMessage(new Float32Array(384).fill(NaN))
    const vector = new Float32Array(384).fill(1)
    vector.set([(seen += 1), text.length])
    parentPort.postMessage(vector)
  })
`

/** Counts the threads that were started. */
function played(options: LocalOptions = {}, code = PLAYED) {
  const threads: Worker[] = []
  const startThread = () => {
    const thread = new Worker(code, { eval: true })
    threads.push(thread)
    return thread
  }
  const { embed, ...rest } = open({ startThread, threadsMax: 1, ...options })
  return { ...rest, threads, embed: async (text: string) => Array.from((await embed(text)).slice(0, 2)) }
}

/** Errors and messages of a thread come on ways of their own: only its exit is behind both. */
function overtaken(): Worker {
  const thread = new EventEmitter()
  const postMessage = () =>
    setImmediate(() => {
      thread.emit('error', new Error('canary'))
      setImmediate(() => {
        thread.emit('message', { loaded: {} })
        thread.emit('exit', 1)
      })
    })
  const still = { ref: () => {}, unref: () => {}, terminate: async () => 1, cpuUsage: async () => ({}) }
  return Object.assign(thread, { postMessage, ...still }) as unknown as Worker
}

const TRY_AGAIN = 'Try again in a moment.'
const OF_NO_USE = 'Trying again will not help. The embedding model fails on this text.'

/** The reason in the log, after a look whether the question got out. */
async function reasonOf(embedding: Promise<unknown>, hint: string): Promise<string> {
  const error = await embedding.then(
    () => new Error('There was a vector'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ServiceError)) throw error
  expect(error).toMatchObject({ code: 'EMBEDDING_UNAVAILABLE', hint })
  expect(inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(error)).not.toMatch(/canary/)
  return (error.cause as Error).message.replace(/^embedding model minilm-l6-v2: /, '')
}

test('no thread is started before the first question, and one answers them all in order', async () => {
  const { embed, threads } = played()
  expect(threads).toHaveLength(0)
  expect(await Promise.all([embed('a'), embed('bb'), embed('ccc')])).toEqual([
    [1, 1],
    [2, 2],
    [3, 3],
  ])
  expect(threads).toHaveLength(1)
})

describe('a text that ends its thread', () => {
  test.each([
    ['die: canary', 'its thread ended'],
    ['throw: canary', 'its thread failed: unknown'],
    ['fail: canary', 'its engine failed: ENOENT'],
    ['short: canary', 'the vector has 3 dimensions and should have 384'],
    ['nan: canary', 'the vector contains a value that is not a number'],
  ])('is tried once more and then refused; those that wait get another thread: %s', async (fatal, reason) => {
    const { embed, threads, lines, problem } = played()
    await embed('a')
    const [failed, waiting] = [reasonOf(embed(fatal), OF_NO_USE), embed('b')]
    expect(await failed).toBe(reason)
    expect(await waiting).toEqual([1, 1])
    expect(threads).toHaveLength(3)
    const event = 'a thread of the embedding model ended'
    expect(lines).toEqual([
      { event, model: 'minilm-l6-v2', reason, text: 'again' },
      { event, model: 'minilm-l6-v2', reason, text: 'refused' },
    ])
    expect(problem()).toBeUndefined()
  })

  test('is the one to blame, also where its error overtakes the word that the model is loaded', async () => {
    const { embed, lines, problem } = open({ startThread: () => overtaken() })
    expect(await reasonOf(embed('canary'), OF_NO_USE)).toBe('its thread failed: unknown')
    expect(lines.map(({ text }) => text)).toEqual(['again', 'refused'])
    expect(problem()).toBeUndefined()
  })

  test.runIf(inject('everyCase'))(
    'by working for ever is one of them: the time of the thread counts',
    async () => {
      const { embed, threads } = played({ cpuLimitMs: 80 })
      await embed('warm')
      const [stuck, behind] = [reasonOf(embed('hang: canary'), OF_NO_USE), embed('b')]
      expect(await stuck).toBe('it took too much time')
      expect(await behind).toEqual([1, 1])
      expect(threads).toHaveLength(3)
    },
  )
})

test('a thread that is given no time is waited for, however long the clock says', async () => {
  const { embed, close, threads } = played({ cpuLimitMs: 100 })
  await embed('warm')
  const looks = vi.spyOn(threads[0]!, 'cpuUsage')
  let isSettled = false
  const waiting = reasonOf(embed('slow: canary'), TRY_AGAIN).finally(() => (isSettled = true))
  // Four times as long as the limit: so many looks are one.
  await expect.poll(() => looks.mock.calls.length).toBeGreaterThan(4 * 8)
  expect(isSettled).toBe(false)
  await close()
  expect(await waiting).toBe('it is closed')
})

describe('a thread that is ended from outside', () => {
  test.runIf(inject('everyCase'))('takes no text with it, however often', async () => {
    const { embed, threads } = played()
    await embed('a')
    const text = embed('b')
    for (let count = 1; count < 5; count += 1) {
      await threads.at(-1)!.terminate()
      await expect.poll(() => threads.length).toBe(count + 1)
    }
    expect(await text).toEqual([1, 1])
  })

  test('while nobody asks is not missed', async () => {
    const { embed, threads } = played()
    await embed('a')
    await threads[0]?.terminate()
    expect(await embed('b')).toEqual([1, 1])
    expect(threads).toHaveLength(2)
  })
})

describe('a model that cannot be loaded', () => {
  test.each([
    ["import('@lat.md/no-such-weights')", 'its thread failed: ERR_MODULE_NOT_FOUND'],
    ["require('node:fs').readFileSync('/no/such/weights')", 'its thread failed: ENOENT'],
  ])('is an answer for all that wait, a line and a problem: %s', async (code, reason) => {
    const { embed, threads, lines, problem } = played({}, code)
    const refused = await Promise.all(
      ['canary 1', 'canary 2'].map((text) => reasonOf(embed(text), TRY_AGAIN)),
    )
    expect(refused).toEqual([reason, reason])
    expect(threads).toHaveLength(1)
    expect(lines).toEqual([
      { event: 'a thread of the embedding model failed before it had loaded', model: 'minilm-l6-v2', reason },
    ])
    expect(problem()).toBe(reason)
    expect(await reasonOf(embed('canary'), TRY_AGAIN)).toBe(reason)
    expect(threads).toHaveLength(2)
  })

  test('because no thread can be started is one too', async () => {
    const startThread = () => {
      throw Object.assign(new Error('canary'), { code: 'ERR_WORKER_INIT_FAILED' })
    }
    const { embed, problem } = played({ startThread })
    const reason = 'its thread cannot be started: ERR_WORKER_INIT_FAILED'
    expect(await reasonOf(embed('canary'), TRY_AGAIN)).toBe(reason)
    expect(problem()).toBe(reason)
  })
})

test('an idle thread is ended to give its memory back, and started again when somebody asks', async () => {
  const { embed, threads } = played({ idleMs: 20 })
  await embed('a')
  await new Promise((ended) => threads[0]?.once('exit', ended))
  expect(await embed('b')).toEqual([1, 1])
  expect(threads).toHaveLength(2)
})

test('close fails what is pending, ends the thread and takes no more', async () => {
  const { embed, threads, close, lines } = played()
  await embed('a')
  const pending = reasonOf(embed('slow: canary'), TRY_AGAIN)
  await close()
  expect(await pending).toBe('it is closed')
  expect(threads[0]?.threadId).toBe(-1)
  expect(await reasonOf(embed('canary'), TRY_AGAIN)).toBe('it is closed')
  expect(threads).toHaveLength(1)
  expect(lines).toEqual([])
})

test.runIf(inject('everyCase'))(
  'a program that has its answers can end without closing the model',
  async () => {
    const program = `
    const { localModel } = await import(${JSON.stringify(new URL('./local-model.ts', import.meta.url).href)})
    const vector = await localModel().embed('org_a', 'This is an example sentence')
    console.log(vector.length)
  `
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      timeout: 60_000,
    })
    expect(stdout).toBe('384\n')
  },
)
