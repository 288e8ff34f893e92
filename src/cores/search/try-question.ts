/** Asks a configured table one real question and says what kept the database from answering. */
import type { SearchEntry } from '../../contracts/data-sources.ts'
import type { Queries } from '../databases/index.ts'
import { causeOf, databaseFailureOf } from './database-failure.ts'
import { foundRows } from './hybrid-rows.ts'
import type { TableInfo } from './table-info.ts'
import { wordsProblem } from './words-problem.ts'

/** No row of it is shown, so all are searched. As many words as people use: each of them costs. */
const QUESTION = 'Which of these rows answers a question with several different words?'

type TrialProblem = { readonly text: string; readonly isTooSlow: boolean }

/** Undefined where it was answered. */
export async function tryQuestion(
  queries: Queries,
  entry: SearchEntry,
  tableInfo: TableInfo,
): Promise<TrialProblem | undefined> {
  const vector = entry.dimensions && Array.from({ length: entry.dimensions }, (_, at) => (at === 0 ? 1 : 0))
  const search = {
    entry,
    tableInfo,
    vector: vector || undefined,
    filters: [],
    access: 'all' as const,
    limit: 1,
  }
  try {
    const words = await wordsProblem(queries, entry, tableInfo)
    if (words) return { text: `${entry.label}: ${words.text}`, isTooSlow: false }
    await foundRows(queries, search, QUESTION)
    return undefined
  } catch (error) {
    const failure = databaseFailureOf(error)
    // A server that cannot be reached says nothing about the table.
    if (!failure || failure.kind === 'unreachable') throw error
    return { text: `${entry.label}: ${causeOf(failure)}`, isTooSlow: failure.kind === 'too_slow' }
  }
}
