/** All embedding models of this installation: the built-in one, those of EMBEDDING_MODELS, and one cache over them. */
import { BUILT_IN_MODEL, type EmbeddingSettings } from '../../contracts/embedding-settings.ts'
import type { EmbeddingModels } from '../../cores/search/embedding-models.ts'
import { builtInModel, type BuiltInOptions } from './built-in.ts'
import { vectorCache } from './cache.ts'
import { openAiCompatibleModel, type RemoteNeeds } from './openai-compatible.ts'
import { unavailable } from './unavailable.ts'

type Model = { readonly dimensions: number; embed(question: string): Promise<Float32Array> }

export function createEmbeddingModels(
  settings: EmbeddingSettings,
  overrides: RemoteNeeds & BuiltInOptions = {},
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
      // A data source may have been configured when the installation still had it.
      if (!model) throw unavailable('an embedding model that is not in EMBEDDING_MODELS', 'operator')
      return cache.vectorOf([owner, name, question], () => model.embed(question))
    },
    close: () => builtIn.close(),
  }
}
