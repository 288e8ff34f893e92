/** The mcp-server: /platform and /notifications for agents of either era, and the metadata that leads them in. */
import { Hono, type Context } from 'hono'
import { caller } from '../src/client/call.ts'
import { ADDRESS_HEADER, type Service } from '../src/client/service.ts'
import { ServiceError } from '../src/contracts/errors.ts'
import { idPattern, makeId } from '../src/contracts/ids.ts'
import { RESOURCES, type Resource } from '../src/contracts/scopes.ts'
import { admit, bearerOf } from './bearer.ts'
import { chooseTools } from './choose-tools.ts'
import { onlyKnownOrigins } from './known-origins.ts'
import { mountMetadata } from './metadata.ts'
import { readNarrowing } from './narrowing.ts'
import type { McpEnv, McpNeeds } from './needs.ts'
import { challenge, onlyPost, refuse, scopeChallenge } from './refuse.ts'
import type { MakeServer } from './serve.ts'
import type { Serving } from './serving.ts'
import { TOOLS } from './tools.ts'

export type { McpNeeds } from './needs.ts'

export function createMcpServer(needs: McpNeeds, makeServer?: MakeServer): Hono<McpEnv> {
  const app = new Hono<McpEnv>()
  app.onError(refuse)
  app.notFound((c) => refuse(new ServiceError('NOT_FOUND'), c))
  app.use(async function nameRequest(c, next) {
    c.set('requestId', c.get('requestId') ?? requestIdOf(c, needs))
    await next()
    c.res.headers.set('x-request-id', c.get('requestId'))
  })
  mountMetadata(app, needs)
  for (const resource of RESOURCES) {
    app.use(`/${resource}`, onlyKnownOrigins(needs))
    app.all(`/${resource}`, (c) => answer(c, needs, resource, makeServer))
  }
  return app
}

async function answer(
  c: Context<McpEnv>,
  needs: McpNeeds,
  resource: Resource,
  makeServer: MakeServer | undefined,
): Promise<Response> {
  c.set('route', resource)
  const as = {
    address: c.req.header(ADDRESS_HEADER),
    requestId: c.get('requestId'),
    traceparent: c.req.header('traceparent'),
  }
  const token = bearerOf(c)
  const entrant = token === undefined ? undefined : await admit(needs, { token, resource, as })
  if (!entrant) return challenge(c, needs, resource, token !== undefined)
  c.set('caller', { userId: entrant.userId, orgId: entrant.orgId, door: 'mcp' })
  // After the token: a client that begins with GET, as 2025 ones may, finds the challenge all the same.
  if (c.req.method !== 'POST') return onlyPost()

  const narrowing = readNarrowing(new URL(c.req.url))
  // Loaded with the first message: the SDK takes longer to load than everything else in this room.
  const { serve } = await import('./serve.ts')
  let failure: Error | undefined
  const serving: Serving = {
    resource,
    version: needs.version,
    requestId: as.requestId,
    appUrl: needs.appUrl,
    entrant,
    narrowing,
    choice: chooseTools(TOOLS, resource, entrant, narrowing),
    skills: needs.skills,
    call: ({ traceparent = as.traceparent, signal }) =>
      caller(endingWith(signal, needs.gateway), { ...as, traceparent, token: entrant.assertion }),
    challenge:
      entrant.canStepUp && needs.stepUp === 'challenge'
        ? (scopes) => scopeChallenge(c, needs, resource, scopes)
        : undefined,
    reports: [],
    log: needs.log,
    onFailure: (error) => (failure = error),
  }
  const response = await serve(c.req.raw, serving, makeServer)
  // The SDK reports clients' mistakes as well; only what it could not answer is a failure of ours.
  if (response.status >= 500) c.set('failure', failure)
  return response
}

/** Nobody waits for the answer once the client has gone: what is asked of others for it ends too. */
const endingWith = (signal: AbortSignal | undefined, service: Service): Service =>
  signal ? async (request) => service(new Request(request, { signal })) : service

/** Standing alone. Otherwise the frame has named the request already. */
function requestIdOf(c: Context<McpEnv>, { clock }: McpNeeds): string {
  const given = c.req.header('x-request-id')
  return given !== undefined && idPattern('req').test(given) ? given : makeId('req', clock().getTime())
}
