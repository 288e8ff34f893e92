/** Time as the built-in model sees it. */
export type Timers = {
  readonly now: () => number
  /** Returns what cancels it. */
  readonly after: (ms: number, work: () => void) => () => void
  /** The same, without keeping the process alive. */
  readonly afterIdle: (ms: number, work: () => void) => () => void
}

export const realTimers: Timers = {
  now: () => performance.now(),
  after(ms, work) {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
  afterIdle(ms, work) {
    const timer = setTimeout(work, ms).unref()
    return () => clearTimeout(timer)
  },
}
