/** The program that `questions` asks: the whole product with one small table, whose model is the built-in one or the one before it. */
import { availableParallelism } from 'node:os'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { createEmbeddingModels } from '../src/adapters/embeddings/index.ts'
import { listen } from '../src/boot/listener.ts'
import type { EmbeddingModels } from '../src/cores/search/index.ts'
import { file } from './programs.ts'
import { knownVectors, makeNotes, startSourceSystem } from './source-system.ts'
import { questionVectors } from './table-of-100k.ts'

const MODEL = 'minilm-l6-v2'
const DIMENSIONS = 384
const ROWS = 2_000

if (isMainThread) await serve()
else await embedForOthers()

async function serve(): Promise<void> {
  const [folder, port, engine] = process.argv.slice(2) as [string, string, 'own' | 'theirs']
  const models = engine === 'own' ? createEmbeddingModels(new Map()) : theirs()
  const ours = await startSourceSystem({ SVC_DATA_DIR: folder, PORT: port }, models)
  await makeNotes(ours, { model: MODEL, vectors: questionVectors(ROWS) }, {})
  const listening = await listen(ours.system)
  console.log(`token ${ours.token}\nready`)
  process.once('SIGTERM', () => {
    void (async () => {
      await listening.stop()
      await ours.stop()
      await models.close()
      process.exit(0)
    })()
  })
}

/** As many threads as the product takes by itself, each question to the one that has fewest. */
function theirs(): EmbeddingModels {
  const threads = Array.from({ length: Math.min(Math.max(availableParallelism() - 1, 1), 4) }, () => {
    const worker = new Worker(new URL(import.meta.url))
    const waiting: ((vector: Float32Array) => void)[] = []
    worker.on('message', (vector: Float32Array) => waiting.shift()!(vector))
    return { worker, waiting }
  })
  return {
    ...knownVectors(MODEL, DIMENSIONS, () => undefined),
    embed: (_owner, _name, question) =>
      new Promise((resolve) => {
        const thread = threads.toSorted((a, b) => a.waiting.length - b.waiting.length)[0]!
        thread.waiting.push(resolve)
        thread.worker.postMessage(question)
      }),
    close: async () => void (await Promise.all(threads.map(({ worker }) => worker.terminate()))),
  }
}

async function embedForOthers(): Promise<void> {
  const { createEmbedder } = (await import(file('embeddings-engine.mjs'))) as {
    createEmbedder: () => (text: string) => ArrayLike<number>
  }
  const embed = createEmbedder()
  parentPort!.on('message', (text: string) => parentPort!.postMessage(Float32Array.from(embed(text))))
}
