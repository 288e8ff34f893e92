/** What of an error may be logged. */

/** The first code in a chain of causes. Codes come from Node; messages may quote the input. */
export function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(at.code)) return at.code
  }
  return 'unknown'
}
