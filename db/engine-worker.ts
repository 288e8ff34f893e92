/** The thread of one database: PGlite runs synchronously, and a statement can only be ended with its thread. */
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'
import { keepCompiledCode } from './compile-cache.ts'

export type EngineSettings = {
  readonly folder: string
  /** 128 is the engine's own number, and it uses them up to the last byte as soon as it starts. */
  readonly buffersMb: number
  /** Managed databases only. One number: how many bytes of answers have not left the process yet. */
  readonly ahead: Int32Array<SharedArrayBuffer> | undefined
}
/** The first message to a thread that was started without settings. */
export type ToNewEngine = { readonly settings: EngineSettings }
export type ToEngine =
  | 'close'
  | { readonly statements: readonly Uint8Array[]; readonly copy?: readonly Uint8Array<ArrayBuffer>[] }
/** `done` when these bytes complete a statement. */
export type FromEngine = 'ready' | { readonly bytes: Uint8Array<ArrayBuffer>; readonly done: boolean }

/** Answers are posted whole up to this size: a message between threads costs more than copying 64 KiB. */
const POST_BYTES = 64 * 1024
/** The thread waits for a client that reads more slowly than it is answered, instead of filling the memory. */
const AHEAD_BYTES = 8 * 1024 * 1024

/** By then the questions of a start are answered. */
const COLLECT_MS = 1_000

if (!parentPort) throw new Error('This file is the thread of a database, not a program')
const port = parentPort

/**
 * V8 compiles a function of the engine once more, and better, after so much work of it; by default after a hundredth of that,
 * which costs a start 1.2 s of CPU, most of it for one function that takes 600 MB of memory meanwhile. Functions that a search
 * spends its time in come there with its first rows.
 */
const OPTIMIZE_AFTER = 1_000_000_000
setFlagsFromString(`--wasm-tiering-budget=${OPTIMIZE_AFTER}`)

keepCompiledCode()
// Loading begins before it is known what to open, see `loadEngineAhead`.
const { database, ahead } = await openDatabase(loadEngine())
let last: Promise<void> = Promise.resolve()
port.on('message', (message: ToEngine) => {
  last = last.then(() => (message === 'close' ? close() : answer(message)))
})
send('ready')
setTimeout(afterStart, COLLECT_MS).unref()

async function openDatabase(loading: Promise<LoadedEngine>) {
  const { folder, buffersMb, ahead } = (workerData as EngineSettings | null) ?? (await receiveSettings())
  const extensions = ahead ? { vector: (await import('@electric-sql/pglite-pgvector')).vector } : {}
  // Sorts and joins that spilled to disk when an engine was ended. A server clears them at its start, PGlite does not.
  await rm(join(folder, 'base', 'pgsql_tmp'), { recursive: true, force: true })
  const { PGlite, ...loaded } = await loading
  const database = await PGlite.create(folder, {
    ...loaded,
    extensions,
    startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${buffersMb}MB`],
  })
  return { database, ahead }
}

type LoadedEngine = Awaited<ReturnType<typeof loadEngine>>

/** Its program compiles while the rest of it is loaded. */
async function loadEngine() {
  const at = import.meta.resolve('@electric-sql/pglite')
  const [pgliteWasmModule, data, { PGlite }] = await Promise.all([
    readFile(new URL('./pglite.wasm', at)).then((wasm) => WebAssembly.compile(wasm)),
    readFile(new URL('./pglite.data', at)),
    import('@electric-sql/pglite'),
  ])
  return { PGlite, pgliteWasmModule, fsBundle: new Blob([data]) }
}

/** Not when the thread ends: many are killed. */
function afterStart(): void {
  flushCompileCache()
  collectDeadBuffers()
}

/**
 * What the engine was read from, some 20 MB outside of the heap: a thread that allocates next to nothing would hold it for as
 * long as it lives.
 */
function collectDeadBuffers(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}

async function receiveSettings(): Promise<EngineSettings> {
  const [{ settings }] = (await once(port, 'message')) as [ToNewEngine]
  return settings
}

async function answer({ statements, copy }: Exclude<ToEngine, 'close'>): Promise<void> {
  // What COPY ... FROM '/dev/blob' reads.
  if (copy) await database._handleBlob(new Blob([...copy]))
  try {
    for (const statement of statements) await run(statement)
  } finally {
    if (copy) await database._cleanupBlob()
  }
}

async function run(statement: Uint8Array): Promise<void> {
  let collected: Uint8Array[] = []
  let size = 0
  const post = (done: boolean) => {
    const bytes = new Uint8Array(Buffer.concat(collected))
    collected = []
    size = 0
    if (ahead) Atomics.add(ahead, 0, bytes.length)
    send({ bytes, done }, [bytes.buffer])
  }
  await database.execProtocolRawStream(statement, {
    onRawData(raw) {
      // A view of the engine's memory, which changes with its next step.
      collected.push(raw.slice())
      size += raw.length
      if (size < POST_BYTES) return
      post(false)
      if (ahead) waitForReader(ahead)
    },
  })
  post(true)
}

function waitForReader(ahead: Int32Array<SharedArrayBuffer>): void {
  for (let now = Atomics.load(ahead, 0); now > AHEAD_BYTES; now = Atomics.load(ahead, 0)) {
    Atomics.wait(ahead, 0, now)
  }
}

async function close(): Promise<void> {
  await database.close()
  port.close()
}

function send(message: FromEngine, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}
