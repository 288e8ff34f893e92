/** The authorization server's own paths, at the level of Node's http: the library is a Koa application. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { ADDRESS_HEADER } from '../../src/client/service.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { DYNAMIC_CLIENT_UNUSED_SECONDS } from '../../src/contracts/limits.ts'
import { RESOURCE_SCOPES, RESOURCES } from '../../src/contracts/scopes.ts'
import { takeTry } from '../../src/cores/throttle.ts'
import { showConsent, takeConsent, type Outcome, type Visit } from './consent.ts'
import { readableError } from './errors.ts'
import type { ConnectorNeeds } from './needs.ts'
import { createProvider, resourceUrl } from './provider.ts'
import { keepOrRepeat } from './refresh-grace.ts'
import { reused } from './registered-clients.ts'

export type NodeDoor = {
  readonly owns: RegExp
  readonly handle: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>
}

/** No `form-action`: Chromium applies it to the whole chain of redirects, and the answer leaves this origin. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'"

/** Requests a minute from one address; many people may share one. */
const RATES: Record<string, { count: number; seconds: number }> = {
  '/oauth/register': { count: 30, seconds: 60 },
  '/oauth/authorize': { count: 120, seconds: 60 },
}

export function connectorDoor(needs: ConnectorNeeds): Pick<NodeDoor, 'handle'> {
  const provider = createProvider(needs)
  // Koa's own type knows nothing of what the library adds.
  const use = (middleware: (ctx: KoaContextWithOIDC, next: Next) => Promise<void>) =>
    provider.use((ctx, next) => middleware(ctx as KoaContextWithOIDC, next))
  use((ctx, next) => refuseFloods(needs, ctx, next))
  use((ctx, next) => interactions(needs, provider, ctx, next))
  use((ctx, next) => settleAnswers(needs, ctx, next))
  const koa = provider.callback()
  return {
    async handle(incoming, outgoing) {
      logWhenAnswered(needs, incoming, outgoing)
      pinAddress(needs, incoming)
      outgoing.setHeader('x-content-type-options', 'nosniff')
      outgoing.setHeader('x-frame-options', 'DENY')
      outgoing.setHeader('referrer-policy', 'no-referrer')
      if (answeredPreflight(incoming, outgoing)) return
      await koa(incoming, outgoing)
    },
  }
}

/** One line a request, as every service writes; only the path without its ids, never a query. */
function logWhenAnswered({ log }: ConnectorNeeds, incoming: IncomingMessage, outgoing: ServerResponse): void {
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

/** The library builds every address from the request; with this, a forged Host changes nothing. */
function pinAddress({ issuer }: ConnectorNeeds, incoming: IncomingMessage): void {
  incoming.headers.host = issuer.host
  incoming.headers['x-forwarded-proto'] = issuer.protocol.slice(0, -1)
  delete incoming.headers['x-forwarded-host']
  incoming.headers['x-forwarded-for'] = String(incoming.headers[ADDRESS_HEADER] ?? '')
}

/** Browser clients register too, and the library answers no CORS there. */
function answeredPreflight(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
  if (!incoming.url?.startsWith('/oauth/register')) return false
  outgoing.setHeader('access-control-allow-origin', '*')
  if (incoming.method !== 'OPTIONS') return false
  outgoing.setHeader('access-control-allow-methods', 'POST')
  outgoing.setHeader('access-control-allow-headers', 'content-type, mcp-protocol-version')
  outgoing.writeHead(204).end()
  return true
}

type Next = () => Promise<unknown>

async function refuseFloods(needs: ConnectorNeeds, ctx: KoaContextWithOIDC, next: Next): Promise<void> {
  const rate = RATES[ctx.path]
  if (rate && !(await within(needs, ctx, rate))) return
  await next()
}

/** False, and the request is answered, when this address has asked too often. */
async function within(
  needs: ConnectorNeeds,
  ctx: KoaContextWithOIDC,
  rate: { count: number; seconds: number },
): Promise<boolean> {
  try {
    await takeTry(needs, `${ctx.path}:${ctx.get(ADDRESS_HEADER)}`, rate)
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
  needs: ConnectorNeeds,
  provider: Provider,
  ctx: KoaContextWithOIDC,
  next: Next,
): Promise<void> {
  const [, uid] = /^\/oauth\/interaction\/([\w-]{1,64})$/.exec(ctx.path) ?? []
  if (uid === undefined) {
    await next()
    return
  }
  const visit = visitOf(needs, ctx, uid)
  if (ctx.method === 'GET') show(ctx, await showConsent(needs, provider, visit))
  else if (ctx.method === 'POST' && isOwnForm(needs, ctx)) {
    show(ctx, await takeConsent(needs, provider, visit, await readForm(ctx.req)))
  } else ctx.status = ctx.method === 'POST' ? 403 : 405
}

function show(ctx: KoaContextWithOIDC, outcome: Outcome): void {
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

function visitOf(needs: ConnectorNeeds, ctx: KoaContextWithOIDC, uid: string): Visit {
  const isSecure = needs.issuer.protocol === 'https:'
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
    url: new URL(ctx.url, needs.issuer),
    uid,
    cookie: (name) => ctx.cookies.get(nameFor(name), { signed: false }),
    setCookie: (name, value) => void ctx.cookies.set(nameFor(name), value, attributes),
    requestId: makeId('req', needs.clock().getTime()),
  }
}

/** Endpoints that act on a cookie demand the same origin; Sec-Fetch-Site counts where Origin is null. */
function isOwnForm(needs: ConnectorNeeds, ctx: KoaContextWithOIDC): boolean {
  const origin = ctx.get('origin')
  if (origin !== '' && origin !== 'null') return origin === needs.issuer.origin
  return ctx.get('sec-fetch-site') === 'same-origin'
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

/** What leaves: a discovery document trimmed to what we support, one client id per registration, one pair per refresh. */
async function settleAnswers(needs: ConnectorNeeds, ctx: KoaContextWithOIDC, next: Next): Promise<void> {
  const registration: { clientId?: string } = {}
  await reused.run(registration, next)
  const route = ctx.oidc?.route
  // The library answers its own errors further in, so there is nothing to catch here.
  if (route === 'registration' && ctx.status === 429)
    ctx.set('retry-after', String(DYNAMIC_CLIENT_UNUSED_SECONDS))
  if (route === 'registration') settleRegistration(ctx, registration.clientId)
  if (route === 'discovery') trimDiscovery(needs, ctx)
  const { params } = ctx.oidc ?? {}
  if (route === 'token' && params?.grant_type === 'refresh_token' && needs.refreshGraceSeconds > 0) {
    await keepOrRepeat(needs, ctx, String(params.refresh_token))
  }
  if (route === 'token' && ctx.status >= 400) await slowGuessers(needs, ctx)
  if ((route === 'authorization' || route === 'resume') && ctx.status >= 400)
    show(ctx, await readableError(ctx))
}

/** Guessing secrets is slowed down; `invalid_grant` is never hidden, or a client would not know to sign in again. */
async function slowGuessers(needs: ConnectorNeeds, ctx: KoaContextWithOIDC): Promise<void> {
  if ((ctx.body as { error?: string } | undefined)?.error === 'invalid_grant') return
  await within(needs, ctx, { count: 60, seconds: 60 })
}

function settleRegistration(ctx: KoaContextWithOIDC, known: string | undefined): void {
  const body = ctx.body as Record<string, unknown> | undefined
  if (!body || !('client_id' in body)) return
  for (const key of ['svc_kind', 'subject_type', 'id_token_signed_response_alg', 'require_auth_time'])
    delete body[key]
  if (known !== undefined) body.client_id = known
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

function trimDiscovery(needs: ConnectorNeeds, ctx: KoaContextWithOIDC): void {
  const body = ctx.body as Record<string, unknown> | undefined
  if (!body) return
  for (const key of NOT_SUPPORTED) delete body[key]
  body.response_modes_supported = ['query']
  body.scopes_supported = [...RESOURCES.flatMap((resource) => RESOURCE_SCOPES[resource]), 'offline_access']
  body.protected_resources = RESOURCES.map((resource) => resourceUrl(needs, resource))
}
