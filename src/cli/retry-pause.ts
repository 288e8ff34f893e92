/** How long to wait before a request is sent again: as long as the server says, or a little longer each time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandContext } from './command-context.ts'
import { toServiceError } from './format-error.ts'
import { mayRetry } from './runner/retry.ts'

const FIRST_MS = 1_000
const LONGEST_MS = 30_000

type Patience = {
  /** After so many failures in a row the last one is thrown. */
  readonly attempts?: number
  /** Whether being told to come again is one: for whoever asks, and has nothing that would be lost. */
  readonly countsLimits?: boolean
}

export function retryPause(
  { info }: Pick<CommandContext, 'info'>,
  { attempts = Number.POSITIVE_INFINITY, countsLimits = false }: Patience = {},
  pause: (ms: number) => Promise<unknown> = sleep,
) {
  let failures = 0
  let isTold = false
  return {
    succeeded(): void {
      failures = 0
      isTold = false
    },
    briefly: () => pause(FIRST_MS),
    /** Throws what another attempt would not change. */
    async afterFailure(error: unknown): Promise<void> {
      const { code, message, retryAfterSeconds } = toServiceError(error)
      if (countsLimits || code !== 'RATE_LIMITED') failures += 1
      if (!mayRetry(error) || failures >= attempts) throw error
      if (!isTold) info(`${message}; trying again`)
      isTold = true
      const backoffMs = Math.min(FIRST_MS * 2 ** Math.max(0, failures - 1), LONGEST_MS)
      const askedMs = retryAfterSeconds === undefined ? backoffMs : retryAfterSeconds * 1000
      // Of its database a server says the same two seconds every time: all attempts would be over before a slow one is back.
      await pause(code === 'UNAVAILABLE' ? Math.max(askedMs, backoffMs) : askedMs)
    },
  }
}
