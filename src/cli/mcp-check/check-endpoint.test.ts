import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { checkMcpEndpoint } from './check-endpoint.ts'

const MCP = 'https://mcp.example.com'
const ISSUER = 'https://auth.example.com'
const TOKEN = 'svc_test_token'
const PRM = `${MCP}/.well-known/oauth-protected-resource/platform`
const DISCOVERY = `${ISSUER}/.well-known/oauth-authorization-server`
const JWKS = `${ISSUER}/oauth/jwks`

type Answer = (request: Request) => Response | Promise<Response>

const RESOURCE = { resource: `${MCP}/platform`, authorization_servers: [ISSUER] }
const SERVER = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/oauth/authorize`,
  token_endpoint: `${ISSUER}/oauth/token`,
  registration_endpoint: `${ISSUER}/oauth/register`,
  client_id_metadata_document_supported: true,
  code_challenge_methods_supported: ['S256'],
  jwks_uri: JWKS,
}
const KEY = { kty: 'OKP', crv: 'Ed25519', x: 'AA' }
const WHO = { user: { email: 'ada@example.com' }, organization: { name: 'Northwind' }, role: 'admin' }

const unauthorized =
  (challenge: string | undefined = `Bearer resource_metadata="${PRM}", scope="data:read"`): Answer =>
  () =>
    Response.json(
      { error: { code: 'UNAUTHENTICATED' } },
      { status: 401, headers: challenge === undefined ? {} : { 'www-authenticate': challenge } },
    )

/** What the tools of a healthy server answer, by method. */
const RESULTS: Record<string, unknown> = {
  'server/discover': { supportedVersions: ['2026-07-28'] },
  initialize: { protocolVersion: '2025-11-25' },
  'tools/list': { tools: [{ name: 'search' }, { name: 'whoami' }] },
  'tools/call': { content: [{ type: 'text', text: JSON.stringify(WHO) }] },
}

const methodOf = async (request: Request): Promise<string> =>
  ((await request.clone().json()) as { method: string }).method

/** A server that passes every check except for the given responses; keeps the requests it got. */
function fakeServer(failed: Record<string, Answer> = {}, results: Record<string, unknown> = {}) {
  const requests: Request[] = []
  const answers: Record<string, Answer> = {
    [`${MCP}/platform`]: async (request) => {
      if (request.headers.get('authorization') !== `Bearer ${TOKEN}`) return unauthorized()(request)
      const result = { ...RESULTS, ...results }[await methodOf(request)]
      if (result instanceof Response) return result
      const error = { code: -32_601, message: 'unknown method' }
      return Response.json({ jsonrpc: '2.0', id: 1, ...(result === undefined ? { error } : { result }) })
    },
    [PRM]: () => Response.json(RESOURCE),
    [DISCOVERY]: () => Response.json(SERVER),
    [JWKS]: () => Response.json({ keys: [KEY] }),
    ...failed,
  }
  const serve: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    requests.push(request)
    return (answers[request.url.replace(/\?.*/, '')] ?? (() => new Response('nothing', { status: 404 })))(
      request,
    )
  }
  return { requests, fetch: serve }
}

async function runCheck(
  server: { fetch: typeof fetch },
  {
    typed = `${MCP}/platform`,
    token,
    timeoutMs = 2_000,
  }: { typed?: string; token?: string; timeoutMs?: number } = {},
) {
  const lines: string[] = []
  const failed: string[] = []
  for await (const { ok, message } of checkMcpEndpoint(typed, { fetch: server.fetch, token, timeoutMs })) {
    ;(ok ? lines : failed).push(message)
    // Nothing may follow the first failed check.
    if (ok) expect(failed).toEqual([])
  }
  expect(failed.length).toBeLessThanOrEqual(1)
  return { lines, failed: failed[0] }
}

const respondWith =
  (body: unknown, status = 200): Answer =>
  () =>
    Response.json(body, { status })

describe('a server that passes every check', () => {
  test('is checked up to its keys and at the endpoint again', async () => {
    const { lines, failed } = await runCheck(fakeServer())
    expect(failed).toBeUndefined()
    expect(lines).toEqual([
      'URL: https://mcp.example.com/platform',
      'challenge: a request without a token gets 401 and a Bearer challenge',
      'protected-resource metadata: describes https://mcp.example.com/platform',
      'authorization server: https://auth.example.com',
      'authorization server metadata: issuer, endpoints and S256 found',
      'registration: metadata document and dynamic',
      'JWKS: 1 public key',
      'protocol 2026-07-28: a request without a token gets the same challenge, and so does a GET',
    ])
  })

  test('may be narrowed by a query, which is not part of its name', async () => {
    expect((await runCheck(fakeServer(), { typed: `${MCP}/platform?readonly=true` })).failed).toBeUndefined()
  })

  test('may have its authorization server below a path, and only an OpenID document', async () => {
    const issuer = `${ISSUER}/tenant`
    const server = fakeServer({
      [PRM]: respondWith({ ...RESOURCE, authorization_servers: [issuer] }),
      [`${issuer}/.well-known/openid-configuration`]: respondWith({ ...SERVER, issuer }),
    })
    expect((await runCheck(server)).failed).toBeUndefined()
    expect(server.requests.map(({ url }) => url).filter((url) => url.startsWith(ISSUER))).toEqual([
      `${ISSUER}/.well-known/oauth-authorization-server/tenant`,
      `${ISSUER}/.well-known/openid-configuration/tenant`,
      `${issuer}/.well-known/openid-configuration`,
      JWKS,
    ])
  })

  test('one of the two ways to register is enough', async () => {
    const { registration_endpoint: _gone, ...documents } = SERVER
    const { client_id_metadata_document_supported: _off, ...dynamic } = SERVER
    expect((await runCheck(fakeServer({ [DISCOVERY]: respondWith(documents) }))).lines).toContain(
      'registration: metadata document',
    )
    expect((await runCheck(fakeServer({ [DISCOVERY]: respondWith(dynamic) }))).lines).toContain(
      'registration: dynamic',
    )
  })
})

describe('the first failed check is reported, and nothing is requested after it', () => {
  test.each([
    ['no address', 'platform', 'URL: not an http(s) URL'],
    ['another scheme', 'ftp://mcp.example.com/platform', 'URL: not an http(s) URL'],
    ['a user', 'https://ada:x@mcp.example.com/platform', 'URL: contains a user or a fragment'],
    ['a fragment', `${MCP}/platform#x`, 'URL: contains a user or a fragment'],
    ['http in public', 'http://mcp.example.com/platform', 'URL: http is allowed on this machine only'],
  ])('%s', async (_what, typed, message) => {
    const server = fakeServer()
    const { failed } = await runCheck(server, { typed })
    expect(failed).toContain(message)
    expect(server.requests).toEqual([])
  })

  const endpoint = `${MCP}/platform`
  const without = (name: keyof typeof SERVER) =>
    respondWith(Object.fromEntries(Object.entries(SERVER).filter(([key]) => key !== name)))
  const onlyFor =
    (matches: (request: Request) => boolean, answer: Answer): Answer =>
    (request) =>
      (matches(request) ? answer : unauthorized())(request)

  test.each<[what: string, failed: Record<string, Answer>, message: string, requests: number]>([
    ['an open endpoint', { [endpoint]: respondWith({}) }, 'gets 200 instead of 401', 1],
    ['a wrong path', { [endpoint]: respondWith({}, 404) }, 'gets 404 instead of 401; check the path', 1],
    ['a broken server', { [endpoint]: respondWith({}, 502) }, 'gets 502 instead of 401', 1],
    ['an unknown host', { [endpoint]: respondWith({}, 421) }, 'does not accept this host name (421)', 1],
    [
      'a redirect',
      { [endpoint]: () => Response.redirect('https://login.example/', 302) },
      'redirects to https://login.example/',
      1,
    ],
    [
      'a 401 that says nothing',
      { [endpoint]: unauthorized('') },
      'has no WWW-Authenticate header with Bearer',
      1,
    ],
    ['a proxy’s own 401', { [endpoint]: unauthorized('Basic realm="proxy"') }, 'header with Bearer', 1],
    [
      'a page for a 401',
      { [endpoint]: () => new Response('<h1>', { status: 401, headers: { 'www-authenticate': 'Bearer' } }) },
      'the 401 is not JSON',
      1,
    ],
    [
      'a challenge that leads nowhere',
      { [endpoint]: unauthorized('Bearer scope="x"') },
      'no resource_metadata',
      1,
    ],
    [
      'a challenge that leads inside',
      { [endpoint]: unauthorized('Bearer resource_metadata="http://10.0.0.7/x"') },
      `resource_metadata is http://10.0.0.7/x instead of ${PRM}; set MCP_URL`,
      1,
    ],
    [
      'no resource metadata',
      { [PRM]: respondWith({}, 404) },
      `protected-resource metadata: ${PRM} returned 404`,
      2,
    ],
    ['a page for metadata', { [PRM]: () => new Response('<h1>') }, `${PRM} did not return a JSON object`, 2],
    ['a list for metadata', { [PRM]: respondWith([]) }, `${PRM} did not return a JSON object`, 2],
    [
      'another resource',
      { [PRM]: respondWith({ ...RESOURCE, resource: `${MCP}/platform/` }) },
      `resource is ${MCP}/platform/ instead of ${MCP}/platform`,
      2,
    ],
    [
      'a resource without a name',
      { [PRM]: respondWith({ ...RESOURCE, resource: undefined }) },
      'resource is missing',
      2,
    ],
    [
      'no authorization server',
      { [PRM]: respondWith({ ...RESOURCE, authorization_servers: [] }) },
      'authorization_servers has no https URL',
      2,
    ],
    [
      'an authorization server without TLS',
      { [PRM]: respondWith({ ...RESOURCE, authorization_servers: ['http://auth.example.com'] }) },
      'authorization_servers has no https URL',
      2,
    ],
    ['no discovery', { [DISCOVERY]: respondWith({}, 404) }, `metadata: ${DISCOVERY} returned 404`, 4],
    [
      'another issuer',
      { [DISCOVERY]: respondWith({ ...SERVER, issuer: `${ISSUER}/` }) },
      `issuer is ${ISSUER}/ instead of ${ISSUER}`,
      3,
    ],
    [
      'no authorization endpoint',
      { [DISCOVERY]: without('authorization_endpoint') },
      'authorization_endpoint is no',
      3,
    ],
    [
      'a token endpoint without TLS',
      { [DISCOVERY]: respondWith({ ...SERVER, token_endpoint: 'http://auth.example.com/oauth/token' }) },
      'token_endpoint is not an https URL',
      3,
    ],
    ['no PKCE', { [DISCOVERY]: without('code_challenge_methods_supported') }, 'lacks S256', 3],
    [
      'PKCE in plain only',
      { [DISCOVERY]: respondWith({ ...SERVER, code_challenge_methods_supported: ['plain'] }) },
      'lacks S256',
      3,
    ],
    [
      'nobody may register',
      {
        [DISCOVERY]: respondWith({
          ...SERVER,
          registration_endpoint: undefined,
          client_id_metadata_document_supported: false,
        }),
      },
      'registration: neither metadata documents nor dynamic registration',
      3,
    ],
    ['no key set', { [DISCOVERY]: without('jwks_uri') }, 'JWKS: jwks_uri is not an https URL', 3],
    ['a lost key set', { [JWKS]: respondWith({}, 500) }, `JWKS: ${JWKS} returned 500`, 4],
    ['an empty key set', { [JWKS]: respondWith({ keys: [] }) }, 'JWKS: no keys', 4],
    [
      'a published private key',
      { [JWKS]: respondWith({ keys: [KEY, { ...KEY, d: 'AA' }] }) },
      'a secret key is published',
      4,
    ],
    [
      'a published shared key',
      { [JWKS]: respondWith({ keys: [{ kty: 'oct', k: 'AA' }] }) },
      'a secret key is published',
      4,
    ],
    [
      'a proxy that rejects the new protocol',
      {
        [endpoint]: onlyFor(({ headers }) => headers.has('mcp-method'), respondWith({}, 400)),
      },
      'a request without a token gets 400 instead of 401',
      5,
    ],
    [
      'a GET that is answered by somebody else',
      {
        [endpoint]: onlyFor(
          ({ method }) => method === 'GET',
          unauthorized('Bearer resource_metadata="https://x.example"'),
        ),
      },
      'challenge: a GET gets other metadata',
      6,
    ],
  ])('%s', async (_what, responses, message, requests) => {
    const server = fakeServer(responses)
    const { failed } = await runCheck(server)
    expect(failed).toContain(message)
    expect(server.requests).toHaveLength(requests)
  })

  test('nobody is there', async () => {
    const refused = () =>
      Promise.reject(
        new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) }),
      )
    expect((await runCheck({ fetch: refused })).failed).toContain('is unreachable (ECONNREFUSED)')
  })

  test('somebody is there and does not answer', async () => {
    const server = createServer(() => {}).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const typed = `http://127.0.0.1:${(server.address() as AddressInfo).port}/platform`
    expect((await runCheck({ fetch }, { typed, timeoutMs: 50 })).failed).toContain('timed out')
    server.closeAllConnections()
    server.close()
  })

  test('a port that fetch never calls', async () => {
    const { failed } = await runCheck({ fetch }, { typed: 'http://localhost:4190/platform' })
    expect(failed).toContain('port 4190 is blocked by fetch; choose another port')
  })

  /** Text from an unknown server is printed to a terminal, which executes escape sequences. */
  test('what a server says is shown short and without control characters', async () => {
    const resource = `\u001B]0;owned\u0007\u202E${'x'.repeat(5_000)}`
    const { failed = '' } = await runCheck(fakeServer({ [PRM]: respondWith({ ...RESOURCE, resource }) }))
    expect(failed).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(failed.length).toBeLessThan(500)
  })
})

describe('with a token', () => {
  const calls = async (results: Record<string, unknown> = {}) => {
    const { lines, failed } = await runCheck(fakeServer({}, results), { token: TOKEN })
    return { calls: lines.slice(8), failed }
  }

  test('it also shakes hands, lists the tools and says who it acts for', async () => {
    expect(await calls()).toEqual({
      calls: [
        'handshake: server/discover succeeds',
        'tools/list: search, whoami',
        'whoami: ada@example.com, admin in Northwind',
      ],
      failed: undefined,
    })
  })

  test('a server of 2025 is greeted its own way', async () => {
    const { calls: message, failed } = await calls({ 'server/discover': undefined })
    expect([message[0], message[2], failed]).toEqual([
      'handshake: initialize succeeds',
      'whoami: ada@example.com, admin in Northwind',
      undefined,
    ])
  })

  test('an answer may come as a stream of events', async () => {
    const event = (result: unknown) =>
      new Response(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`, {
        headers: { 'content-type': 'text/event-stream' },
      })
    expect((await calls({ 'tools/list': event({ tools: [{ name: 'fetch' }] }) })).calls).toEqual([
      'handshake: server/discover succeeds',
      'tools/list: fetch',
      'whoami: not offered',
    ])
  })

  test('where no sign-in is advertised, the token is all that counts', async () => {
    const healthy = fakeServer()
    const server: typeof healthy = {
      requests: healthy.requests,
      fetch: async (input, init) => {
        const response = await healthy.fetch(input, init)
        return response.status === 401 ? unauthorized('Bearer scope="data:read"')(new Request(MCP)) : response
      },
    }
    const { lines, failed } = await runCheck(server, { token: TOKEN })
    expect(failed).toBeUndefined()
    expect(lines).toContain('sign-in: not advertised; only tokens are accepted')
    expect(lines.at(-1)).toBe('whoami: ada@example.com, admin in Northwind')
  })

  test.each<[what: string, results: Record<string, unknown>, message: string]>([
    ['a refused token', { 'server/discover': new Response('', { status: 401 }) }, 'token: rejected'],
    ['a missing scope', { 'server/discover': new Response('', { status: 403 }) }, 'token: missing a scope'],
    [
      'no MCP server',
      { 'server/discover': new Response('<h1>') },
      'server/discover: the response is 200 and not JSON-RPC',
    ],
    [
      'no greeting',
      { 'server/discover': undefined, initialize: undefined },
      'neither server/discover nor initialize',
    ],
    ['no tools', { 'tools/list': {} }, 'tools/list: no list of tools'],
    ['a failing tool', { 'tools/call': { isError: true, content: [] } }, 'whoami: the tool failed'],
    ['a call that is refused', { 'tools/call': undefined }, 'whoami: the tool failed'],
  ])('%s is named', async (_what, results, message) => {
    expect((await calls(results)).failed).toContain(message)
  })

  /** A token is for one endpoint: metadata could name anybody's address. */
  test('the token is sent to the endpoint and nowhere else', async () => {
    const server = fakeServer()
    await runCheck(server, { token: TOKEN })
    const printed = server.requests.filter((request) => JSON.stringify([...request.headers]).includes(TOKEN))
    expect(printed).toHaveLength(3)
    expect(new Set(printed.map(({ url }) => url))).toEqual(new Set([`${MCP}/platform`]))
    expect(server.requests.some(({ url }) => url.includes(TOKEN))).toBe(false)
  })
})
