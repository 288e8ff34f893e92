/** Embeds the next rows and puts them into the table, both or neither. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { StoredPlan } from '../../../db/schema.ts'
import type { Queries } from '../databases/index.ts'
import { takeTokens } from '../embeddings/index.ts'
import { vectorLiteral } from '../search/index.ts'
import { embeddedText, insertInto, keyOf } from './compare-rows.ts'
import type { LoadRow } from './load-rows.ts'
import { idColumn, isEmbedded } from './search-entry.ts'
import { rowsTable, stagedTable } from './staging.ts'
import { LoadFailed, type Step, type StepContext } from './step.ts'
import { changesTable } from './target-table.ts'

/** The longest take 13 s. */
export const BATCH = 32

export const embedStep: Step = async ({ deps, queries, plan, signal }, load) => {
  const { embedded } = load
  if (embedded >= load.rows) return { phase: 'indexing' }
  if (!isEmbedded(plan)) return storeRows(queries, plan, load)
  const found = await queries.query<{ n: string; text: string }>(
    `select r.n::text as n, ${embeddedText(plan)} as text from ${rowsTable(load.id)} r where r.n > $1::bigint
      ${changesTable(plan) ? `and not exists (select from ${stagedTable(load.id)} s where s.${quoteIdentifier(idColumn(plan))} = ${keyOf(plan)})` : ''}
      order by r.n limit ${BATCH}`,
    [String(embedded)],
  )
  // The others have the vectors that the table had; whether all are there is counted afterwards.
  if (found.length === 0 && changesTable(plan)) return { embedded: load.rows }
  if (found.length === 0) throw new LoadFailed('staging_lost')
  const vectors = await embedFirst(
    { deps, plan, signal },
    load,
    found.map(({ text }) => text),
  )
  const rows = vectors.map((vector, at) => [found[at]!.n, vector])
  await queries.query(insertRows(load, plan), [JSON.stringify(rows)])
  return { embedded: Number(found[vectors.length - 1]!.n) }
}

const ROWS_AT_ONCE = 2_000

/** Without vectors there is nothing to wait for. */
async function storeRows(queries: Queries, plan: StoredPlan, load: LoadRow): Promise<Partial<LoadRow>> {
  const last = Math.min(load.embedded + ROWS_AT_ONCE, load.rows)
  await queries.query(
    `${insertInto(load, plan)} from ${rowsTable(load.id)} r where r.n > $1::bigint and r.n <= $2::bigint
      on conflict (${quoteIdentifier(idColumn(plan))}) do nothing`,
    [String(load.embedded), String(last)],
  )
  return { embedded: last }
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

const insertRows = (load: LoadRow, plan: StoredPlan): string =>
  `${insertInto(load, plan)}, (e ->> 1)::vector
    from jsonb_array_elements($1::text::jsonb) e join ${rowsTable(load.id)} r on r.n = (e ->> 0)::bigint
    on conflict (${quoteIdentifier(idColumn(plan))}) do nothing`
