/** Names and literals as SQL text. Only names of a checked configuration come here, and they are quoted all the same. */
import { quoteIdentifier } from '../../../db/managed/quote-identifier.ts'

/** `name` or `schema.name`; without a schema it is `public`. */
export function parseTableName(text: string): { schema: string; table: string } {
  const dot = text.indexOf('.')
  return dot === -1
    ? { schema: 'public', table: text }
    : { schema: text.slice(0, dot), table: text.slice(dot + 1) }
}

export const quoteTable = (text: string): string => {
  const { schema, table } = parseTableName(text)
  return `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`
}

/** Passages of the rows of a table in `public` (row-passages.ts). */
export const PASSAGES_SCHEMA = 'svc_passages'
export const passagesTable = (table: string): string => `${PASSAGES_SCHEMA}.${quoteIdentifier(table)}`

export const vectorLiteral = (vector: ArrayLike<number>): string => `[${Array.from(vector).join(',')}]`

export const parseColumnList = (list: string): string[] => list.split(',').map((name) => name.trim())
