/**
 * How many rows a table has, and how many words a row has on average: what BM25 compares a row with. Taken when the
 * configuration is saved, when rows were loaded, and at the look at its health. Frequencies of words are not kept: a question
 * counts those of its own words, and the vocabulary stays where it is.
 */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type {
  AllWordStatistics,
  SearchConfiguration,
  SearchEntry,
  WordStatistics,
} from '../../contracts/data-sources.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { openSource, type Queries, type SourceDeps, type SourceRow } from '../databases/index.ts'
import type { Storage } from '../dependencies.ts'
import type { Tables } from './check-configuration.ts'
import { databaseFailureOf } from './database-failure.ts'
import { hasStoredWords } from './full-text.ts'
import { quoteTable } from './quote.ts'
import { checkRows } from './read-rows.ts'
import { readTableInfo, type TableInfo, type TableInfoCache } from './table-info.ts'

/** Rows that are counted: of more the planner's statistics are asked. */
const COUNTED_MAX = 100_000
/** Rows whose length is measured. */
const MEASURED = 1_000

/** Of the entries that keep their words: others have few rows, and are counted at every question. */
export async function takeWordStatistics(
  queries: Queries,
  { connection_config }: SearchConfiguration,
  infoOf: (entry: SearchEntry) => TableInfo | undefined,
): Promise<AllWordStatistics> {
  const taken: Record<string, WordStatistics> = {}
  for (const entry of connection_config.embedding_configs) {
    const tableInfo = infoOf(entry)
    if (!entry.hybrid || !tableInfo || !hasStoredWords(entry, tableInfo)) continue
    try {
      const statistics = await statisticsOf(queries, entry, tableInfo)
      if (statistics) taken[entry.label] = statistics
    } catch (error) {
      // Without them a question compares the rows that it finds with each other.
      if (databaseFailureOf(error)?.kind !== 'too_slow') throw error
    }
  }
  return taken
}

async function statisticsOf(
  queries: Queries,
  entry: SearchEntry,
  { kind, rows: estimate }: TableInfo,
): Promise<WordStatistics | undefined> {
  const table = quoteTable(entry.table)
  const words = quoteIdentifier(entry.text_search_column!)
  // Pages by chance, about three times as many rows as are needed. A view has none.
  const percent =
    ['r', 'p', 'm'].includes(kind) && estimate > 0 ? Math.min(100, (300 * MEASURED) / estimate) : 100
  const sample = percent < 100 ? ` tablesample system (${percent.toFixed(6)}) repeatable (0)` : ''
  const found = await queries.query<{ rows: number; length: number }>(
    `select (select count(*) from (select from ${table} limit ${COUNTED_MAX + 1}) counted)::int as rows, ` +
      `coalesce(avg(length), 0)::float8 as length from (select ` +
      `(select sum(coalesce(cardinality(positions), 1)) from unnest(w) lexeme) as length ` +
      `from (select ${words} as w from ${table}${sample} limit ${MEASURED}) few) measured`,
  )
  checkRows(found, { max: 1, texts: [], numbers: ['rows', 'length'] })
  const [{ rows, length: meanLength } = { rows: 0, length: 0 }] = found
  if (rows <= 0 || !(meanLength > 0)) return undefined
  return { rows: rows <= COUNTED_MAX ? rows : Math.max(rows, Math.round(estimate)), meanLength }
}

/** After rows were added. */
export async function takeWordStatisticsAgain(
  deps: Storage & SourceDeps & { readonly tableInfo: TableInfoCache },
  source: SourceRow,
): Promise<void> {
  const queries = openSource(deps, source)
  deps.tableInfo.forget(queries)
  const names = source.configuration?.connection_config.embedding_configs.map(({ table }) => table) ?? []
  const tables = new Map<string, TableInfo | undefined>()
  for (const name of new Set(names)) tables.set(name, await readTableInfo(queries, name))
  await refreshWordStatistics(deps, queries, source, tables)
}

/** Unless another configuration was saved meanwhile: its own were taken then. */
export async function refreshWordStatistics(
  { db }: Pick<Storage, 'db'>,
  queries: Queries,
  source: SourceRow,
  tables: Tables,
): Promise<void> {
  if (!source.configuration) return
  const wordStatistics = await takeWordStatistics(queries, source.configuration, ({ table }) =>
    tables.get(table),
  )
  await db
    .update(dataSources)
    .set({ wordStatistics })
    .where(
      and(
        eq(dataSources.orgId, source.orgId),
        eq(dataSources.id, source.id),
        eq(dataSources.configuredAt, source.configuredAt!),
      ),
    )
}
