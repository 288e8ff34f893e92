/** Searches the configured tables of a data source, and says clearly when its database no longer fits. */
import type { Hit, SearchEntry } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { openSource, type Queries, type SourceRow } from '../databases/index.ts'
import type { EmbeddingModels } from './embedding-models.ts'
import { cite, type CitationDeps } from './cite.ts'
import { foldPassages, isOfPassages, passagesSearched } from './passages.ts'
import { createHandle } from './row-handle.ts'
import { foundRows } from './hybrid-rows.ts'
import type { TableSearch } from './table-search.ts'
import type { LimitDeps } from './question-limits.ts'
import type { ReadFilter } from './read-filters.ts'
import { withNearestPassage } from './row-passages.ts'
import { accessTypeOf, type AccessDeps, type RowAccess } from './row-access.ts'
import { databaseFailureOf, type DatabaseFailure } from './database-failure.ts'
import { failureOf, recordFailure } from './source-health.ts'
import type { TableInfo } from './table-info.ts'
import { checkAgainstDatabase, type ConfigurationDeps } from './check-against-database.ts'

export type SearchDeps = ConfigurationDeps & LimitDeps & AccessDeps & CitationDeps

export type Vectors = ReadonlyMap<string, ArrayLike<number>>

export type RankedLists = readonly { readonly group: string; readonly hits: readonly Hit[] }[]

/** Each table by itself; mergeHits decides which lists can be compared. */
export const searchEntries = (
  deps: SearchDeps,
  source: SourceRow,
  entries: readonly SearchEntry[],
  vectors: Vectors,
  {
    query,
    filters,
    access,
    top_k,
  }: { query: string; filters: readonly ReadFilter[]; access: RowAccess; top_k: number },
): Promise<RankedLists> =>
  Promise.all(
    entries.map(async (entry) => {
      const vector = entry.model === undefined ? undefined : vectors.get(entry.model)!
      const hits = await searchTable(deps, source, query, { entry, vector, filters, access, limit: top_k })
      return { group: groupOf(entry), hits }
    }),
  )

/** Scores of one model and metric can be compared; those of a hybrid list with no other list. */
const groupOf = ({ label, model = '', distance_metric, hybrid }: SearchEntry): string =>
  hybrid ? `hybrid ${label}` : `${distance_metric} ${model}`

export function requireEntries(source: SourceRow): readonly SearchEntry[] {
  const entries = source.configuration?.connection_config.embedding_configs ?? []
  if (entries.length > 0) return entries
  throw new ServiceError('NO_SEMANTIC_SEARCH', undefined, {
    hint: 'A developer, admin or owner of the organization can save a search configuration for it.',
  })
}

/** Tables of one model share one vector. A model that returns another size than the table has is an error, never a wrong answer. */
export async function embedQuestion(
  embed: (model: string) => ReturnType<EmbeddingModels['embed']>,
  entries: readonly SearchEntry[],
): Promise<Vectors> {
  const names = [...new Set(entries.flatMap(({ model }) => model ?? []))]
  const vectors = await Promise.all(
    names.map(async (name) => {
      const vector = await embed(name)
      if (entries.some(({ model, dimensions }) => model === name && dimensions !== vector.length)) {
        throw new ServiceError(
          'EMBEDDING_UNAVAILABLE',
          'The dimensions of the embedding model and the table differ',
        )
      }
      return [name, vector] as const
    }),
  )
  return new Map(vectors)
}

async function searchTable(
  deps: SearchDeps,
  source: SourceRow,
  question: string,
  table: Omit<TableSearch, 'tableInfo'>,
): Promise<readonly Hit[]> {
  const queries = openSource(deps, source)
  const tableInfo = await readTable(deps, queries, table)
  const statistics = source.wordStatistics?.[table.entry.label]
  const { entry, limit } = table
  const hasPassages = isOfPassages(source, entry)
  // Into an attached database nothing is loaded, and its server may be of another kind.
  const versions = source.kind === 'attached' ? undefined : new Set<string>()
  const wanted = hasPassages ? passagesSearched(limit) : limit
  const search = { ...table, tableInfo, statistics, versions, limit: wanted }
  const found = await foundRows(queries, search, question)
  const cited = found.map(cite(deps, source, entry))
  const hits = hasPassages
    ? await foldPassages(queries, entry, question, { found: cited, limit })
    : await withNearestPassage(queries, search, cited)
  return entry.fetchable ? hits.map((hit) => addHandle(deps, source, hit)) : hits
}

/** Without its access column a table shows no row to anybody, and "no results" would be wrong. */
export async function readTable(
  deps: Pick<SearchDeps, 'tableInfo' | 'clock'>,
  queries: Queries,
  { entry, access }: Pick<TableSearch, 'entry' | 'access'>,
): Promise<TableInfo> {
  const tableInfo = await deps.tableInfo.read(queries, entry.table, deps.clock())
  if (!tableInfo) throw new DatabaseChanged(`table ${entry.table} was removed`)
  if (access === 'all') return tableInfo
  const column = tableInfo.columns.get(access.column)
  if (!column || !accessTypeOf(column)) throw new DatabaseChanged('the access column was removed')
  return tableInfo
}

function addHandle({ dataKeys, clock }: SearchDeps, source: SourceRow, hit: Hit): Hit {
  const handle = createHandle(dataKeys, source, 'hit', hit, clock())
  return handle === undefined ? hit : { ...hit, metadata: { ...hit.metadata, _handle: handle } }
}

/**
 * A table or column that was removed since the save is reported as clearly as at the save. One that was changed so that
 * the configuration still fits is asked once more, with fresh facts.
 */
export async function withDatabaseCheck<T>(
  deps: ConfigurationDeps,
  source: SourceRow,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await checkingOnChange(deps, source, work)
  } catch (error) {
    const failure = error instanceof ServiceError ? failureOf(error) : undefined
    if (failure) await recordFailure(deps, source, failure)
    throw error
  }
}

async function checkingOnChange<T>(
  deps: ConfigurationDeps,
  source: SourceRow,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await translateDatabaseErrors(work)
  } catch (error) {
    if (!(error instanceof DatabaseChanged)) throw error
    const queries = openSource(deps, source)
    deps.tableInfo.forget(queries)
    const { problems } = await failingAsSource(() =>
      checkAgainstDatabase(deps, queries, source.configuration!),
    )
    if (problems.length === 0) return failingAsSource(work)
    throw new ServiceError(
      'INVALID_SEARCH_CONFIGURATION',
      'The database has changed since the search was configured',
      {
        problems: problems.map(({ text }) => text),
        hint: 'A developer, admin or owner of the organization can save a configuration that fits it.',
        cause: error,
      },
    )
  }
}

/** Where the configuration is not to blame. */
export async function failingAsSource<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await translateDatabaseErrors(work)
  } catch (error) {
    throw error instanceof DatabaseChanged
      ? new ServiceError('SOURCE_FAILED', undefined, { cause: error })
      : error
  }
}

export class DatabaseChanged extends Error {
  override readonly name = 'DatabaseChanged'
}

/** Turns errors of a managed database into ours: none is the fault of whoever asked, and the cause is for the log. */
async function translateDatabaseErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError || error instanceof DatabaseChanged) throw error
    const failure = databaseFailureOf(error)
    if (!failure) throw error
    throw translated(failure, error)
  }
}

function translated({ kind }: DatabaseFailure, cause: unknown): Error {
  switch (kind) {
    case 'too_slow':
      return new ServiceError('TIMEOUT', 'The database took too long to answer', { cause })
    case 'unreachable':
      return new ServiceError('TIMEOUT', 'The database of this source cannot be reached now', {
        hint: 'Try again later; if it stays so, tell the operator of the database.',
        cause,
      })
    case 'changed':
      return new DatabaseChanged('the database changed', { cause })
    case 'failed':
      return new ServiceError('SOURCE_FAILED', undefined, { cause })
  }
}
