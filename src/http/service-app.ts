/** What every HTTP service has in common: request id, deadline, log line, metrics, trace and error answers. */
import { Hono } from 'hono'
import { ADDRESS_HEADER } from '../client/service.ts'
import { notFound, ServiceError } from '../contracts/errors.ts'
import { makeId } from '../contracts/ids.ts'
import type { Clock } from '../cores/dependencies.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics, ObservedRequest } from '../observe/metrics.ts'
import type { Tracing } from '../observe/tracing-port.ts'
import { answerError, asServiceError, formatFor } from './answer.ts'
import type { HttpContext, HttpEnv } from './context.ts'

export type Observation = {
  readonly log: Logger
  readonly metrics: Metrics | undefined
  readonly tracing: Tracing
  readonly clock: Clock
}

/** Request ids of clients are taken over, as long as they cannot forge a log line. */
const REQUEST_ID = /^[\w.-]{8,64}$/

/** Longer than any operation takes, shorter than the time-outs of proxies. */
const DEADLINE_MS = 30_000

export function createServiceApp(
  service: string,
  { log, metrics, tracing, clock }: Observation,
): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>()
  app.use(async function observeRequest(c, next) {
    const started = performance.now()
    const requestId = c.req.header('x-request-id')
    c.set('requestId', requestId && REQUEST_ID.test(requestId) ? requestId : makeId('req', clock().getTime()))
    c.set('address', c.req.header(ADDRESS_HEADER) ?? 'unknown')
    c.set('route', 'unmatched')
    await tracing.request(service, c.req.raw, async () => {
      await withDeadline(c, next)
      return { route: c.get('route'), response: c.res }
    })
    c.res.headers.set('x-request-id', c.get('requestId'))
    c.res.headers.set('x-content-type-options', 'nosniff')
    const seconds = (performance.now() - started) / 1000
    const request = { service, route: c.get('route'), method: c.req.method, status: c.res.status, seconds }
    metrics?.observeRequest(request)
    logRequest(log, c, request)
  })
  app.notFound((c) => answerError(c, notFound(), formatFor(c.req.header('accept'), 'json')))
  app.onError((error, c) => answerError(c, error, formatFor(c.req.header('accept'), 'json')))
  return app
}

async function withDeadline(c: HttpContext, next: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, DEADLINE_MS, 'late')
  })
  try {
    if ((await Promise.race([next(), late])) !== 'late') return
    c.res = await answerError(c, new ServiceError('TIMEOUT'), formatFor(c.req.header('accept'), 'json'))
  } finally {
    clearTimeout(timer)
  }
}

function logRequest(log: Logger, c: HttpContext, request: ObservedRequest): void {
  const principal = c.get('principal')
  const failure = c.get('failure')
  const fields = {
    request_id: c.get('requestId'),
    service: request.service,
    route: request.route,
    method: request.method,
    status: request.status,
    ms: Math.round(request.seconds * 10_000) / 10,
    user: principal?.userId ?? undefined,
    org: principal?.orgId ?? undefined,
    entryPoint: principal?.entryPoint,
  }
  // A mistake of the client is one line; a failure of ours is an error with its cause.
  if (request.status >= 500) log.error('request failed', { ...fields, error: failure })
  else if (c.get('isRelayed')) log.debug('relayed', fields)
  else if (failure) log.info('request refused', { ...fields, ...refusalOf(failure) })
  else log.info('request', fields)
}

/** Most refusals say all there is to know. Some have a cause that only the operator may see. */
function refusalOf(failure: unknown): { code: string; error?: unknown } {
  const { code, cause } = asServiceError(failure)
  return { code, ...(cause === undefined ? {} : { error: cause }) }
}
