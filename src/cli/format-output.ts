/** Formats the result of a command as a table, JSON or YAML. */
import { writeYaml } from '../contracts/write-yaml.ts'
import { displayWidth, sanitizeLine } from './terminal-text.ts'

export type Format = 'table' | 'json' | 'yaml'

/** What the table format prints. */
export type View =
  | { readonly columns: readonly string[]; readonly rows: readonly (readonly Cell[])[] }
  | { readonly fields: Readonly<Record<string, Cell>> }
  | { readonly text: string }

export type Cell = string | number | boolean | null | undefined
type FieldOf<Row> = { [Key in keyof Row]: Row[Key] extends Cell ? Key : never }[keyof Row]
type Columns<Row> = Readonly<Record<string, FieldOf<Row> | ((row: Row) => Cell)>>

/** A table from its headings: under each, a field of the row, or what is computed from it. */
export const tableOf = <Row>(rows: readonly Row[], columns: Columns<Row>): View => ({
  columns: Object.keys(columns),
  rows: rows.map((row) =>
    Object.values(columns).map((cell) => (typeof cell === 'function' ? cell(row) : (row[cell] as Cell))),
  ),
})

export function formatOutput(data: unknown, view: View, format: Format): string {
  if (format === 'json') return formatJson(data)
  if (format === 'yaml') return writeYaml(data)
  if ('text' in view) return view.text
  if ('fields' in view) {
    return formatColumns(Object.entries(view.fields).map(([name, value]) => [`${name}:`, cellText(value)]))
  }
  return formatColumns([view.columns, ...view.rows.map((row) => row.map(cellText))])
}

/** JSON does not escape these, and a terminal may execute them. */
const UNESCAPED = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

export const formatJson = (data: unknown, indent = 2): string =>
  `${JSON.stringify(data, null, indent).replaceAll(UNESCAPED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`

const cellText = (value: Cell): string => {
  if (value === null || value === undefined || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return sanitizeLine(String(value))
}

/** Two spaces between columns; the last is not padded. The same at a terminal and in a pipe. */
function formatColumns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) {
    for (const [index, cell] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, displayWidth(cell))
  }
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) =>
        index === row.length - 1 ? cell : cell + ' '.repeat(widths[index]! - displayWidth(cell)),
      )
      .join('  ')
  return rows.map((row) => `${line(row)}\n`).join('')
}
