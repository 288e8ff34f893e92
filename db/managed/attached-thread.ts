/** Pools to attached databases, in a thread of their own: when it ends, what was being asked fails, and the next question starts another. */
import { Worker } from 'node:worker_threads'
import type { AttachRule } from '../../src/contracts/attach-rules.ts'
import type { FromAttached, ToAttached } from './attached-worker.ts'
import type { Login } from './database-provisioner.ts'
import type { Pool, PoolSettings } from './open-pool.ts'
import { problem } from './problem.ts'

export type AttachedPools = {
  readonly open: (login: Login & { readonly owner?: string }, settings: PoolSettings) => Pool
  close(): Promise<void>
}

/** More than an answer may take with connecting, logging in and waiting for a place: then the thread itself hangs. */
const HANGS_MS = 45_000

type Waiting = { resolve: (rows: readonly object[]) => void; reject: (error: Error) => void }
type Thread = { readonly worker: Worker; readonly waiting: Map<number, Waiting>; readonly pools: Set<number> }

export function attachedPools(
  allowed: readonly AttachRule[],
  file = new URL('./attached-worker.ts', import.meta.url),
  hangsMs = HANGS_MS,
): AttachedPools {
  let current: Thread | undefined
  let counter = 0

  function start(): Thread {
    const worker = new Worker(file, {
      workerData: allowed,
      // Without the flags of this process: some (`--input-type`, an inspector's port) do not work in a second thread.
      execArgv: [],
      // The environment holds secrets, and this thread speaks to servers that may be hostile.
      env: {},
    })
    const thread: Thread = { worker, waiting: new Map(), pools: new Set() }
    const ended = () => {
      if (current === thread) current = undefined
      const error = problem('CONNECTION_ENDED', 'The thread of attached databases has ended')
      for (const { reject } of thread.waiting.values()) reject(error)
      thread.waiting.clear()
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
    if ('rows' in message) return one?.resolve(message.rows)
    one?.reject(Object.assign(new Error(message.error.message), { code: message.error.code }))
  }

  async function request(
    thread: Thread,
    message: (number: number) => ToAttached,
    withinMs: number,
  ): Promise<readonly object[]> {
    const number = (counter += 1)
    const { promise, resolve, reject } = Promise.withResolvers<readonly object[]>()
    thread.waiting.set(number, { resolve, reject })
    thread.worker.postMessage(message(number))
    const timer = setTimeout(() => void thread.worker.terminate(), withinMs)
    return promise.finally(() => clearTimeout(timer))
  }

  return {
    open(login, settings) {
      const id = (counter += 1)
      return {
        async query<Row extends object>(text: string, parameters: readonly (string | null)[] = []) {
          const thread = (current ??= start())
          if (!thread.pools.has(id)) {
            thread.pools.add(id)
            thread.worker.postMessage({ open: id, login, settings } satisfies ToAttached)
          }
          const within = settings.statementTimeoutMs + hangsMs
          const rows = await request(thread, (query) => ({ query, pool: id, text, parameters }), within)
          return rows as readonly Row[]
        },
        async end() {
          const thread = current
          if (!thread?.pools.delete(id)) return
          // Its connections end with the thread, too.
          await request(thread, (end) => ({ end, pool: id }), hangsMs).catch(() => {})
        },
      }
    },
    async close() {
      await current?.worker.terminate()
    },
  }
}
