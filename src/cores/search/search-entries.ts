/** Searches the configured tables of a data source, and says clearly when its database no longer fits. */
import type { Hit, SearchEntry } from '../../contracts/data-sources.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { openSource, type SourceRow } from '../databases/index.ts'
import { createHandle } from './row-handle.ts'
import { hybridRows } from './hybrid-rows.ts'
import { nearestRows, type VectorSearch } from './nearest-rows.ts'
import type { LimitDeps } from './question-limits.ts'
import type { ReadFilter } from './read-filters.ts'
import { checkAgainstDatabase, type ConfigurationDeps } from './check-against-database.ts'

export type SearchDeps = ConfigurationDeps & LimitDeps

export type Vectors = ReadonlyMap<string, ArrayLike<number>>

export type RankedLists = readonly { readonly group: string; readonly hits: readonly Hit[] }[]

/** Each table by itself; mergeHits decides which lists can be compared. */
export const searchEntries = (
  deps: SearchDeps,
  source: SourceRow,
  entries: readonly SearchEntry[],
  vectors: Vectors,
  { query, filters, top_k }: { query: string; filters: readonly ReadFilter[]; top_k: number },
): Promise<RankedLists> =>
  Promise.all(
    entries.map(async (entry) => {
      const vector = vectors.get(entry.model)!
      const hits = await searchTable(deps, source, query, { entry, vector, filters, limit: top_k })
      return { group: groupOf(entry), hits }
    }),
  )

/** Scores of one model and metric can be compared; those of a hybrid list with no other list. */
const groupOf = ({ label, model, distance_metric, hybrid }: SearchEntry): string =>
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
  { models }: SearchDeps,
  owner: string,
  entries: readonly SearchEntry[],
  question: string,
): Promise<Vectors> {
  const names = [...new Set(entries.map(({ model }) => model))]
  const vectors = await Promise.all(
    names.map(async (name) => {
      const vector = await models.embed(owner, name, question)
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
  table: Omit<VectorSearch, 'tableInfo'>,
): Promise<readonly Hit[]> {
  const queries = openSource(deps, source)
  const tableInfo = await deps.tableInfo.read(queries, table.entry.table, deps.clock())
  if (!tableInfo) throw new DatabaseChanged(`table ${table.entry.table} was removed`)
  const search = { ...table, tableInfo }
  const hits = await (table.entry.hybrid
    ? hybridRows(queries, search, question)
    : nearestRows(queries, search))
  return table.entry.fetchable ? hits.map((hit) => addHandle(deps, source, hit)) : hits
}

function addHandle({ dataKeys, clock }: SearchDeps, source: SourceRow, hit: Hit): Hit {
  const handle = createHandle(dataKeys, source, 'hit', hit, clock())
  return handle === undefined ? hit : { ...hit, metadata: { ...hit.metadata, _handle: handle } }
}

/** A table or column that was removed since the save is reported as clearly as at the save. */
export async function withDatabaseCheck<T>(
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
    const { problems } = await translateDatabaseErrors(() =>
      checkAgainstDatabase(deps, queries, source.configuration!),
    )
    const described =
      problems.length > 0 ? problems : ['the database refused the search; it may have just changed']
    throw new ServiceError(
      'INVALID_SEARCH_CONFIGURATION',
      'The database has changed since the search was configured',
      {
        problems: described,
        hint: 'A developer, admin or owner of the organization can save a configuration that fits it.',
        cause: error,
      },
    )
  }
}

/** SQLSTATE classes: 08 connection, 28 login, 3D unknown database, 53 out of resources, 57P shutting down. */
const UNREACHABLE = /^(08|28|3D|53|57P)/
const SYSTEM = /^(ECONN|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_|EPIPE|CONNECT|CONNECTION)/
/** Undefined table, column, function or type; wrong type; insufficient privilege; a vector of another size. */
const CHANGED = /^(42|22000|0A000)/

export class DatabaseChanged extends Error {
  override readonly name = 'DatabaseChanged'
}

/** Turns errors of a managed database into ours: its own text never leaves, and the cause is for the log. */
export async function translateDatabaseErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = codeOf(error)
    if (code === '57014') {
      throw new ServiceError('TIMEOUT', 'The database took too long to answer', { cause: error })
    }
    if (UNREACHABLE.test(code) || SYSTEM.test(code)) {
      throw new ServiceError('TIMEOUT', 'The database of this source cannot be reached now', {
        hint: 'Try again later; if it stays so, tell the operator of the database.',
        cause: error,
      })
    }
    if (CHANGED.test(code)) throw new DatabaseChanged('the database changed', { cause: error })
    throw error
  }
}

function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return ''
}
