import { Hono } from 'hono'
import { describe, expect, test, vi } from 'vitest'
import { ADDRESS_HEADER } from '../src/client/service.ts'
import { showQuota } from '../src/contracts/data-sources.ts'
import { RESOURCE_SCOPES } from '../src/contracts/scopes.ts'
import { createOpenAnswers, type OpenAnswer } from '../src/trust/open-answers.ts'
import {
  agentToken,
  callTool,
  callWhoAmI,
  CLIENT,
  errorResponse,
  MCP,
  fakeServices,
  replyOf,
  send,
  toolText,
  type Era,
  type FakeServices,
} from '../test/support/fake-services.ts'
import { ORG_ID } from '../test/support/fake-maintenance.ts'
import type { McpDeps, McpEnv } from './dependencies.ts'

const ERAS: Era[] = ['of 2025', 'of 2026']
const METADATA = `${MCP}/.well-known/oauth-protected-resource`

describe.each(ERAS)('a client %s', (era) => {
  test('is told who it acts for', async () => {
    const system = fakeServices()
    const response = await callWhoAmI(system, '/platform', era, {
      token: await agentToken(system, 'platform'),
    })
    expect(response.status).toBe(200)
    const { text, isError } = await toolText(response)
    expect(isError).toBe(false)
    expect(text).toBe(
      '{"user":{"id":"usr_1","email":"ada@example.com","name":"Ada"},' +
        `"organization":{"id":"${ORG_ID}","name":"Northwind","slug":"northwind"},"role":"developer",` +
        `"scopes":["data:read","maintenance:read"],"client":"${CLIENT}","quota":` +
        '{"minute":{"limit":60,"left":59,"resets_at":"2026-11-15T12:01:00.000Z"},' +
        '"day":{"limit":5000,"left":4990,"resets_at":"2026-11-16T00:00:00.000Z"}},' +
        '"hidden":[{"tool":"maintenance_run","why":"needs the role admin"},' +
        '{"tool":"maintenance_set","why":"needs the role admin"},' +
        '{"tool":"proposal_decide","why":"needs the role admin"}]}',
    )
  })

  test('is answered once the process may answer again', async () => {
    const system = fakeServices()
    const token = await agentToken(system, 'platform')
    const answers = createOpenAnswers(() => 10)
    answers.extend(10)
    answers.extendBy(async () => answers.extend(1_000_000))
    let opened!: OpenAnswer
    const reset = vi.fn<() => void>()
    const response = await new Promise<Response>((resolve, reject) => {
      answers.open({ reset, hasBegun: () => false, hasCredential: true }, (answer) => {
        opened = answer
        void Promise.resolve(callWhoAmI(system, '/platform', era, { token })).then(resolve, reject)
      })
    })
    expect([response.status, opened.isOver(), reset.mock.calls.length]).toEqual([200, false, 0])
    opened.close()
  })

  test.each([undefined, '*/*', 'application/json', 'text/event-stream', 'text/html', ''])(
    'may accept what it likes: %s',
    async (accept) => {
      const system = fakeServices()
      const token = await agentToken(system, 'platform')
      const response = await callWhoAmI(system, '/platform', era, { token, headers: { accept } })
      expect(response.status).toBe(200)
      const type = response.headers.get('content-type')
      if (accept === 'application/json') expect(type).toContain('application/json')
      expect((await toolText(response)).text).toContain('ada@example.com')
    },
  )

  test('gets a failure in our own words, with the next step', async () => {
    const system = fakeServices()
    system.does[showQuota.name] = () =>
      errorResponse('FORBIDDEN', { hint: 'It requires the scope data:read.' })
    const response = await callWhoAmI(system, '/platform', era, {
      token: await agentToken(system, 'platform'),
    })
    expect(await toolText(response)).toEqual({
      text: 'FORBIDDEN: Your role does not allow this. It requires the scope data:read.',
      isError: true,
    })
    expect(system.warned).toEqual([])
  })

  /** An exception may quote a row or a file, which an agent could take as an instruction. */
  test.each([
    ['is unreachable', () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7'))],
    ['answers nonsense', async () => new Response('<h1>10.0.0.7</h1>', { status: 502 })],
    ['breaks its contract', async () => Response.json({ user: '10.0.0.7' })],
    ['fails', async () => errorResponse('UNEXPECTED', { message: 'at 10.0.0.7' })],
  ])('gets a fixed sentence when the gateway %s, and the log has the reason', async (_how, gateway) => {
    const system = fakeServices({ gateway })
    const response = await callWhoAmI(system, '/platform', era, {
      token: await agentToken(system, 'platform'),
    })
    expect(await toolText(response)).toEqual({
      text: 'UNEXPECTED: Unexpected error. Retry once, then tell the user.',
      isError: true,
    })
    // The gateway is also where calls are reported to; whether that was heard is another line.
    expect(system.warned.filter(([event]) => event !== 'call not reported')).toEqual([
      [
        'tool failed',
        {
          tool: 'whoami',
          request_id: response.headers.get('x-request-id'),
          error: expect.any(Error) as unknown,
        },
      ],
    ])
  })

  test('learns what is wrong with a message', async () => {
    const system = fakeServices()
    const token = await agentToken(system, 'platform')
    const unknown = await send(system, '/platform', era, 'tools/call', { token, params: { name: 'nothing' } })
    expect((await replyOf(unknown)).error?.code).toBe(-32_602)
    const params = { name: 'whoami', arguments: { surplus: 1 } }
    const surplus = await send(system, '/platform', era, 'tools/call', { token, params })
    expect(await toolText(surplus)).toEqual({
      text: 'INVALID_REQUEST: The arguments are not valid. surplus is not an argument. Correct the arguments and call again.',
      isError: true,
    })
  })
})

describe('the protocol', () => {
  test('an older client initializes and gets no session', async () => {
    const system = fakeServices()
    const token = await agentToken(system, 'platform')
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'hand-made', version: '0' },
    }
    const hello = await send(system, '/platform', 'of 2025', 'initialize', { token, params })
    expect(hello.headers.has('mcp-session-id')).toBe(false)
    const { result } = await replyOf(hello)
    expect(result).toMatchObject({
      protocolVersion: '2025-06-18',
      serverInfo: { name: 'svc-platform', version: '1.2.3' },
      capabilities: { tools: { listChanged: false } },
    })
    const ready = await send(system, '/platform', 'of 2025', 'notifications/initialized', { token })
    expect(ready.status).toBe(202)
  })

  test('a newer client discovers the server', async () => {
    const system = fakeServices()
    const token = await agentToken(system, 'notifications')
    const { result } = await replyOf(
      await send(system, '/notifications', 'of 2026', 'server/discover', { token }),
    )
    expect(result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      instructions: expect.stringContaining('notifications_list') as unknown,
      cacheScope: 'private',
    })
  })

  const ENTERPRISE = 'io.modelcontextprotocol/enterprise-managed-authorization'
  const CLIENT_CREDENTIALS = 'io.modelcontextprotocol/oauth-client-credentials'
  test.each<[string, Partial<McpDeps>, string, string[]]>([
    ['where organizations have identity providers', {}, 'platform', [ENTERPRISE, CLIENT_CREDENTIALS]],
    ['without machine agents at /notifications', {}, 'notifications', [ENTERPRISE]],
    ['where the operator turned them off', { enterpriseAuth: false }, 'platform', [CLIENT_CREDENTIALS]],
    ['with hosted auth', { authMode: 'hosted' }, 'platform', []],
  ])('a newer client learns how it may authorize %s', async (_where, changes, resource, expected) => {
    const system = fakeServices(changes)
    const sent = { token: system.apiToken }
    const { result } = await replyOf(await send(system, `/${resource}`, 'of 2026', 'server/discover', sent))
    const { extensions = {} } = (result as { capabilities: { extensions?: object } }).capabilities
    const ways = [ENTERPRISE, CLIENT_CREDENTIALS]
    expect(Object.keys(extensions).filter((name) => ways.includes(name))).toEqual(expected)
  })

  /** A stream held open would outlive a revoked grant and keep a process from stopping. */
  test('listening for changes ends at once', async () => {
    const system = fakeServices()
    const token = await agentToken(system, 'platform')
    const params = { notifications: { toolsListChanged: true } }
    const response = await send(system, '/platform', 'of 2026', 'subscriptions/listen', { token, params })
    expect((await replyOf(response)).result).toMatchObject({ resultType: 'complete' })
  })

  test.each(['GET', 'DELETE', 'PUT'])('%s is not allowed, once the token is valid', async (method) => {
    const system = fakeServices()
    expect((await system.app.request(`${MCP}/platform`, { method })).status).toBe(401)
    const headers = { authorization: `Bearer ${await agentToken(system, 'platform')}` }
    const response = await system.app.request(`${MCP}/platform`, { method, headers })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST, OPTIONS')
  })

  test.each([
    ['not JSON', { 'content-type': 'application/json' }, '{', 400],
    ['of another type', { 'content-type': 'text/plain' }, '{}', 415],
    ['empty', { 'content-type': 'application/json' }, '', 400],
    ['too long', { 'content-type': 'application/json' }, `"${'x'.repeat(256 * 1024)}"`, 413],
  ])('a message that is %s is refused in JSON', async (_how, headers, body, status) => {
    const system = fakeServices()
    const authorization = `Bearer ${await agentToken(system, 'platform')}`
    const response = await system.app.request(`${MCP}/platform`, {
      method: 'POST',
      headers: { ...headers, authorization },
      body,
    })
    expect(response.status).toBe(status)
    expect(await replyOf(response)).toMatchObject({ jsonrpc: '2.0', error: {} })
  })

  test('calls to the gateway keep the request id, address and trace', async () => {
    const system = fakeServices()
    const requestId = `req_${'0'.repeat(25)}`
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const response = await callWhoAmI(system, '/platform', 'of 2026', {
      token: await agentToken(system, 'platform'),
      headers: { 'x-request-id': requestId, traceparent, [ADDRESS_HEADER]: '192.0.2.7' },
    })
    expect(response.headers.get('x-request-id')).toBe(requestId)
    expect(system.asked.map(({ service }) => service)).toEqual(['auth', 'gateway', 'gateway'])
    for (const { headers } of system.asked) {
      expect(headers.get('x-request-id')).toBe(requestId)
      expect(headers.get('traceparent')).toBe(traceparent)
      expect(headers.get(ADDRESS_HEADER)).toBe('192.0.2.7')
    }
  })

  test('an unknown path answers in JSON', async () => {
    const response = await fakeServices().app.request(`${MCP}/elsewhere`)
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })
})

describe('an agent with an access token', () => {
  const refusals: [string, (system: FakeServices) => Promise<string>][] = [
    ['for the other endpoint', (system) => agentToken(system, 'notifications')],
    ['for the whole host', (system) => agentToken(system, 'platform', { audience: MCP })],
    [
      'for the endpoint with a slash',
      (system) => agentToken(system, 'platform', { audience: `${MCP}/platform/` }),
    ],
    ['of another issuer', (system) => agentToken(system, 'platform', { issuer: 'https://evil.example' })],
    ['under another secret', (system) => agentToken(system, 'platform', { secret: '33'.repeat(32) })],
    ['of another type', (system) => agentToken(system, 'platform', { typ: 'svc-user+jwt' })],
    ['that has expired', (system) => agentToken(system, 'platform', { livesSeconds: -1 })],
    ['that is an actor assertion', (system) => system.assertions.sign(someActor, system.clock)],
    ['that is noise', async () => 'noise'],
    ['of ten thousand characters', async () => `svc_${'x'.repeat(10_000)}`],
  ]
  const someActor = { userId: 'usr_1', orgId: ORG_ID, grantId: 'grt_1', scopes: [] }

  test.each(refusals)('%s is refused without calling another service', async (_which, make) => {
    const system = fakeServices()
    const response = await callWhoAmI(system, '/platform', 'of 2026', { token: await make(system) })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer error="invalid_token", resource_metadata="${METADATA}/platform", scope="data:read"`,
    )
    expect(await response.json()).toMatchObject({ error: { code: 'UNAUTHENTICATED' } })
    expect(system.asked).toEqual([])
  })

  test('is refused on the next call after its grant has ended', async () => {
    const system = fakeServices()
    const token = await agentToken(system, 'platform')
    expect((await send(system, '/platform', 'of 2026', 'tools/list', { token })).status).toBe(200)
    system.grant.isLive = false
    expect((await send(system, '/platform', 'of 2026', 'tools/list', { token })).status).toBe(401)
  })

  test('has no more scopes than its grant has left', async () => {
    const system = fakeServices()
    const token = await agentToken(system, 'platform')
    system.grant.scopes = ['data:read']
    const { text } = await toolText(await callWhoAmI(system, '/platform', 'of 2026', { token }))
    expect(JSON.parse(text)).toMatchObject({ scopes: ['data:read'] })
  })

  test.each([
    ['another person', { user: { id: 'usr_2', email: 'b@example.com', name: 'B' } }],
    ['another organization', { organization: { id: 'org_2', name: 'Contoso', slug: 'contoso' } }],
    ['no organization', { organization: null, role: null }],
  ])('is refused when the auth service answers with %s', async (_whom, other) => {
    const system = fakeServices()
    system.changeAnswer = (valid) => ({ ...valid, ...other })
    const token = await agentToken(system, 'platform')
    expect((await callWhoAmI(system, '/platform', 'of 2026', { token })).status).toBe(401)
  })

  /** Otherwise a short outage of the auth service would make every agent discard its tokens. */
  test.each([
    ['is unreachable', () => Promise.reject(new TypeError('fetch failed: 10.0.0.7')), 500],
    ['is late', () => Promise.reject(new DOMException('10.0.0.7', 'TimeoutError')), 504],
    ['fails', async () => errorResponse('UNEXPECTED'), 500],
    ['is busy', async () => errorResponse('RATE_LIMITED', {}, { 'retry-after': '9' }), 429],
  ])('is not told that its token is invalid when the auth service %s', async (_how, auth, status) => {
    const system = fakeServices({ auth })
    const token = await agentToken(system, 'platform')
    const response = await callWhoAmI(system, '/platform', 'of 2026', { token })
    expect(response.status).toBe(status)
    expect(response.headers.has('www-authenticate')).toBe(false)
    if (status === 429) expect(response.headers.get('retry-after')).toBe('9')
    expect(await response.text()).not.toContain('10.0.0.7')
  })

  /** Token passthrough would let whoever sees the token act as the agent (MCP, security best practices). */
  test('its token is in no request to another service', async () => {
    const system = fakeServices()
    for (const resource of ['platform', 'notifications'] as const) {
      const token = await agentToken(system, resource)
      for (const era of ERAS) {
        const methods = era === 'of 2026' ? ['server/discover', 'tools/list'] : ['initialize', 'tools/list']
        for (const method of methods)
          await (await send(system, `/${resource}`, era, method, { token })).text()
        const [name, input] =
          resource === 'platform' ? ['search', { query: 'x' }] : ['notifications_list', {}]
        await (await callTool(system, `/${resource}`, name, input, { era, token })).text()
      }
      system.grant.isLive = false
      await callWhoAmI(system, `/${resource}`, 'of 2026', { token })
      system.grant.isLive = true
      const signature = token.split('.')[2]!
      for (const { url, headers, body } of system.asked) {
        const everything = [url, ...[...headers].flat(), body].join('\n')
        expect(everything).not.toContain(token)
        expect(everything).not.toContain(signature)
      }
    }
    expect(system.asked.filter(({ service }) => service === 'auth')).toHaveLength(14)
    // Of each era one question, which the core writes down, and one list with the report about it.
    expect(system.asked.filter(({ service }) => service === 'gateway')).toHaveLength(6)
  })

  test('is represented by an assertion that names its grant and its client', async () => {
    const system = fakeServices()
    const token = await agentToken(system, 'platform')
    await callWhoAmI(system, '/platform', 'of 2026', { token })
    const assertion = system.asked[1]?.headers.get('authorization')?.replace('Bearer ', '') ?? ''
    expect(JSON.parse(system.asked[0]?.body ?? '')).toEqual({ token: assertion, audience: 'platform' })
    expect(await system.assertions.verify(assertion, system.clock)).toMatchObject({
      userId: 'usr_1',
      orgId: ORG_ID,
      clientId: CLIENT,
      grantId: 'grt_1',
      scopes: ['data:read', 'maintenance:read'],
      expiresAt: new Date(system.clock.getTime() + 60_000),
    })
  })
})

describe('an agent without a token', () => {
  test.each([
    ['nothing', {}, ''],
    ['a password', { authorization: 'Basic YTpi' }, ''],
    ['two tokens', { authorization: 'Bearer a b' }, ''],
    ['a token in the address', {}, '?access_token=TOKEN'],
    ['a cookie', { cookie: 'access_token=TOKEN' }, ''],
  ])('that sends %s gets a challenge without an error', async (_what, headers, query) => {
    const system = fakeServices()
    const token = await agentToken(system, 'notifications')
    const filled = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, v.replace('TOKEN', token)]))
    const path = `/notifications${query.replace('TOKEN', token)}`
    const response = await callWhoAmI(system, path, 'of 2025', { headers: filled })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${METADATA}/notifications", scope="notifications:read"`,
    )
    expect(system.asked).toEqual([])
  })
})

describe('an agent with an API token', () => {
  test('is told who it acts for, and has the scopes of the endpoint', async () => {
    const system = fakeServices()
    const response = await callWhoAmI(system, '/platform', 'of 2026', { token: system.apiToken })
    expect(JSON.parse((await toolText(response)).text)).toMatchObject({
      user: { id: 'usr_1' },
      role: 'developer',
      scopes: RESOURCE_SCOPES.platform,
      client: null,
    })
  })

  test('has no scope of the other endpoint, nor one its token lacks', async () => {
    const system = fakeServices()
    system.token.scopes = ['notifications:read', 'data:read']
    const response = await callWhoAmI(system, '/platform', 'of 2026', { token: system.apiToken })
    expect(JSON.parse((await toolText(response)).text)).toMatchObject({ scopes: ['data:read'] })
  })

  test('is validated by the auth service for this audience; the gateway gets an assertion', async () => {
    const system = fakeServices()
    await callWhoAmI(system, '/platform', 'of 2025', { token: system.apiToken })
    const [auth, gateway, report, ...rest] = system.asked
    expect(rest).toEqual([])
    expect([...(report?.headers ?? [])].flat().join()).not.toContain(system.apiToken)
    expect(JSON.parse(auth?.body ?? '')).toEqual({ token: system.apiToken, audience: 'platform' })
    expect([...(gateway?.headers ?? [])].flat().join()).not.toContain(system.apiToken)
    const assertion = gateway?.headers.get('authorization')?.replace('Bearer ', '') ?? ''
    expect(await system.assertions.verify(assertion, system.clock)).toMatchObject({
      tokenId: 'tok_1',
      known: { email: 'ada@example.com', name: 'Ada', orgSlug: 'northwind', role: 'developer' },
    })
  })

  test('is refused where the token is for another endpoint or has ended', async () => {
    const system = fakeServices()
    system.token.audiences = ['notifications']
    expect((await callWhoAmI(system, '/platform', 'of 2026', { token: system.apiToken })).status).toBe(401)
    expect((await callWhoAmI(system, '/notifications', 'of 2026', { token: system.apiToken })).status).toBe(
      200,
    )
    system.token.isLive = false
    expect((await callWhoAmI(system, '/notifications', 'of 2026', { token: system.apiToken })).status).toBe(
      401,
    )
  })

  test.each([
    ['a person', { kind: 'user' as const }],
    ['nobody’s organization', { organization: null, role: null }],
    ['no role', { role: null }],
  ])('is refused when the auth service answers with %s', async (_whom, other) => {
    const system = fakeServices()
    system.changeAnswer = (valid) => ({ ...valid, ...other })
    expect((await callWhoAmI(system, '/platform', 'of 2026', { token: system.apiToken })).status).toBe(401)
  })

  test('is refused when the auth service does not name the token', async () => {
    const system = fakeServices()
    system.changeAnswer = ({ token_id: _left_out, ...valid }) => valid
    const response = await callWhoAmI(system, '/platform', 'of 2026', { token: system.apiToken })
    expect(response.status).toBe(500)
  })
})

describe('with hosted auth', () => {
  test('API tokens are accepted', async () => {
    const system = fakeServices({ authMode: 'hosted' })
    const response = await callWhoAmI(system, '/platform', 'of 2026', { token: system.apiToken })
    expect((await toolText(response)).isError).toBe(false)
  })

  test('access tokens are not, and the challenge names no metadata', async () => {
    const system = fakeServices({ authMode: 'hosted' })
    const token = await agentToken(system, 'platform')
    const response = await callWhoAmI(system, '/platform', 'of 2026', { token })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token", scope="data:read"')
    expect(system.asked).toEqual([])
  })
})

describe('inside a service app', () => {
  function framed(system: FakeServices) {
    const seen: Record<string, unknown> = {}
    const frame = new Hono<McpEnv>()
    frame.use(async (c, next) => {
      c.set('requestId', 'named-by-the-frame')
      await next()
      Object.assign(seen, { route: c.get('route'), failure: c.get('failure'), principal: c.get('principal') })
    })
    frame.route('/', system.app)
    const post = async () => {
      const headers = { authorization: `Bearer ${await agentToken(system, 'platform')}` }
      return frame.request(`${MCP}/platform`, { method: 'POST', headers })
    }
    return { seen, post }
  }

  test('it uses the given request id and reports the principal', async () => {
    const { seen, post } = framed(fakeServices())
    expect((await post()).headers.get('x-request-id')).toBe('named-by-the-frame')
    expect(seen).toEqual({
      route: 'platform',
      failure: undefined,
      principal: { userId: 'usr_1', orgId: ORG_ID, entryPoint: 'mcp' },
    })
  })

  test('it reports the cause of a failure to the log', async () => {
    const { seen, post } = framed(fakeServices({ auth: () => Promise.reject(new Error('ECONNREFUSED')) }))
    expect(await (await post()).json()).toMatchObject({ error: { request_id: 'named-by-the-frame' } })
    expect(seen['failure']).toMatchObject({ message: 'ECONNREFUSED' })
  })
})
