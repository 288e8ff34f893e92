/** Requests that wait for something to happen, without a connection to the database in the meantime. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../contracts/errors.ts'

const POLL_MS = 1_000

export type Wait = { readonly seconds: number; readonly signal: AbortSignal | undefined }

/** `refusal`: for further ones of an organization. Of this process: each costs it a timer and a query a second. */
export function createWaits({ perOrganization, refusal }: { perOrganization: number; refusal: string }) {
  const waits = new Map<string, number>()
  return async (orgId: string, { seconds, signal }: Wait, isOver: () => Promise<boolean>): Promise<void> => {
    if (seconds === 0) return
    const waiting = waits.get(orgId) ?? 0
    if (waiting >= perOrganization) {
      throw new ServiceError('RATE_LIMITED', refusal, { retryAfterSeconds: seconds })
    }
    waits.set(orgId, waiting + 1)
    try {
      for (let pollsLeft = Math.ceil((seconds * 1000) / POLL_MS); pollsLeft > 0; pollsLeft--) {
        // Whoever has hung up makes room for the next one, perhaps the same after a restart.
        await sleep(POLL_MS, undefined, signal && { signal }).catch(() => {})
        if (signal?.aborted || (await isOver())) return
      }
    } finally {
      const left = waits.get(orgId)! - 1
      if (left > 0) waits.set(orgId, left)
      else waits.delete(orgId)
    }
  }
}
