/** What every HTTP service has in common: request id, deadline, log line, metrics, trace and error answers. */
import { Hono } from 'hono'
import { ADDRESS_HEADER } from '../client/service.ts'
import { notFound } from '../contracts/errors.ts'
import { answerError, formatFor } from './answer.ts'
import type { HttpContext, HttpEnv } from './context.ts'
import { inProcessCalls, type InProcessCalls } from './in-process.ts'
import { observe, requestIdOf, withDeadline, type Observation } from './observe-request.ts'

export type { Observation } from './observe-request.ts'

export type ServiceApp = Hono<HttpEnv> & { readonly inProcess: InProcessCalls }

export function createServiceApp(service: string, observation: Observation): ServiceApp {
  const app = Object.assign(new Hono<HttpEnv>(), { inProcess: inProcessCalls(service, observation) })
  app.use(async function observeRequest(c, next) {
    c.set('requestId', requestIdOf(c.req.header('x-request-id'), observation.clock))
    c.set('address', c.req.header(ADDRESS_HEADER) ?? 'unknown')
    c.set('route', 'unmatched')
    // Read first: the MCP server takes it out of the request.
    const credential = c.req.header('authorization') ?? c.req.header('cookie')
    await observe(
      service,
      observation,
      c.req.raw,
      () => c.var,
      async () => {
        await withDeadline(observation, (deadline) => {
          c.set('deadline', deadline)
          return next()
        }).catch(async (error: unknown) => {
          c.res = await answerError(c, error, formatOf(c))
        })
        c.res.headers.set('x-request-id', c.get('requestId'))
        c.res.headers.set('x-content-type-options', 'nosniff')
        if (credential !== undefined) tellAdmission(c, observation, credential)
        return c.res.status
      },
    )
  })
  app.notFound((c) => answerError(c, notFound(), formatOf(c)))
  app.onError((error, c) => answerError(c, error, formatOf(c)))
  return app
}

/** By the credential that the listener saw, which may be a cookie. */
function tellAdmission(c: HttpContext, { admission }: Observation, credential: string): void {
  const { principal, identity = principal?.userId ?? principal?.tokenId } = c.var
  if (c.res.status === 401) admission?.refused(credential)
  else if (identity !== undefined) admission?.validated(credential, identity)
}

const formatOf = (c: HttpContext) => formatFor(c.req.header('accept'), 'json')
