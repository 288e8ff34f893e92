/** Writes an answer as a table, as JSON or as YAML. */
import { writeYaml } from '../contracts/write-yaml.ts'
import { onOneLine, widthOf } from './terminal-text.ts'

export type Format = 'table' | 'json' | 'yaml'

/** The answer for people. */
export type Shape =
  | { readonly columns: readonly string[]; readonly rows: readonly (readonly Cell[])[] }
  | { readonly fields: Readonly<Record<string, Cell>> }
  | { readonly text: string }

type Cell = string | number | boolean | null | undefined

export function writeAnswer(data: unknown, shape: Shape, format: Format): string {
  if (format === 'json') return writeJson(data)
  if (format === 'yaml') return writeYaml(data)
  if ('text' in shape) return shape.text
  if ('fields' in shape) {
    return writeColumns(Object.entries(shape.fields).map(([name, value]) => [`${name}:`, cellText(value)]))
  }
  return writeColumns([shape.columns, ...shape.rows.map((row) => row.map(cellText))])
}

/** JSON leaves these as they are, and a terminal may take them for commands. */
const UNESCAPED = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

export const writeJson = (data: unknown, indent = 2): string =>
  `${JSON.stringify(data, null, indent).replaceAll(UNESCAPED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`

const cellText = (value: Cell): string => {
  if (value === null || value === undefined || value === '') return '-'
  return onOneLine(String(value))
}

/** Two spaces between columns; the last one is as long as it is. The same whether somebody looks or a program reads. */
function writeColumns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, widthOf(cell))
  }
  const line = (row: readonly string[]) =>
    row
      .map((cell, index) =>
        index === row.length - 1 ? cell : cell + ' '.repeat(widths[index]! - widthOf(cell)),
      )
      .join('  ')
  return rows.map((row) => `${line(row)}\n`).join('')
}
