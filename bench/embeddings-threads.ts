/** Threads of one engine that have each embedded the longest text, for `embeddings` to look at the memory. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { startModelThread } from '../src/adapters/embeddings/local-model.ts'
import type { FromModelThread, Loaded, ToModelThread } from '../src/adapters/embeddings/model-worker.ts'
import { file } from './programs.ts'

const TEXT = 'word '.repeat(254)

if (isMainThread) {
  const [engine, threads] = process.argv.slice(2)
  let loaded: Loaded | undefined
  for (let thread = 0; thread < Number(threads); thread += 1) {
    if (engine === 'own') loaded = await startOwn({ thread, loaded })
    else await nextMessage(new Worker(new URL(import.meta.url), { workerData: engine }))
  }
  console.log('ready')
} else if (workerData === 'theirs') {
  const { createEmbedder } = (await import(file('embeddings-engine.mjs'))) as {
    createEmbedder: () => (text: string) => number[]
  }
  const embed = createEmbedder()
  embed(TEXT)
  parentPort!.postMessage('ready')
  parentPort!.on('message', embed)
}

function nextMessage<T>(thread: Worker): Promise<T> {
  return new Promise((resolve, reject) => thread.once('message', resolve).once('error', reject))
}

async function startOwn(data: ToModelThread): Promise<Loaded> {
  const thread = startModelThread(data)
  const message = await nextMessage<FromModelThread>(thread)
  if (!('loaded' in message)) throw new Error('It has not loaded')
  thread.postMessage(TEXT)
  await nextMessage(thread)
  return message.loaded
}
