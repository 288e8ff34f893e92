/** What is observed about every request of a service, whether it came over HTTP or from this process. */
import { endCall, runCall } from '../../db/current-call.ts'
import { ServiceError } from '../contracts/errors.ts'
import { makeId } from '../contracts/ids.ts'
import type { Clock } from '../cores/dependencies.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics, ObservedRequest } from '../observe/metrics.ts'
import type { TracedRequest, Tracing } from '../observe/tracing-port.ts'
import { asOfCall, asServiceError, outcomeUnknown } from './answer.ts'
import type { Deadline, HttpEnv } from './context.ts'

export type Observation = {
  readonly log: Logger
  readonly metrics: Metrics | undefined
  readonly tracing: Tracing
  readonly clock: Clock
  /** Left out where nothing listens. */
  readonly admission?: AdmissionPort
  /** Left out: DEADLINE_MS. */
  readonly deadlineMs?: number
  /** What must be done before anybody is answered: endings of which nobody knows whether they are. */
  readonly untilEnded?: () => Promise<void> | undefined
}

/** What decides when requests start learns here whose they are. */
export type AdmissionPort = {
  validated(credential: string, identity: string): void
  refused(credential: string): void
  warnings(): readonly string[]
}

/** Request ids of clients are taken over, as long as they cannot forge a log line. */
const REQUEST_ID = /^[\w.-]{8,64}$/

export const requestIdOf = (given: string | undefined, clock: Clock): string =>
  given && REQUEST_ID.test(given) ? given : makeId('req', clock().getTime())

/** Traces, counts and logs what `answer` does; that returns the status. `variables` are read when it has ended. */
export async function observe(
  service: string,
  { log, metrics, tracing }: Observation,
  incoming: TracedRequest,
  variables: () => Readonly<HttpEnv['Variables']>,
  answer: () => Promise<number>,
): Promise<void> {
  const startedAt = performance.now()
  const { status, route } = await tracing.request(service, incoming, async () => {
    const answered = await answer()
    return { status: answered, route: variables().route }
  })
  const seconds = (performance.now() - startedAt) / 1000
  const request = { service, route, method: incoming.method, status, seconds }
  if (!variables().isWaiting || status >= 400) metrics?.observeRequest(request)
  logRequest(log, variables(), request)
}

/** A long poll, in whichever of the two ways operations name it. */
export const asksToWait = (input: { readonly wait?: unknown; readonly wait_seconds?: unknown }): boolean =>
  Number(input.wait ?? input.wait_seconds ?? 0) > 0

/** Longer than any operation takes, shorter than the time-outs of proxies. */
const DEADLINE_MS = 30_000

/**
 * Throws TIMEOUT when the work takes too long. It is not stopped, unless it listens to the signal, but it changes nothing any
 * more: what waits for the database is cancelled, and what is being saved at that moment is said to have an unknown outcome.
 */
export const withDeadline = <T>(
  { deadlineMs = DEADLINE_MS, untilEnded }: Pick<Observation, 'deadlineMs' | 'untilEnded'>,
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> =>
  runCall((call) =>
    untilLate(
      deadlineMs,
      (deadline) => untilEnded?.()?.then(() => work(deadline)) ?? work(deadline),
      () => {
        endCall(call)
        return call.changes > 0 ? outcomeUnknown() : new ServiceError('TIMEOUT')
      },
    ).finally(() => {
      if (call.state === 'open') call.state = 'answered'
    }),
  )

function untilLate<T>(
  deadlineMs: number,
  work: (deadline: Deadline) => Promise<T>,
  end: () => ServiceError,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let controller: AbortController | undefined
    let late: ServiceError | undefined
    const timer = setTimeout(() => {
      late = end()
      reject(late)
      controller?.abort(late)
    }, deadlineMs)
    const deadline = () => {
      controller ??= new AbortController()
      if (late) controller.abort(late)
      return controller.signal
    }
    const fail = (error: unknown) => {
      clearTimeout(timer)
      // Told here, where it is known what the call has changed.
      reject(asOfCall(error))
    }
    try {
      work(deadline).then((result) => {
        clearTimeout(timer)
        resolve(result)
      }, fail)
    } catch (error) {
      // Thrown before there was a promise.
      fail(error)
    }
  })
}

function logRequest(
  log: Logger,
  { requestId, principal, failure, isRelayed, isWaiting }: Readonly<HttpEnv['Variables']>,
  request: ObservedRequest,
): void {
  const fields = {
    request_id: requestId,
    service: request.service,
    route: request.route,
    method: request.method,
    status: request.status,
    ms: Math.round(request.seconds * 10_000) / 10,
    user: principal?.userId ?? undefined,
    app_token: principal?.kind === 'app_token' ? principal.tokenId : undefined,
    workload: principal?.kind === 'workload' ? principal.userName : undefined,
    org: principal?.orgId ?? undefined,
    entryPoint: principal?.entryPoint,
  }
  // A mistake of the client is one line; a failure of ours is an error with its cause.
  if (request.status >= 500) log.error('request failed', { ...fields, error: failure })
  else if (isRelayed) log.debug('relayed', fields)
  else if (failure) log.info('request refused', { ...fields, ...refusalOf(failure) })
  else if (isWaiting) log.debug('request', fields)
  else log.info('request', fields)
}

/** Most refusals say all there is to know. Some have a cause that only the operator may see. */
function refusalOf(failure: unknown): { code: string; error?: unknown } {
  const { code, cause } = asServiceError(failure)
  return { code, ...(cause === undefined ? {} : { error: cause }) }
}
