/** Whether a search configuration fits its database: every problem at once, and every index that would help. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { SearchConfiguration, SearchEntry } from '../../contracts/data-sources.ts'
import type { SourceProblem } from '../../contracts/source-health.ts'
import { BUILT_WORDS_ROWS_MAX, hasStoredWords, storeWordsAdvice, wordsIndex } from './full-text.ts'
import { matchOf } from './filter-columns.ts'
import { EXACT_UNFILTERED, OPERATOR_CLASSES } from './nearest-rows.ts'
import { parseColumnList, quoteTable } from './quote.ts'
import type { EmbeddingModels } from './embedding-models.ts'
import type { ColumnInfo } from './read-rows.ts'
import { accessTypeOf } from './row-access.ts'
import type { TableInfo } from './table-info.ts'
import { urlTemplateProblems } from './url-template.ts'

export type Checked = {
  readonly problems: readonly SourceProblem[]
  readonly advice: readonly IndexAdvice[]
  /** The entries without a problem of their own. */
  readonly fitting: readonly SearchEntry[]
}

/** An index that is missing, and from how many rows on that is felt. */
export type IndexAdvice = {
  readonly table: string
  readonly rows: number
  readonly text: string
  readonly statement: string
  /** What to do after it. */
  readonly afterward?: string
}

export type Tables = ReadonlyMap<string, TableInfo | undefined>

/** Keys of ours in the metadata of a hit. */
const RESERVED_COLUMNS = new Set(['_score', '_target', '_mode', '_found_by', '_handle'])

/** Chosen, not measured: on fewer rows a missing index is no problem worth a line. */
const INDEXED_FILTER_ROWS = 10_000

/** pgvector indexes a `vector` up to this many dimensions. */
const INDEXED_DIMENSIONS_MAX = 2_000

export function checkConfiguration(
  { connection_config, filter_schema, access_column = null }: SearchConfiguration,
  tables: Tables,
  models: Pick<EmbeddingModels, 'dimensionsOf' | 'names'>,
): Checked {
  const entries = connection_config.embedding_configs
  const own = entries.map((entry) => entryProblems(entry, tables.get(entry.table), models))
  const problems = [
    ...duplicates(entries.map(({ label }) => label)).map((label) =>
      changed(`Two entries have the label "${label}"`),
    ),
    ...entries.flatMap(({ label }, at) =>
      own[at]!.map((problem) => ({ ...problem, text: `${label}: ${problem.text}` })),
    ),
    ...filterProblems(filter_schema, entries, tables).map(changed),
    ...(access_column === null ? [] : accessProblems(access_column, entries, tables).map(changed)),
  ]
  return {
    problems,
    advice:
      problems.length > 0
        ? []
        : [
            ...indexAdvice(entries, filter_schema, tables),
            ...(access_column === null ? [] : accessAdvice(access_column, entries, tables)),
          ],
    fitting: entries.filter((_entry, at) => own[at]!.length === 0),
  }
}

export const changed = (text: string): SourceProblem => ({ kind: 'changed', text })

const duplicates = (names: readonly string[]): string[] => [
  ...new Set(names.filter((name, at) => names.indexOf(name) !== at)),
]

function entryProblems(
  entry: SearchEntry,
  tableInfo: TableInfo | undefined,
  models: Pick<EmbeddingModels, 'dimensionsOf' | 'names'>,
): SourceProblem[] {
  const problems = entry.columns.length === 0 ? wordsOnlyProblems(entry) : modelProblems(entry, models)
  if (entry.columns.length > 1) problems.push('exactly one vector column must be named')
  const content = parseColumnList(entry.content_columns)
  if (content.includes('')) problems.push('content_columns holds an empty name')
  for (const name of duplicates(content)) problems.push(`content_columns names "${name}" twice`)
  for (const name of content.slice(2).filter((column) => RESERVED_COLUMNS.has(column))) {
    problems.push(`content_columns names "${name}", which every hit has already`)
  }
  if (entry.url_template !== undefined) problems.push(...urlTemplateProblems(entry.url_template, content))
  if (!tableInfo) return [...problems, `there is no table "${entry.table}" that can be read`].map(changed)
  const [name] = entry.columns
  const column = name === undefined ? undefined : tableInfo.columns.get(name)
  const size = sizeProblem(entry, name, column)
  if (name !== undefined && !size) problems.push(...vectorProblems(entry, name, column))
  if (entry.text_search_column !== undefined) {
    problems.push(...textColumnProblems(entry, tableInfo.columns.get(entry.text_search_column)))
  }
  for (const one of content) {
    if (one !== '' && !tableInfo.columns.has(one)) {
      problems.push(`table "${entry.table}" has no column "${one}"`)
    }
  }
  return [...(size ? [size] : []), ...problems.map(changed)]
}

/** Without a vector column only words are left. */
function wordsOnlyProblems({ hybrid, model, dimensions }: SearchEntry): string[] {
  return [
    ...(hybrid ? [] : ['without a vector column, `hybrid` must be true: rows are found by their words']),
    ...(model === undefined && dimensions === undefined
      ? []
      : ['without a vector column there is no model, and there are no dimensions']),
  ]
}

function modelProblems(
  { model, dimensions }: SearchEntry,
  models: Pick<EmbeddingModels, 'dimensionsOf' | 'names'>,
): string[] {
  if (model === undefined || dimensions === undefined)
    return ['a vector column needs the model that made its vectors, and their dimensions']
  const size = models.dimensionsOf(model)
  if (size === undefined) return [`no model "${model}" is configured; there is ${models.names.join(', ')}`]
  return size === dimensions ? [] : [`model "${model}" has ${size} dimensions, not ${dimensions}`]
}

/** A column of vectors of another size. */
function sizeProblem(
  { dimensions }: SearchEntry,
  name: string | undefined,
  column: ColumnInfo | undefined,
): SourceProblem | undefined {
  if (column?.type !== 'vector' || column.modifier === dimensions || column.modifier === -1) return undefined
  return {
    kind: 'dimension_without_rows',
    text: `column "${name}" has ${column.modifier} dimensions, not ${dimensions}`,
  }
}

function vectorProblems(entry: SearchEntry, name: string, column: ColumnInfo | undefined): string[] {
  if (!column) return [`table "${entry.table}" has no column "${name}"`]
  if (column.type !== 'vector') return [`column "${name}" is ${column.type}, not vector(${entry.dimensions})`]
  if (column.modifier === entry.dimensions) return []
  return [`column "${name}" is a vector of any size, not vector(${entry.dimensions})`]
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

/** Each table must have it: one without would show nothing, or everything. */
function accessProblems(name: string, entries: readonly SearchEntry[], tables: Tables): string[] {
  return [...new Set(entries.map(({ table }) => table))].flatMap((table) => {
    const tableInfo = tables.get(table)
    if (!tableInfo) return []
    const column = tableInfo.columns.get(name)
    if (!column) return [`access_column: table "${table}" has no column "${name}"`]
    if (accessTypeOf(column)) return []
    return [`access_column: "${name}" of table "${table}" is ${column.type}, not text or text[]`]
  })
}

function accessAdvice(name: string, entries: readonly SearchEntry[], tables: Tables): IndexAdvice[] {
  return [...new Set(entries.map(({ table }) => table))].flatMap((table) => {
    const { kind, columns, indexes } = tables.get(table)!
    if (!['r', 'p', 'm'].includes(kind) || indexes.some(({ column }) => column === name)) return []
    const method = accessTypeOf(columns.get(name)!) === 'text[]' ? ' using gin' : ''
    const statement = `create index on ${quoteTable(table)}${method} (${quoteIdentifier(name)})`
    return [{ table, rows: INDEXED_FILTER_ROWS, text: 'Who sees which rows is found faster with', statement }]
  })
}

function indexAdvice(
  entries: readonly SearchEntry[],
  schema: SearchConfiguration['filter_schema'],
  tables: Tables,
): IndexAdvice[] {
  // A view has no index, and the rows of a foreign table are elsewhere.
  const indexable = entries.filter(({ table }) => ['r', 'p', 'm'].includes(tables.get(table)!.kind))
  const advice = [
    ...indexable.flatMap((entry) => entryAdvice(entry, tables.get(entry.table)!)),
    ...indexable.flatMap(({ table }) => filterAdvice(table, tables.get(table)!, schema)),
  ]
  return advice.filter((one, at) => advice.findIndex(({ statement }) => statement === one.statement) === at)
}

const filterAdvice = (
  table: string,
  { columns, indexes }: TableInfo,
  schema: SearchConfiguration['filter_schema'],
): IndexAdvice[] =>
  Object.keys(schema)
    .filter((name) => columns.has(name) && !indexes.some(({ column }) => column === name))
    .map((name) => ({
      table,
      rows: INDEXED_FILTER_ROWS,
      text: 'Filters on it are faster with',
      statement: `create index on ${quoteTable(table)} ${isList(columns.get(name)!) ? 'using gin ' : ''}(${quoteIdentifier(name)})`,
    }))

/** Postgres begins the names of such types with it. */
const isList = ({ type }: ColumnInfo): boolean => type.startsWith('_')

function entryAdvice(entry: SearchEntry, tableInfo: TableInfo): IndexAdvice[] {
  const advice: IndexAdvice[] = []
  const { table, dimensions, text_search_column: words } = entry
  const [vector] = entry.columns
  const operators = OPERATOR_CLASSES[entry.distance_metric]
  const isIndexed = tableInfo.indexes.some(
    (index) => index.column === vector && index.operators === operators && index.method !== 'btree',
  )
  if (
    vector !== undefined &&
    dimensions !== undefined &&
    !isIndexed &&
    dimensions <= INDEXED_DIMENSIONS_MAX
  ) {
    advice.push({
      table,
      rows: Math.ceil(EXACT_UNFILTERED / dimensions),
      text: 'Above a few thousand rows it is faster with',
      statement: `create index on ${quoteTable(table)} using hnsw (${quoteIdentifier(vector)} ${operators})`,
    })
  }
  const text = 'Full text is faster with'
  const rows = BUILT_WORDS_ROWS_MAX
  if (entry.hybrid && !hasStoredWords(entry, tableInfo)) {
    const { statement, afterward } = storeWordsAdvice(entry, tableInfo)
    if (statement) advice.push({ table, rows, text, statement, afterward })
  } else if (
    entry.hybrid &&
    !tableInfo.indexes.some(({ column, method }) => method === 'gin' && column === words)
  ) {
    advice.push({ table, rows, text, statement: wordsIndex(entry, words!) })
  }
  return advice
}
