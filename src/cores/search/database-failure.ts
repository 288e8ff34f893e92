/** What an error of a data source's database means, by its code: an SQLSTATE, or a code of ours or of Node's. */
import { QUESTION_STATEMENT_MS } from '../../contracts/limits.ts'
import type { SourceFailure } from '../../contracts/source-health.ts'

export type DatabaseFailure = { readonly code: string; readonly kind: SourceFailure }

/** SQLSTATE classes: 08 connection, 28 login, 3D unknown database, 53 out of resources, 57P shutting down. */
const UNREACHABLE = /^(08|28|3D|53|57P)/
/** Undefined table, column, function or type; wrong type; insufficient privilege; a vector of another size. */
const CHANGED = /^(42|22000|0A000)/
const SQLSTATE = /^[0-9A-Z]{5}$/
/** Node's own codes of five letters, such as EPIPE. */
const SYSTEM = /^E[A-Z]{4}$/

/** Undefined for an error without a code: that is a mistake of ours. */
export function databaseFailureOf(error: unknown): DatabaseFailure | undefined {
  const code = codeOf(error)
  if (code === undefined) return undefined
  if (code === '57014') return { code, kind: 'too_slow' }
  if (code === 'MALFORMED_ANSWER') return { code, kind: 'failed' }
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

/** By code, where it says more than its kind; after the name of a table, or alone. */
const CAUSES: Readonly<Record<string, string>> = {
  '25006': 'reading it tries to write, and questions are read-only',
  '28000': 'its server refuses our login',
  '28P01': 'its server refuses our password',
  '3D000': 'its server has no such database',
  '42501': 'our login may not read everything that it needs',
  '53300': 'its server has no connection left for us',
  '54000': 'a row has more text than full text search can hold (1 MB)',
  ADDRESS_NOT_ALLOWED: 'the operator no longer allows its address (ATTACH_ALLOWED)',
  MALFORMED_ANSWER: 'its server answered in another form than it was asked for',
  PROTOCOL_VIOLATION: 'its server broke the Postgres protocol or sent too large an answer',
  RESPONSE_TOO_LARGE: 'its server sends answers that take too much memory',
  SEALED: 'its login was sealed under another DATA_KEY',
  TLS_UNAVAILABLE: 'its server does not offer TLS',
}

/** All errors of the network alike: which one it was would tell what is behind an address. */
const KINDS: Readonly<Record<SourceFailure, (code: string) => string>> = {
  unreachable: () => 'no connection to its server could be made or kept',
  too_slow: () => `a question to it takes longer than ${QUESTION_STATEMENT_MS / 1000} seconds`,
  changed: (code) => `a table, column or right that the search needs was changed${named(code)}`,
  failed: (code) => `the database failed to answer a question to it${named(code)}`,
}

const named = (code: string): string => (SQLSTATE.test(code) ? ` (${code})` : '')

/** In our words: those of a database may hold values of its rows. */
export const causeOf = ({ code, kind }: DatabaseFailure): string =>
  Object.hasOwn(CAUSES, code) ? CAUSES[code]! : KINDS[kind](code)
