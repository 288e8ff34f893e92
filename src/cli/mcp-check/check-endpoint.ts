/**
 * Checks an MCP endpoint in the order in which an assistant connects (401, metadata, authorization server, keys) and stops
 * at the first failure, because the checks after it would only fail because of it.
 */
import { isConfidential, parseUrl } from '../api-url.ts'
import { checkMcpTools } from './check-tools.ts'
import {
  assertCheck,
  CheckFailed,
  fetchJson,
  LEGACY,
  mcpRequest,
  member,
  MODERN,
  sanitize,
  sendRequest,
  type HttpOptions,
  type Json,
} from './http.ts'

export type CheckResult = { ok: boolean; message: string }

type CheckOptions = HttpOptions & {
  /** Sent to the endpoint only. */
  token?: string | undefined
}

export async function* checkMcpEndpoint(typed: string, options: CheckOptions): AsyncGenerator<CheckResult> {
  try {
    for await (const message of runChecks(typed, options)) yield { ok: true, message }
  } catch (error) {
    if (!(error instanceof CheckFailed)) throw error
    yield { ok: false, message: error.message }
  }
}

async function* runChecks(typed: string, { token, ...http }: CheckOptions): AsyncGenerator<string> {
  const endpoint = endpointFrom(typed)
  yield `URL: ${endpoint.href}`

  const first = await challengeOf(endpoint, mcpRequest(LEGACY, 'initialize'), http)
  yield 'challenge: a request without a token gets 401 and a Bearer challenge'

  if (first.metadata === undefined && token !== undefined) {
    yield 'sign-in: not advertised; only tokens are accepted'
  } else {
    yield* checkAuthorization(endpoint, first.metadata, http)
  }

  const modern = await challengeOf(endpoint, mcpRequest(MODERN, 'server/discover'), http)
  // Codex starts with a GET and gives up on anything but a challenge.
  const got = await challengeOf(endpoint, { method: 'GET' }, http)
  for (const [how, { metadata }] of [
    ['a request of protocol 2026-07-28', modern],
    ['a GET', got],
  ] as const) {
    assertCheck(
      metadata === first.metadata,
      `challenge: ${how} gets other metadata than a request of protocol 2025-11-25`,
      'route every method and header of the endpoint to the same server',
    )
  }
  yield 'protocol 2026-07-28: a request without a token gets the same challenge, and so does a GET'

  if (token !== undefined) yield* checkMcpTools(endpoint, token, http)
}

async function* checkAuthorization(
  endpoint: URL,
  metadata: string | undefined,
  http: HttpOptions,
): AsyncGenerator<string> {
  const resource = await resourceMetadata(endpoint, metadata, http)
  yield `protected-resource metadata: describes ${sanitize(resource.name)}`
  yield `authorization server: ${sanitize(resource.issuer)}`

  const server = await serverMetadata(resource.issuer, http)
  yield 'authorization server metadata: issuer, endpoints and S256 found'
  yield `registration: ${checkRegistration(server)}`

  yield `JWKS: ${await checkKeys(server, http)}`
}

function endpointFrom(typed: string): URL {
  const url = parseUrl(typed)
  assertCheck(
    url && ['http:', 'https:'].includes(url.protocol),
    'URL: not an http(s) URL',
    'use the URL that assistants use: https://mcp.example.com/platform',
  )
  assertCheck(
    !url.username && !url.password && !url.hash,
    'URL: contains a user or a fragment',
    'remove it; pass a token with --token',
  )
  assertCheck(
    isConfidential(url),
    'URL: http is allowed on this machine only',
    'assistants send tokens over https only: set MCP_URL to an https URL',
  )
  return url
}

/** The challenge for a request without a token: RFC 6750, 3 and RFC 9728, 5.1. */
async function challengeOf(
  endpoint: URL,
  init: RequestInit,
  http: HttpOptions,
): Promise<{ metadata: string | undefined }> {
  const response = await sendRequest('challenge', endpoint, init, http)
  assertCheck(
    response.status !== 421,
    'challenge: the server does not accept this host name (421)',
    'set MCP_URL to this URL, and let the proxy forward the Host header',
  )
  assertCheck(
    response.status === 401,
    `challenge: a request without a token gets ${response.status} instead of 401`,
    response.status === 404
      ? 'check the path: the endpoints are /platform and /notifications'
      : 'check the proxy in front of the server: it must forward requests and responses unchanged',
  )
  const header = response.headers.get('www-authenticate')
  assertCheck(
    header !== null && /(^|,)\s*bearer(\s|$)/i.test(header),
    'challenge: the 401 has no WWW-Authenticate header with Bearer',
    'let the proxy forward WWW-Authenticate, and not send a 401 of its own',
  )
  assertCheck(
    response.headers.get('content-type')?.includes('application/json'),
    'challenge: the 401 is not JSON',
    'check that no proxy replaces it by an error page',
  )
  return { metadata: /\bresource_metadata="([^"]*)"/i.exec(header)?.[1] }
}

async function resourceMetadata(endpoint: URL, found: string | undefined, http: HttpOptions) {
  const check = 'protected-resource metadata'
  assertCheck(
    found !== undefined,
    'challenge: no resource_metadata',
    'with AUTH_MODE=hosted assistants use an API token: check with --token; otherwise let the proxy forward the whole header',
  )
  const expected = new URL(
    `/.well-known/oauth-protected-resource${endpoint.pathname === '/' ? '' : endpoint.pathname}`,
    endpoint,
  ).href
  // Also keeps a malicious challenge from sending requests into the local network (SSRF).
  assertCheck(
    parseUrl(found)?.origin === endpoint.origin,
    `challenge: resource_metadata is ${sanitize(found)} instead of ${expected}`,
    'set MCP_URL to the URL that people use',
  )
  const body = await fetchJson(
    check,
    new URL(found),
    http,
    'route /.well-known/oauth-protected-resource to the MCP server',
  )
  // A query only narrows the tools; clients ignore it in this comparison too.
  const own = endpoint.href.slice(0, endpoint.href.length - endpoint.search.length)
  const name = member(body, 'resource')
  assertCheck(
    name === own,
    `${check}: resource is ${sanitize(name)} instead of ${own}`,
    'use exactly that URL, or set MCP_URL to the one that people use',
  )
  const issuers = member(body, 'authorization_servers')
  const issuer: unknown = Array.isArray(issuers) ? issuers[0] : undefined
  assertCheck(
    typeof issuer === 'string' && isIssuer(issuer),
    `${check}: authorization_servers has no https URL`,
    'set AUTH_URL to the public URL of the auth service',
  )
  return { name, issuer }
}

/** RFC 8414, 2: https, without query and fragment. */
function isIssuer(text: string): boolean {
  const url = parseUrl(text)
  return url !== null && isConfidential(url) && !url.search && !url.hash && !url.username
}

/** The URLs that clients try, in their order (MCP authorization, metadata discovery). */
function serverMetadataUrls(issuer: string): URL[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const urls = [`/.well-known/oauth-authorization-server${path}`, `/.well-known/openid-configuration${path}`]
  return [...urls, ...(path === '' ? [] : [`${path}/.well-known/openid-configuration`])].map(
    (url) => new URL(url, origin),
  )
}

async function serverMetadata(issuer: string, http: HttpOptions): Promise<Json> {
  const check = 'authorization server metadata'
  const body = await firstFound(check, serverMetadataUrls(issuer), http)
  const claimed = member(body, 'issuer')
  assertCheck(
    claimed === issuer,
    `${check}: issuer is ${sanitize(claimed)} instead of ${sanitize(issuer)}`,
    'both must be exactly AUTH_URL: set the same value for every service',
  )
  for (const name of ['authorization_endpoint', 'token_endpoint']) {
    assertCheck(
      isSecureUrl(member(body, name)),
      `${check}: ${name} is not an https URL`,
      'set AUTH_URL to the public https URL of the auth service',
    )
  }
  const methods = member(body, 'code_challenge_methods_supported')
  assertCheck(
    Array.isArray(methods) && methods.includes('S256'),
    `${check}: code_challenge_methods_supported lacks S256`,
    'assistants require PKCE: enable it on the auth service',
  )
  return body
}

async function firstFound(check: string, urls: readonly URL[], http: HttpOptions): Promise<Json> {
  const remedy = 'route /.well-known/oauth-authorization-server to the auth service at AUTH_URL'
  let first: CheckFailed | undefined
  for (const url of urls) {
    try {
      return await fetchJson(check, url, http, remedy)
    } catch (error) {
      if (!(error instanceof CheckFailed)) throw error
      // The first URL is the one to fix; the others are tried only because clients do.
      first ??= error
    }
  }
  throw first ?? new CheckFailed(`${check}: not found`, remedy)
}

function checkRegistration(server: Json): string {
  const methods = [
    member(server, 'client_id_metadata_document_supported') === true && 'metadata document',
    isSecureUrl(member(server, 'registration_endpoint')) && 'dynamic',
  ].filter((way) => way !== false)
  assertCheck(
    methods.length > 0,
    'registration: neither metadata documents nor dynamic registration is supported',
    'assistants that are not registered cannot connect: enable one (OAUTH_DCR=on)',
  )
  return methods.join(' and ')
}

async function checkKeys(server: Json, http: HttpOptions): Promise<string> {
  const url = member(server, 'jwks_uri')
  assertCheck(
    isSecureUrl(url),
    'JWKS: jwks_uri is not an https URL',
    'set AUTH_URL to the public https URL of the auth service',
  )
  const keys = member(
    await fetchJson('JWKS', new URL(url), http, 'route it to the auth service at AUTH_URL'),
    'keys',
  )
  assertCheck(
    Array.isArray(keys) && keys.length > 0,
    'JWKS: no keys',
    'set JWT_SIGNING_KEY for the auth service',
  )
  // Members that only private (RFC 7518, 6.2.2 and 6.3.2) and symmetric (6.4.1) keys have.
  assertCheck(
    keys.every((key: unknown) => member(key, 'd') === undefined && member(key, 'k') === undefined),
    'JWKS: a secret key is published',
    'remove it and rotate the key',
  )
  return `${keys.length} public ${keys.length === 1 ? 'key' : 'keys'}`
}

function isSecureUrl(value: unknown): value is string {
  const url = typeof value === 'string' ? parseUrl(value) : null
  return url !== null && isConfidential(url)
}
