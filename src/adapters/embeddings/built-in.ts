/** The built-in model: real weights from a package, in a thread that is started by the first question. */
import { Worker } from 'node:worker_threads'
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import type { FromModelThread } from './built-in-worker.ts'
import { codeOf, unavailable } from './unavailable.ts'
import { checkedVector } from './vector.ts'

export type BuiltInOptions = {
  readonly startThread?: () => Worker
  readonly waitingMax?: number
  readonly timeoutMs?: number
  readonly idleMs?: number
}

type Question = {
  readonly text: string
  readonly resolve: (vector: Float32Array) => void
  readonly reject: (reason: Error) => void
  /** First over the waiting, then over the work. */
  timer?: NodeJS.Timeout
}

/** 64 of 30 to 60 ms each: who comes later would wait longer than they like. */
const WAITING_MAX = 64
/** The longest question the gateway lets in takes 2 s. */
const TIMEOUT_MS = 20_000
/** Loaded it holds 235 MB; loading takes 0.5 s. */
const IDLE_MS = 10 * 60_000

export function builtInModel(options: BuiltInOptions = {}) {
  const { startThread = startModelThread, waitingMax = WAITING_MAX } = options
  const { timeoutMs = TIMEOUT_MS, idleMs = IDLE_MS } = options
  let thread: Worker | undefined
  let atWork: Question | undefined
  const waiting: Question[] = []
  const ending = new Set<Promise<unknown>>()
  let idle: NodeJS.Timeout | undefined
  let closed = false

  function workOn(): void {
    if (atWork) return
    atWork = waiting.shift()
    if (!atWork) return rest()
    clearTimeout(idle)
    try {
      thread ??= watched(startThread())
    } catch (error) {
      return loseAll(`its thread cannot be started: ${codeOf(error)}`)
    }
    // Somebody waits for the answer, so the process must live until it is there.
    thread.ref()
    giveTime(atWork)
    thread.postMessage(atWork.text)
  }

  function rest(): void {
    thread?.unref()
    clearTimeout(idle)
    idle = setTimeout(endThread, idleMs).unref()
  }

  /** A thread that was given up may still speak; nobody listens. */
  function watched(started: Worker): Worker {
    const lost = (reason: string) => {
      if (started !== thread) return
      thread = undefined
      loseAll(reason)
    }
    return started
      .on('message', (answer: FromModelThread) => started === thread && receive(answer))
      .on('error', (error) => lost(`its thread failed: ${codeOf(error)}`))
      .on('exit', () => lost('its thread ended'))
  }

  function receive(answer: FromModelThread): void {
    const question = atWork
    if (!question) return
    const vector =
      'failed' in answer
        ? `its engine failed: ${answer.failed}`
        : checkedVector(answer, BUILT_IN_MODEL.dimensions)
    // After a panic the engine's memory is in no known state: the next question gets a new one.
    if (typeof vector === 'string') endThread()
    atWork = undefined
    settle(question, vector)
    workOn()
  }

  function giveTime(question: Question): void {
    clearTimeout(question.timer)
    question.timer = setTimeout(() => {
      const place = waiting.indexOf(question)
      if (place !== -1) waiting.splice(place, 1)
      if (question === atWork) {
        atWork = undefined
        endThread()
      }
      settle(question, 'it took too long')
      workOn()
    }, timeoutMs)
  }

  function loseAll(reason: string): void {
    const lost = [...(atWork ? [atWork] : []), ...waiting.splice(0)]
    atWork = undefined
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
        if (atWork && waiting.length >= waitingMax) return settle(question, 'too many questions wait')
        waiting.push(question)
        giveTime(question)
        workOn()
      }),

    close: async (): Promise<void> => {
      closed = true
      clearTimeout(idle)
      loseAll('it is closed')
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
    // No flags of the program's own, and none of its secrets: a model needs no environment.
    execArgv: [],
    env: {},
    // A panicking engine prints what it was working on. Kept from our log, and left unread: reading would hold the
    // process alive.
    stdout: true,
    stderr: true,
  })
}
