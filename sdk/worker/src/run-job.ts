/** One run: calls the function of its pipeline, keeps the claim alive meanwhile, and reports how it ended. */
import { askedDelayMs, isTemporary, type Api } from './api.ts'
import { follow } from './follow.ts'
import type { Log } from './log.ts'
import { pathPart } from './path-part.ts'
import { pause, retryDelayMs } from './pause.ts'
import type { AppEvent, SendEvent } from './send-event.ts'
import { cut, describeError } from './texts.ts'
import type { Timing } from './timing.ts'

export type PipelineRun = {
  readonly id: string
  readonly pipeline: string
  /** False: somebody started it by hand. */
  readonly scheduled: boolean
  readonly dueAt: Date
}

export type PipelineContext = {
  readonly run: PipelineRun
  /** Grows with every claim of the pipeline: let whatever you write to refuse a lower number than it has seen. */
  readonly fence: number
  /** Aborted when the run is not this worker's any more, or the worker stops: end the job then. */
  readonly signal: AbortSignal
  readonly log: Log
  /** Tells the subscriptions of the organization, and the people of the app. */
  readonly sendEvent: (event: AppEvent) => Promise<void>
}

/** A text that it returns is shown with the run. Throwing means failed, with the message of the error. */
export type PipelineFunction = (context: PipelineContext) => unknown

export type Claim = {
  readonly run: PipelineRun
  readonly fence: number
  readonly leaseMs: number
  /** Before the server could answer: its lease began no earlier. */
  readonly sentAt: number
}

/** A worker that stops: jobs are told to end, are not waited for any more, and what is not reported by then stays so. */
type StopSignals = {
  readonly told: AbortSignal
  readonly abandoned: AbortSignal
  readonly givenUp: AbortSignal
}

export type JobDeps = {
  readonly api: Api
  /** Of the app: `/api/deploy/apps/<alias>/pipeline-runs`. */
  readonly path: string
  readonly log: Log
  readonly timing: Timing
  readonly stop: StopSignals
  readonly sendEvent: SendEvent
}

type Outcome = { readonly succeeded: boolean; readonly message?: string }

const MESSAGE_MAX = 1_000
/** Of the lease: this worker must have let go when the server gives the run to others. */
const LEASE_USED = 0.95

export async function runJob(deps: JobDeps, claim: Claim, work: PipelineFunction): Promise<void> {
  const [lost, job, over] = [new AbortController(), new AbortController(), new AbortController()]
  const unfollow = [follow(job, lost.signal), follow(job, deps.stop.told), follow(over, deps.stop.abandoned)]
  const ended = new AbortController()
  const keeping = keepClaim(deps, claim, lost, ended.signal)
  let outcome: Outcome
  try {
    outcome = await Promise.race([
      perform(work, {
        run: claim.run,
        fence: claim.fence,
        signal: job.signal,
        log: deps.log,
        sendEvent: (event) => deps.sendEvent(event, job.signal),
      }),
      abandoned(over.signal),
    ])
  } finally {
    ended.abort()
    for (const end of unfollow) end()
  }
  await keeping
  await report(deps, claim, outcome)
}

async function perform(work: PipelineFunction, context: PipelineContext): Promise<Outcome> {
  try {
    const said = await work(context)
    return typeof said === 'string' ? { succeeded: true, message: said } : { succeeded: true }
  } catch (error) {
    const message = describeError(error)
    context.log.error(`Run ${context.run.id} failed: ${message}`)
    return { succeeded: false, message }
  }
}

/** A function that does not listen to its signal is not waited for when the worker stops. */
const abandoned = (over: AbortSignal): Promise<Outcome> =>
  new Promise((resolve) => {
    const stop = () => resolve({ succeeded: false, message: 'The worker was stopped' })
    if (over.aborted) stop()
    else over.addEventListener('abort', stop, { once: true })
  })

/** What the server gives to others, or takes for lost, this worker must not go on with. */
async function keepClaim(
  { api, path, log, timing }: JobDeps,
  { run, fence, leaseMs, sentAt }: Claim,
  lost: AbortController,
  ended: AbortSignal,
): Promise<void> {
  const over = AbortSignal.any([ended, lost.signal])
  const lose = (why: string) => {
    log.warn(`Run ${run.id} is not this worker's any more: ${why}`)
    lost.abort(new Error(`The run is lost: ${why}`))
  }
  // Whatever the requests do meanwhile: one that hangs outlasts the lease.
  const loseAfter = (since: number) =>
    setTimeout(
      () => lose('the server could not be reached for too long'),
      since + leaseMs * LEASE_USED - performance.now(),
    )
  const everyMs = leaseMs / timing.keepsPerLease
  let lease = loseAfter(sentAt)
  let next = sentAt + everyMs * (0.9 + Math.random() / 5)
  let failures = 0
  while (!over.aborted) {
    await pause(next - performance.now(), over)
    if (over.aborted) break
    const triedAt = performance.now()
    try {
      const options = { timeoutMs: timing.requestMs, signal: over }
      await api(`${path}/${pathPart(run.id)}/keep`, { fence }, options)
      clearTimeout(lease)
      lease = loseAfter(triedAt)
      next = triedAt + everyMs * (0.9 + Math.random() / 5)
      failures = 0
    } catch (error) {
      if (over.aborted) break
      if (!isTemporary(error)) lose(describeError(error))
      failures += 1
      const delay = retryDelayMs(failures, Math.min(timing.firstRetryMs, everyMs), everyMs)
      next = performance.now() + Math.max(askedDelayMs(error), delay)
    }
  }
  clearTimeout(lease)
}

/** Also after it was lost: the job did end, and nobody else knows how. */
async function report(deps: JobDeps, { run, fence }: Claim, { succeeded, message }: Outcome): Promise<void> {
  const { api, path, log, timing, stop } = deps
  const body = { fence, succeeded, ...(message && { message: cut(message, MESSAGE_MAX) }) }
  const options = { timeoutMs: timing.requestMs, signal: stop.givenUp }
  const givingUp = performance.now() + timing.reportMs
  for (let failures = 1; ; failures += 1) {
    try {
      await api(`${path}/${pathPart(run.id)}/finish`, body, options)
      log.info(`Run ${run.id} ${succeeded ? 'succeeded' : 'failed'}`)
      return
    } catch (error) {
      if (!isTemporary(error) || stop.givenUp.aborted || performance.now() > givingUp) {
        log.error(`Run ${run.id} could not be reported: ${describeError(error)}`)
        return
      }
      const delay = askedDelayMs(error) || retryDelayMs(failures, timing.firstRetryMs, timing.longestRetryMs)
      // A worker that stops has no time for longer waits, and a server that restarts is back within seconds.
      if (stop.told.aborted) await pause(Math.min(delay, timing.firstRetryMs), stop.givenUp)
      else await pause(delay, stop.told)
    }
  }
}
