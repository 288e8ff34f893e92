/**
 * A model that runs here, in worker threads: the built-in one, or that of a folder. The first text starts a thread, which loads
 * the weights; a queue that grows starts more over the same weights, and they end when there is nothing to do.
 *
 * It refuses nobody by itself: an organization that has its share of the queue, a text that has ended two threads, and
 * everybody where the model cannot be loaded.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { BUILT_IN_MODEL } from '../../contracts/embedding-settings.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { EmbedOptions } from '../../cores/search/embedding-models.ts'
import type { Logger } from '../../observe/log.ts'
import { cutText } from './cut-text.ts'
import type { ModelFolder } from './model-folder.ts'
import { watchThread, type Failure, type ModelThread } from './model-thread.ts'
import type { Loaded, ToModelThread } from './model-worker.ts'
import { codeOf } from './code-of.ts'
import { unavailable } from './unavailable.ts'
import { waitingTexts, type TextQueues, type WaitingText } from './waiting-texts.ts'

export type LocalOptions = {
  readonly startThread?: (data: ToModelThread) => Worker
  readonly threadsMax?: number | undefined
  readonly queues?: TextQueues
  readonly cpuLimitMs?: number
  readonly idleMs?: number
  readonly extraIdleMs?: number
  readonly now?: () => number
  readonly log?: Pick<Logger, 'warn' | 'error'> | undefined
}

type Text = WaitingText & {
  readonly text: string
  readonly resolve: (vector: Float32Array) => void
  readonly reject: (reason: unknown) => void
  hasEndedThread: boolean
}

type ThreadState = { isBusy: boolean; idle?: NodeJS.Timeout }

/** Of its thread, for one text: the longest takes the built-in model 0.2 s, and a large one of a folder ten. */
const CPU_LIMIT_MS = 60_000
/** The weights use 46 MB and a thread 30 MB; loading takes 0.2 s. */
const IDLE_MS = 10 * 60_000
const EXTRA_IDLE_MS = 30_000
/** Another thread is worth its start when so many texts wait for each of those that run. */
const WAITING_PER_THREAD = 4
/** Threads in a row that were ended from outside before they had loaded. */
const ENDED_LOADING_MAX = 20
const YOUNG_MB = 4
const RETRY_AFTER_MAX_SECONDS = 60

/** One core is left to the server itself. */
const defaultThreads = (): number => Math.min(4, Math.max(1, availableParallelism() - 1))

/** Without a folder it is the built-in model. */
export function localModel(folder?: ModelFolder, options: LocalOptions = {}) {
  const { startThread = startModelThread, threadsMax = defaultThreads(), log } = options
  const { idleMs = IDLE_MS, extraIdleMs = EXTRA_IDLE_MS, cpuLimitMs = CPU_LIMIT_MS } = options
  const { now = () => performance.now() } = options
  const name = folder?.name ?? BUILT_IN_MODEL.name
  const dimensions = folder?.width ?? BUILT_IN_MODEL.dimensions
  const queue = waitingTexts<Text>(refuse, options.queues)
  /** The first are asked first, so that the last ones become idle and end. */
  const threads = new Map<ModelThread, ThreadState>()
  const ending = new Set<Promise<unknown>>()
  /** Parts of the shared memory that a thread uses, or may still use. */
  const numbers = new Set<number>()
  const underWay = new Set<Text>()
  let loaded: Loaded | undefined
  let problem: string | undefined
  let endedLoading = 0
  let threadsAllowed = threadsMax
  let textMs = 100
  let isClosed = false

  function startWork(): void {
    while (queue.size() > 0) {
      const thread = idleThread() ?? anotherThread()
      if (!thread) return
      void work(thread, queue.take()!)
    }
  }

  const idleThread = () => [...threads].find(([, { isBusy }]) => !isBusy)?.[0]

  function anotherThread(): ModelThread | undefined {
    const isWorthIt =
      threads.size === 0 || (loaded !== undefined && queue.size() >= WAITING_PER_THREAD * threads.size)
    if (threads.size >= threadsAllowed || !isWorthIt) return undefined
    const number = freeNumber()
    try {
      const thread: ModelThread = watchThread(startThread({ folder, loaded, thread: number }), {
        dimensions,
        cpuLimitMs,
        onLoaded,
        onLost: () => forget(thread),
        onExit: () => numbers.delete(number),
      })
      numbers.add(number)
      threads.set(thread, { isBusy: false })
      return thread
    } catch (error) {
      handleNoThread(`its thread cannot be started: ${codeOf(error)}`)
      return undefined
    }
  }

  function freeNumber(): number {
    let number = 0
    while (numbers.has(number)) number += 1
    return number
  }

  function onLoaded(byThread: Loaded): void {
    loaded ??= byThread
    problem = undefined
    endedLoading = 0
    // Those that wait may be worth another thread.
    startWork()
  }

  /** Those that run go on alone. Without any, waiting is of no use. */
  function handleNoThread(reason: string): void {
    log?.error('a thread of the embedding model failed before it had loaded', { model: name, reason })
    threadsAllowed = Math.max(1, threads.size)
    if (threads.size > 0) return
    problem = reason
    for (const text of queue.removeAll()) fail(text, reason, 'later')
  }

  async function work(thread: ModelThread, text: Text): Promise<void> {
    const state = threads.get(thread)!
    state.isBusy = true
    clearTimeout(state.idle)
    underWay.add(text)
    const startedAt = now()
    const outcome = await thread.embed(text.text)
    text.endTurn?.()
    const isWanted = underWay.delete(text)
    state.isBusy = false
    if ('reason' in outcome) handleFailure(thread, isWanted ? text : undefined, outcome)
    else {
      textMs = (3 * textMs + now() - startedAt) / 4
      text.resolve(outcome)
      endWhenIdle(thread, state)
    }
    startWork()
  }

  /** A text that ends a thread gets one more, of its own as all do; a text whose thread is ended from outside as many as it needs. */
  function handleFailure(thread: ModelThread, text: Text | undefined, { reason, isEnded }: Failure): void {
    if (isClosed) return
    endThread(thread)
    const isReady = thread.isReady()
    endedLoading = isEnded && !isReady ? endedLoading + 1 : 0
    const canLoad = isReady || (isEnded && endedLoading < ENDED_LOADING_MAX)
    const isRefused = text !== undefined && isReady && !isEnded && text.hasEndedThread
    if (canLoad) {
      const attempt = isRefused ? 'refused' : 'again'
      log?.warn('a thread of the embedding model ended', { model: name, reason, text: text && attempt })
    }
    if (text && isRefused) fail(text, reason, 'text')
    else if (text) {
      text.hasEndedThread ||= isReady && !isEnded
      queue.putBack(text)
    }
    if (!canLoad) handleNoThread(reason)
  }

  function endWhenIdle(thread: ModelThread, state: ThreadState): void {
    const isExtra = threads.size > 1
    clearTimeout(state.idle)
    state.idle = setTimeout(
      () => {
        if (isExtra && threads.size === 1) return endWhenIdle(thread, state)
        endThread(thread)
        if (threads.size === 0) loaded = undefined
      },
      isExtra ? extraIdleMs : idleMs,
    ).unref()
  }

  function endThread(thread: ModelThread): void {
    forget(thread)
    const end = thread.end().finally(() => ending.delete(end))
    ending.add(end)
  }

  function forget(thread: ModelThread): void {
    clearTimeout(threads.get(thread)?.idle)
    threads.delete(thread)
    if (threads.size === 0) threadsAllowed = threadsMax
  }

  function refuse(text: Text): void {
    const ms = (queue.ahead(text) * textMs) / Math.max(1, threads.size)
    text.reject(
      new ServiceError('RATE_LIMITED', 'Too many texts of the organization wait for the embedding model', {
        retryAfterSeconds: Math.min(RETRY_AFTER_MAX_SECONDS, Math.max(1, Math.ceil(ms / 1000))),
      }),
    )
  }

  const fail = (text: Text, reason: string, hint: 'later' | 'text') =>
    text.reject(unavailable(`embedding model ${name}: ${reason}`, hint))

  return {
    name,
    dimensions,

    /** Why there are no vectors; undefined while there are. */
    problem: (): string | undefined => problem,

    /** Throws RATE_LIMITED to an organization that has its share of the queue. */
    embed: async (owner: string, full: string, options: EmbedOptions = {}): Promise<Float32Array> => {
      const { kind = 'question', signal } = options
      signal?.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<Float32Array>()
      const prefix = folder?.prefixes[kind] ?? ''
      const { text: read } = cutText(prefix + full, folder?.tokensMax)
      const text: Text = { text: read, owner, kind, resolve, reject, hasEndedThread: false }
      if (isClosed) fail(text, 'it is closed', 'later')
      else {
        queue.add(text)
        startWork()
      }
      const giveUp = () => {
        text.leave?.()
        underWay.delete(text)
        reject(signal!.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      return promise.finally(() => signal?.removeEventListener('abort', giveUp))
    },

    close: async (): Promise<void> => {
      isClosed = true
      for (const text of [...underWay, ...queue.removeAll()]) fail(text, 'it is closed', 'later')
      underWay.clear()
      for (const thread of threads.keys()) endThread(thread)
      await Promise.all(ending)
    },
  }
}

export function startModelThread(data: ToModelThread): Worker {
  return new Worker(new URL('./model-worker.ts', import.meta.url), {
    workerData: data,
    // Without the program's flags and secrets: a model needs no environment.
    execArgv: [],
    env: {},
    // What an engine prints may be its input. Captured to keep it out of our log, and not read: reading would keep the
    // process alive.
    stdout: true,
    stderr: true,
    // It allocates next to nothing, and would let 30 MB of that lie about before it collects.
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  })
}
