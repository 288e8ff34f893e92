/** A failure as an agent reads it: `CODE: what is wrong. What to do next.` */
import type { ErrorCode, ServiceError } from '../src/contracts/errors.ts'

/** A body may be wrong in a hundred places; an answer need not say so a hundred times. */
const PROBLEMS_MAX = 5

/** What helps an agent, where the hint is for people or there is none. */
const NEXT: Partial<Record<ErrorCode, string>> = {
  FILTER_NOT_ALLOWED: 'Call datasource_list for the columns of every source.',
  NO_SEMANTIC_SEARCH: 'A developer or admin of the organization can configure it; do not retry.',
  EMBEDDING_UNAVAILABLE: 'Nothing was searched. Try again later.',
  TIMEOUT: 'Try again once; narrow the question if it happens again.',
}

/** Said where nothing else is. */
const OTHERWISE: Partial<Record<ErrorCode, string>> = {
  UNAUTHENTICATED: 'Ask the user to connect again.',
  FORBIDDEN: 'Ask an owner or admin of the organization; do not retry.',
  INVALID_REQUEST: 'Correct the arguments and call again.',
  UNEXPECTED: 'Try again once, then tell the user.',
}

/** `unknown` takes the place of everything the core says of what is not there: hidden and unknown read alike. */
export function sentenceFor(error: ServiceError, unknown: string | undefined): string {
  const { code, message, hint, problems = [], retryAfterSeconds } = error
  if (code === 'NOT_FOUND' && unknown !== undefined) return `${code}: ${unknown}`
  const wait = retryAfterSeconds === undefined ? undefined : `Retry after ${retryAfterSeconds} s.`
  const next = NEXT[code] ?? wait ?? hint ?? OTHERWISE[code]
  const parts = [message, ...problems.slice(0, PROBLEMS_MAX), next].filter((part) => part !== undefined)
  return `${code}: ${parts.map(ended).join(' ')}`
}

const ended = (sentence: string): string => (/[.!?]$/.test(sentence) ? sentence : `${sentence}.`)
