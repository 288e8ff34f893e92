/** A worker thread of a local model: the engine is synchronous, 10 to 200 ms per text. */
import { setFlagsFromString } from 'node:v8'
import { parentPort, workerData } from 'node:worker_threads'
import { createEngine } from './engine.ts'
import { builtInFolder, readTokenizer, type ModelFolder } from './model-folder.ts'
import { createTokenizer } from './tokenizer.ts'
import { codeOf } from './unavailable.ts'
import { loadWeights, type Weights } from './weights.ts'

export type ToModelThread = {
  /** Left out: the built-in model. */
  readonly folder?: ModelFolder | undefined
  /** Left out for the first thread, which loads them for all. */
  readonly weights?: Weights | undefined
  /** Its part of the shared memory. */
  readonly thread: number
}

/** A vector, or only a code: a message may repeat the question. */
export type FromModelThread = { readonly loaded: Weights } | Float32Array | { readonly failed: string }

if (!parentPort) throw new Error('This file is the thread of an embedding model, not a program')
const port = parentPort
const { folder: given, weights: shared, thread } = workerData as ToModelThread

// Soon: a database that runs in this process asks for a hundred times as much work before V8 compiles a function well.
setFlagsFromString('--wasm-tiering-budget=13000000')
const folder = given ?? builtInFolder()
const tokenize = createTokenizer(readTokenizer(folder), folder.tokensMax)
const weights = shared ?? loadWeights(folder)
const engine = createEngine(folder, weights, thread)
port.postMessage({ loaded: weights } satisfies FromModelThread)
port.on('message', (text: string) => port.postMessage(answer(text)))

function answer(text: string): FromModelThread {
  try {
    return engine(tokenize(text))
  } catch (error) {
    return { failed: codeOf(error) }
  }
}
