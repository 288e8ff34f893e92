/** The worker: claims runs as long as it has capacity, and stops when nothing of it is left undone. */
import { askedDelayMs, createApi, isTemporary, RefusedError } from './api.ts'
import { forwardLogs } from './forward-logs.ts'
import { createLog, printLine, type LogLine } from './log.ts'
import { pathPart } from './path-part.ts'
import { pause, retryDelayMs } from './pause.ts'
import { runJob, type Claim } from './run-job.ts'
import { eventSender } from './send-event.ts'
import type { Settings } from './settings.ts'
import { describeError } from './texts.ts'
import { stopTimes, TIMING, type Timing } from './timing.ts'

export type Worker = {
  /** Works until SIGTERM or SIGINT, or until `stop` is called; a second signal ends the process at once. */
  run(): Promise<void>
  /** Claims nothing more, lets runs end, reports them: all within `stopSeconds`. */
  stop(): Promise<void>
}

export function startableWorker(settings: Settings, timing: Timing = TIMING, print = printLine): Worker {
  const { app, name, pipelines, concurrency, stopSeconds } = settings
  const api = createApi(settings.apiUrl, settings.credentials)
  const path = `/api/deploy/apps/${pathPart(app)}/pipeline-runs`
  const sendEvent = eventSender(api, app, timing)
  const forwarder = settings.forwardLogs && forwardLogs(api, settings.forwardLogs)
  const write = (line: LogLine) => {
    print(line)
    forwarder?.add(line)
  }
  const log = createLog(write)
  const jobs = new Set<Promise<void>>()
  /** Nothing more is claimed; the open claim is hung up. */
  const [stopping, hangUp] = [new AbortController(), new AbortController()]
  const [told, abandoned, givenUp] = [new AbortController(), new AbortController(), new AbortController()]
  const stopSignals = { told: told.signal, abandoned: abandoned.signal, givenUp: givenUp.signal }
  /** Ends the wait for capacity. */
  let wake = () => {}
  let claimedAt = 0
  let working: Promise<void> | undefined
  let stopped: Promise<void> | undefined

  async function work(): Promise<void> {
    let claimId = crypto.randomUUID()
    let failures = 0
    let isConnected = false
    while (!stopping.signal.aborted) {
      if (jobs.size >= concurrency) {
        await new Promise<void>((resolve) => (wake = resolve))
        continue
      }
      try {
        // The first one at once: it shows whether the worker is let in.
        const claim = await claimRun(claimId, isConnected ? timing.waitSeconds : 0)
        if (!isConnected) log.info(`Worker ${name} is connected to ${app} at ${settings.apiUrl.origin}`)
        isConnected = true
        failures = 0
        // The same until an answer arrives: a claim whose answer was lost then gives the same run again.
        claimId = crypto.randomUUID()
        if (claim) begin(claim)
        else await pause(Math.random() * timing.jitterMs, stopping.signal)
      } catch (error) {
        if (stopping.signal.aborted) break
        failures += 1
        isConnected = false
        await waitAfter(error, failures)
      }
    }
  }

  async function claimRun(claimId: string, waitSeconds: number): Promise<Claim | undefined> {
    claimedAt = performance.now()
    const body = {
      worker: name,
      pipelines: [...pipelines.keys()],
      claim_id: claimId,
      wait_seconds: waitSeconds,
    }
    const options = { timeoutMs: timing.claimMs, signal: hangUp.signal }
    return readClaim(await api(`${path}/claim`, body, options), claimedAt)
  }

  function begin(claim: Claim): void {
    const { id, pipeline } = claim.run
    log.info(`Run ${id} of ${pipeline} begins`)
    const deps = {
      api,
      path,
      log: createLog(write, { pipeline, run: id }),
      timing,
      stop: stopSignals,
      sendEvent,
    }
    const missing = () => Promise.reject(new Error(`This worker has no function for ${pipeline}`))
    const job = runJob(deps, claim, pipelines.get(pipeline) ?? missing)
      // One run must not end the others.
      .catch((error: unknown) => log.error(`Run ${id} ended with an error: ${describeError(error)}`))
      .finally(() => {
        jobs.delete(job)
        wake()
      })
    jobs.add(job)
  }

  /** What a person has to mend is told as an error, and tried again all the same: it may be mended meanwhile. */
  function waitAfter(error: unknown, failures: number): Promise<void> {
    const mustBeMended = error instanceof RefusedError && (!isTemporary(error) || error.status === 401)
    const text = `The server gives no run: ${describeError(error)}`
    if (mustBeMended) log.error(text)
    else log.warn(text)
    const delay = retryDelayMs(failures, timing.firstRetryMs, timing.longestRetryMs)
    return pause(Math.max(askedDelayMs(error), delay), stopping.signal)
  }

  /** Every time counts from here, so that all of them together end before the grace period of a pod does. */
  async function end(): Promise<void> {
    log.info(`Worker ${name} stops`)
    stopping.abort()
    wake()
    const began = performance.now()
    const times = stopTimes(stopSeconds * 1000, timing)
    const settled = Math.max(0, timing.claimSettledMs - (began - claimedAt))
    const timers = [
      setTimeout(() => hangUp.abort(), Math.min(settled, times.tellJobs)),
      setTimeout(() => told.abort(new Error('The worker is stopping')), times.tellJobs),
      setTimeout(() => abandoned.abort(), times.abandonJobs),
      setTimeout(() => givenUp.abort(new Error('the worker had to stop')), times.giveUpReports),
    ]
    await working
    await Promise.allSettled(jobs)
    for (const timer of timers) clearTimeout(timer)
    const left = stopSeconds * 1000 - (performance.now() - began)
    await forwarder?.close(Math.max(timing.leastMs, Math.min(timing.lastLinesMs, left)))
  }

  const stop = (): Promise<void> => (stopped ??= end())

  return {
    stop,
    async run() {
      if (working) throw new Error('svc-worker: this worker has been started already')
      const forget = onSignals(() => void stop())
      try {
        await (working = work())
        await stop()
      } finally {
        forget()
      }
    },
  }
}

/** What the server answers to a claim; undefined when there was no run. */
function readClaim(answer: unknown, sentAt: number): Claim | undefined {
  const { run, fence, lease_seconds } = (answer ?? {}) as Partial<{
    run: Partial<{ id: unknown; pipeline: unknown; scheduled: unknown; due_at: unknown }> | null
    fence: unknown
    lease_seconds: unknown
  }>
  if (run === null) return undefined
  const { id, pipeline, scheduled, due_at } = run ?? {}
  if (
    typeof id !== 'string' ||
    typeof pipeline !== 'string' ||
    typeof fence !== 'number' ||
    typeof lease_seconds !== 'number' ||
    lease_seconds <= 0
  ) {
    throw new Error('the server answered something else than a run')
  }
  const dueAt = new Date(String(due_at))
  return {
    run: { id, pipeline, scheduled: scheduled === true, dueAt },
    fence,
    leaseMs: lease_seconds * 1000,
    sentAt,
  }
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const
const SIGNALS = Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[]

/** The first signal stops, the second one ends the process. Returns what forgets both. */
function onSignals(stop: () => void): () => void {
  let isFirst = true
  const handle = (signal: NodeJS.Signals) => {
    if (!isFirst) process.exit(EXIT_CODES[signal as keyof typeof EXIT_CODES])
    isFirst = false
    stop()
  }
  for (const signal of SIGNALS) process.on(signal, handle)
  return () => {
    for (const signal of SIGNALS) process.off(signal, handle)
  }
}
