/** The words of a row: a tsvector column, or built from the content columns at every question. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { SearchEntry } from '../../contracts/data-sources.ts'
import { parseColumnList, quoteTable } from './quote.ts'
import type { TableInfo } from './table-info.ts'

/** decisions, section 5: of more rows than that the words must be stored, since they are built at every question. */
export const BUILT_WORDS_ROWS_MAX = 2_000

export const languageOf = (entry: SearchEntry): string => entry.text_search_language ?? 'english'

/** Of the columns of `row`, an alias of the table in the statement: every content column but the id. */
export const buildTsvector = (entry: SearchEntry, row: string): string =>
  tsvectorOf(entry, textColumnsOf(entry), `${row}.`)

function textColumnsOf(entry: SearchEntry): string[] {
  const columns = parseColumnList(entry.content_columns)
  return columns.length > 1 ? columns.slice(1) : columns
}

function tsvectorOf(entry: SearchEntry, columns: readonly string[], prefix = ''): string {
  const texts = columns.map((name) => `coalesce(${prefix}${quoteIdentifier(name)}::text, '')`)
  return `to_tsvector('${languageOf(entry)}', ${texts.join(` || ' ' || `)})`
}

/** A name that no column of the table has. */
export const unusedColumnName = (name: string, tableInfo: TableInfo): string =>
  tableInfo.columns.has(name) ? unusedColumnName(`${name}_`, tableInfo) : name

/** Whether each row's words are computed once and kept. A virtual column is computed whenever it is read. */
export function hasStoredWords({ text_search_column: name }: SearchEntry, { columns }: TableInfo): boolean {
  return name !== undefined && columns.get(name)?.virtual !== true
}

/** Types whose text is the same in every session: others cannot be part of a generated column. */
const IMMUTABLE_TEXT = new Set(
  'text varchar bpchar name citext int2 int4 int8 numeric float4 float8 bool uuid json jsonb'.split(' '),
)

/** The statement, if one can do it, and what to do with the configuration then. */
export type WordsAdvice = { readonly statement?: string; readonly afterward: string }

export function storeWordsAdvice(entry: SearchEntry, tableInfo: TableInfo): WordsAdvice {
  const stored = [...tableInfo.columns.values()].find(({ type, virtual }) => type === 'tsvector' && !virtual)
  if (stored) return { afterward: `set text_search_column to "${stored.name}"` }
  const columns = textColumnsOf(entry).filter((name) =>
    IMMUTABLE_TEXT.has(tableInfo.columns.get(name)?.type ?? ''),
  )
  if (!['r', 'p'].includes(tableInfo.kind) || columns.length === 0) {
    return { afterward: 'give it a stored tsvector column and set text_search_column to that' }
  }
  const [table, name] = [quoteTable(entry.table), unusedColumnName('words', tableInfo)]
  const column = quoteIdentifier(name)
  return {
    statement:
      `alter table ${table} add column ${column} tsvector generated always as (${tsvectorOf(entry, columns)}) stored; ` +
      `create index on ${table} using gin (${column})`,
    afterward: `set text_search_column to "${name}"`,
  }
}

export const wordsIndex = (entry: SearchEntry, column: string): string =>
  `create index on ${quoteTable(entry.table)} using gin (${quoteIdentifier(column)})`
