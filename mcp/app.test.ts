import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { ADDRESS_HEADER } from '../src/client/service.ts'
import { showQuota } from '../src/contracts/data-sources.ts'
import { RESOURCE_SCOPES } from '../src/contracts/scopes.ts'
import {
  agentToken,
  callTool,
  callWhoAmI,
  CLIENT,
  failing,
  MCP,
  openHouse,
  replyOf,
  send,
  toolText,
  type Era,
  type House,
} from './fake-house.ts'
import type { McpEnv } from './needs.ts'

const ERAS: Era[] = ['of 2025', 'of 2026']
const METADATA = `${MCP}/.well-known/oauth-protected-resource`

describe.each(ERAS)('a client %s', (era) => {
  test('is told who it acts for', async () => {
    const house = openHouse()
    const response = await callWhoAmI(house, '/platform', era, { token: await agentToken(house, 'platform') })
    expect(response.status).toBe(200)
    const { text, isError } = await toolText(response)
    expect(isError).toBe(false)
    expect(text).toBe(
      '{"user":{"id":"usr_1","email":"ada@example.com","name":"Ada"},' +
        '"organization":{"id":"org_1","name":"Northwind","slug":"northwind"},"role":"developer",' +
        `"scopes":["data:read","maintenance:read"],"client":"${CLIENT}","quota":` +
        '{"minute":{"limit":60,"left":59,"resets_at":"2026-11-15T12:01:00.000Z"},' +
        '"day":{"limit":5000,"left":4990,"resets_at":"2026-11-16T00:00:00.000Z"}},"hidden":[]}',
    )
  })

  test.each([undefined, '*/*', 'application/json', 'text/event-stream', 'text/html', ''])(
    'may accept what it likes: %s',
    async (accept) => {
      const house = openHouse()
      const token = await agentToken(house, 'platform')
      const response = await callWhoAmI(house, '/platform', era, { token, headers: { accept } })
      expect(response.status).toBe(200)
      const type = response.headers.get('content-type')
      if (accept === 'application/json') expect(type).toContain('application/json')
      expect((await toolText(response)).text).toContain('ada@example.com')
    },
  )

  test('hears of a failure in our words, with the next step', async () => {
    const house = openHouse()
    house.does[showQuota.name] = () => failing('FORBIDDEN', { hint: 'It needs the scope data:read.' })
    const response = await callWhoAmI(house, '/platform', era, { token: await agentToken(house, 'platform') })
    expect(await toolText(response)).toEqual({
      text: 'FORBIDDEN: Your role does not allow this. It needs the scope data:read.',
      isError: true,
    })
    expect(house.warned).toEqual([])
  })

  /** An exception may quote a row, a file or a peer: to an agent every such word could be an instruction. */
  test.each([
    ['is unreachable', () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7'))],
    ['answers nonsense', async () => new Response('<h1>10.0.0.7</h1>', { status: 502 })],
    ['breaks its contract', async () => Response.json({ user: '10.0.0.7' })],
    ['fails', async () => failing('UNEXPECTED', { message: 'at 10.0.0.7' })],
  ])('hears a fixed sentence when the gateway %s, and the log has the reason', async (_how, gateway) => {
    const house = openHouse({ gateway })
    const response = await callWhoAmI(house, '/platform', era, { token: await agentToken(house, 'platform') })
    expect(await toolText(response)).toEqual({
      text: 'UNEXPECTED: Unexpected error. Try again once, then tell the user.',
      isError: true,
    })
    // The gateway is also where calls are reported to; whether that was heard is another line.
    expect(house.warned.filter(([event]) => event !== 'call not reported')).toEqual([
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
    const house = openHouse()
    const token = await agentToken(house, 'platform')
    const unknown = await send(house, '/platform', era, 'tools/call', { token, params: { name: 'nothing' } })
    expect((await replyOf(unknown)).error?.code).toBe(-32_602)
    const params = { name: 'whoami', arguments: { surplus: 1 } }
    const surplus = await send(house, '/platform', era, 'tools/call', { token, params })
    expect(await toolText(surplus)).toEqual({
      text: 'INVALID_REQUEST: The arguments do not fit. surplus is not an argument. Correct the arguments and call again.',
      isError: true,
    })
  })
})

describe('the way in', () => {
  test('an older client shakes hands and is given no session', async () => {
    const house = openHouse()
    const token = await agentToken(house, 'platform')
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'hand-made', version: '0' },
    }
    const hello = await send(house, '/platform', 'of 2025', 'initialize', { token, params })
    expect(hello.headers.has('mcp-session-id')).toBe(false)
    const { result } = await replyOf(hello)
    expect(result).toMatchObject({
      protocolVersion: '2025-06-18',
      serverInfo: { name: 'svc-platform', version: '1.2.3' },
      capabilities: { tools: { listChanged: false } },
    })
    const ready = await send(house, '/platform', 'of 2025', 'notifications/initialized', { token })
    expect(ready.status).toBe(202)
  })

  test('a newer client discovers the server', async () => {
    const house = openHouse()
    const token = await agentToken(house, 'notifications')
    const { result } = await replyOf(
      await send(house, '/notifications', 'of 2026', 'server/discover', { token }),
    )
    expect(result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      instructions: expect.stringContaining('notifications_list') as unknown,
      cacheScope: 'private',
    })
  })

  /** A stream held open would outlive a revoked grant and keep a process from stopping. */
  test('listening for changes ends at once, because there are none', async () => {
    const house = openHouse()
    const token = await agentToken(house, 'platform')
    const params = { notifications: { toolsListChanged: true } }
    const response = await send(house, '/platform', 'of 2026', 'subscriptions/listen', { token, params })
    expect((await replyOf(response)).result).toMatchObject({ resultType: 'complete' })
  })

  test.each(['GET', 'DELETE', 'PUT'])('%s is not a method here, once the token is good', async (method) => {
    const house = openHouse()
    expect((await house.app.request(`${MCP}/platform`, { method })).status).toBe(401)
    const headers = { authorization: `Bearer ${await agentToken(house, 'platform')}` }
    const response = await house.app.request(`${MCP}/platform`, { method, headers })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST, OPTIONS')
  })

  test.each([
    ['not JSON', { 'content-type': 'application/json' }, '{', 400],
    ['of another type', { 'content-type': 'text/plain' }, '{}', 415],
    ['empty', { 'content-type': 'application/json' }, '', 400],
    ['too long', { 'content-type': 'application/json' }, `"${'x'.repeat(256 * 1024)}"`, 413],
  ])('a message that is %s is refused in JSON', async (_how, headers, body, status) => {
    const house = openHouse()
    const authorization = `Bearer ${await agentToken(house, 'platform')}`
    const response = await house.app.request(`${MCP}/platform`, {
      method: 'POST',
      headers: { ...headers, authorization },
      body,
    })
    expect(response.status).toBe(status)
    expect(await replyOf(response)).toMatchObject({ jsonrpc: '2.0', error: {} })
  })

  test('a request keeps its id, its address and its trace on the way', async () => {
    const house = openHouse()
    const requestId = `req_${'0'.repeat(25)}`
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const response = await callWhoAmI(house, '/platform', 'of 2026', {
      token: await agentToken(house, 'platform'),
      headers: { 'x-request-id': requestId, traceparent, [ADDRESS_HEADER]: '192.0.2.7' },
    })
    expect(response.headers.get('x-request-id')).toBe(requestId)
    expect(house.asked.map(({ service }) => service)).toEqual(['auth', 'gateway', 'gateway'])
    for (const { headers } of house.asked) {
      expect(headers.get('x-request-id')).toBe(requestId)
      expect(headers.get('traceparent')).toBe(traceparent)
      expect(headers.get(ADDRESS_HEADER)).toBe('192.0.2.7')
    }
  })

  test('an unknown address answers in JSON', async () => {
    const response = await openHouse().app.request(`${MCP}/elsewhere`)
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })
})

describe('an agent with an access token', () => {
  const refusals: [string, (house: House) => Promise<string>][] = [
    ['for the other endpoint', (house) => agentToken(house, 'notifications')],
    ['for the whole host', (house) => agentToken(house, 'platform', { audience: MCP })],
    [
      'for the endpoint with a slash',
      (house) => agentToken(house, 'platform', { audience: `${MCP}/platform/` }),
    ],
    ['of another issuer', (house) => agentToken(house, 'platform', { issuer: 'https://evil.example' })],
    ['under another secret', (house) => agentToken(house, 'platform', { secret: '33'.repeat(32) })],
    ['of another type', (house) => agentToken(house, 'platform', { typ: 'svc-user+jwt' })],
    ['that has expired', (house) => agentToken(house, 'platform', { livesSeconds: -1 })],
    ['that is an actor assertion', (house) => house.assertions.sign(someActor, house.clock)],
    ['that is noise', async () => 'noise'],
    ['of ten thousand characters', async () => `svc_${'x'.repeat(10_000)}`],
  ]
  const someActor = { userId: 'usr_1', orgId: 'org_1', grantId: 'grt_1', scopes: [] }

  test.each(refusals)('%s stays outside, and nobody else is asked', async (_which, make) => {
    const house = openHouse()
    const response = await callWhoAmI(house, '/platform', 'of 2026', { token: await make(house) })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer error="invalid_token", resource_metadata="${METADATA}/platform", scope="data:read"`,
    )
    expect(await response.json()).toMatchObject({ error: { code: 'UNAUTHENTICATED' } })
    expect(house.asked).toEqual([])
  })

  test('is out with the very next call after its grant has ended', async () => {
    const house = openHouse()
    const token = await agentToken(house, 'platform')
    expect((await send(house, '/platform', 'of 2026', 'tools/list', { token })).status).toBe(200)
    house.grant.isLive = false
    expect((await send(house, '/platform', 'of 2026', 'tools/list', { token })).status).toBe(401)
  })

  test('has no more scopes than its grant has left', async () => {
    const house = openHouse()
    const token = await agentToken(house, 'platform')
    house.grant.scopes = ['data:read']
    const { text } = await toolText(await callWhoAmI(house, '/platform', 'of 2026', { token }))
    expect(JSON.parse(text)).toMatchObject({ scopes: ['data:read'] })
  })

  test.each([
    ['another person', { user: { id: 'usr_2', email: 'b@example.com', name: 'B' } }],
    ['another organization', { organization: { id: 'org_2', name: 'Contoso', slug: 'contoso' } }],
    ['no organization', { organization: null, role: null }],
  ])('stays outside when the auth service speaks of %s', async (_whom, other) => {
    const house = openHouse()
    house.changeAnswer = (valid) => ({ ...valid, ...other })
    const token = await agentToken(house, 'platform')
    expect((await callWhoAmI(house, '/platform', 'of 2026', { token })).status).toBe(401)
  })

  /** Taken for a refusal, a hiccup of the auth service would make every agent throw its tokens away. */
  test.each([
    ['is unreachable', () => Promise.reject(new TypeError('fetch failed: 10.0.0.7')), 500],
    ['is late', () => Promise.reject(new DOMException('10.0.0.7', 'TimeoutError')), 504],
    ['fails', async () => failing('UNEXPECTED'), 500],
    ['is busy', async () => failing('RATE_LIMITED', {}, { 'retry-after': '9' }), 429],
  ])('is not told that its token is bad when the auth service %s', async (_how, auth, status) => {
    const house = openHouse({ auth })
    const token = await agentToken(house, 'platform')
    const response = await callWhoAmI(house, '/platform', 'of 2026', { token })
    expect(response.status).toBe(status)
    expect(response.headers.has('www-authenticate')).toBe(false)
    if (status === 429) expect(response.headers.get('retry-after')).toBe('9')
    expect(await response.text()).not.toContain('10.0.0.7')
  })

  /** Passing a token on would let whoever sees it act as the agent (MCP, security best practices: token passthrough). */
  test('keeps its token to this room: no request to another service holds it', async () => {
    const house = openHouse()
    for (const resource of ['platform', 'notifications'] as const) {
      const token = await agentToken(house, resource)
      for (const era of ERAS) {
        const methods = era === 'of 2026' ? ['server/discover', 'tools/list'] : ['initialize', 'tools/list']
        for (const method of methods) await (await send(house, `/${resource}`, era, method, { token })).text()
        const [name, input] =
          resource === 'platform' ? ['search', { query: 'x' }] : ['notifications_list', {}]
        await (await callTool(house, `/${resource}`, name, input, { era, token })).text()
      }
      house.grant.isLive = false
      await callWhoAmI(house, `/${resource}`, 'of 2026', { token })
      house.grant.isLive = true
      const signature = token.split('.')[2]!
      for (const { url, headers, body } of house.asked) {
        const everything = [url, ...[...headers].flat(), body].join('\n')
        expect(everything).not.toContain(token)
        expect(everything).not.toContain(signature)
      }
    }
    expect(house.asked.filter(({ service }) => service === 'auth')).toHaveLength(14)
    // Of each era one question, which the core writes down, and one list with the report about it.
    expect(house.asked.filter(({ service }) => service === 'gateway')).toHaveLength(6)
  })

  test('is spoken for by an assertion that names its grant and its client', async () => {
    const house = openHouse()
    const token = await agentToken(house, 'platform')
    await callWhoAmI(house, '/platform', 'of 2026', { token })
    const assertion = house.asked[1]?.headers.get('authorization')?.replace('Bearer ', '') ?? ''
    expect(JSON.parse(house.asked[0]?.body ?? '')).toEqual({ token: assertion })
    expect(await house.assertions.verify(assertion, house.clock)).toMatchObject({
      userId: 'usr_1',
      orgId: 'org_1',
      clientId: CLIENT,
      grantId: 'grt_1',
      scopes: ['data:read', 'maintenance:read'],
      expiresAt: new Date(house.clock.getTime() + 60_000),
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
  ])('that sends %s is shown the way, and told of no error', async (_what, headers, query) => {
    const house = openHouse()
    const token = await agentToken(house, 'notifications')
    const filled = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, v.replace('TOKEN', token)]))
    const path = `/notifications${query.replace('TOKEN', token)}`
    const response = await callWhoAmI(house, path, 'of 2025', { headers: filled })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${METADATA}/notifications", scope="notifications:read"`,
    )
    expect(house.asked).toEqual([])
  })
})

describe('an agent with an API token', () => {
  test('is told who it acts for, and has the scopes of the endpoint', async () => {
    const house = openHouse()
    const response = await callWhoAmI(house, '/platform', 'of 2026', { token: house.apiToken })
    expect(JSON.parse((await toolText(response)).text)).toMatchObject({
      user: { id: 'usr_1' },
      role: 'developer',
      scopes: RESOURCE_SCOPES.platform,
      client: null,
    })
  })

  test('has no scope of the other endpoint, nor one its token lacks', async () => {
    const house = openHouse()
    house.token.scopes = ['notifications:read', 'data:read']
    const response = await callWhoAmI(house, '/platform', 'of 2026', { token: house.apiToken })
    expect(JSON.parse((await toolText(response)).text)).toMatchObject({ scopes: ['data:read'] })
  })

  test('shows it to the auth service, for this audience; the gateway sees an assertion', async () => {
    const house = openHouse()
    await callWhoAmI(house, '/platform', 'of 2025', { token: house.apiToken })
    const [auth, gateway, report, ...rest] = house.asked
    expect(rest).toEqual([])
    expect([...(report?.headers ?? [])].flat().join()).not.toContain(house.apiToken)
    expect(JSON.parse(auth?.body ?? '')).toEqual({ token: house.apiToken, audience: 'platform' })
    expect([...(gateway?.headers ?? [])].flat().join()).not.toContain(house.apiToken)
    const assertion = gateway?.headers.get('authorization')?.replace('Bearer ', '') ?? ''
    expect(await house.assertions.verify(assertion, house.clock)).toMatchObject({
      tokenId: 'tok_1',
      known: { email: 'ada@example.com', name: 'Ada', orgSlug: 'northwind', role: 'developer' },
    })
  })

  test('stays outside where the token is not meant for the endpoint, or has ended', async () => {
    const house = openHouse()
    house.token.audiences = ['notifications']
    expect((await callWhoAmI(house, '/platform', 'of 2026', { token: house.apiToken })).status).toBe(401)
    expect((await callWhoAmI(house, '/notifications', 'of 2026', { token: house.apiToken })).status).toBe(200)
    house.token.isLive = false
    expect((await callWhoAmI(house, '/notifications', 'of 2026', { token: house.apiToken })).status).toBe(401)
  })

  test.each([
    ['a person', { kind: 'user' as const }],
    ['nobody’s organization', { organization: null, role: null }],
    ['no role', { role: null }],
  ])('stays outside when the auth service speaks of %s', async (_whom, other) => {
    const house = openHouse()
    house.changeAnswer = (valid) => ({ ...valid, ...other })
    expect((await callWhoAmI(house, '/platform', 'of 2026', { token: house.apiToken })).status).toBe(401)
  })

  test('is not let in under no name when the auth service leaves the token unnamed', async () => {
    const house = openHouse()
    house.changeAnswer = ({ token_id: _left_out, ...valid }) => valid
    const response = await callWhoAmI(house, '/platform', 'of 2026', { token: house.apiToken })
    expect(response.status).toBe(500)
  })
})

describe('with hosted auth', () => {
  test('API tokens are taken', async () => {
    const house = openHouse({ authMode: 'hosted' })
    const response = await callWhoAmI(house, '/platform', 'of 2026', { token: house.apiToken })
    expect((await toolText(response)).isError).toBe(false)
  })

  test('access tokens are not, and no way to one is shown', async () => {
    const house = openHouse({ authMode: 'hosted' })
    const token = await agentToken(house, 'platform')
    const response = await callWhoAmI(house, '/platform', 'of 2026', { token })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token", scope="data:read"')
    expect(house.asked).toEqual([])
  })
})

describe('in a frame', () => {
  function framed(house: House) {
    const seen: Record<string, unknown> = {}
    const frame = new Hono<McpEnv>()
    frame.use(async (c, next) => {
      c.set('requestId', 'named-by-the-frame')
      await next()
      Object.assign(seen, { route: c.get('route'), failure: c.get('failure'), caller: c.get('caller') })
    })
    frame.route('/', house.app)
    const post = async () => {
      const headers = { authorization: `Bearer ${await agentToken(house, 'platform')}` }
      return frame.request(`${MCP}/platform`, { method: 'POST', headers })
    }
    return { seen, post }
  }

  test('it takes the id given there and tells who called', async () => {
    const { seen, post } = framed(openHouse())
    expect((await post()).headers.get('x-request-id')).toBe('named-by-the-frame')
    expect(seen).toEqual({
      route: 'platform',
      failure: undefined,
      caller: { userId: 'usr_1', orgId: 'org_1', door: 'mcp' },
    })
  })

  test('it leaves the reason of a failure for the log', async () => {
    const { seen, post } = framed(openHouse({ auth: () => Promise.reject(new Error('ECONNREFUSED')) }))
    expect(await (await post()).json()).toMatchObject({ error: { request_id: 'named-by-the-frame' } })
    expect(seen['failure']).toMatchObject({ message: 'ECONNREFUSED' })
  })
})
