/** Pools to attached databases, in a thread of their own: when it ends, what was being asked fails, and the next question starts another. */
import { Worker } from 'node:worker_threads'
import type { AttachRule } from '../../src/contracts/attach-rules.ts'
import type { FromAttached, ToAttached } from './attached-worker.ts'
import type { Login } from './database-provisioner.ts'
import { failurePause, type FailurePause } from './failure-pause.ts'
import type { Pool, PoolSettings } from './open-pool.ts'
import { problem } from './problem.ts'

export type AttachedPools = {
  readonly open: (login: Login & { readonly owner?: string }, settings: PoolSettings) => Pool
  close(): Promise<void>
}

/** More than an answer may take with connecting, logging in and waiting for a place: then the thread itself hangs. */
const HANGS_MS = 45_000

const HEAP_MAX_MB = 512

type Waiting = {
  readonly pause: FailurePause
  resolve: (rows: readonly object[]) => void
  reject: (error: Error) => void
}
type Thread = { readonly worker: Worker; readonly waiting: Map<number, Waiting>; readonly pools: Set<number> }

export function attachedPools(
  allowed: readonly AttachRule[],
  file = new URL('./attached-worker.ts', import.meta.url),
  hangsMs = HANGS_MS,
): AttachedPools {
  let current: Thread | undefined
  let counter = 0
  const pauses = serverPauses()

  function start(): Thread {
    const worker = new Worker(file, {
      workerData: allowed,
      // Without the flags of this process: some (`--input-type`, an inspector's port) do not work in a second thread.
      execArgv: [],
      // The environment holds secrets, and this thread speaks to servers that may be hostile.
      env: {},
      // Far above what responses may hold together, which is the limit to rely on.
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX_MB },
    })
    const thread: Thread = { worker, waiting: new Map(), pools: new Set() }
    const ended = () => {
      if (current === thread) current = undefined
      const error = problem('CONNECTION_ENDED', 'The thread of attached databases has ended')
      const waiting = [...thread.waiting.values()]
      thread.waiting.clear()
      // Any of them may have ended it. Once each, however many questions it was asked.
      for (const pause of new Set(waiting.map((one) => one.pause))) pause.failed(error)
      for (const { reject } of waiting) reject(error)
    }
    worker.on('error', ended)
    worker.on('exit', ended)
    worker.on('message', (message: FromAttached) => settle(thread, message))
    worker.unref()
    return thread
  }

  function settle({ waiting }: Thread, message: FromAttached): void {
    const one = waiting.get(message.number)
    waiting.delete(message.number)
    one?.pause.succeeded()
    if ('rows' in message) return one?.resolve(message.rows)
    one?.reject(Object.assign(new Error(message.error.message), { code: message.error.code }))
  }

  async function request(
    thread: Thread,
    pause: FailurePause,
    message: (number: number) => ToAttached,
    withinMs: number,
  ): Promise<readonly object[]> {
    const number = (counter += 1)
    const { promise, resolve, reject } = Promise.withResolvers<readonly object[]>()
    thread.waiting.set(number, { pause, resolve, reject })
    thread.worker.postMessage(message(number))
    const timer = setTimeout(() => void thread.worker.terminate(), withinMs)
    return promise.finally(() => clearTimeout(timer))
  }

  return {
    open(login, settings) {
      const id = (counter += 1)
      const pause = pauses.of(`${login.host}:${login.port}`)
      let hasEnded = false
      return {
        async query<Row extends object>(text: string, parameters: readonly (string | null)[] = []) {
          if (hasEnded) throw problem('CONNECTION_ENDED', 'The pool was closed')
          pause.check()
          const thread = (current ??= start())
          if (!thread.pools.has(id)) {
            thread.pools.add(id)
            thread.worker.postMessage({ open: id, login, settings } satisfies ToAttached)
          }
          const within = settings.statementTimeoutMs + hangsMs
          const rows = await request(
            thread,
            pause,
            (query) => ({ query, pool: id, text, parameters }),
            within,
          )
          return rows as readonly Row[]
        },
        async end() {
          hasEnded = true
          const thread = current
          if (!thread?.pools.delete(id)) return
          // Its connections end with the thread, too.
          await request(thread, pause, (end) => ({ end, pool: id }), hangsMs).catch(() => {})
        },
      }
    },
    async close() {
      await current?.worker.terminate()
    },
  }
}

const SERVERS_MAX = 1_000

/** Here, and by server: the thread that such a server ends cannot remember it, nor can a pool that is opened anew. */
function serverPauses() {
  const pauses = new Map<string, FailurePause>()
  return {
    of(server: string): FailurePause {
      const pause = pauses.get(server) ?? failurePause()
      // Most recently used last.
      pauses.delete(server)
      pauses.set(server, pause)
      if (pauses.size > SERVERS_MAX) pauses.delete(pauses.keys().next().value!)
      return pause
    },
  }
}
