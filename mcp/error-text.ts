/** An error as an agent reads it: `CODE: what is wrong. What to do next.` */
import type { ErrorCode, ServiceError } from '../src/contracts/errors.ts'

const PROBLEMS_MAX = 5

/** Advice for an agent, where the hint is meant for people or there is none. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  FILTER_NOT_ALLOWED: 'Call datasource_list for the filterable columns.',
  NO_SEMANTIC_SEARCH: 'A developer or admin of the organization can configure it; do not retry.',
  EMBEDDING_UNAVAILABLE: 'Nothing was searched. Retry later.',
  SOURCE_FAILED: 'Tell the user; do not retry.',
  MAINTENANCE_AGENT_NOT_FOUND: 'An owner or admin can turn it on in the console; do not retry.',
  TIMEOUT: 'Retry once; if it happens again, narrow the question.',
}

/** Used when the error has neither a wait nor a hint. */
const DEFAULT_ADVICE: Partial<Record<ErrorCode, string>> = {
  UNAUTHENTICATED: 'Ask the user to reconnect.',
  FORBIDDEN: 'Ask an owner or admin of the organization; do not retry.',
  INVALID_REQUEST: 'Correct the arguments and call again.',
  UNEXPECTED: 'Retry once, then tell the user.',
}

/** `notFoundText` replaces whatever the core says about NOT_FOUND: hidden and unknown must read alike. */
export function errorText(error: ServiceError, notFoundText: string | undefined): string {
  const { code, message, hint, problems = [], retryAfterSeconds } = error
  if (code === 'NOT_FOUND' && notFoundText !== undefined) return `${code}: ${notFoundText}`
  const wait = retryAfterSeconds === undefined ? undefined : `Retry after ${retryAfterSeconds} s.`
  const next = ADVICE[code] ?? wait ?? hint ?? DEFAULT_ADVICE[code]
  const parts = [message, ...problems.slice(0, PROBLEMS_MAX), next].filter((part) => part !== undefined)
  return `${code}: ${parts.map(withFullStop).join(' ')}`
}

const withFullStop = (sentence: string): string => (/[.!?]$/.test(sentence) ? sentence : `${sentence}.`)
