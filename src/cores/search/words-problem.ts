/** Hybrid search over many rows needs their words stored: built at every question, they would take seconds. */
import type { SearchEntry } from '../../contracts/data-sources.ts'
import type { SourceProblem } from '../../contracts/source-health.ts'
import type { Queries } from '../databases/index.ts'
import { BUILT_WORDS_ROWS_MAX, hasStoredWords, storeWordsAdvice } from './full-text.ts'
import { quoteTable } from './quote.ts'
import { countIn } from './read-rows.ts'
import type { TableInfo } from './table-info.ts'

export async function wordsProblem(
  queries: Queries,
  entry: SearchEntry,
  tableInfo: TableInfo,
): Promise<SourceProblem | undefined> {
  if (!entry.hybrid || hasStoredWords(entry, tableInfo)) return undefined
  const [few] = await queries.query<{ rows: number }>(
    `select count(*)::int as rows from (select from ${quoteTable(entry.table)} limit ${BUILT_WORDS_ROWS_MAX + 1}) few`,
  )
  if (countIn(few, 'rows') <= BUILT_WORDS_ROWS_MAX) return undefined
  const { statement, afterward } = storeWordsAdvice(entry, tableInfo)
  const reason = `hybrid search over more than ${BUILT_WORDS_ROWS_MAX.toLocaleString('en')} rows needs their words stored`
  return statement === undefined
    ? { kind: 'words_not_stored', text: `${reason}: ${afterward}` }
    : { kind: 'words_not_stored', text: `${reason}: run ${statement}; then ${afterward}`, statement }
}
