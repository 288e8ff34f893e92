/**
 * Texts in bulk. They wait for the model behind all questions, and organizations take turns at it; of one organization a few
 * are under way at a time in each process, so that a provider is not flooded and the next call of the same organization
 * finds room in the queue.
 */
import type { EmbeddingModels } from '../search/index.ts'
import { createTurns } from '../turns.ts'

export type EmbedTexts = (
  orgId: string,
  model: string,
  texts: readonly string[],
  signal?: AbortSignal,
) => Promise<readonly (readonly number[] | Float32Array)[]>

/** A batch of the built-in model has eight. */
const UNDER_WAY = { total: 64, perOrganization: 16 }

export function createTextEmbedding(models: Pick<EmbeddingModels, 'embed'>): EmbedTexts {
  const turns = createTurns(UNDER_WAY)
  return async (orgId, model, texts, signal) => {
    // After the first that fails the others are of no use.
    const failed = new AbortController()
    const either = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal
    const embedded = texts.map((text) =>
      turns.take(orgId, () => models.embed(orgId, model, text, { kind: 'bulk', signal: either }), either),
    )
    try {
      return await Promise.all(embedded)
    } catch (error) {
      failed.abort(error)
      await Promise.allSettled(embedded)
      throw error
    }
  }
}
