/** The embedded database's own thread: PGlite runs synchronously and would stop the HTTP server while it works. */
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { cutIntoStatements } from './cut-into-statements.ts'

export type WorkerSettings = { readonly folder: string }

/** What the thread says. `ends` tells what was finished with these bytes, so that the other side can keep time. */
export type FromWorker =
  | 'ready'
  | { readonly bytes: Uint8Array; readonly ends: 'nothing' | 'statement' | 'write' }
export type ToWorker = 'close' | Uint8Array<ArrayBuffer>

/** Answers are posted whole up to this size: a message between threads costs more than copying 64 KiB. */
const POST_BYTES = 64 * 1024

if (!parentPort) throw new Error('This file is the thread of the embedded database, not a program')
const port = parentPort
const { folder } = workerData as WorkerSettings

const database = await PGlite.create(folder)
let last: Promise<void> = Promise.resolve()
port.on('message', (message: ToWorker) => {
  last = last.then(() => (message === 'close' ? close() : answer(message)))
})
say('ready')

async function answer(write: Uint8Array): Promise<void> {
  const statements = cutIntoStatements(write)
  for (const [index, statement] of statements.entries()) {
    let collected: Uint8Array[] = []
    let size = 0
    const post = (ends: 'nothing' | 'statement' | 'write') => {
      const bytes = new Uint8Array(Buffer.concat(collected))
      collected = []
      size = 0
      say({ bytes, ends }, [bytes.buffer])
    }
    await database.execProtocolRawStream(statement, {
      onRawData(bytes) {
        // The bytes are a window into the engine's memory and change with its next step.
        collected.push(bytes.slice())
        size += bytes.length
        if (size >= POST_BYTES) post('nothing')
      },
    })
    post(index === statements.length - 1 ? 'write' : 'statement')
  }
}

async function close(): Promise<void> {
  await database.close()
  port.close()
}

function say(message: FromWorker, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}
