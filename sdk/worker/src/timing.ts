/** Every time of a worker; tests have shorter ones. */
export type Timing = {
  /** A claim waits so long at the server, and longer here: services wait for each other, and that takes time too. */
  readonly waitSeconds: number
  readonly claimMs: number
  /** Any other request. */
  readonly requestMs: number
  /** After so long at the server a claim only waits: then nothing is lost by hanging up. */
  readonly claimSettledMs: number
  /** Between a claim without a run and the next, at most. */
  readonly jitterMs: number
  readonly firstRetryMs: number
  readonly longestRetryMs: number
  /** How often a claim is kept in the time of its lease. */
  readonly keepsPerLease: number
  /** How long a report is repeated. */
  readonly reportMs: number
  /** Of the time for stopping: what a job gets to end after its signal, and the reports after that. */
  readonly abandonMs: number
  readonly lastReportsMs: number
  /** For the last log lines, at most; and what the reports and the lines get, however short the time for stopping is. */
  readonly lastLinesMs: number
  readonly leastMs: number
}

export const TIMING: Timing = {
  waitSeconds: 20,
  claimMs: 40_000,
  requestMs: 15_000,
  claimSettledMs: 3_000,
  jitterMs: 500,
  firstRetryMs: 1_000,
  longestRetryMs: 60_000,
  keepsPerLease: 3,
  reportMs: 10 * 60_000,
  abandonMs: 3_000,
  lastReportsMs: 4_000,
  lastLinesMs: 5_000,
  leastMs: 1_000,
}

/** When what ends, from the moment the worker is told to stop: everything within `totalMs`. A short one is shared out. */
export function stopTimes(
  totalMs: number,
  { abandonMs, lastReportsMs, leastMs }: Pick<Timing, 'abandonMs' | 'lastReportsMs' | 'leastMs'>,
) {
  const lastMs = abandonMs + lastReportsMs + leastMs
  const share = Math.min(1, totalMs / 2 / lastMs)
  const tellJobs = totalMs - lastMs * share
  const abandonJobs = tellJobs + abandonMs * share
  return { tellJobs, abandonJobs, giveUpReports: Math.max(totalMs - leastMs, abandonJobs + leastMs) }
}
