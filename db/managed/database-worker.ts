/** The thread of one managed database: PGlite runs synchronously, and a statement can only be ended with its thread. */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'

export type DatabaseWorkerSettings = {
  readonly folder: string
  /** One number: how many bytes of answers have not left the process yet. */
  readonly ahead: Int32Array<SharedArrayBuffer>
}
export type ToDatabaseWorker =
  | 'close'
  | { readonly bytes: Uint8Array; readonly copy?: readonly Uint8Array<ArrayBuffer>[] }
export type FromDatabaseWorker = 'ready' | { readonly bytes: Uint8Array<ArrayBuffer>; readonly done: boolean }

/** Answers are posted whole up to this size: a message between threads costs more than copying 64 KiB. */
const POST_BYTES = 64 * 1024
/** The thread waits for a client that reads more slowly than it is answered, instead of filling the memory. */
const AHEAD_BYTES = 8 * 1024 * 1024

if (!parentPort) throw new Error('This file is the thread of a managed database, not a program')
const port = parentPort
const { folder, ahead } = workerData as DatabaseWorkerSettings

const database = await PGlite.create(folder, { extensions: { vector } })
let last: Promise<void> = Promise.resolve()
port.on('message', (message: ToDatabaseWorker) => {
  last = last.then(() => (message === 'close' ? close() : answer(message)))
})
say('ready')

async function answer({ bytes, copy }: Exclude<ToDatabaseWorker, 'close'>): Promise<void> {
  let collected: Uint8Array[] = []
  let size = 0
  const post = (done: boolean) => {
    const piece = new Uint8Array(Buffer.concat(collected))
    collected = []
    size = 0
    Atomics.add(ahead, 0, piece.length)
    say({ bytes: piece, done }, [piece.buffer])
  }
  // What COPY ... FROM '/dev/blob' reads.
  if (copy) await database._handleBlob(new Blob([...copy]))
  try {
    await database.execProtocolRawStream(bytes, {
      onRawData(raw) {
        // The bytes are a window into the engine's memory and change with its next step.
        collected.push(raw.slice())
        size += raw.length
        if (size < POST_BYTES) return
        post(false)
        waitForReader()
      },
    })
  } finally {
    if (copy) await database._cleanupBlob()
  }
  post(true)
}

function waitForReader(): void {
  for (let now = Atomics.load(ahead, 0); now > AHEAD_BYTES; now = Atomics.load(ahead, 0)) {
    Atomics.wait(ahead, 0, now)
  }
}

async function close(): Promise<void> {
  await database.close()
  port.close()
}

function say(message: FromDatabaseWorker, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}
