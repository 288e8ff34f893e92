/** The tsvector of a row: a column, or built from the content columns. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import type { SearchEntry } from '../../contracts/data-sources.ts'
import { parseColumnList, quoteTable } from './quote.ts'

export const languageOf = (entry: SearchEntry): string => entry.text_search_language ?? 'english'

/**
 * A column that holds it, or every content column but the id. An index is used only if its expression is the same.
 * `row` is the alias of the table in the statement, where other columns may have the same names.
 */
export const tsvectorOf = (entry: SearchEntry, row: string): string =>
  entry.text_search_column === undefined
    ? buildTsvector(entry, `${row}.`)
    : `${row}.${quoteIdentifier(entry.text_search_column)}`

function buildTsvector(entry: SearchEntry, of = ''): string {
  const columns = parseColumnList(entry.content_columns)
  const texts = (columns.length > 1 ? columns.slice(1) : columns).map(
    (name) => `coalesce(${of}${quoteIdentifier(name)}::text, '')`,
  )
  return `to_tsvector('${languageOf(entry)}', ${texts.join(` || ' ' || `)})`
}

export const fullTextIndex = (entry: SearchEntry): string =>
  entry.text_search_column === undefined
    ? `alter table ${quoteTable(entry.table)} add column words tsvector generated always as (${buildTsvector(entry)}) stored; create index on ${quoteTable(entry.table)} using gin (words); then set text_search_column to words`
    : `create index on ${quoteTable(entry.table)} using gin (${quoteIdentifier(entry.text_search_column)})`
