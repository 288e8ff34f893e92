/** Threads of the model that are ended at random moments, 200 times: every text gets its vector, and nothing is left behind. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { localModel, startModelThread } from '../../src/adapters/embeddings/local-model.ts'
import type { ToModelThread } from '../../src/adapters/embeddings/model-worker.ts'
import { COSINE_MIN, cosine, readGolden } from '../support/golden-embeddings.ts'

const ENDINGS = 200
const THREADS = 2
const LANES = 8
/** Long enough that a thread has loaded and works, most of the time. */
const PAUSE_MS = 400
/** The weights once more would be 46 MB. */
const GROWTH_MAX_MB = 120

test('200 endings: no text is lost, none is wrong, and memory does not grow', async () => {
  const started: ToModelThread[] = []
  const running = new Set<Worker>()
  const startThread = (data: ToModelThread) => {
    const thread = startModelThread(data)
    started.push(data)
    running.add(thread)
    thread.once('exit', () => running.delete(thread))
    return thread
  }
  const model = localModel(undefined, { startThread, threadsMax: THREADS })
  const golden = readGolden().filter(({ text }) => text.length < 400)
  const wrong: string[] = []
  let embedded = 0
  const over = new AbortController()
  const lane = async (first: number) => {
    for (let at = first; !over.signal.aborted; at = (at + LANES) % golden.length) {
      const { text, vector } = golden[at]!
      if (cosine(await model.embed('org_a', text), vector) <= COSINE_MIN) wrong.push(text)
      embedded += 1
    }
  }
  const lanes = Promise.all(Array.from({ length: LANES }, (_, at) => lane(at)))
  const memory: number[] = []
  for (let ending = 0; ending < ENDINGS; ending += 1) {
    await sleep(Math.random() * PAUSE_MS)
    const threads = [...running]
    await threads[Math.floor(Math.random() * threads.length)]?.terminate()
    // Where a thread needs longer to load than it lives, nothing would ever be done.
    const before = embedded
    if (ending % 4 !== 3) await expect.poll(() => embedded, { timeout: 60_000 }).toBeGreaterThan(before)
    if (ending % 20 === 19) memory.push(Math.round(process.memoryUsage().rss / 1e6))
  }
  over.abort()
  await lanes
  await model.close()
  console.log(`${embedded} texts, ${started.length} threads, MB: ${memory.join(' ')}`)
  expect(wrong).toEqual([])
  expect(embedded).toBeGreaterThan(ENDINGS / 4)
  expect(started.length).toBeGreaterThan(ENDINGS / 2)
  // The parts of the shared memory are used again.
  expect(Math.max(...started.map(({ thread }) => thread))).toBeLessThan(2 * THREADS)
  expect(memory.at(-1)! - memory[1]!).toBeLessThan(GROWTH_MAX_MB)
  expect(running.size).toBe(0)
})
