/**
 * Texts in bulk. They wait for the model behind all questions. Organizations take turns at each model, a few texts a turn,
 * so that a provider is not flooded, one that hangs delays nobody at another, and no call of many texts holds up a short one.
 */
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import type { EmbeddingModels } from '../search/index.ts'
import { createTurns, type Turns } from '../work/index.ts'

type Vector = readonly number[] | Float32Array

/** `onUsed` is told the place of every text that was embedded, or was under way when `signal` gave up: it has cost something. */
export type EmbedTexts = (
  orgId: string,
  model: string,
  texts: readonly string[],
  signal?: AbortSignal,
  onUsed?: (at: number) => void,
) => Promise<readonly Vector[]>

/** Of one turn: a batch of the built-in model. */
const TURN_TEXTS = 8

export function createTextEmbedding(models: Pick<EmbeddingModels, 'embed'>): EmbedTexts {
  const turnsAt = new Map<string, Turns>()

  function turnsOf(model: string): Turns {
    const turns = turnsAt.get(model) ?? createTurns(FAIR_QUEUES.embeddingBatches)
    turnsAt.set(model, turns)
    return turns
  }

  return async (orgId, model, texts, signal, onUsed) => {
    // After the first that fails the others are of no use.
    const failed = new AbortController()
    const either = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal
    const vectors: Vector[] = []

    async function embed(at: number): Promise<void> {
      try {
        vectors[at] = await models.embed(orgId, model, texts[at]!, { kind: 'bulk', signal: either })
      } catch (error) {
        if (signal?.aborted) onUsed?.(at)
        throw error
      }
      onUsed?.(at)
    }

    /** One turn after another, so that a call waits in no more places than it may have turns. */
    async function takeTurns(starts: Iterable<number>): Promise<void> {
      for (const start of starts) {
        const places = texts.slice(start, start + TURN_TEXTS).map((_, at) => start + at)
        await turnsOf(model).take([orgId], () => settleAll(places.map(embed), failed), { signal: either })
      }
    }

    const starts = startsOf(texts).values()
    await settleAll(
      Array.from({ length: FAIR_QUEUES.embeddingBatches.running.organization }, () => takeTurns(starts)),
      failed,
    )
    return vectors
  }
}

const startsOf = (texts: readonly string[]): number[] =>
  texts.flatMap((_, at) => (at % TURN_TEXTS === 0 ? [at] : []))

/** The first failure of the whole call stops the others, and is thrown when none is under way any more. */
async function settleAll(work: readonly Promise<void>[], failed: AbortController): Promise<void> {
  try {
    await Promise.all(work)
  } catch (error) {
    failed.abort(error)
    await Promise.allSettled(work)
    throw failed.signal.reason
  }
}
