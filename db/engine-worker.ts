/** The thread of one database: PGlite runs synchronously, and a statement can only be ended with its thread. */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'

export type EngineSettings = {
  readonly folder: string
  /** Managed databases only. One number: how many bytes of answers have not left the process yet. */
  readonly ahead: Int32Array<SharedArrayBuffer> | undefined
}
export type ToEngine =
  | 'close'
  | { readonly statements: readonly Uint8Array[]; readonly copy?: readonly Uint8Array<ArrayBuffer>[] }
/** `done` when these bytes complete a statement. */
export type FromEngine = 'ready' | { readonly bytes: Uint8Array<ArrayBuffer>; readonly done: boolean }

/** Answers are posted whole up to this size: a message between threads costs more than copying 64 KiB. */
const POST_BYTES = 64 * 1024
/** The thread waits for a client that reads more slowly than it is answered, instead of filling the memory. */
const AHEAD_BYTES = 8 * 1024 * 1024

if (!parentPort) throw new Error('This file is the thread of a database, not a program')
const port = parentPort
const { folder, ahead } = workerData as EngineSettings

/**
 * PGlite reserves 128 MB of buffers and touches all of it over time. The control database is small, and the file system
 * it reads from lies in memory anyway; managed ones keep the default, because theirs hold vector indexes.
 */
const CONTROL_BUFFERS = ['-c', 'shared_buffers=16MB']

const database = await PGlite.create(
  folder,
  ahead ? { extensions: { vector } } : { startParams: [...PGlite.defaultStartParams, ...CONTROL_BUFFERS] },
)
let last: Promise<void> = Promise.resolve()
port.on('message', (message: ToEngine) => {
  last = last.then(() => (message === 'close' ? close() : answer(message)))
})
send('ready')

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
