/** Waiting for something to claim, without a connection to the database in the meantime. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../contracts/errors.ts'
import { DEPLOYMENT_WAITS_MAX } from '../../contracts/limits.ts'

const POLL_MS = 1_000
/** Of this process: each costs it a timer and a query a second. */
const waits = new Map<string, number>()

export async function waitForWork(
  orgId: string,
  { seconds, signal }: { seconds: number; signal: AbortSignal | undefined },
  hasWork: () => Promise<boolean>,
): Promise<void> {
  if (seconds === 0) return
  const waiting = waits.get(orgId) ?? 0
  if (waiting >= DEPLOYMENT_WAITS_MAX) {
    throw new ServiceError('RATE_LIMITED', 'Too many runners of this organization wait already', {
      retryAfterSeconds: seconds,
    })
  }
  waits.set(orgId, waiting + 1)
  try {
    for (let pollsLeft = Math.ceil((seconds * 1000) / POLL_MS); pollsLeft > 0; pollsLeft--) {
      // Whoever has hung up makes room for the next one, perhaps the same after a restart.
      await sleep(POLL_MS, undefined, signal && { signal }).catch(() => {})
      if (signal?.aborted || (await hasWork())) return
    }
  } finally {
    const left = waits.get(orgId)! - 1
    if (left > 0) waits.set(orgId, left)
    else waits.delete(orgId)
  }
}
