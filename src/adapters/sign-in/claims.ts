/** Reads a claim as the text it should be: providers leave claims out, send them empty or as other types. */
export function textOf(claim: unknown): string | null {
  return typeof claim === 'string' && claim !== '' ? claim : null
}
