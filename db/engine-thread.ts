/** Opens a database folder with PGlite in a thread of its own. */
import { Worker } from 'node:worker_threads'
import type { EngineSettings, ToEngine, ToNewEngine } from './engine-worker.ts'

/** Closing writes out what is in memory (0.1 s measured). What is cut off here is recovered at the next start. */
const CLOSE_MS = 10_000

export type EngineThread = {
  readonly worker: Worker
  /** Settles when the thread is gone, with the reason it gave. */
  readonly ended: Promise<Error>
  /** An orderly shutdown. */
  readonly stop: () => Promise<void>
}

/** PGlite throws what its file system met as a bare number, of the WASI table (preview 1, errno). */
const FILE_ERRORS: Readonly<Record<number, readonly [code: string, message: string]>> = {
  2: ['EACCES', 'permission denied'],
  19: ['EDQUOT', 'disk quota exceeded'],
  29: ['EIO', 'input/output error'],
  51: ['ENOSPC', 'no space left on device'],
  63: ['EPERM', 'operation not permitted'],
  69: ['EROFS', 'read-only file system'],
}

function fileError(thrown: unknown): Error {
  const [code, message] = FILE_ERRORS[(thrown as { errno?: number } | null)?.errno ?? 0] ?? []
  return code === undefined ? new Error('unknown reason') : Object.assign(new Error(message), { code })
}

let loadedAhead: Worker | undefined

/**
 * Loads the engine before it is known which folder to open, so that it happens while the program loads. Our own database takes
 * the thread; as long as it has not, the process may end.
 */
export function loadEngineAhead(startThread = newThread): void {
  const worker = threadOrNone(startThread)
  if (!worker) return
  worker.unref()
  loadedAhead = worker
  // Whoever needs an engine starts another one then, and says what is wrong.
  worker.once('error', discardEngineAhead).once('exit', discardEngineAhead)
}

/** Undefined where the system gives no more threads. */
function threadOrNone(startThread: typeof newThread): Worker | undefined {
  try {
    return startThread(null)
  } catch {
    return undefined
  }
}

/** Where it turns out that none is needed. */
export function discardEngineAhead(): void {
  void loadedAhead?.terminate()
  loadedAhead = undefined
}

function takeEngineAhead(settings: EngineSettings): Worker | undefined {
  const worker = loadedAhead
  if (!worker) return undefined
  loadedAhead = undefined
  worker.off('error', discardEngineAhead).off('exit', discardEngineAhead)
  worker.ref()
  worker.postMessage({ settings } satisfies ToNewEngine)
  return worker
}

function newThread(settings: EngineSettings | null): Worker {
  return new Worker(new URL('./engine-worker.ts', import.meta.url), {
    workerData: settings,
    // Without the flags of this process: some (`--input-type`, an inspector's port) do not work in a second thread.
    execArgv: [],
    // SQL of others can write to /dev/stdout, and the environment holds secrets: neither is this thread's business.
    ...(settings?.ahead && { env: {}, stdout: true, stderr: true }),
  })
}

export async function startEngineThread(
  settings: EngineSettings,
  { openMs }: { openMs?: number } = {},
): Promise<EngineThread> {
  const { folder, ahead } = settings
  const worker = (ahead ? undefined : takeEngineAhead(settings)) ?? newThread(settings)
  if (ahead) {
    worker.stdout.resume()
    worker.stderr.resume()
  }
  const exited = new Promise<void>((settle) => worker.once('exit', () => settle()))
  const ended = new Promise<Error>((settle) => {
    worker.on('error', (error: unknown) => settle(error instanceof Error ? error : fileError(error)))
    worker.on('exit', (code) => settle(new Error(`its thread ended with code ${code}`)))
  })
  const ready = new Promise<'ready'>((settle) => worker.once('message', settle))
  const openTimer = openMs === undefined ? undefined : setTimeout(() => void worker.terminate(), openMs)
  const failure = await Promise.race([ready, ended])
  clearTimeout(openTimer)
  if (failure !== 'ready') {
    await worker.terminate()
    const kind = ahead ? 'managed' : 'embedded'
    const reason = `The ${kind} database in ${folder} could not be opened: ${failure.message}`
    throw new Error(reason, { cause: failure })
  }
  return {
    worker,
    ended,
    async stop() {
      worker.postMessage('close' satisfies ToEngine)
      const timer = setTimeout(() => void worker.terminate(), CLOSE_MS)
      await exited
      clearTimeout(timer)
    },
  }
}
