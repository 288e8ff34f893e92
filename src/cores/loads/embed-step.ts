/** Embeds the next rows and puts them into the table, both or neither. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { StoredPlan } from '../../../db/schema.ts'
import type { Queries } from '../databases/index.ts'
import { embeddedText, insertInto, keyOf } from './compare-rows.ts'
import { BATCH, embedFirst } from './embed-first.ts'
import type { LoadRow } from './load-rows.ts'
import { rowPassagesStep } from './row-passages-step.ts'
import { idColumn, isEmbedded } from './search-entry.ts'
import { rowsTable, stagedTable } from './staging.ts'
import { LoadFailed, type Step } from './step.ts'
import { changesTable } from './target-table.ts'

export const embedStep: Step = async (context, load) => {
  const { deps, queries, plan, signal } = context
  const { embedded } = load
  if (embedded >= load.rows) return plan.passages ? rowPassagesStep(context, load) : { phase: 'indexing' }
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

const insertRows = (load: LoadRow, plan: StoredPlan): string =>
  `${insertInto(load, plan)}, (e ->> 1)::vector
    from jsonb_array_elements($1::text::jsonb) e join ${rowsTable(load.id)} r on r.n = (e ->> 0)::bigint
    on conflict (${quoteIdentifier(idColumn(plan))}) do nothing`
