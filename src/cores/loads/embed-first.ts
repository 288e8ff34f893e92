/** Embeds what is staged, paid for by its organization. */
import { takeTokens } from '../embeddings/index.ts'
import { vectorLiteral } from '../search/index.ts'
import type { LoadRow } from './load-rows.ts'
import type { StepContext } from './step.ts'

/** The longest take 13 s. */
export const BATCH = 32

type StagedText = { readonly sha256: string; readonly text: string }

/** Wherever the same text is staged. How many of them, the first ones. */
export async function embedStaged(
  context: StepContext,
  load: LoadRow,
  table: string,
  found: readonly StagedText[],
): Promise<number> {
  const vectors = await embedFirst(
    context,
    load,
    found.map(({ text }) => text),
  )
  await context.queries.query(
    `update ${table} s set embedding = (e ->> 1)::vector
      from jsonb_array_elements($1::text::jsonb) e where s.text_sha256 = e ->> 0 and s.embedding is null`,
    [JSON.stringify(vectors.map((vector, at) => [found[at]!.sha256, vector]))],
  )
  return vectors.length
}

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
