/** A name as SQL text. Nothing else in a statement is ever put together from parts that somebody chose. */

/** Double quotes make anything a name but a NUL, at which the server would stop reading. */
export function quoteIdentifier(name: string): string {
  if (name === '' || name.includes('\0')) throw new Error('An identifier must not be empty or hold a NUL')
  return `"${name.replaceAll('"', '""')}"`
}
