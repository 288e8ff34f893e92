/** The indexes of the table. Where rows are appended, the table has its own. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import { INDEXED_DIMENSIONS_MAX, indexPassages } from './row-passages.ts'
import { filterColumns, isEmbedded } from './search-entry.ts'
import { oneAtATime, stagedTable } from './staging.ts'
import { LoadFailed, type Step } from './step.ts'

export const indexStep: Step = async ({ queries, plan }, load) => {
  const table = stagedTable(load.id)
  // Somebody who has the login of the database may have deleted some.
  const [staged] = await queries.query<{ rows: string }>(`select count(*)::text as rows from ${table}`)
  if (staged?.rows !== String(load.rows)) throw new LoadFailed('staging_lost')
  if (!plan.append && !plan.upsert) {
    const createIndex = async (suffix: string, what: string) => {
      const name = quoteIdentifier(`${load.id}_${suffix}`)
      await queries.query(
        oneAtATime(load.id, `create index if not exists ${name} on ${table} using ${what};`),
      )
    }
    await createIndex('words', 'gin (words)')
    if (isEmbedded(plan) && plan.dimensions <= INDEXED_DIMENSIONS_MAX) {
      await createIndex('embedding', 'hnsw (embedding vector_cosine_ops)')
    }
    for (const at of filterColumns(plan)) {
      const { name: column, type } = plan.columns[at]!
      if (type === 'jsonb') continue
      // A text may be longer than a key of the usual kind.
      const using = type === 'text[]' ? 'gin' : type === 'text' ? 'hash' : 'btree'
      await createIndex(`filter_${at}`, `${using} (${quoteIdentifier(column)})`)
    }
    // Questions choose between index and table by what the planner knows.
    await queries.query(`analyze ${table}`)
  }
  if (plan.passages) await indexPassages(queries, plan, load)
  return { phase: 'finishing' }
}
