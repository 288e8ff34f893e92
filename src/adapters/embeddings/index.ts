/** All embedding models of this installation: the built-in one, those of EMBEDDING_MODELS, and one cache over them. */
import { createHmac, randomBytes } from 'node:crypto'
import { BUILT_IN_MODEL, type EmbeddingSettings } from '../../contracts/embedding-settings.ts'
import type { EmbeddingModels } from '../../cores/search/embedding-models.ts'
import { builtInModel, type BuiltInOptions } from './built-in.ts'
import { openAiCompatibleModel, type RemoteDeps } from './openai-compatible.ts'
import { unavailable } from './unavailable.ts'

type Model = { readonly dimensions: number; embed(question: string): Promise<Float32Array> }

export function createEmbeddingModels(
  settings: EmbeddingSettings,
  overrides: RemoteDeps & BuiltInOptions = {},
): EmbeddingModels {
  const builtIn = builtInModel(overrides)
  const models = new Map<string, Model>([[BUILT_IN_MODEL.name, builtIn]])
  for (const [name, remote] of settings) models.set(name, openAiCompatibleModel(name, remote, overrides))
  const cache = vectorCache()

  return {
    names: [...models.keys()],
    dimensionsOf: (name) => models.get(name)?.dimensions,
    async embed(owner, name, question) {
      const model = models.get(name)
      // A data source may use a model that was removed from the settings.
      if (!model) throw unavailable('an embedding model that is not in EMBEDDING_MODELS', 'operator')
      return cache.vectorOf([owner, name, question], () => model.embed(question))
    },
    close: () => builtIn.close(),
  }
}

type VectorCache = {
  /** From the cache, or from `embed`, which concurrent identical questions share. Failures are not cached. */
  vectorOf(key: readonly string[], embed: () => Promise<Float32Array>): Promise<Float32Array>
}

/** 1000 questions of 1536 dimensions are 6 MiB; the second limit is for longer vectors. */
const LIMITS = { entriesMax: 1000, bytesMax: 16 * 1024 * 1024 }

/** Vectors of recent questions. It holds vectors and digests, never a question. */
export function vectorCache({ entriesMax, bytesMax } = LIMITS): VectorCache {
  // Keyed, so that the questions cannot be guessed from a memory dump.
  const key = randomBytes(32)
  /** A map keeps insertion order: the first entry is the least recently used. */
  const cached = new Map<string, Float32Array>()
  const underWay = new Map<string, Promise<Float32Array>>()
  let bytes = 0

  function evict(digest: string): void {
    bytes -= cached.get(digest)?.byteLength ?? 0
    cached.delete(digest)
  }

  function put(digest: string, vector: Float32Array): void {
    evict(digest)
    cached.set(digest, vector)
    bytes += vector.byteLength
    for (const oldest of cached.keys()) {
      if (cached.size <= entriesMax && bytes <= bytesMax) break
      evict(oldest)
    }
  }

  async function ask(digest: string, embed: () => Promise<Float32Array>): Promise<Float32Array> {
    try {
      // A synchronous throw would be cleaned up below before it is registered as under way.
      const vector = await (async () => embed())()
      put(digest, vector)
      return vector
    } finally {
      underWay.delete(digest)
    }
  }

  return {
    async vectorOf(parts, embed) {
      // As JSON, which tells ("a", "bc") from ("ab", "c") and also encodes lone surrogates.
      const digest = createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64')
      const known = cached.get(digest)
      if (known) put(digest, known)
      let vector: Float32Array | Promise<Float32Array> | undefined = known ?? underWay.get(digest)
      if (!vector) {
        vector = ask(digest, embed)
        underWay.set(digest, vector)
      }
      // A copy, because callers may modify it.
      return (await vector).slice()
    },
  }
}
