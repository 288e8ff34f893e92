/** Serves the authorization server's paths on Node's http: the library is a Koa application. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { ADDRESS_HEADER } from '../../src/client/service.ts'
import { ERRORS, ServiceError } from '../../src/contracts/errors.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { RESOURCE_SCOPES, RESOURCES } from '../../src/contracts/scopes.ts'
import { networkOf } from '../../src/contracts/network-of.ts'
import { throttle } from '../../src/cores/throttle.ts'
import { asOfCall, asServiceError } from '../../src/http/answer.ts'
import { withDeadline } from '../../src/http/observe-request.ts'
import { isSameOrigin } from '../browser-session.ts'
import { JWT_BEARER, repeatedAssertions } from './assertion-grant.ts'
import { authorizationError } from './authorization-error.ts'
import { showConsent, submitConsent, type Interaction, type Outcome } from './consent.ts'
import type { ConnectorDeps } from './dependencies.ts'
import { isDocumentUrl } from './metadata-documents.ts'
import { createProvider } from './provider.ts'
import { repeatWithinGrace } from './refresh-grace.ts'
import { registrationOutcome, type RegistrationOutcome } from './registered-clients.ts'
import { resourceUrl } from './resources.ts'

export type NodeHandler = {
  readonly owns: RegExp
  readonly handle: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>
}

/** No `form-action`: Chromium applies it to the whole redirect chain, which leaves this origin. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'"

type Rate = { count: number; seconds: number }

/** Per address; many people may share one. */
const RATES: Record<string, Rate> = {
  '/oauth/register': { count: 30, seconds: 60 },
  '/oauth/authorize': { count: 120, seconds: 60 },
}

export function connectorHandler(deps: ConnectorDeps): Pick<NodeHandler, 'handle'> {
  const provider = createProvider(deps)
  // Koa's own type lacks what the library adds.
  const use = (middleware: (ctx: KoaContextWithOIDC, next: Next) => Promise<void>) =>
    provider.use((ctx, next) => middleware(ctx as KoaContextWithOIDC, next))
  const failures = new WeakMap<object, unknown>()
  // Inside the call, where it is known what that has changed.
  provider.on('server_error', (ctx: object, error: unknown) => void failures.set(ctx, asOfCall(error)))
  use((ctx, next) => tellOfLoss(failures, ctx, () => inTime(deps, next)))
  use((ctx, next) => rateLimit(deps, ctx, next))
  use((ctx, next) => interactions(deps, provider, ctx, next))
  use((ctx, next) => adjustResponse(deps, ctx, next))
  const koa = provider.callback()
  return {
    async handle(incoming, outgoing) {
      logWhenAnswered(deps, incoming, outgoing)
      pinAddress(deps, incoming)
      dropAttestation(incoming)
      outgoing.setHeader('x-content-type-options', 'nosniff')
      outgoing.setHeader('x-frame-options', 'DENY')
      outgoing.setHeader('referrer-policy', 'no-referrer')
      if (answerPreflight(incoming, outgoing)) return
      await koa(incoming, outgoing)
    },
  }
}

/** One line per request, as in every service: the path without its ids, never a query. */
function logWhenAnswered({ log }: ConnectorDeps, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const started = performance.now()
  const route = (incoming.url ?? '')
    .split('?', 1)[0]!
    .replace(/^(\/oauth\/(interaction|authorize))\/.*/, '$1/…')
  outgoing.once('finish', () => {
    const ms = Math.round((performance.now() - started) * 10) / 10
    log.info('request', {
      service: 'auth-service',
      route,
      method: incoming.method,
      status: outgoing.statusCode,
      ms,
    })
  })
}

/** The library builds URLs from the request; with this, a forged Host changes nothing. */
function pinAddress({ issuer }: ConnectorDeps, incoming: IncomingMessage): void {
  incoming.headers.host = issuer.host
  incoming.headers['x-forwarded-proto'] = issuer.protocol.slice(0, -1)
  delete incoming.headers['x-forwarded-host']
  incoming.headers['x-forwarded-for'] = String(incoming.headers[ADDRESS_HEADER] ?? '')
}

/** A method that is off. The library refuses it for known clients only, before they proved who they are. */
function dropAttestation({ headers }: IncomingMessage): void {
  delete headers['oauth-client-attestation']
  delete headers['oauth-client-attestation-pop']
}

/** Browser clients register too, and the library has no CORS there. */
function answerPreflight(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
  if (!incoming.url?.startsWith('/oauth/register')) return false
  outgoing.setHeader('access-control-allow-origin', '*')
  if (incoming.method !== 'OPTIONS') return false
  outgoing.setHeader('access-control-allow-methods', 'POST')
  outgoing.setHeader('access-control-allow-headers', 'content-type, mcp-protocol-version')
  outgoing.writeHead(204).end()
  return true
}

type Next = () => Promise<unknown>

/** As in every service: nobody is kept waiting, and what nobody waits for is not done. */
const inTime = (deps: ConnectorDeps, next: Next): Promise<unknown> => withDeadline(deps, next)

/** The library answers every failure of ours with 500; a database that is away is none. */
async function tellOfLoss(
  failures: WeakMap<object, unknown>,
  ctx: KoaContextWithOIDC,
  next: Next,
): Promise<void> {
  const thrown = await next().then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
  const problem = asServiceError(thrown?.error ?? failures.get(ctx))
  if (problem.code !== 'UNAVAILABLE' && problem.code !== 'TIMEOUT') {
    if (thrown) throw thrown.error
    return
  }
  ctx.status = ERRORS[problem.code].status
  if (problem.retryAfterSeconds !== undefined) ctx.set('retry-after', String(problem.retryAfterSeconds))
  // A page stays the page that it is.
  if (ctx.path !== '/oauth/authorize') {
    ctx.body = { error: 'temporarily_unavailable', error_description: problem.message }
  }
}

async function rateLimit(deps: ConnectorDeps, ctx: KoaContextWithOIDC, next: Next): Promise<void> {
  const rate = RATES[ctx.path]
  if (rate && !(await isWithinRate(deps, ctx, rate))) return
  await next()
}

/** False, and the request is answered, when this address, or whatever else is counted, is over the rate. */
async function isWithinRate(
  deps: ConnectorDeps,
  ctx: KoaContextWithOIDC,
  rate: Rate,
  counted = `${ctx.path}:${networkOf(ctx.get(ADDRESS_HEADER))}`,
): Promise<boolean> {
  try {
    await throttle(deps, counted, rate)
    return true
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    ctx.status = 429
    ctx.set('retry-after', String(error.retryAfterSeconds ?? 1))
    ctx.body = {
      error: 'temporarily_unavailable',
      error_description: 'too many requests; wait and try again',
    }
    return false
  }
}

async function interactions(
  deps: ConnectorDeps,
  provider: Provider,
  ctx: KoaContextWithOIDC,
  next: Next,
): Promise<void> {
  const [, uid] = /^\/oauth\/interaction\/([\w-]{1,64})$/.exec(ctx.path) ?? []
  if (uid === undefined) {
    await next()
    return
  }
  const interaction = interactionOf(deps, ctx, uid)
  if (ctx.method === 'GET') respond(ctx, await showConsent(deps, provider, interaction))
  else if (ctx.method === 'POST' && isSameOrigin((name) => ctx.get(name), deps.issuer)) {
    respond(ctx, await submitConsent(deps, provider, interaction, await readForm(ctx.req)))
  } else ctx.status = ctx.method === 'POST' ? 403 : 405
}

function respond(ctx: KoaContextWithOIDC, outcome: Outcome): void {
  ctx.set('cache-control', 'no-store')
  ctx.set('content-security-policy', PAGE_POLICY)
  if ('redirect' in outcome) {
    ctx.status = 303
    ctx.set('location', outcome.redirect)
    ctx.body = ''
    return
  }
  ctx.status = outcome.status
  ctx.type = 'html'
  ctx.body = outcome.page
}

function interactionOf(deps: ConnectorDeps, ctx: KoaContextWithOIDC, uid: string): Interaction {
  const isSecure = deps.issuer.protocol === 'https:'
  const nameFor = (name: string) => (isSecure ? `__Secure-${name}` : name)
  const attributes = {
    path: ctx.path,
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure,
    signed: false,
    overwrite: true,
  } as const
  return {
    incoming: ctx.req,
    outgoing: ctx.res,
    url: new URL(ctx.url, deps.issuer),
    uid,
    cookie: (name) => ctx.cookies.get(nameFor(name), { signed: false }),
    setCookie: (name, value) => void ctx.cookies.set(nameFor(name), value, attributes),
    requestId: makeId('req', deps.clock().getTime()),
  }
}

const FORM_MAX_BYTES = 16 * 1024

async function readForm(incoming: IncomingMessage): Promise<URLSearchParams> {
  let text = ''
  for await (const chunk of incoming) {
    text += String(chunk)
    if (text.length > FORM_MAX_BYTES) return new URLSearchParams()
  }
  return new URLSearchParams(text)
}

/** Changes the library's responses: discovery lists only what we support, a repeated registration or refresh repeats. */
async function adjustResponse(deps: ConnectorDeps, ctx: KoaContextWithOIDC, next: Next): Promise<void> {
  const registration: RegistrationOutcome = {}
  await registrationOutcome.run(registration, next)
  const route = ctx.oidc?.route
  // The library has already turned its errors into responses, so there is nothing to catch.
  if (route === 'registration') adjustRegistration(ctx, registration)
  if (route === 'discovery') trimDiscovery(deps, ctx)
  const { params } = ctx.oidc ?? {}
  if (route === 'token' && params?.grant_type === 'refresh_token' && deps.refreshGraceSeconds > 0) {
    await repeatWithinGrace(deps, ctx, String(params.refresh_token))
  }
  if (route === 'token' && ctx.status === 401 && !deps.documentsOpen) explainDocumentsOff(ctx)
  if (route === 'token' && params?.grant_type === JWT_BEARER) await throttleAssertions(deps, ctx)
  else if (route === 'token' && ctx.status >= 400) await throttleFailures(deps, ctx)
  if ((route === 'authorization' || route === 'resume') && ctx.status >= 400)
    respond(ctx, authorizationError(deps, ctx))
}

/** Slows down guessing of secrets; `invalid_grant` is never hidden, or a client would not know to sign in again. */
async function throttleFailures(deps: ConnectorDeps, ctx: KoaContextWithOIDC): Promise<void> {
  if ((ctx.body as { error?: string } | undefined)?.error === 'invalid_grant') return
  await isWithinRate(deps, ctx, { count: 60, seconds: 60 })
}

/**
 * Assertions that are refused, also as `invalid_grant`, and those shown again. One that is good costs its provider a
 * signature and is used up, so nobody is kept out by what others send in the name of their client.
 */
async function throttleAssertions(deps: ConnectorDeps, ctx: KoaContextWithOIDC): Promise<void> {
  if (ctx.status < 400 && !repeatedAssertions.has(ctx)) return
  const { client } = ctx.oidc
  const ofClient = client && `assertions:client:${client.clientId}`
  // Not with what guesses at secrets, which has a rate of its own.
  if (ctx.status === 401) return throttleFailures(deps, ctx)
  const ofAddress = `assertions:address:${networkOf(ctx.get(ADDRESS_HEADER))}`
  if (!(await isWithinRate(deps, ctx, ASSERTION_RATES.address, ofAddress))) return
  if (ofClient !== undefined) await isWithinRate(deps, ctx, ASSERTION_RATES.client, ofClient)
}

/** A company's assistants come from one address, and those of many companies from one client. */
const ASSERTION_RATES = {
  address: { count: 120, seconds: 60 },
  client: { count: 600, seconds: 60 },
}

/** The library only says that the client is unknown. */
function explainDocumentsOff(ctx: KoaContextWithOIDC): void {
  const { client_id } = ctx.oidc.params ?? {}
  if (typeof client_id !== 'string' || !isDocumentUrl(client_id)) return
  const body = ctx.body as { error_description?: string }
  body.error_description = 'client ID metadata documents are turned off on this server'
}

function adjustRegistration(
  ctx: KoaContextWithOIDC,
  { clientId, retryAfterSeconds }: RegistrationOutcome,
): void {
  if (retryAfterSeconds !== undefined) ctx.set('retry-after', String(retryAfterSeconds))
  const body = ctx.body as Record<string, unknown> | undefined
  if (!body || !('client_id' in body)) return
  for (const key of ['svc_kind', 'subject_type', 'id_token_signed_response_alg', 'require_auth_time'])
    delete body[key]
  if (clientId !== undefined) body.client_id = clientId
}

const NOT_SUPPORTED = [
  'claims_supported',
  'claim_types_supported',
  'claims_parameter_supported',
  'subject_types_supported',
  'id_token_signing_alg_values_supported',
  'request_uri_parameter_supported',
  'request_parameter_supported',
]

function trimDiscovery(deps: ConnectorDeps, ctx: KoaContextWithOIDC): void {
  const body = ctx.body as Record<string, unknown> | undefined
  if (!body) return
  for (const key of NOT_SUPPORTED) delete body[key]
  body.response_modes_supported = ['query']
  body.scopes_supported = [...RESOURCES.flatMap((resource) => RESOURCE_SCOPES[resource]), 'offline_access']
  body.protected_resources = RESOURCES.map((resource) => resourceUrl(deps, resource))
}
