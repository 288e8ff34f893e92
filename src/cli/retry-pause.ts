/** How long to wait before a request is sent again: as long as the server says, or a little longer each time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandContext } from './command-context.ts'
import { toServiceError } from './format-error.ts'

const FIRST_MS = 1_000
const LONGEST_MS = 30_000

/** `attempts`: after so many failures in a row the last one is thrown. */
export function retryPause({ info }: Pick<CommandContext, 'info'>, attempts = Number.POSITIVE_INFINITY) {
  let failures = 0
  return {
    succeeded(): void {
      failures = 0
    },
    briefly: () => sleep(FIRST_MS),
    /** Throws what another attempt would not change. */
    async afterFailure(error: unknown): Promise<void> {
      const { code, message, retryAfterSeconds } = toServiceError(error)
      failures += 1
      if (!['RATE_LIMITED', 'TIMEOUT', 'UNEXPECTED'].includes(code) || failures >= attempts) throw error
      if (failures === 1) info(`${message}; trying again`)
      const backoffMs = Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS)
      await sleep(retryAfterSeconds === undefined ? backoffMs : retryAfterSeconds * 1000)
    },
  }
}
