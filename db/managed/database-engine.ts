/** Opens a managed database in a thread of its own. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Engine } from '../wire/backend.ts'
import type { DatabaseWorkerSettings, FromDatabaseWorker, ToDatabaseWorker } from './database-worker.ts'

/** Closing writes out what is in memory (0.1 s measured). What is cut off here is recovered at the next start. */
const CLOSE_MS = 10_000
/** Recovery after a kill took less than a second; a folder that takes so long will not open at all. */
const OPEN_MS = 60_000

export async function startEngine(folder: string): Promise<Engine> {
  // Sorts and joins that spilled to disk when an engine was ended. A server clears them at its start, PGlite does not.
  await rm(join(folder, 'base', 'pgsql_tmp'), { recursive: true, force: true })
  const ahead = new Int32Array(new SharedArrayBuffer(4))
  const workerData: DatabaseWorkerSettings = { folder, ahead }
  const worker = new Worker(new URL('./database-worker.ts', import.meta.url), {
    workerData,
    execArgv: [],
    // SQL can write to /dev/stdout, and the environment holds secrets: neither is this thread's business.
    env: {},
    stdout: true,
    stderr: true,
  })
  worker.stdout.resume()
  worker.stderr.resume()
  let over: Error | undefined
  const ended = new Promise<Error>((settle) => {
    worker.on('error', (error) => settle(error instanceof Error ? error : new Error('unknown reason')))
    worker.on('exit', (code) => settle(new Error(`its thread ended with code ${code}`)))
  })
  const exited = new Promise<void>((settle) => worker.once('exit', () => settle()))
  let receive: (message: Exclude<FromDatabaseWorker, 'ready'>) => void = () => {}
  let abort: (reason: Error) => void = () => {}
  void ended.then((reason) => {
    over = reason
    receive = () => {}
    abort(reason)
  })

  const ready = new Promise<FromDatabaseWorker>((settle) => worker.once('message', settle))
  const impatient = setTimeout(() => void worker.terminate(), OPEN_MS)
  const first = await Promise.race([ready, ended])
  clearTimeout(impatient)
  if (first !== 'ready') {
    await worker.terminate()
    const reason = first instanceof Error ? first.message : 'unknown reason'
    throw new Error(`The managed database in ${folder} could not be opened: ${reason}`, { cause: first })
  }

  worker.on('message', (message: FromDatabaseWorker) => {
    if (message !== 'ready') receive(message)
  })
  const tell = (message: ToDatabaseWorker) => worker.postMessage(message)

  return {
    run: ({ bytes, copy }, onAnswer) =>
      new Promise((settle, reject) => {
        if (over) return reject(over)
        // Not a race with `ended`: that promise would collect a listener for every statement there ever was.
        abort = reject
        receive = (message) => {
          const { length } = message.bytes
          const taken = () => {
            Atomics.sub(ahead, 0, length)
            Atomics.notify(ahead, 0)
          }
          if (length > 0) onAnswer(Buffer.from(message.bytes.buffer), taken)
          if (message.done) settle()
        }
        tell(copy ? { bytes, copy } : { bytes })
      }),
    async terminate() {
      await worker.terminate()
    },
    async stop() {
      if (!over) tell('close')
      const patience = setTimeout(() => void worker.terminate(), CLOSE_MS)
      await exited
      clearTimeout(patience)
    },
  }
}
