/**
 * Calls between services of one process: values instead of a Request and a Response. All else is as over HTTP: request id,
 * deadline, log line, metrics, trace, the form in which values and errors arrive, and that a caller may stop waiting.
 */
import type { CallOptions } from '../client/http-client.ts'
import type { CallInProcess } from '../client/service.ts'
import { ERRORS, ServiceError } from '../contracts/errors.ts'
import { jsonCopy } from '../contracts/json-values.ts'
import type { Operation } from '../contracts/operation.ts'
import { asServiceError } from './answer.ts'
import type { HttpEnv } from './context.ts'
import { observe, requestIdOf, withDeadline, type Observation } from './observe-request.ts'

export type InProcessRequest = {
  readonly input: Record<string, unknown>
  readonly options: CallOptions
  readonly variables: HttpEnv['Variables']
}

type Handle = (request: InProcessRequest) => Promise<unknown>

export type InProcessCalls = {
  /** `isRelay`: another service answers, and logs what went wrong. */
  add(op: Operation, handle: Handle, settings?: { isRelay: boolean }): void
  readonly call: CallInProcess
}

export function inProcessCalls(service: string, observation: Observation): InProcessCalls {
  const handlers = new Map<string, { handle: Handle; isRelay: boolean }>()

  async function run(
    op: Operation,
    { handle, isRelay }: { handle: Handle; isRelay: boolean },
    input: Record<string, unknown>,
    options: CallOptions,
  ): Promise<unknown> {
    const variables = variablesOf(op, options, observation)
    let answer: unknown
    let refusal: ServiceError | undefined
    await observe(
      service,
      observation,
      { method: op.http.method.toUpperCase(), headers: traceHeaders(options), isWithin: true },
      () => variables,
      async () => {
        try {
          answer = await withDeadline(observation, () => handle({ input, options, variables }))
          return op.http.success ?? 200
        } catch (error) {
          refusal = asServiceError(error)
          if (!isRelay) variables.failure = error
          return ERRORS[refusal.code].status
        }
      },
    )
    if (refusal) throw asReceived(refusal)
    return answer
  }

  return {
    add(op, handle, { isRelay } = { isRelay: false }) {
      handlers.set(op.name, { handle, isRelay })
    },
    call(op, input, options) {
      const handler = handlers.get(op.name)
      if (handler && options.signal?.aborted) return Promise.reject(options.signal.reason as Error)
      return handler && untilAborted(run(op, handler, input, options), options.signal)
    },
  }
}

const variablesOf = (
  { name }: Operation,
  { requestId, address }: CallOptions,
  { clock }: Observation,
): HttpEnv['Variables'] => ({
  requestId: requestIdOf(requestId, clock),
  address: address ?? 'unknown',
  route: name,
  principal: undefined,
  isRelayed: undefined,
  failure: undefined,
})

const traceHeaders = ({ traceparent }: CallOptions): [string, string][] =>
  traceparent === undefined ? [] : [['traceparent', traceparent]]

/** What a response would carry of it: not the cause, which is for the log of the service that failed. */
function asReceived({ code, message, hint, problems, retryAfterSeconds }: ServiceError): ServiceError {
  const wait = retryAfterSeconds !== undefined && retryAfterSeconds > 0 ? retryAfterSeconds : undefined
  return new ServiceError(code, message, { hint, problems, retryAfterSeconds: wait })
}

/** An answer as it arrives: a copy, without what JSON has no form for. */
export const received = <T>(answer: T): T => jsonCopy(answer) as T

/** The call goes on, as at a server whose client has disconnected; only its caller does not wait for it. */
function untilAborted(answer: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  if (!signal) return answer
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
