/** A worker thread of a local model: the engine is synchronous, 10 to 200 ms per text. */
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'
import { codeOf } from './code-of.ts'
import { createEngine } from './engine.ts'
import type { Weights } from './kernel.ts'
import type { ModelFolder } from './model-folder.ts'
import { createTokenizer, type TokenizerFile } from './tokenizer.ts'

export type Loaded = { readonly folder: ModelFolder; readonly weights: Weights }

export type ToModelThread = {
  /** Left out: the built-in model. */
  readonly folder?: ModelFolder | undefined
  /** Left out for the first thread, which loads it for all. */
  readonly loaded?: Loaded | undefined
  /** Its part of the shared memory. */
  readonly thread: number
}

/** A vector, or only a code: a message may repeat the question. */
export type FromModelThread = { readonly loaded: Loaded } | Float32Array | { readonly failed: string }

if (!parentPort) throw new Error('This file is the thread of an embedding model, not a program')
const port = parentPort
const { folder: given, loaded: shared, thread } = workerData as ToModelThread

const loaded = shared ?? (await load())
const embed = createEmbed(loaded)
collectGarbage()
port.postMessage({ loaded } satisfies FromModelThread)
port.on('message', (text: string) => port.postMessage(answer(text)))

/** What only the first thread needs is loaded by it alone. */
async function load(): Promise<Loaded> {
  const [{ builtInFolder, readTokenizer }, { loadWeights }] = await Promise.all([
    import('./model-folder.ts'),
    import('./weights.ts'),
  ])
  // Soon: a database that runs in this process asks for a hundred times as much work before V8 compiles a function well.
  setFlagsFromString('--wasm-tiering-budget=13000000')
  const folder = given ?? builtInFolder()
  readTokenizer(folder)
  return { folder, weights: loadWeights(folder) }
}

function createEmbed({ folder, weights }: Loaded): (text: string) => Float32Array {
  // The first thread has checked it.
  const file = JSON.parse(readFileSync(folder.tokenizerPath, 'utf8')) as TokenizerFile
  const tokenize = createTokenizer(file, folder.tokensMax)
  const engine = createEngine(folder, weights, thread)
  return (text) => engine(tokenize(text))
}

function answer(text: string): FromModelThread {
  try {
    return embed(text)
  } catch (error) {
    return { failed: codeOf(error) }
  }
}

/** Loading leaves 10 MB behind, and this thread allocates so little afterwards that it would hold them for as long as it lives. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}
