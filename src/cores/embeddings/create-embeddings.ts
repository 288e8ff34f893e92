/** Texts to vectors, in the form that every OpenAI client speaks. */
import { ServiceError } from '../../contracts/errors.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember } from '../principal.ts'
import type { EmbeddingModels } from '../search/index.ts'
import { createTurns } from '../work/index.ts'
import type { EmbedTexts } from './embed-texts.ts'
import { takeTokens, type AllowanceDeps } from './embedding-allowance.ts'
import { requireBulkModel } from './require-bulk-model.ts'

export type EmbeddingDeps = AllowanceDeps & {
  readonly models: EmbeddingModels
  readonly embedTexts: EmbedTexts
}

/** Below every deadline: who sends too much at once is told, and the tokens that were not used are given back. */
const TIME_MS = 25_000

export const createEmbeddings = (deps: EmbeddingDeps): Handler<'createEmbeddings'> => {
  const calls = createTurns(FAIR_QUEUES.embeddingCalls)
  return async (principal, { model, input, encoding_format, dimensions }) => {
    const { orgId, userId, signal } = requireMember(principal)
    const own = requireBulkModel(deps.models, model)
    if (dimensions !== undefined && dimensions !== own) {
      throw new ServiceError('INVALID_REQUEST', undefined, {
        problems: [`dimensions: the vectors of this model have ${own}`],
      })
    }
    const texts = typeof input === 'string' ? [input] : input
    const { vectors, tokens } = await inTime(signal, (either) =>
      calls.take([orgId, userId], () => embedCounted(deps, { orgId, model, texts, signal: either }), {
        signal: either,
      }),
    )
    return {
      object: 'list',
      data: vectors.map((vector, index) => ({
        object: 'embedding' as const,
        index,
        embedding: encoding_format === 'base64' ? base64Of(vector) : Array.from(vector),
      })),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }
  }
}

type Work = {
  readonly orgId: string
  readonly model: string
  readonly texts: readonly string[]
  readonly signal: AbortSignal
}

/** Of what fails or is given up, that counts which was embedded until then: a provider is paid for it, too. */
async function embedCounted(deps: EmbeddingDeps, { orgId, model, texts, signal }: Work) {
  const counts = texts.map((text) => deps.models.tokensOf(model, text))
  const tokens = counts.reduce((sum, count) => sum + count, 0)
  const giveBack = await takeTokens(deps, orgId, tokens)
  let used = 0
  try {
    const vectors = await deps.embedTexts(orgId, model, texts, signal, (at) => (used += counts[at]!))
    return { vectors, tokens }
  } catch (error) {
    await giveBack(tokens - used)
    throw error
  }
}

async function inTime<T>(
  signal: AbortSignal | undefined,
  work: (either: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = AbortSignal.timeout(TIME_MS)
  try {
    return await work(signal ? AbortSignal.any([signal, late]) : late)
  } catch (error) {
    if (!late.aborted) throw error
    throw new ServiceError('TIMEOUT', 'Embedding these texts takes too long for one call', {
      hint: 'Send fewer texts at once.',
    })
  }
}

/** 32-bit floats in little-endian order, whatever this machine has. */
function base64Of(vector: ArrayLike<number>): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (let at = 0; at < vector.length; at++) bytes.writeFloatLE(vector[at]!, at * 4)
  return bytes.toString('base64')
}
