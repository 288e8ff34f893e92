import { describe, expect, test } from 'vitest'
import { ISSUER, MCP, fakeServices } from '../test/support/fake-services.ts'

const METADATA = `${MCP}/.well-known/oauth-protected-resource`

const PLATFORM = {
  resource: `${MCP}/platform`,
  authorization_servers: [ISSUER],
  scopes_supported: [
    'data:read',
    'maintenance:read',
    'maintenance:run',
    'maintenance:admin',
    'proposals:decide',
  ],
  bearer_methods_supported: ['header'],
  resource_name: 'svc platform',
}
const NOTIFICATIONS = {
  ...PLATFORM,
  resource: `${MCP}/notifications`,
  scopes_supported: ['notifications:read', 'notifications:write'],
  resource_name: 'svc notifications',
}

describe('protected resource metadata', () => {
  test.each([
    ['/platform', PLATFORM],
    ['/notifications', NOTIFICATIONS],
    ['', PLATFORM],
    // Of the same endpoints, by clients that were given the address with a slash at its end.
    ['/platform/', PLATFORM],
    ['/notifications/', NOTIFICATIONS],
  ])('%s names the endpoint exactly and the server that issues its tokens', async (path, expected) => {
    const response = await fakeServices().app.request(METADATA + path)
    expect(response.status).toBe(200)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await response.json()).toEqual(expected)
  })

  test('any page may read it, whatever headers its client adds', async () => {
    const response = await fakeServices().app.request(`${METADATA}/platform`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://anywhere.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    })
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-allow-headers')).toContain('mcp-protocol-version')
  })

  test('URLs come from the configuration, whatever host was requested', async () => {
    const { app } = fakeServices({ issuer: new URL('https://login.example/tenant/') })
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
    const response = await app.request('https://evil.example/.well-known/oauth-protected-resource', {
      headers,
    })
    expect(await response.json()).toEqual({
      ...PLATFORM,
      authorization_servers: ['https://login.example/tenant'],
    })
  })

  test.each(['/', '/platform//', '/elsewhere', '/platform/more', '/mcp'])(
    '%s is unknown, in JSON',
    async (path) => {
      const response = await fakeServices().app.request(METADATA + path)
      expect(response.status).toBe(404)
      expect(response.headers.get('content-type')).toContain('application/json')
      expect(await response.json()).toMatchObject({ error: { code: 'NOT_FOUND' } })
    },
  )

  test.each(['', '/platform', '/notifications'])('with hosted auth there is none: %s', async (path) => {
    const response = await fakeServices({ authMode: 'hosted' }).app.request(METADATA + path)
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })
})
