/** Timers and a clock that move when a test says so, given to what would otherwise start real ones. */
export type PlayedTimers = {
  readonly now: () => number
  readonly start: (act: () => void, ms: number) => NodeJS.Timeout
  /** Ends what is due within these milliseconds, in its order. */
  readonly pass: (ms: number) => void
}

type Played = {
  readonly timer: NodeJS.Timeout & { _destroyed?: boolean }
  readonly act: () => void
  dueMs: number
}

/** Longer than any test. */
const NEVER_MS = 2 ** 31 - 1

export function playedTimers(): PlayedTimers {
  let nowMs = 0
  const started = new Set<Played>()
  const next = (untilMs: number): Played | undefined => {
    for (const one of started) if (one.timer._destroyed) started.delete(one)
    return [...started].filter(({ dueMs }) => dueMs <= untilMs).toSorted((a, b) => a.dueMs - b.dueMs)[0]
  }
  return {
    now: () => nowMs,
    start(act, ms) {
      // One of Node's own: the code that is tested clears and refreshes it.
      const timer = setTimeout(() => {}, NEVER_MS).unref()
      const one = { timer, act, dueMs: nowMs + ms }
      timer.refresh = () => {
        one.dueMs = nowMs + ms
        return timer
      }
      started.add(one)
      return timer
    },
    pass(ms) {
      const untilMs = nowMs + ms
      for (let one = next(untilMs); one; one = next(untilMs)) {
        nowMs = one.dueMs
        started.delete(one)
        clearTimeout(one.timer)
        one.act()
      }
      nowMs = untilMs
    },
  }
}
