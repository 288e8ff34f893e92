/** Which failures of a call pass by themselves, and how long to wait for it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ERRORS, ServiceError, type ErrorCode } from '../../contracts/errors.ts'

/** A server that restarts, a proxy without one behind it, a limit. */
const PASSING: readonly ErrorCode[] = ['TIMEOUT', 'UNEXPECTED', 'RATE_LIMITED']
/** A crowd, a database or a cluster that is away: nothing was done. */
const UNAVAILABLE_STATUS = 503

export const mayRetry = (error: unknown): boolean =>
  error instanceof ServiceError &&
  (PASSING.includes(error.code) || ERRORS[error.code].status === UNAVAILABLE_STATUS)

const RETRY_MS = 500
export const RETRY_MAX_MS = 30_000

/** Doubles, and is never the same for all runners that lost the same server. */
export function retryDelayMs(error: unknown, failures: number, maxMs: number): number {
  const asked = error instanceof ServiceError ? (error.retryAfterSeconds ?? 0) * 1000 : 0
  const delayMs = Math.min(RETRY_MS * 2 ** Math.min(failures, 10), maxMs)
  return Math.min(Math.max(asked, delayMs * (0.5 + Math.random() / 2)), maxMs)
}

/** Ends early, and quietly, when the signal comes. */
export const pause = async (ms: number, signal?: AbortSignal): Promise<void> => {
  await sleep(ms, undefined, signal && { signal }).catch(() => {})
}
