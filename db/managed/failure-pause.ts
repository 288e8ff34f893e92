/** Leaves a server that keeps failing alone for a while: first for seconds, at last for a minute. */

/** So many in a row. */
const FAILURES_MAX = 3
const FIRST_PAUSE_MS = 5_000
const PAUSE_MAX_MS = 60_000

export type FailurePause = {
  /** Throws the last failure while it is left alone. */
  check(): void
  failed(error: unknown): void
  succeeded(): void
}

export function failurePause(): FailurePause {
  let failures = 0
  let last: unknown
  let pausedUntil = 0
  return {
    check() {
      if (performance.now() < pausedUntil) throw last
    },
    failed(error) {
      failures += 1
      last = error
      if (failures < FAILURES_MAX) return
      const pause = FIRST_PAUSE_MS * 2 ** (failures - FAILURES_MAX)
      pausedUntil = performance.now() + Math.min(pause, PAUSE_MAX_MS)
    },
    succeeded() {
      failures = 0
    },
  }
}
