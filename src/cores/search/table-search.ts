/** What is searched for in one table, and the parts that every statement of such a search has. */
import { STAGING_SCHEMA } from '../../../db/managed/drop-staged-table.ts'
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { Metric, SearchEntry } from '../../contracts/data-sources.ts'
import { conditionFor, type Condition } from './filter-columns.ts'
import type { ReadFilter } from './read-filters.ts'
import { accessConditions, type RowAccess } from './row-access.ts'
import type { TableInfo } from './table-info.ts'

/** Of one table, by what a question means or by its words. */
export type TableSearch = {
  readonly entry: SearchEntry
  readonly tableInfo: TableInfo
  /** Undefined: its rows have none. */
  readonly vector?: ArrayLike<number> | undefined
  readonly filters: readonly ReadFilter[]
  readonly access: RowAccess
  readonly limit: number
  /** Those that its statements have seen are put there; undefined where no load puts anything. */
  readonly versions?: Set<string> | undefined
}

/**
 * Of everything that loads have put in the database, as the statement sees it: whatever publishes or undoes one makes, renames or
 * drops a table of the load as well. The index of the catalog finds their names, from documents_… to passages_….
 */
const VERSION = `(select coalesce(sum(c.xmin::text::int8), 0)::text from pg_catalog.pg_class c
  where c.relname >= 'documents' and c.relname < 'pb'
    and c.relnamespace = (select n.oid from pg_catalog.pg_namespace n where n.nspname = '${STAGING_SCHEMA}'))`

export const versionOf = ({ versions }: Pick<TableSearch, 'versions'>): string =>
  versions ? VERSION : 'null::text'

export type VectorSearch = TableSearch & { readonly vector: ArrayLike<number> }

export const isVectorSearch = <Search extends TableSearch>(search: Search): search is Search & VectorSearch =>
  search.vector !== undefined

/** Of the filters, and of who sees which rows. Undefined when no row can match. */
export function filterConditions(
  { filters, access, tableInfo }: Pick<TableSearch, 'filters' | 'access' | 'tableInfo'>,
  first: number,
): readonly Condition[] | undefined {
  const conditions = filters.map((filter, at) =>
    conditionFor(filter, tableInfo.columns.get(filter.column), `$${first + at}`),
  )
  const seen = accessConditions(access, tableInfo, `$${first + conditions.length}`)
  return seen && conditions.every((condition) => condition !== undefined)
    ? [...conditions, ...seen]
    : undefined
}

export const distanceOf = (
  { entry, tableInfo }: VectorSearch,
  vector = quoteIdentifier(entry.columns[0]!),
): string => {
  const schema = quoteIdentifier(tableInfo.columns.get(entry.columns[0]!)?.schema ?? 'public')
  return `${vector} operator(${schema}.${OPERATORS[entry.distance_metric]}) $1::${schema}.vector`
}

const OPERATORS: Record<Metric, string> = { cosine: '<=>', l2: '<->', inner_product: '<#>' }
