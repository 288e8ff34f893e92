import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { examine } from './doctor.ts'

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

const refusal =
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

/** A server whose every link holds, but for those that are given; tells whom it was asked by. */
function openServer(broken: Record<string, Answer> = {}, results: Record<string, unknown> = {}) {
  const asked: Request[] = []
  const answers: Record<string, Answer> = {
    [`${MCP}/platform`]: async (request) => {
      if (request.headers.get('authorization') !== `Bearer ${TOKEN}`) return refusal()(request)
      const result = { ...RESULTS, ...results }[await methodOf(request)]
      if (result instanceof Response) return result
      const error = { code: -32_601, message: 'unknown method' }
      return Response.json({ jsonrpc: '2.0', id: 1, ...(result === undefined ? { error } : { result }) })
    },
    [PRM]: () => Response.json(RESOURCE),
    [DISCOVERY]: () => Response.json(SERVER),
    [JWKS]: () => Response.json({ keys: [KEY] }),
    ...broken,
  }
  const serve: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    asked.push(request)
    return (answers[request.url.replace(/\?.*/, '')] ?? (() => new Response('nothing', { status: 404 })))(
      request,
    )
  }
  return { asked, fetch: serve }
}

async function visit(
  server: { fetch: typeof fetch },
  {
    typed = `${MCP}/platform`,
    token,
    timeoutMs = 2_000,
  }: { typed?: string; token?: string; timeoutMs?: number } = {},
) {
  const lines: string[] = []
  const broken: string[] = []
  for await (const { isOk, said } of examine(typed, { fetch: server.fetch, token, timeoutMs })) {
    ;(isOk ? lines : broken).push(said)
    // Nothing may follow the first broken link.
    if (isOk) expect(broken).toEqual([])
  }
  expect(broken.length).toBeLessThanOrEqual(1)
  return { lines, broken: broken[0] }
}

const saying =
  (body: unknown, status = 200): Answer =>
  () =>
    Response.json(body, { status })

describe('a server whose links all hold', () => {
  test('is walked to its keys and back to the endpoint', async () => {
    const { lines, broken } = await visit(openServer())
    expect(broken).toBeUndefined()
    expect(lines).toEqual([
      'address: https://mcp.example.com/platform',
      'challenge: a call without a token gets 401 and a Bearer challenge',
      'protected-resource metadata: describes https://mcp.example.com/platform',
      'authorization server: https://auth.example.com',
      'authorization server metadata: issuer, endpoints and S256 are there',
      'registration: by metadata document and dynamic',
      'JWKS: 1 public key',
      'protocol 2026-07-28: a call without a token is challenged the same way, and so is a GET',
    ])
  })

  test('may be narrowed by a query, which is not part of its name', async () => {
    expect((await visit(openServer(), { typed: `${MCP}/platform?readonly=true` })).broken).toBeUndefined()
  })

  test('may have its authorization server below a path, and only an OpenID document', async () => {
    const issuer = `${ISSUER}/tenant`
    const server = openServer({
      [PRM]: saying({ ...RESOURCE, authorization_servers: [issuer] }),
      [`${issuer}/.well-known/openid-configuration`]: saying({ ...SERVER, issuer }),
    })
    expect((await visit(server)).broken).toBeUndefined()
    expect(server.asked.map(({ url }) => url).filter((url) => url.startsWith(ISSUER))).toEqual([
      `${ISSUER}/.well-known/oauth-authorization-server/tenant`,
      `${ISSUER}/.well-known/openid-configuration/tenant`,
      `${issuer}/.well-known/openid-configuration`,
      JWKS,
    ])
  })

  test('one of the two ways to register is enough', async () => {
    const { registration_endpoint: _gone, ...documents } = SERVER
    const { client_id_metadata_document_supported: _off, ...dynamic } = SERVER
    expect((await visit(openServer({ [DISCOVERY]: saying(documents) }))).lines).toContain(
      'registration: by metadata document',
    )
    expect((await visit(openServer({ [DISCOVERY]: saying(dynamic) }))).lines).toContain(
      'registration: dynamic',
    )
  })
})

describe('the first broken link is named, and nothing is asked behind it', () => {
  test.each([
    ['no address', 'platform', 'address: this is no http(s) address'],
    ['another scheme', 'ftp://mcp.example.com/platform', 'address: this is no http(s) address'],
    ['a user', 'https://ada:x@mcp.example.com/platform', 'address: it carries a user or a fragment'],
    ['a fragment', `${MCP}/platform#x`, 'address: it carries a user or a fragment'],
    ['http in public', 'http://mcp.example.com/platform', 'address: it is http, and not on this computer'],
  ])('%s', async (_what, typed, said) => {
    const server = openServer()
    const { broken } = await visit(server, { typed })
    expect(broken).toContain(said)
    expect(server.asked).toEqual([])
  })

  const endpoint = `${MCP}/platform`
  const without = (name: keyof typeof SERVER) =>
    saying(Object.fromEntries(Object.entries(SERVER).filter(([key]) => key !== name)))
  const onlyFor =
    (matches: (request: Request) => boolean, answer: Answer): Answer =>
    (request) =>
      (matches(request) ? answer : refusal())(request)

  test.each<[what: string, broken: Record<string, Answer>, said: string, asked: number]>([
    ['an open endpoint', { [endpoint]: saying({}) }, 'gets 200, and should get 401', 1],
    ['a wrong path', { [endpoint]: saying({}, 404) }, 'gets 404, and should get 401; check the path', 1],
    ['a broken server', { [endpoint]: saying({}, 502) }, 'gets 502, and should get 401', 1],
    ['an unknown host', { [endpoint]: saying({}, 421) }, 'does not know itself by this name (421)', 1],
    [
      'a redirect',
      { [endpoint]: () => Response.redirect('https://login.example/', 302) },
      'redirects to https://login.example/',
      1,
    ],
    ['a 401 that says nothing', { [endpoint]: refusal('') }, 'has no WWW-Authenticate of kind Bearer', 1],
    ['a proxy’s own 401', { [endpoint]: refusal('Basic realm="proxy"') }, 'of kind Bearer', 1],
    [
      'a page for a 401',
      { [endpoint]: () => new Response('<h1>', { status: 401, headers: { 'www-authenticate': 'Bearer' } }) },
      'the 401 is no JSON',
      1,
    ],
    [
      'a challenge that leads nowhere',
      { [endpoint]: refusal('Bearer scope="x"') },
      'names no resource_metadata',
      1,
    ],
    [
      'a challenge that leads inside',
      { [endpoint]: refusal('Bearer resource_metadata="http://10.0.0.7/x"') },
      `resource_metadata is http://10.0.0.7/x, and should be ${PRM}; set MCP_URL`,
      1,
    ],
    [
      'no resource metadata',
      { [PRM]: saying({}, 404) },
      `protected-resource metadata: ${PRM} answers 404`,
      2,
    ],
    ['a page for metadata', { [PRM]: () => new Response('<h1>') }, `${PRM} answers no JSON object`, 2],
    ['a list for metadata', { [PRM]: saying([]) }, `${PRM} answers no JSON object`, 2],
    [
      'another resource',
      { [PRM]: saying({ ...RESOURCE, resource: `${MCP}/platform/` }) },
      `resource is ${MCP}/platform/, and ${MCP}/platform was typed`,
      2,
    ],
    [
      'a resource without a name',
      { [PRM]: saying({ ...RESOURCE, resource: undefined }) },
      'resource is missing',
      2,
    ],
    [
      'no authorization server',
      { [PRM]: saying({ ...RESOURCE, authorization_servers: [] }) },
      'authorization_servers names no https address',
      2,
    ],
    [
      'an authorization server without TLS',
      { [PRM]: saying({ ...RESOURCE, authorization_servers: ['http://auth.example.com'] }) },
      'authorization_servers names no https address',
      2,
    ],
    ['no discovery', { [DISCOVERY]: saying({}, 404) }, `metadata: ${DISCOVERY} answers 404`, 4],
    [
      'another issuer',
      { [DISCOVERY]: saying({ ...SERVER, issuer: `${ISSUER}/` }) },
      `issuer is ${ISSUER}/, and ${ISSUER} was announced`,
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
      { [DISCOVERY]: saying({ ...SERVER, token_endpoint: 'http://auth.example.com/oauth/token' }) },
      'token_endpoint is no https address',
      3,
    ],
    ['no PKCE', { [DISCOVERY]: without('code_challenge_methods_supported') }, 'lacks S256', 3],
    [
      'PKCE in plain only',
      { [DISCOVERY]: saying({ ...SERVER, code_challenge_methods_supported: ['plain'] }) },
      'lacks S256',
      3,
    ],
    [
      'nobody may register',
      {
        [DISCOVERY]: saying({
          ...SERVER,
          registration_endpoint: undefined,
          client_id_metadata_document_supported: false,
        }),
      },
      'registration: neither metadata documents nor dynamic registration',
      3,
    ],
    ['no key set', { [DISCOVERY]: without('jwks_uri') }, 'JWKS: jwks_uri is no https address', 3],
    ['a lost key set', { [JWKS]: saying({}, 500) }, `JWKS: ${JWKS} answers 500`, 4],
    ['an empty key set', { [JWKS]: saying({ keys: [] }) }, 'JWKS: there are no keys', 4],
    [
      'a published private key',
      { [JWKS]: saying({ keys: [KEY, { ...KEY, d: 'AA' }] }) },
      'a secret key is published',
      4,
    ],
    [
      'a published shared key',
      { [JWKS]: saying({ keys: [{ kty: 'oct', k: 'AA' }] }) },
      'a secret key is published',
      4,
    ],
    [
      'a gate that stumbles over the new protocol',
      {
        [endpoint]: onlyFor(({ headers }) => headers.has('mcp-method'), saying({}, 400)),
      },
      'a call without a token gets 400, and should get 401',
      5,
    ],
    [
      'a GET that is answered by somebody else',
      {
        [endpoint]: onlyFor(
          ({ method }) => method === 'GET',
          refusal('Bearer resource_metadata="https://x.example"'),
        ),
      },
      'challenge: a GET is sent to other metadata',
      6,
    ],
  ])('%s', async (_what, links, said, asked) => {
    const server = openServer(links)
    const { broken } = await visit(server)
    expect(broken).toContain(said)
    expect(server.asked).toHaveLength(asked)
  })

  test('nobody is there', async () => {
    const refused = () =>
      Promise.reject(
        new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) }),
      )
    expect((await visit({ fetch: refused })).broken).toContain('cannot be reached (ECONNREFUSED)')
  })

  test('somebody is there and does not answer', async () => {
    const server = createServer(() => {}).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const typed = `http://127.0.0.1:${(server.address() as AddressInfo).port}/platform`
    expect((await visit({ fetch }, { typed, timeoutMs: 50 })).broken).toContain('does not answer in time')
    server.closeAllConnections()
    server.close()
  })

  test('a port that fetch never calls', async () => {
    const { broken } = await visit({ fetch }, { typed: 'http://localhost:4190/platform' })
    expect(broken).toContain('port 4190 is one that fetch refuses to call; choose another port')
  })

  /** Words of a stranger's server end up on a terminal, which obeys escape sequences. */
  test('what a server says is shown short and without control characters', async () => {
    const resource = `\u001B]0;owned\u0007\u202E${'x'.repeat(5_000)}`
    const { broken = '' } = await visit(openServer({ [PRM]: saying({ ...RESOURCE, resource }) }))
    expect(broken).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(broken.length).toBeLessThan(500)
  })
})

describe('with a token', () => {
  const calls = async (results: Record<string, unknown> = {}) => {
    const { lines, broken } = await visit(openServer({}, results), { token: TOKEN })
    return { calls: lines.slice(8), broken }
  }

  test('it also shakes hands, lists the tools and says who it acts for', async () => {
    expect(await calls()).toEqual({
      calls: [
        'handshake: server/discover is answered',
        'tools/list: search, whoami',
        'whoami: ada@example.com, admin in Northwind',
      ],
      broken: undefined,
    })
  })

  test('a server of 2025 is greeted its own way', async () => {
    const { calls: said, broken } = await calls({ 'server/discover': undefined })
    expect([said[0], said[2], broken]).toEqual([
      'handshake: initialize is answered',
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
      'handshake: server/discover is answered',
      'tools/list: fetch',
      'whoami: not offered here',
    ])
  })

  test('where no sign-in is advertised, the token is all that counts', async () => {
    const healthy = openServer()
    const server: typeof healthy = {
      asked: healthy.asked,
      fetch: async (input, init) => {
        const response = await healthy.fetch(input, init)
        return response.status === 401 ? refusal('Bearer scope="data:read"')(new Request(MCP)) : response
      },
    }
    const { lines, broken } = await visit(server, { token: TOKEN })
    expect(broken).toBeUndefined()
    expect(lines).toContain('sign-in: none is advertised, so the token is all that counts here')
    expect(lines.at(-1)).toBe('whoami: ada@example.com, admin in Northwind')
  })

  test.each<[what: string, results: Record<string, unknown>, said: string]>([
    [
      'a refused token',
      { 'server/discover': new Response('', { status: 401 }) },
      'token: it is not taken here',
    ],
    ['a missing scope', { 'server/discover': new Response('', { status: 403 }) }, 'token: it lacks a scope'],
    [
      'no MCP server',
      { 'server/discover': new Response('<h1>') },
      'server/discover: the answer is 200 and no JSON-RPC',
    ],
    [
      'no greeting',
      { 'server/discover': undefined, initialize: undefined },
      'neither server/discover nor initialize',
    ],
    ['no tools', { 'tools/list': {} }, 'tools/list: it lists no tools'],
    ['a failing tool', { 'tools/call': { isError: true, content: [] } }, 'whoami: the tool failed'],
    ['a call that is refused', { 'tools/call': undefined }, 'whoami: the tool failed'],
  ])('%s is named', async (_what, results, said) => {
    expect((await calls(results)).broken).toContain(said)
  })

  /** A token is for one endpoint: metadata could name anybody's address. */
  test('the token is sent to the endpoint and nowhere else', async () => {
    const server = openServer()
    await visit(server, { token: TOKEN })
    const told = server.asked.filter((request) => JSON.stringify([...request.headers]).includes(TOKEN))
    expect(told).toHaveLength(3)
    expect(new Set(told.map(({ url }) => url))).toEqual(new Set([`${MCP}/platform`]))
    expect(server.asked.some(({ url }) => url.includes(TOKEN))).toBe(false)
  })
})
