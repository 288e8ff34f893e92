/** What an error of a data source's database means, by its code: an SQLSTATE, or a code of ours or of Node's. */

export type DatabaseFailure = 'too slow' | 'unreachable' | 'changed' | 'failed'

/** SQLSTATE classes: 08 connection, 28 login, 3D unknown database, 53 out of resources, 57P shutting down. */
const UNREACHABLE = /^(08|28|3D|53|57P)/
/** Undefined table, column, function or type; wrong type; insufficient privilege; a vector of another size. */
const CHANGED = /^(42|22000|0A000)/
const SQLSTATE = /^[0-9A-Z]{5}$/
/** Node's own codes of five letters, such as EPIPE. */
const SYSTEM = /^E[A-Z]{4}$/

/** Undefined for an error without a code: that is a mistake of ours. */
export function databaseFailureOf(error: unknown): { code: string; kind: DatabaseFailure } | undefined {
  const code = codeOf(error)
  if (code === undefined) return undefined
  if (code === '57014') return { code, kind: 'too slow' }
  if (!SQLSTATE.test(code) || SYSTEM.test(code) || UNREACHABLE.test(code))
    return { code, kind: 'unreachable' }
  return { code, kind: CHANGED.test(code) ? 'changed' : 'failed' }
}

function codeOf(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return undefined
}
