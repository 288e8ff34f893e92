/** All embedding models of this installation: the built-in one, that of EMBEDDING_MODEL_DIR, those of EMBEDDING_MODELS, and one cache over them. */
import { createHmac, randomBytes } from 'node:crypto'
import type { EmbeddingSettings } from '../../contracts/embedding-settings.ts'
import type { EmbeddingModels, EmbedOptions } from '../../cores/search/embedding-models.ts'
import { cutText } from './cut-text.ts'
import { localModel, type LocalOptions } from './local-model.ts'
import type { ModelFolder } from './model-folder.ts'
import { openAiCompatibleModel, type RemoteDeps } from './openai-compatible.ts'
import { unavailable } from './unavailable.ts'

type Model = {
  readonly dimensions: number
  readonly takesBulk: boolean
  /** Text in bulk is sent in another form than a question, so its vector is another one. */
  readonly tellsBulk: boolean
  tokensOf(text: string): number
  embed(owner: string, text: string, options: EmbedOptions): Promise<Float32Array>
}

/** The first and the last of every text. */
const OWN_TOKENS = 2
/** Of English; what a provider counts is known only afterward. */
const BYTES_PER_TOKEN = 4

type Options = RemoteDeps & LocalOptions & { readonly folder?: ModelFolder | undefined }

export type ObservedModels = EmbeddingModels & {
  /** A sentence for each model that does not work now. */
  warnings(): readonly string[]
}

export function createEmbeddingModels(settings: EmbeddingSettings, options: Options = {}): ObservedModels {
  const { folder } = options
  const local = [localModel(undefined, options), ...(folder ? [localModel(folder, options)] : [])]
  const models = new Map<string, Model>(
    local.map((model, at) => [model.name, asModel(model, at === 0 ? undefined : folder)]),
  )
  const problems = local.map(({ name, problem }) => ({ name, problem }))
  for (const [name, remote] of settings) {
    const { dimensions, embed, problem } = openAiCompatibleModel(name, remote, options)
    problems.push({ name, problem })
    models.set(name, {
      dimensions,
      takesBulk: remote.bulk ?? false,
      tellsBulk: true,
      tokensOf: (text) => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN),
      embed: (_, text, options) => embed(text, options),
    })
  }
  const cache = vectorCache()

  return {
    names: [...models.keys()],
    dimensionsOf: (name) => models.get(name)?.dimensions,
    takesBulk: (name) => models.get(name)?.takesBulk ?? false,
    tokensOf: (name, text) => models.get(name)?.tokensOf(text) ?? 0,
    async embed(owner, name, text, options = {}) {
      const model = models.get(name)
      // A data source may use a model that was removed from the settings.
      if (!model) throw unavailable('an embedding model that is not in EMBEDDING_MODELS', 'operator')
      return cache.vectorOf(
        [owner, name, text, ...(model.tellsBulk && options.kind === 'bulk' ? ['bulk'] : [])],
        (signal) => model.embed(owner, text, { ...options, signal }),
        options,
      )
    },
    warnings: () =>
      problems.flatMap(({ name, problem }) => {
        const reason = problem()
        return reason === undefined ? [] : [`the embedding model ${name} cannot be used: ${reason}`]
      }),
    async close() {
      await Promise.all(local.map((model) => model.close()))
    },
  }
}

const asModel = (model: ReturnType<typeof localModel>, folder: ModelFolder | undefined): Model => ({
  ...model,
  takesBulk: true,
  tellsBulk: folder !== undefined && folder.prefixes.question !== folder.prefixes.bulk,
  tokensOf: (text) => cutText(text, folder?.tokensMax).tokens + OWN_TOKENS,
})

type Embed = (signal: AbortSignal) => Promise<Float32Array>

type VectorCache = {
  /**
   * From the cache, or from `embed`, which concurrent identical texts of one kind share and which is aborted when all of
   * them are given up. Failures are not cached.
   */
  vectorOf(key: readonly string[], embed: Embed, options?: EmbedOptions): Promise<Float32Array>
}

type Shared = { readonly vector: Promise<Float32Array>; readonly ending: AbortController; waiting: number }

/** 1000 questions of 1536 dimensions are 6 MiB; the second limit is for longer vectors. */
const LIMITS = { entriesMax: 1000, bytesMax: 16 * 1024 * 1024 }

/** Vectors of recent questions. It holds vectors and digests, never a question. */
export function vectorCache({ entriesMax, bytesMax } = LIMITS): VectorCache {
  // Keyed, so that the questions cannot be guessed from a memory dump.
  const key = randomBytes(32)
  /** A map keeps insertion order: the first entry is the least recently used. */
  const cached = new Map<string, Float32Array>()
  const underWay = new Map<string, Shared>()
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

  async function ask(digest: string, embed: Embed, signal: AbortSignal): Promise<Float32Array> {
    const vector = await embed(signal)
    put(digest, vector)
    return vector
  }

  function share(key: string, digest: string, embed: Embed): Shared {
    const known = underWay.get(key)
    if (known) return known
    const ending = new AbortController()
    const shared = { vector: ask(digest, embed, ending.signal), ending, waiting: 0 }
    underWay.set(key, shared)
    return shared
  }

  /** After the last one it is over or of no use: whoever comes now begins anew. */
  function leave(key: string, shared: Shared): void {
    shared.waiting -= 1
    if (shared.waiting > 0) return
    underWay.delete(key)
    shared.ending.abort()
  }

  return {
    async vectorOf(parts, embed, { kind = 'question', signal } = {}) {
      signal?.throwIfAborted()
      // As JSON, which tells ("a", "bc") from ("ab", "c") and also encodes lone surrogates.
      const digest = createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64')
      const known = cached.get(digest)
      if (known) {
        put(digest, known)
        return known.slice()
      }
      const shareKey = `${kind} ${digest}`
      const shared = share(shareKey, digest, embed)
      shared.waiting += 1
      try {
        // A copy, because callers may modify it.
        return (await unlessAborted(shared.vector, signal)).slice()
      } finally {
        leave(shareKey, shared)
      }
    },
  }
}

function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  return Promise.race([work, aborted.promise]).finally(() => signal.removeEventListener('abort', abort))
}
