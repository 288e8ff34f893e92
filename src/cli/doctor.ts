/**
 * Walks the way an assistant takes to an MCP endpoint (401, its metadata, the authorization server, its keys) and stops at
 * the first link that is broken, because everything behind it only fails in consequence.
 */
import { isConfidential, urlFrom } from './api-address.ts'
import { callAsClient } from './doctor-calls.ts'
import { ask, Broken, jsonOf, member, message, shown, type Asking, type Json } from './doctor-asks.ts'

export type Finding = { isOk: boolean; said: string }

type Patient = Asking & {
  /** Sent to the endpoint itself and nowhere else. */
  token?: string | undefined
}

export async function* examine(typed: string, patient: Patient): AsyncGenerator<Finding> {
  try {
    for await (const said of walk(typed, patient)) yield { isOk: true, said }
  } catch (error) {
    if (!(error instanceof Broken)) throw error
    yield { isOk: false, said: error.message }
  }
}

async function* walk(typed: string, { token, ...asking }: Patient): AsyncGenerator<string> {
  const endpoint = endpointFrom(typed)
  yield `address: ${endpoint.href}`

  const first = await challengeOf(endpoint, message('of 2025', 'initialize'), asking)
  yield 'challenge: a call without a token gets 401 and a Bearer challenge'

  if (first.metadata === undefined && token !== undefined) {
    yield 'sign-in: none is advertised, so the token is all that counts here'
  } else {
    yield* walkToKeys(endpoint, first.metadata, asking)
  }

  const modern = await challengeOf(endpoint, message('of 2026', 'server/discover'), asking)
  // Codex begins with a GET and gives up on anything but a challenge.
  const got = await challengeOf(endpoint, { method: 'GET' }, asking)
  for (const [how, { metadata }] of [
    ['a call of protocol 2026-07-28', modern],
    ['a GET', got],
  ] as const) {
    if (metadata !== first.metadata) {
      throw new Broken(
        `challenge: ${how} is sent to other metadata than a call of 2025`,
        'let every method and header of the endpoint through to the same server',
      )
    }
  }
  yield 'protocol 2026-07-28: a call without a token is challenged the same way, and so is a GET'

  if (token !== undefined) yield* callAsClient(endpoint, token, asking)
}

async function* walkToKeys(
  endpoint: URL,
  metadata: string | undefined,
  asking: Asking,
): AsyncGenerator<string> {
  const resource = await resourceMetadata(endpoint, metadata, asking)
  yield `protected-resource metadata: describes ${shown(resource.name)}`
  yield `authorization server: ${shown(resource.issuer)}`

  const server = await serverMetadata(resource.issuer, asking)
  yield 'authorization server metadata: issuer, endpoints and S256 are there'
  yield `registration: ${registrationOf(server)}`

  yield `JWKS: ${await countKeys(server, asking)}`
}

function endpointFrom(typed: string): URL {
  const url = urlFrom(typed)
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw new Broken(
      'address: this is no http(s) address',
      'type it as it is given to assistants: https://mcp.example.com/platform',
    )
  }
  if (url.username || url.password || url.hash) {
    throw new Broken(
      'address: it carries a user or a fragment',
      'leave both out; a token is passed with --token',
    )
  }
  if (!isConfidential(url)) {
    throw new Broken(
      'address: it is http, and not on this computer',
      'assistants send tokens over https only: set MCP_URL to an https address',
    )
  }
  return url
}

/** What a call without a token is answered with: RFC 6750, 3 and RFC 9728, 5.1. */
async function challengeOf(
  endpoint: URL,
  init: RequestInit,
  asking: Asking,
): Promise<{ metadata: string | undefined }> {
  const response = await ask('challenge', endpoint, init, asking)
  if (response.status === 421) {
    throw new Broken(
      'challenge: the server does not know itself by this name (421)',
      'set MCP_URL to the address typed, and let the proxy pass the Host header on',
    )
  }
  if (response.status !== 401) {
    throw new Broken(
      `challenge: a call without a token gets ${response.status}, and should get 401`,
      response.status === 404
        ? 'check the path: the endpoints are /platform and /notifications'
        : 'look at what stands in front of the server: it must pass the call on and the answer back',
    )
  }
  const header = response.headers.get('www-authenticate')
  if (header === null || !/(^|,)\s*bearer(\s|$)/i.test(header)) {
    throw new Broken(
      'challenge: the 401 has no WWW-Authenticate of kind Bearer',
      'let the proxy pass WWW-Authenticate on, and answer no 401 of its own',
    )
  }
  if (!response.headers.get('content-type')?.includes('application/json')) {
    throw new Broken('challenge: the 401 is no JSON', 'let no proxy put a page of its own in its place')
  }
  return { metadata: /\bresource_metadata="([^"]*)"/i.exec(header)?.[1] }
}

async function resourceMetadata(endpoint: URL, found: string | undefined, asking: Asking) {
  const link = 'protected-resource metadata'
  if (found === undefined) {
    throw new Broken(
      'challenge: it names no resource_metadata',
      'with AUTH_MODE=hosted assistants use an API token: run this with --token; otherwise let the proxy pass the whole header on',
    )
  }
  const expected = new URL(
    `/.well-known/oauth-protected-resource${endpoint.pathname === '/' ? '' : endpoint.pathname}`,
    endpoint,
  ).href
  // Also keeps a stranger's challenge from sending this program about in somebody's network.
  if (urlFrom(found)?.origin !== endpoint.origin) {
    throw new Broken(
      `challenge: resource_metadata is ${shown(found)}, and should be ${expected}`,
      'set MCP_URL to the address that people type',
    )
  }
  const body = await jsonOf(
    link,
    new URL(found),
    asking,
    'let /.well-known/oauth-protected-resource through to the MCP server',
  )
  // A query only narrows the tools; clients leave it out of the comparison as well.
  const own = endpoint.href.slice(0, endpoint.href.length - endpoint.search.length)
  const name = member(body, 'resource')
  if (name !== own) {
    throw new Broken(
      `${link}: resource is ${shown(name)}, and ${own} was typed`,
      'type the address exactly so, or set MCP_URL to the one that people type',
    )
  }
  const issuers = member(body, 'authorization_servers')
  const issuer: unknown = Array.isArray(issuers) ? issuers[0] : undefined
  if (typeof issuer !== 'string' || !isIssuer(issuer)) {
    throw new Broken(
      `${link}: authorization_servers names no https address`,
      'set AUTH_URL to the public address of the auth service',
    )
  }
  return { name, issuer }
}

/** RFC 8414, 2: https, without query and fragment. */
function isIssuer(text: string): boolean {
  const url = urlFrom(text)
  return url !== null && isConfidential(url) && !url.search && !url.hash && !url.username
}

/** The places where clients look, in their order (MCP authorization, metadata discovery). */
function serverMetadataPlaces(issuer: string): URL[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const places = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
  ]
  return [...places, ...(path === '' ? [] : [`${path}/.well-known/openid-configuration`])].map(
    (place) => new URL(place, origin),
  )
}

async function serverMetadata(issuer: string, asking: Asking): Promise<Json> {
  const link = 'authorization server metadata'
  const body = await firstFound(link, serverMetadataPlaces(issuer), asking)
  const said = member(body, 'issuer')
  if (said !== issuer) {
    throw new Broken(
      `${link}: issuer is ${shown(said)}, and ${shown(issuer)} was announced`,
      'both must be AUTH_URL, letter for letter: give every service the same one',
    )
  }
  for (const name of ['authorization_endpoint', 'token_endpoint']) {
    if (!isPlace(member(body, name))) {
      throw new Broken(
        `${link}: ${name} is no https address`,
        'set AUTH_URL to the public https address of the auth service',
      )
    }
  }
  const methods = member(body, 'code_challenge_methods_supported')
  if (!Array.isArray(methods) || !methods.includes('S256')) {
    throw new Broken(
      `${link}: code_challenge_methods_supported lacks S256`,
      'assistants refuse a server without PKCE: switch it on there',
    )
  }
  return body
}

async function firstFound(link: string, places: readonly URL[], asking: Asking): Promise<Json> {
  const todo = 'let /.well-known/oauth-authorization-server through to the auth service at AUTH_URL'
  let first: Broken | undefined
  for (const place of places) {
    try {
      return await jsonOf(link, place, asking, todo)
    } catch (error) {
      if (!(error instanceof Broken)) throw error
      // The first place is the one to repair; the others are only tried because clients do.
      first ??= error
    }
  }
  throw first ?? new Broken(`${link}: there is none`, todo)
}

function registrationOf(server: Json): string {
  const ways = [
    member(server, 'client_id_metadata_document_supported') === true && 'by metadata document',
    isPlace(member(server, 'registration_endpoint')) && 'dynamic',
  ].filter((way) => way !== false)
  if (ways.length === 0) {
    throw new Broken(
      'registration: neither metadata documents nor dynamic registration are offered',
      'assistants nobody has registered cannot connect: switch one on (OAUTH_DCR=on)',
    )
  }
  return ways.join(' and ')
}

async function countKeys(server: Json, asking: Asking): Promise<string> {
  const place = member(server, 'jwks_uri')
  if (!isPlace(place))
    throw new Broken(
      'JWKS: jwks_uri is no https address',
      'set AUTH_URL to the public https address of the auth service',
    )
  const keys = member(
    await jsonOf('JWKS', new URL(place), asking, 'let it through to the auth service at AUTH_URL'),
    'keys',
  )
  if (!Array.isArray(keys) || keys.length === 0) {
    throw new Broken('JWKS: there are no keys', 'give the auth service its JWT_SIGNING_KEY')
  }
  // Members that only private (RFC 7518, 6.2.2 and 6.3.2) or shared (6.4.1) keys have.
  if (keys.some((key: unknown) => member(key, 'd') !== undefined || member(key, 'k') !== undefined)) {
    throw new Broken('JWKS: a secret key is published', 'take it down, and change the key')
  }
  return `${keys.length} public ${keys.length === 1 ? 'key' : 'keys'}`
}

function isPlace(value: unknown): value is string {
  const url = typeof value === 'string' ? urlFrom(value) : null
  return url !== null && isConfidential(url)
}
