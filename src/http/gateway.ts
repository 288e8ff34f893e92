/** The api-gateway: databases, data sources, activity and notifications; every other operation is relayed to its service. */
import { compress } from 'hono/compress'
import { cors } from 'hono/cors'
import { httpClient } from '../client/http-client.ts'
import { ADDRESS_HEADER, type Service } from '../client/service.ts'
import { CLI_PATH } from '../contracts/cli-login.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { Operation } from '../contracts/operation.ts'
import { OPERATIONS, type OperationName, type Verbs } from '../contracts/operations.ts'
import * as activity from '../cores/activity/index.ts'
import type * as databases from '../cores/databases/index.ts'
import type { WithDirectory } from '../cores/directory/index.ts'
import type * as installation from '../cores/installation/index.ts'
import type * as loads from '../cores/loads/index.ts'
import type * as notifications from '../cores/notifications/index.ts'
import type * as search from '../cores/search/index.ts'
import { answerError, formatFor } from './answer.ts'
import { authenticate, type Authentication } from './authenticate.ts'
import type { HttpContext } from './context.ts'
import type { InProcessRequest } from './in-process.ts'
import { VERBS } from './gateway-verbs.ts'
import { listAuditHosted } from './list-audit-hosted.ts'
import { mount, routePath } from './mount.ts'
import { asksToWait } from './observe-request.ts'
import { openapi, type OpenApi } from './openapi.ts'
import type { WithOldReads } from './old-reads.ts'
import { createServiceApp, type Observation, type ServiceApp } from './service-app.ts'
import { isOwnOperators, withTrace, validateRemotely, type ValidateDeps } from './validate-remotely.ts'

export type GatewayDeps = Observation &
  WithOldReads &
  ValidateDeps &
  WithDirectory &
  databases.DatabaseDeps &
  search.SearchDeps &
  loads.LoadDeps &
  notifications.IntegrationDeps &
  notifications.VerificationDeps &
  notifications.ChatDeps &
  notifications.ListIntegrationsDeps &
  installation.InstallationDeps & {
    readonly attached: databases.AttachedDatabases
    readonly deploy: Service
    /** Undefined: the operations of the operator are closed. */
    readonly operatorToken: string | undefined
  }

const GATEWAY_VERBS: Verbs<'api-gateway', GatewayDeps> = VERBS

export function createGateway(deps: GatewayDeps): ServiceApp {
  const app = createServiceApp('api-gateway', deps)
  // Bearer endpoints use no cookies, so any page may call them, without credentials.
  app.use('/api/*', cors({ origin: '*', exposeHeaders: ['x-request-id', 'retry-after'], maxAge: 600 }))
  const authentication = { validate: validateRemotely(deps), operatorToken: deps.operatorToken }
  mount(app, GATEWAY_VERBS, deps, {
    ...authentication,
    recordRefusal: activity.recordRefusal(deps),
    oldReads: deps.oldReads,
  })
  const services = { 'auth-service': withTrace(deps, deps.auth), 'deploy-api': withTrace(deps, deps.deploy) }
  for (const op of OPERATIONS) {
    if (op.service === 'api-gateway') continue
    if (deps.hosted && op.name === 'listAudit') {
      app.get(routePath(op), listAuditHosted({ ...deps, auth: services['auth-service'] }, authentication))
      continue
    }
    const service = services[op.service]
    const handle = async (c: HttpContext, organization?: string) =>
      op.service === 'auth-service' && isOwnOperators(deps, shownBy(c))
        ? answerError(
            c,
            new ServiceError('UNAUTHENTICATED'),
            formatFor(c.req.header('accept'), op.http.answers ?? 'json'),
          )
        : relay(service, c, op.name, {
            organization,
            isWaiting: mayWait(c, op),
            headers: Object.values(op.http.headers ?? {}),
          })
    const isServed = deps.hosted !== undefined && op.service === 'auth-service' && isOfOrganization(op)
    app.on(op.http.method.toUpperCase(), routePath(op), (c) =>
      isServed ? relayServed(c, op, authentication, handle) : handle(c),
    )
    if (!isServed) app.inProcess.add(op, relayCall(deps, service, op), { isRelay: true })
  }
  // With hosted auth people sign in at the vendor's, and the client has an API token.
  if (!deps.hosted) app.post(`${CLI_PATH}/:endpoint`, (c) => relay(services['auth-service'], c, 'cli login'))
  // Built at the first request: it takes longer than everything else here together.
  let document: OpenApi | undefined
  const openapiDocument = () => (document ??= openapi(OPERATIONS, deps))
  app.get('/api/openapi.json', (c) => {
    c.set('route', 'openapi')
    return c.json(openapiDocument())
  })
  // Public, and the same for everybody: compressing it tells nobody anything.
  app.use('/api/docs/*', compress())
  const showDocs = async (c: HttpContext, tag?: string) => {
    c.set('route', 'docs')
    const { apiDocsPage } = await import('./api-docs.ts')
    const page = await apiDocsPage(openapiDocument(), { tag, search: c.req.query('q') })
    return page ?? c.redirect('/api/docs', 302)
  }
  app.get('/api/docs', (c) => showDocs(c))
  app.get('/api/docs/:tag', (c) => showDocs(c, c.req.param('tag')))
  return app
}

/** Whatever stands behind the scheme: as it would be relayed. */
const shownBy = (c: HttpContext): string | undefined =>
  c.req.header('authorization')?.replace(/^\s*\S+\s+/, '')

/** Open to whoever has an account at the vendor's, because they lead into an organization or out of a session. */
const OPEN_TO_ACCOUNTS: readonly OperationName[] = ['acceptInvitation', 'listMySupportSessions', 'signOut']

const isOfOrganization = ({ access, name }: (typeof OPERATIONS)[number]): boolean =>
  access !== 'anyone' && access !== 'operator' && !OPEN_TO_ACCOUNTS.includes(name)

/**
 * With hosted auth the vendor would act in whatever organization was last chosen there. It is told the one that this
 * installation serves, and whoever belongs to none of those is refused here.
 */
async function relayServed(
  c: HttpContext,
  op: Operation,
  authentication: Authentication,
  handle: (c: HttpContext, organization: string | undefined) => Promise<Response>,
): Promise<Response> {
  try {
    const { orgId } = await authenticate(c, op, authentication)
    return await handle(c, orgId ?? undefined)
  } catch (error) {
    return answerError(c, error, formatFor(c.req.header('accept'), op.http.answers ?? 'json'))
  }
}

/** What the other services need of the original request; cookies and hop-by-hop headers stay here. */
const RELAYED = [
  'authorization',
  'accept',
  'content-type',
  'content-encoding',
  'content-length',
  'idempotency-key',
  'user-agent',
  'x-svc-org',
  'x-svc-client',
  'origin',
  ADDRESS_HEADER,
]

const relayCall =
  (deps: GatewayDeps, service: Service, op: Operation) =>
  async ({ input, options, variables }: InProcessRequest): Promise<unknown> => {
    if (op.service === 'auth-service' && isOwnOperators(deps, options.token))
      throw new ServiceError('UNAUTHENTICATED')
    variables.route = `relay ${op.name}`
    variables.isRelayed = true
    variables.isWaiting = asksToWait(input)
    const { requestId, address } = variables
    // The trace goes on from here.
    return httpClient(service, { ...options, requestId, address, traceparent: undefined })(op, input)
  }

/** A body is not read here, and whoever claims work waits for it. */
const mayWait = (c: HttpContext, { http, input }: Operation): boolean =>
  http.method === 'get' ? asksToWait(c.req.query()) : 'wait_seconds' in input.shape

async function relay(
  service: Service,
  c: HttpContext,
  route: string,
  {
    organization,
    isWaiting = false,
    headers: own = [],
  }: {
    readonly organization?: string | undefined
    readonly isWaiting?: boolean
    /** That the operation reads, too. */
    readonly headers?: readonly string[]
  } = {},
): Promise<Response> {
  c.set('route', `relay ${route}`)
  c.set('isRelayed', true)
  c.set('isWaiting', isWaiting)
  const headers = new Headers({ 'x-request-id': c.get('requestId') })
  for (const name of [...RELAYED, ...own]) {
    const value = c.req.header(name)
    if (value !== undefined) headers.set(name, value)
  }
  if (organization !== undefined) headers.set('x-svc-org', organization)
  const { method, url, body, signal } = c.req.raw
  const response = await service(
    new Request(url, { method, headers, body, signal, ...(body ? { duplex: 'half' as const } : {}) }),
  )
  // A fetched response's headers are read-only, and its transfer encodings were undone on the way.
  const answered = new Headers(response.headers)
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding', 'connection'])
    answered.delete(name)
  return new Response(response.body, { status: response.status, headers: answered })
}
