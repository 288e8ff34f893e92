/** One question to one source, in the order of the contract's rules: find, role, limits, configuration, filters. */
import type { SearchEntry } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { ANSWER_MAX_BYTES } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireMember, type MemberPrincipal } from '../principal.ts'
import { openSource, type SourceRow } from '../databases/index.ts'
import { findAskable, requireMinimumRole } from './askable-sources.ts'
import { truncateAnswer } from './truncate-answer.ts'
import { isRange, matchOf } from './filter-columns.ts'
import { mergeHits } from './merge-hits.ts'
import { whileCounting } from './question-limits.ts'
import { readFilters, type ReadFilter } from './read-filters.ts'
import { rowAccessOf } from './row-access.ts'
import { isWeak, WEAK } from './threshold.ts'
import { recordingActivity } from '../activity/index.ts'
import {
  DatabaseChanged,
  type RankedLists,
  type SearchDeps,
  searchEntries,
  requireEntries,
  embedQuestion,
  withDatabaseCheck,
} from './search-entries.ts'

export const queryDataSource =
  (deps: SearchDeps): Handler<'queryDataSource'> =>
  (principal, question) =>
    recordingActivity(deps, principal, question.query, async (trace) => {
      const member = requireMember(principal)
      const { source, counts } = await findAskable(deps.db, member, question.source_id)
      trace.source = source
      requireMinimumRole(member, source)
      const lists = await whileCounting(deps, member.orgId, counts, () =>
        search(deps, member, source, question),
      )
      const hits = mergeHits(lists, question.top_k)
      const mark = isWeak(hits, () => source) ? WEAK : {}
      const room = ANSWER_MAX_BYTES - Buffer.byteLength(JSON.stringify(mark))
      const result = { ...truncateAnswer(hits, room), ...mark }
      trace.hits = result.count
      trace.answer = JSON.stringify(result)
      return result
    })

export async function search(
  deps: SearchDeps,
  member: MemberPrincipal,
  source: SourceRow,
  question: Omit<Parameters<Handler<'queryDataSource'>>[1], 'source_id'>,
): Promise<RankedLists> {
  const entries = chosenEntries(source, question.target)
  const filters = readFilters(source.configuration!.filter_schema, question.filters)
  const [access, vectors] = await Promise.all([
    rowAccessOf(deps, member, source),
    embedQuestion((model) => deps.models.embed(source.orgId, model, question.query), entries),
  ])
  return withDatabaseCheck(deps, source, async () => {
    await requireFilterColumns(deps, source, filters)
    return searchEntries(deps, source, entries, vectors, { ...question, filters, access })
  })
}

export function chosenEntries(source: SourceRow, target: string | undefined): readonly SearchEntry[] {
  const entries = requireEntries(source)
  if (target === undefined) return entries
  const chosen = entries.filter(({ label }) => label === target)
  if (chosen.length > 0) return chosen
  throw new ServiceError('INVALID_REQUEST', 'This data source has no such target', {
    problems: [`target: must be one of ${entries.map(({ label }) => `"${label}"`).join(', ')}`],
  })
}

/** A table without the column has no match. When no table has it any more, or its type changed, "no results" would be wrong. */
async function requireFilterColumns(
  deps: SearchDeps,
  source: SourceRow,
  filters: readonly ReadFilter[],
): Promise<void> {
  if (filters.length === 0) return
  const queries = openSource(deps, source)
  const tables = [...new Set(requireEntries(source).map(({ table }) => table))]
  const tableInfo = await Promise.all(
    tables.map((table) => deps.tableInfo.read(queries, table, deps.clock())),
  )
  for (const filter of filters) {
    const { column: name, type } = filter
    const columns = tableInfo.flatMap((table) => table?.columns.get(name) ?? [])
    if (columns.length === 0 || columns.some((column) => !matchOf(type, column))) {
      throw new DatabaseChanged('a filter no longer fits any column')
    }
    if (isRange(filter) && columns.some((column) => matchOf(type, column)?.isList)) {
      throw new ServiceError('INVALID_REQUEST', undefined, {
        problems: [`filters.${name}: must be a value or a list of values, as the column holds lists`],
      })
    }
  }
}
