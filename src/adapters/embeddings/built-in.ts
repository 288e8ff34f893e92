/**
 * The built-in model: weights from a package, in worker threads. The first text starts one; a queue that grows starts more,
 * each with weights of its own, and they end when there is nothing to do.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { EmbedOptions } from '../../cores/search/embedding-models.ts'
import { cutText, type CutText } from './cut-text.ts'
import { watchThread, type ModelThread } from './model-thread.ts'
import { realTimers, type Timers } from './timers.ts'
import { codeOf, unavailable } from './unavailable.ts'
import { waitingTexts, type TextQueues, type WaitingText } from './waiting-texts.ts'

export type BuiltInOptions = {
  readonly startThread?: () => Worker
  readonly threadsMax?: number | undefined
  readonly queues?: TextQueues
  readonly timeoutMs?: number
  readonly idleMs?: number
  readonly extraIdleMs?: number
  readonly timers?: Timers
}

type Text = WaitingText &
  CutText & {
    readonly resolve: (vector: Float32Array) => void
    readonly reject: (reason: unknown) => void
    /** Was in a batch that got no vectors: perhaps because of this text. */
    isSuspect: boolean
    cancelTimer?: () => void
  }

/** The longest text takes 0.4 s on a machine that does nothing else. */
const TIMEOUT_MS = 20_000
/**
 * The first thread uses 235 MB and a further one 160 MB, because the memory of the engine cannot be shared; loading takes
 * 0.5 s.
 */
const IDLE_MS = 10 * 60_000
const EXTRA_IDLE_MS = 30_000
/** Another thread is worth its start when so many texts wait for each of those that run. */
const WAITING_PER_THREAD = 4
/**
 * In one inference: eight texts of six words take half the time of eight inferences, from 30 words on as long, and the
 * longest twice as long.
 */
const BATCH = { texts: 8, tokens: 24 }
const RETRY_AFTER_MAX_SECONDS = 60

/** One core is left to the server itself. */
const defaultThreads = (): number => Math.min(4, Math.max(1, availableParallelism() - 1))

export function builtInModel(options: BuiltInOptions = {}) {
  const { startThread = startModelThread, timeoutMs = TIMEOUT_MS, timers = realTimers } = options
  const { idleMs = IDLE_MS, extraIdleMs = EXTRA_IDLE_MS, threadsMax = defaultThreads() } = options
  const queue = waitingTexts<Text>(refuse, options.queues)
  /** The first are asked first, so that the last ones become idle and end. */
  const threads = new Map<ModelThread, { isBusy: boolean; cancelTimer?: () => void }>()
  const ending = new Set<Promise<unknown>>()
  const underWay = new Set<Text>()
  let threadsAllowed = threadsMax
  let textMs = 100
  let isClosed = false

  function startWork(): void {
    while (queue.size() > 0) {
      const thread = idleThread() ?? anotherThread()
      if (!thread) return
      void work(thread, takeBatch())
    }
  }

  const idleThread = () => [...threads].find(([, { isBusy }]) => !isBusy)?.[0]

  function anotherThread(): ModelThread | undefined {
    const isWorthIt = threads.size === 0 || queue.size() >= WAITING_PER_THREAD * threads.size
    if (threads.size >= threadsAllowed || !isWorthIt) return undefined
    try {
      const thread: ModelThread = watchThread(startThread(), timers, timeoutMs, () => forget(thread))
      threads.set(thread, { isBusy: false })
      return thread
    } catch (error) {
      handleNoThread(`its thread cannot be started: ${codeOf(error)}`)
      return undefined
    }
  }

  /** Those that run go on alone. Without any, waiting is of no use. */
  function handleNoThread(reason: string): void {
    threadsAllowed = Math.max(1, threads.size)
    if (threads.size === 0) for (const text of queue.removeAll()) settle(text, reason)
  }

  function takeBatch(): Text[] {
    const first = queue.take()!
    const batch = [first]
    const fits = (text: Text) => text.tokens <= BATCH.tokens && !text.isSuspect && text.kind === first.kind
    while (fits(first) && batch.length < BATCH.texts) {
      const text = queue.take(fits)
      if (!text) break
      batch.push(text)
    }
    return batch
  }

  async function work(thread: ModelThread, batch: readonly Text[]): Promise<void> {
    const state = threads.get(thread)!
    state.isBusy = true
    state.cancelTimer?.()
    for (const text of batch) {
      text.cancelTimer?.()
      underWay.add(text)
    }
    const startedAt = timers.now()
    const outcome = await thread.embed(batch.map(({ text }) => text))
    for (const text of batch) text.endTurn?.()
    const wanted = batch.filter((text) => underWay.delete(text))
    state.isBusy = false
    if (typeof outcome === 'string') handleFailure(thread, wanted, outcome, batch.length === 1)
    else {
      textMs = (3 * textMs + (timers.now() - startedAt) / batch.length) / 4
      for (const [at, text] of batch.entries()) settle(text, outcome[at]!)
      endWhenIdle(thread)
    }
    startWork()
  }

  /** What waits gets another thread. Of a batch, only the text that is at fault fails: each is tried alone. */
  function handleFailure(
    thread: ModelThread,
    texts: readonly Text[],
    reason: string,
    wasAlone: boolean,
  ): void {
    endThread(thread)
    for (const text of texts) {
      if (thread.isReady() && wasAlone) settle(text, reason)
      else {
        text.isSuspect ||= thread.isReady()
        queue.putBack(text)
        limitWait(text)
      }
    }
    // It could not load the model.
    if (!thread.isReady()) handleNoThread(reason)
  }

  function endWhenIdle(thread: ModelThread): void {
    const state = threads.get(thread)
    if (!state) return
    const isExtra = threads.size > 1
    state.cancelTimer = timers.afterIdle(isExtra ? extraIdleMs : idleMs, () => {
      if (isExtra && threads.size === 1) endWhenIdle(thread)
      else endThread(thread)
    })
  }

  function endThread(thread: ModelThread): void {
    forget(thread)
    const end = thread.end().finally(() => ending.delete(end))
    ending.add(end)
  }

  function forget(thread: ModelThread): void {
    threads.get(thread)?.cancelTimer?.()
    threads.delete(thread)
    if (threads.size === 0) threadsAllowed = threadsMax
  }

  /** A text in bulk waits for as long as its caller does. */
  function limitWait(text: Text): void {
    if (text.kind === 'bulk') return
    text.cancelTimer = timers.after(timeoutMs, () => {
      if (!text.leave) return
      text.leave()
      settle(text, 'it took too long')
    })
  }

  function refuse(text: Text): void {
    text.cancelTimer?.()
    const ms = (queue.ahead(text) * textMs) / Math.max(1, threads.size)
    text.reject(
      new ServiceError('RATE_LIMITED', 'Too many texts of the organization wait for the embedding model', {
        retryAfterSeconds: Math.min(RETRY_AFTER_MAX_SECONDS, Math.max(1, Math.ceil(ms / 1000))),
      }),
    )
  }

  return {
    dimensions: BUILT_IN_MODEL.dimensions,

    /** Throws RATE_LIMITED to an organization that has its share of the queue. */
    embed: async (owner: string, full: string, options: EmbedOptions = {}): Promise<Float32Array> => {
      const { kind = 'question', signal } = options
      signal?.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<Float32Array>()
      const text: Text = { ...cutText(full), owner, kind, resolve, reject, isSuspect: false }
      if (isClosed) settle(text, 'it is closed')
      else {
        queue.add(text)
        if (text.leave) limitWait(text)
        startWork()
      }
      const giveUp = () => {
        text.leave?.()
        underWay.delete(text)
        text.cancelTimer?.()
        reject(signal!.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      return promise.finally(() => signal?.removeEventListener('abort', giveUp))
    },

    close: async (): Promise<void> => {
      isClosed = true
      for (const text of [...underWay, ...queue.removeAll()]) settle(text, 'it is closed')
      underWay.clear()
      for (const thread of threads.keys()) endThread(thread)
      await Promise.all(ending)
    },
  }
}

function settle({ cancelTimer, resolve, reject }: Text, vector: Float32Array | string): void {
  cancelTimer?.()
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
