/** The mcp-server: /platform and /notifications, for clients of the 2025 and 2026 protocols, their metadata and cards. */
import { Hono, type Context } from 'hono'
import type { CallOptions } from '../src/client/http-client.ts'
import { ADDRESS_HEADER } from '../src/client/service.ts'
import { ServiceError } from '../src/contracts/errors.ts'
import { idPattern, makeId } from '../src/contracts/ids.ts'
import { RESOURCES, type Resource } from '../src/contracts/scopes.ts'
import { authExtensions } from './auth-extensions.ts'
import { bearerOf, identify } from './authenticate.ts'
import { chooseTools, EVERYTHING, readNarrowing } from './choose-tools.ts'
import { checkOrigin } from './check-origin.ts'
import { mountMetadata } from './metadata.ts'
import { mountServerCards } from './server-cards.ts'
import { once } from './once.ts'
import type { McpEnv, McpDeps } from './dependencies.ts'
import { challenge, methodNotAllowed, handleError, scopeChallenge } from './error-responses.ts'
import { callLimiter, gatewayClient, type AdmittedCall } from './limit-calls.ts'
import type { MakeServer } from './serve.ts'
import type { RequestContext } from './request-context.ts'
import { mcpSkills } from './mcp-skills.ts'
import { TOOLS } from './tools.ts'

export type { McpDeps } from './dependencies.ts'

export function createMcpServer(deps: McpDeps, makeServer?: MakeServer): Hono<McpEnv> {
  const app = new Hono<McpEnv>()
  const limitCall = callLimiter(deps)
  const skills = mcpSkills(deps.skills)
  app.onError(handleError)
  app.notFound((c) => handleError(new ServiceError('NOT_FOUND'), c))
  app.use(async function nameRequest(c, next) {
    c.set('requestId', c.get('requestId') ?? requestIdOf(c, deps))
    await next()
    c.res.headers.set('x-request-id', c.get('requestId'))
  })
  mountMetadata(app, deps)
  mountServerCards(app, deps)
  for (const resource of RESOURCES) {
    // People paste the address with a slash at its end. Not redirected: clients would lose the body.
    for (const path of [`/${resource}`, `/${resource}/`]) {
      app.use(path, checkOrigin(deps))
      app.all(path, async (c) => {
        c.set('route', resource)
        const as = {
          address: c.req.header(ADDRESS_HEADER),
          requestId: c.get('requestId'),
          traceparent: c.req.header('traceparent'),
        }
        const token = bearerOf(c)
        const credential = token === undefined ? undefined : await identify(deps, { token, resource, as })
        const response =
          credential &&
          (await limitCall(c.req.raw, credential, as, (call) =>
            answer(c, deps, { resource, as, call, skills, makeServer }),
          ))
        return response ?? challenge(c, deps, resource, token !== undefined)
      })
    }
  }
  return app
}

type Received = {
  readonly resource: Resource
  readonly as: CallOptions
  readonly call: AdmittedCall
  readonly skills: RequestContext['skills']
  readonly makeServer: MakeServer | undefined
}

async function answer(
  c: Context<McpEnv>,
  deps: McpDeps,
  { resource, as, call: { principal, message, inTurn }, skills, makeServer }: Received,
): Promise<Response> {
  c.set('principal', { userId: principal.userId, orgId: principal.orgId, entryPoint: 'mcp' })
  // After authentication: a client that starts with GET, as 2025 ones may, still gets the challenge.
  if (c.req.method !== 'POST') return methodNotAllowed()

  const narrowing = c.req.url.includes('?') ? readNarrowing(new URL(c.req.url)) : EVERYTHING
  const { serve } = await loadServe()
  let failure: Error | undefined
  const context: RequestContext = {
    resource,
    version: deps.version,
    method: methodOf(message.json),
    requestId: c.get('requestId'),
    appUrl: deps.appUrl,
    principal,
    narrowing,
    choice: chooseTools(TOOLS, resource, principal, narrowing),
    skills,
    authExtensions: authExtensions(deps, resource),
    call: gatewayClient(deps, principal, as),
    challenge:
      deps.stepUp === 'challenge' ? (scopes) => scopeChallenge(c, deps, resource, scopes) : undefined,
    inTurn,
    reports: [],
    log: deps.log,
    onFailure: (error) => (failure = error),
  }
  const response = await serve(c.req.raw, message, context, makeServer)
  // The SDK also reports clients' mistakes; only what it could not answer is our failure.
  if (response.status >= 500) c.set('failure', failure)
  return response
}

const methodOf = (json: unknown): string | undefined =>
  typeof json === 'object' && json !== null && 'method' in json && typeof json.method === 'string'
    ? json.method
    : undefined

/** With the first message, because the SDK takes longer to load than the rest of this server; once, as even that costs. */
const loadServe = once(() => import('./serve.ts'))

/** Only when served alone: otherwise the service app around it has set the id. */
function requestIdOf(c: Context<McpEnv>, { clock }: McpDeps): string {
  const given = c.req.header('x-request-id')
  return given !== undefined && idPattern('req').test(given) ? given : makeId('req', clock().getTime())
}
