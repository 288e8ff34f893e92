/** The thread of one database: PGlite runs synchronously, and a statement can only be ended with its thread. */
import { once } from 'node:events'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'

export type EngineSettings = {
  readonly folder: string
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
 * The engine uses its buffers up to the last byte as soon as it starts; 128 MB is its default. Our own database does with few,
 * because the file system that it reads from lies in memory anyway. Managed ones may hold vector indexes and get as many as
 * they have files, and as much again to grow into before they are opened the next time.
 */
const BUFFERS_MB = { fewest: 16, most: 128 }

/**
 * V8 compiles a function of the engine once more, and better, after so much work of it; by default after a hundredth of that,
 * which costs a start 1.2 s of CPU, most of it for one function that takes 600 MB of memory meanwhile. Functions that a search
 * spends its time in come there with its first rows.
 */
const OPTIMIZE_AFTER = 1_000_000_000
setFlagsFromString(`--wasm-tiering-budget=${OPTIMIZE_AFTER}`)

// Loading begins before it is known what to open, see `loadEngineAhead`.
const { database, ahead } = await openDatabase(loadEngine())
let last: Promise<void> = Promise.resolve()
port.on('message', (message: ToEngine) => {
  last = last.then(() => (message === 'close' ? close() : answer(message)))
})
send('ready')
setTimeout(collectDeadBuffers, COLLECT_MS).unref()

async function openDatabase(loading: Promise<LoadedEngine>) {
  const { folder, ahead } = (workerData as EngineSettings | null) ?? (await receiveSettings())
  const buffersMb = ahead ? await buffersFor(folder) : BUFFERS_MB.fewest
  const database = await PGlite.create(folder, {
    ...(await loading),
    ...(ahead && { extensions: { vector } }),
    startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${buffersMb}MB`],
  })
  return { database, ahead }
}

async function buffersFor(folder: string): Promise<number> {
  const files = await readdir(join(folder, 'base'), { recursive: true }).catch(() => [])
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(folder, 'base', file))).size))
  const megabytes = sizes.reduce((sum, size) => sum + size, 0) / 2 ** 20
  return Math.min(BUFFERS_MB.most, Math.max(BUFFERS_MB.fewest, Math.ceil(2 * megabytes)))
}

type LoadedEngine = { readonly pgliteWasmModule: WebAssembly.Module; readonly fsBundle: Blob }

async function loadEngine(): Promise<LoadedEngine> {
  const at = import.meta.resolve('@electric-sql/pglite')
  const [wasm, data] = await Promise.all([
    readFile(new URL('./pglite.wasm', at)),
    readFile(new URL('./pglite.data', at)),
  ])
  return { pgliteWasmModule: await WebAssembly.compile(wasm), fsBundle: new Blob([data]) }
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
