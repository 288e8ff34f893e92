/** Waiting, and for how long. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Ends early, and without an error, when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

/** Doubles up to the longest, and half of it is random: workers that failed together do not come back together. */
export const retryDelayMs = (
  failures: number,
  firstMs: number,
  longestMs: number,
  random = Math.random(),
): number => Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30)) * (0.5 + random / 2)
