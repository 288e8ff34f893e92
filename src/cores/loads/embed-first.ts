/** Vectors of some texts, paid for by their organization. */
import { takeTokens } from '../embeddings/index.ts'
import { vectorLiteral } from '../search/index.ts'
import type { LoadRow } from './load-rows.ts'
import type { StepContext } from './step.ts'

/** The longest take 13 s. */
export const BATCH = 32

/** Of the texts, in their order: as many as a day's tokens are enough for, since more would wait for ever. */
export async function embedFirst(
  { deps, plan, signal }: Pick<StepContext, 'deps' | 'plan' | 'signal'>,
  load: LoadRow,
  texts: readonly string[],
): Promise<string[]> {
  const sizes = texts.map((text) => deps.models.tokensOf(plan.model, text))
  let [count, tokens] = [1, sizes[0]!]
  while (count < sizes.length && tokens + sizes[count]! <= deps.embeddingTokensPerDay)
    tokens += sizes[count++]!
  const giveBack = await takeTokens(deps, load.orgId, tokens)
  let used = 0
  const vectors = await deps
    .embedTexts(load.orgId, plan.model, texts.slice(0, count), signal, (at) => (used += sizes[at]!))
    .catch(async (error: unknown) => {
      // What was embedded until then has cost something.
      await giveBack(tokens - used)
      throw error
    })
  return vectors.map(vectorLiteral)
}
