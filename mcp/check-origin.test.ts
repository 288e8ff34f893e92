import { describe, expect, test } from 'vitest'
import { agentToken, callWhoAmI, MCP, fakeServices } from '../test/support/fake-services.ts'

const LOCAL = { mcpUrl: new URL('http://localhost:4000') }

function preflight(origin: string | undefined, headers = 'authorization', changes = {}) {
  return fakeServices(changes).app.request(`${MCP}/platform`, {
    method: 'OPTIONS',
    headers: {
      ...(origin === undefined ? {} : { origin }),
      'access-control-request-method': 'POST',
      'access-control-request-headers': headers,
    },
  })
}

describe('a page', () => {
  test('of an allowed origin gets a preflight without a token', async () => {
    const response = await preflight('https://chat.example', 'authorization, mcp-param-region, x-anything')
    expect(response.status).toBe(204)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': 'https://chat.example',
      'access-control-allow-headers':
        'Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, traceparent, ' +
        'mcp-param-region',
      'access-control-expose-headers': 'WWW-Authenticate, Retry-After',
      vary: 'Access-Control-Request-Headers, Origin',
    })
    expect(response.headers.has('access-control-allow-credentials')).toBe(false)
  })

  test('can read the challenge, and the answer', async () => {
    const system = fakeServices()
    const headers = { origin: 'https://chat.example' }
    const refused = await callWhoAmI(system, '/platform', 'of 2026', { headers })
    expect(refused.status).toBe(401)
    const token = await agentToken(system, 'platform')
    const answered = await callWhoAmI(system, '/platform', 'of 2026', { headers, token })
    expect(answered.status).toBe(200)
    for (const response of [refused, answered]) {
      expect(response.headers.get('access-control-allow-origin')).toBe('https://chat.example')
      expect(response.headers.get('access-control-expose-headers')).toBe('WWW-Authenticate, Retry-After')
    }
  })

  /** DNS rebinding: a page can make its own name point at the user's machine, but cannot change its Origin. */
  test.each([
    'https://evil.example',
    'http://chat.example',
    'https://chat.example:8443',
    'https://chat.example.evil.example',
    'https://chat.example/',
    'null',
    '',
    'http://localhost:6274',
    MCP,
  ])('of the origin %j is refused, with or without a token', async (origin) => {
    const system = fakeServices()
    const token = await agentToken(system, 'platform')
    const response = await callWhoAmI(system, '/platform', 'of 2026', { headers: { origin }, token })
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ error: { code: 'FORBIDDEN' } })
    expect(response.headers.has('access-control-allow-origin')).toBe(false)
    expect((await preflight(origin)).status).toBe(403)
    expect(system.asked).toEqual([])
  })

  test.each(['http://localhost:6274', 'http://127.0.0.1:1', 'http://[::1]:8080', 'https://localhost'])(
    'of this machine (%s) may talk to a server of this machine',
    async (origin) => {
      expect((await preflight(origin, '', LOCAL)).status).toBe(204)
    },
  )

  test.each([
    'http://localhost.evil.example',
    'http://127.0.0.2',
    'http://localhost:6274/x',
    'ftp://localhost',
    'null',
  ])('that only looks like one of this machine is refused: %s', async (origin) => {
    expect((await preflight(origin, '', LOCAL)).status).toBe(403)
  })
})

test('OPTIONS without an origin lists the methods', async () => {
  const response = await preflight(undefined)
  expect(response.status).toBe(204)
  expect(response.headers.get('allow')).toBe('POST, OPTIONS')
  expect(response.headers.has('access-control-allow-origin')).toBe(false)
})
