/** The built-in model: weights from a package, in a worker thread that the first question starts. */
import { Worker } from 'node:worker_threads'
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import type { FromModelThread } from './built-in-worker.ts'
import { codeOf, unavailable } from './unavailable.ts'
import { checkedVector } from './vector.ts'

export type BuiltInOptions = {
  readonly startThread?: () => Worker
  readonly queueMax?: number
  readonly timeoutMs?: number
  readonly idleMs?: number
}

type Question = {
  readonly text: string
  readonly resolve: (vector: Float32Array) => void
  readonly reject: (reason: Error) => void
  /** First limits the wait, then the work. */
  timer?: NodeJS.Timeout
}

/** At 30 to 60 ms each, a longer queue would be too slow. */
const QUEUE_MAX = 64
/** The longest question that the gateway accepts takes 2 s. */
const TIMEOUT_MS = 20_000
/** The loaded model uses 235 MB; loading takes 0.5 s. */
const IDLE_MS = 10 * 60_000

export function builtInModel(options: BuiltInOptions = {}) {
  const { startThread = startModelThread, queueMax = QUEUE_MAX } = options
  const { timeoutMs = TIMEOUT_MS, idleMs = IDLE_MS } = options
  let thread: Worker | undefined
  let current: Question | undefined
  const queue: Question[] = []
  const ending = new Set<Promise<unknown>>()
  let idle: NodeJS.Timeout | undefined
  let closed = false

  function processNext(): void {
    if (current) return
    current = queue.shift()
    if (!current) return startIdleTimer()
    clearTimeout(idle)
    try {
      thread ??= watchThread(startThread())
    } catch (error) {
      return rejectAll(`its thread cannot be started: ${codeOf(error)}`)
    }
    // The process must not exit before the answer.
    thread.ref()
    startTimer(current)
    thread.postMessage(current.text)
  }

  function startIdleTimer(): void {
    thread?.unref()
    clearTimeout(idle)
    idle = setTimeout(endThread, idleMs).unref()
  }

  /** Messages of a thread that was given up are ignored. */
  function watchThread(started: Worker): Worker {
    const lost = (reason: string) => {
      if (started !== thread) return
      thread = undefined
      rejectAll(reason)
    }
    return started
      .on('message', (answer: FromModelThread) => started === thread && handleAnswer(answer))
      .on('error', (error) => lost(`its thread failed: ${codeOf(error)}`))
      .on('exit', () => lost('its thread ended'))
  }

  function handleAnswer(answer: FromModelThread): void {
    const question = current
    if (!question) return
    const vector =
      'failed' in answer
        ? `its engine failed: ${answer.failed}`
        : checkedVector(answer, BUILT_IN_MODEL.dimensions)
    // After a panic the engine's memory is in an unknown state: the next question gets a new thread.
    if (typeof vector === 'string') endThread()
    current = undefined
    settle(question, vector)
    processNext()
  }

  function startTimer(question: Question): void {
    clearTimeout(question.timer)
    question.timer = setTimeout(() => {
      const index = queue.indexOf(question)
      if (index !== -1) queue.splice(index, 1)
      if (question === current) {
        current = undefined
        endThread()
      }
      settle(question, 'it took too long')
      processNext()
    }, timeoutMs)
  }

  function rejectAll(reason: string): void {
    const lost = [...(current ? [current] : []), ...queue.splice(0)]
    current = undefined
    for (const question of lost) settle(question, reason)
  }

  function endThread(): void {
    const old = thread
    thread = undefined
    if (!old) return
    const end = old.terminate().finally(() => ending.delete(end))
    ending.add(end)
  }

  return {
    dimensions: BUILT_IN_MODEL.dimensions,

    embed: (text: string): Promise<Float32Array> =>
      new Promise((resolve, reject) => {
        const question: Question = { text, resolve, reject }
        if (closed) return settle(question, 'it is closed')
        if (current && queue.length >= queueMax) return settle(question, 'too many questions wait')
        queue.push(question)
        startTimer(question)
        processNext()
      }),

    close: async (): Promise<void> => {
      closed = true
      clearTimeout(idle)
      rejectAll('it is closed')
      endThread()
      await Promise.all(ending)
    },
  }
}

function settle({ timer, resolve, reject }: Question, vector: Float32Array | string): void {
  clearTimeout(timer)
  if (typeof vector === 'string')
    reject(unavailable(`embedding model ${BUILT_IN_MODEL.name}: ${vector}`, 'later'))
  else resolve(vector)
}

function startModelThread(): Worker {
  return new Worker(new URL('./built-in-worker.ts', import.meta.url), {
    // Without the program's flags and secrets: a model needs no environment.
    execArgv: [],
    env: {},
    // A panicking engine prints its input. Captured to keep it out of our log, and not read: reading would keep the
    // process alive.
    stdout: true,
    stderr: true,
  })
}
