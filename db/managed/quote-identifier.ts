/** A name as SQL text. Nothing else in a statement is ever put together from parts that somebody chose. */

/** Double quotes make anything a name but a NUL, at which the server would stop reading. */
export function quoteIdentifier(name: string): string {
  if (name === '' || name.includes('\0')) throw new Error('An identifier must not be empty or hold a NUL')
  return `"${name.replaceAll('"', '""')}"`
}

/** An array as one parameter: its elements are data, whatever stands in them. */
export const arrayLiteral = (values: readonly string[]): string =>
  `{${values.map((value) => `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(',')}}`
