/** The words of a row, as Postgres full text sees them. */
import type { SearchEntry } from '../../contracts/data-sources.ts'
import { columnsOf, quoted, quotedTable } from './quote.ts'

export const languageOf = (entry: SearchEntry): string => entry.text_search_language ?? 'english'

/**
 * A column that holds them, or every content column but the id. An index serves only if it says the very same.
 * `row` is what the table is called in the statement: its columns may have the names that others have there.
 */
export const wordsOf = (entry: SearchEntry, row: string): string =>
  entry.text_search_column === undefined
    ? readWords(entry, `${row}.`)
    : `${row}.${quoted(entry.text_search_column)}`

function readWords(entry: SearchEntry, of = ''): string {
  const columns = columnsOf(entry.content_columns)
  const texts = (columns.length > 1 ? columns.slice(1) : columns).map(
    (name) => `coalesce(${of}${quoted(name)}::text, '')`,
  )
  return `to_tsvector('${languageOf(entry)}', ${texts.join(` || ' ' || `)})`
}

export const fullTextIndex = (entry: SearchEntry): string =>
  entry.text_search_column === undefined
    ? `alter table ${quotedTable(entry.table)} add column words tsvector generated always as (${readWords(entry)}) stored; create index on ${quotedTable(entry.table)} using gin (words); then set text_search_column to words`
    : `create index on ${quotedTable(entry.table)} using gin (${quoted(entry.text_search_column)})`
