/** Asks a configured table one real question and says what kept the database from answering. */
import type { SearchEntry } from '../../contracts/data-sources.ts'
import { QUESTION_STATEMENT_MS } from '../../contracts/limits.ts'
import type { Queries } from '../databases/index.ts'
import { databaseFailureOf } from './database-failure.ts'
import { hybridRows } from './hybrid-rows.ts'
import { nearestRows } from './nearest-rows.ts'
import { readTableInfo } from './table-info.ts'

/** By SQLSTATE; a code without a sentence is named. */
const SENTENCES: Readonly<Record<string, string>> = {
  '25006': 'reading it tries to write, and questions are read-only',
  '42501': 'our login may not read everything that it needs',
  '54000': 'a row has more text than full text search can hold (1 MB)',
  '57014': `a question to it takes longer than ${QUESTION_STATEMENT_MS / 1000} seconds`,
}

type TrialProblem = { readonly text: string; readonly isTooSlow: boolean }

/** Undefined where it was answered. */
export async function tryQuestion(queries: Queries, entry: SearchEntry): Promise<TrialProblem | undefined> {
  const tableInfo = await readTableInfo(queries, entry.table)
  if (!tableInfo) return undefined
  const vector = Array.from({ length: entry.dimensions }, (_, at) => (at === 0 ? 1 : 0))
  const search = { entry, tableInfo, vector, filters: [], limit: 1 }
  try {
    await (entry.hybrid ? hybridRows(queries, search, 'question') : nearestRows(queries, search))
    return undefined
  } catch (error) {
    const failure = databaseFailureOf(error)
    // A server that cannot be reached says nothing about the table.
    if (!failure || failure.kind === 'unreachable') throw error
    const { code, kind } = failure
    const sentence = SENTENCES[code] ?? `the database failed to answer a question to it (${code})`
    return { text: `${entry.label}: ${sentence}`, isTooSlow: kind === 'too slow' }
  }
}
