/** The clothes every service wears: request id, deadline, log line, metrics, trace, and one way to fail. */
import { Hono } from 'hono'
import { ADDRESS_HEADER } from '../client/service.ts'
import { notFound, ServiceError } from '../contracts/errors.ts'
import { makeId } from '../contracts/ids.ts'
import type { Clock } from '../cores/needs.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Tracing } from '../observe/tracing-port.ts'
import { answerError, asServiceError, formatFor } from './answer.ts'
import type { HttpContext, HttpEnv } from './context.ts'

export type Observation = {
  readonly log: Logger
  readonly metrics: Metrics | undefined
  readonly tracing: Tracing
  readonly clock: Clock
}

/** Foreign ids are welcome in the log as long as they cannot forge a line of it. */
const REQUEST_ID = /^[\w.-]{8,64}$/

/** Longer than any honest operation, shorter than a proxy's patience. */
const DEADLINE_MS = 30_000

export function createServiceApp(
  service: string,
  { log, metrics, tracing, clock }: Observation,
): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>()
  app.use(async function observed(c, next) {
    const started = performance.now()
    const given = c.req.header('x-request-id')
    c.set('requestId', given && REQUEST_ID.test(given) ? given : makeId('req', clock().getTime()))
    c.set('address', c.req.header(ADDRESS_HEADER) ?? 'unknown')
    c.set('route', 'unmatched')
    await tracing.request(service, c.req.raw, async () => {
      await beforeDeadline(c, next)
      return { route: c.get('route'), response: c.res }
    })
    c.res.headers.set('x-request-id', c.get('requestId'))
    c.res.headers.set('x-content-type-options', 'nosniff')
    const seconds = (performance.now() - started) / 1000
    const seen = { service, route: c.get('route'), method: c.req.method, status: c.res.status, seconds }
    metrics?.observeRequest(seen)
    logRequest(log, c, seen)
  })
  app.notFound((c) => answerError(c, notFound(), formatFor(c.req.header('accept'), 'json')))
  app.onError((error, c) => answerError(c, error, formatFor(c.req.header('accept'), 'json')))
  return app
}

async function beforeDeadline(c: HttpContext, next: () => Promise<void>): Promise<void> {
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

function logRequest(
  log: Logger,
  c: HttpContext,
  seen: { service: string; route: string; method: string; status: number; seconds: number },
): void {
  const caller = c.get('caller')
  const failure = c.get('failure')
  const fields = {
    request_id: c.get('requestId'),
    service: seen.service,
    route: seen.route,
    method: seen.method,
    status: seen.status,
    ms: Math.round(seen.seconds * 10_000) / 10,
    user: caller?.userId ?? undefined,
    org: caller?.orgId ?? undefined,
    door: caller?.door,
  }
  // What callers do wrong is their business and one line; what we do wrong is an error with its cause.
  if (seen.status >= 500) log.error('request failed', { ...fields, error: failure })
  else if (c.get('isHop')) log.debug('hop', fields)
  else if (failure) log.info('request refused', { ...fields, code: asServiceError(failure).code })
  else log.info('request', fields)
}
