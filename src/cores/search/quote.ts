/** Names and lists as Postgres reads them. Only names of a checked configuration come here, and they are quoted all the same. */

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** `name` or `schema.name`; without a schema it is `public`. */
export function tableOf(text: string): { schema: string; table: string } {
  const dot = text.indexOf('.')
  return dot === -1
    ? { schema: 'public', table: text }
    : { schema: text.slice(0, dot), table: text.slice(dot + 1) }
}

export const quotedTable = (text: string): string => {
  const { schema, table } = tableOf(text)
  return `${quoted(schema)}.${quoted(table)}`
}

/** An array as one parameter: its elements are data, whatever stands in them. */
export const arrayLiteral = (values: readonly string[]): string =>
  `{${values.map((value) => `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(',')}}`

export const vectorLiteral = (vector: ArrayLike<number>): string => `[${Array.from(vector).join(',')}]`

export const columnsOf = (list: string): string[] => list.split(',').map((name) => name.trim())
