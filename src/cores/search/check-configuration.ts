/** Whether a search configuration fits its database: every problem at once, and every index that would help. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { SearchConfiguration, SearchEntry } from '../../contracts/data-sources.ts'
import { fullTextIndex } from './full-text.ts'
import { matchOf } from './filter-columns.ts'
import { OPERATOR_CLASSES } from './nearest-rows.ts'
import { parseColumnList, quoteTable } from './quote.ts'
import type { EmbeddingModels } from './embedding-models.ts'
import type { ColumnInfo, TableInfo } from './table-info.ts'

export type Checked = {
  readonly problems: readonly string[]
  readonly notes: readonly string[]
  /** The entries without a problem of their own. */
  readonly fitting: readonly SearchEntry[]
}

export type Tables = ReadonlyMap<string, TableInfo | undefined>

/** Keys of ours in the metadata of a hit. */
const RESERVED_COLUMNS = new Set(['_score', '_target', '_mode', '_handle'])

/** pgvector indexes a `vector` up to this many dimensions. */
const INDEXED_DIMENSIONS_MAX = 2_000

export function checkConfiguration(
  { connection_config, filter_schema }: SearchConfiguration,
  tables: Tables,
  models: Pick<EmbeddingModels, 'dimensionsOf' | 'names'>,
): Checked {
  const entries = connection_config.embedding_configs
  const own = entries.map((entry) => entryProblems(entry, tables.get(entry.table), models))
  const problems = [
    ...duplicates(entries.map(({ label }) => label)).map((label) => `Two entries have the label "${label}"`),
    ...entries.flatMap(({ label }, at) => own[at]!.map((problem) => `${label}: ${problem}`)),
    ...filterProblems(filter_schema, entries, tables),
  ]
  return {
    problems,
    notes: problems.length > 0 ? [] : indexHints(entries, filter_schema, tables),
    fitting: entries.filter((_entry, at) => own[at]!.length === 0),
  }
}

const duplicates = (names: readonly string[]): string[] => [
  ...new Set(names.filter((name, at) => names.indexOf(name) !== at)),
]

function entryProblems(
  entry: SearchEntry,
  tableInfo: TableInfo | undefined,
  models: Pick<EmbeddingModels, 'dimensionsOf' | 'names'>,
): string[] {
  const problems = modelProblems(entry, models)
  if (entry.columns.length !== 1) problems.push('exactly one vector column must be named')
  const content = parseColumnList(entry.content_columns)
  if (content.includes('')) problems.push('content_columns holds an empty name')
  for (const name of duplicates(content)) problems.push(`content_columns names "${name}" twice`)
  for (const name of content.slice(2).filter((column) => RESERVED_COLUMNS.has(column))) {
    problems.push(`content_columns names "${name}", which every hit has already`)
  }
  if (!tableInfo) return [...problems, `there is no table "${entry.table}" that can be read`]
  const [vector] = entry.columns
  if (vector !== undefined) problems.push(...vectorProblems(entry, vector, tableInfo.columns.get(vector)))
  if (entry.text_search_column !== undefined) {
    problems.push(...textColumnProblems(entry, tableInfo.columns.get(entry.text_search_column)))
  }
  for (const name of content) {
    if (name !== '' && !tableInfo.columns.has(name)) {
      problems.push(`table "${entry.table}" has no column "${name}"`)
    }
  }
  return problems
}

function modelProblems(
  { model, dimensions }: SearchEntry,
  models: Pick<EmbeddingModels, 'dimensionsOf' | 'names'>,
): string[] {
  const size = models.dimensionsOf(model)
  if (size === undefined) return [`no model "${model}" is configured; there is ${models.names.join(', ')}`]
  return size === dimensions ? [] : [`model "${model}" has ${size} dimensions, not ${dimensions}`]
}

function vectorProblems(entry: SearchEntry, name: string, column: ColumnInfo | undefined): string[] {
  if (!column) return [`table "${entry.table}" has no column "${name}"`]
  if (column.type !== 'vector') return [`column "${name}" is ${column.type}, not vector(${entry.dimensions})`]
  if (column.modifier === entry.dimensions) return []
  return column.modifier === -1
    ? [`column "${name}" is a vector of any size, not vector(${entry.dimensions})`]
    : [`column "${name}" has ${column.modifier} dimensions, not ${entry.dimensions}`]
}

function textColumnProblems(
  { table, text_search_column: name }: SearchEntry,
  column: ColumnInfo | undefined,
): string[] {
  if (!column) return [`table "${table}" has no column "${name}"`]
  return column.type === 'tsvector' ? [] : [`column "${name}" is ${column.type}, not tsvector`]
}

function filterProblems(
  schema: SearchConfiguration['filter_schema'],
  entries: readonly SearchEntry[],
  tables: Tables,
): string[] {
  const names = [...new Set(entries.map(({ table }) => table))]
  // It may be a column of a table that is missing.
  const isUnknown = names.some((table) => !tables.get(table))
  return Object.entries(schema).flatMap(([name, type]) => {
    const found = names.flatMap((table) => {
      const column = tables.get(table)?.columns.get(name)
      return column ? [{ table, column }] : []
    })
    if (found.length === 0 && isUnknown) return []
    if (found.length === 0) return [`filter_schema: no searchable table has a column "${name}"`]
    return found
      .filter(({ column }) => !matchOf(type, column))
      .map(
        ({ table, column }) =>
          `filter_schema: "${name}" of table "${table}" is ${column.type}, not a ${type}`,
      )
  })
}

function indexHints(
  entries: readonly SearchEntry[],
  schema: SearchConfiguration['filter_schema'],
  tables: Tables,
): string[] {
  // A view has no index, and the rows of a foreign table are elsewhere.
  const indexable = entries.filter(({ table }) => ['r', 'p', 'm'].includes(tables.get(table)!.kind))
  const notes = indexable.flatMap((entry) => indexNotes(entry, tables.get(entry.table)!))
  const filters = indexable.flatMap(({ table }) =>
    Object.keys(schema).flatMap((name) => {
      const tableInfo = tables.get(table)!
      if (!tableInfo.columns.has(name) || tableInfo.indexes.some(({ column }) => column === name)) return []
      return [
        `Filters on it are faster with: create index on ${quoteTable(table)} (${quoteIdentifier(name)})`,
      ]
    }),
  )
  return [...new Set([...notes, ...filters])]
}

function indexNotes(entry: SearchEntry, tableInfo: TableInfo): string[] {
  const notes: string[] = []
  const vector = entry.columns[0]!
  const operators = OPERATOR_CLASSES[entry.distance_metric]
  const isIndexed = tableInfo.indexes.some(
    (index) => index.column === vector && index.operators === operators && index.method !== 'btree',
  )
  if (!isIndexed && entry.dimensions <= INDEXED_DIMENSIONS_MAX) {
    notes.push(
      `Above a few thousand rows it is faster with: create index on ${quoteTable(entry.table)} using hnsw (${quoteIdentifier(vector)} ${operators})`,
    )
  }
  if (
    entry.hybrid &&
    !tableInfo.indexes.some(
      ({ column, method }) => method === 'gin' && column === (entry.text_search_column ?? null),
    )
  ) {
    notes.push(`Full text is faster with: ${fullTextIndex(entry)}`)
  }
  return notes
}
