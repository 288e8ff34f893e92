/** How an assistant finds the authorization server: discovery, protected-resource metadata, challenges, and CORS for browser clients. */
import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RESOURCE_SCOPES, RESOURCES } from '../../src/contracts/scopes.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import {
  newAddress,
  newAssistant,
  preRegistered,
  register,
  startListeningSystem,
  whoami,
  type ListeningSystem,
} from '../support/assistant.ts'
import { makeOrganization } from '../support/make.ts'

let system: ListeningSystem
beforeAll(async () => void (system = await startListeningSystem()))
afterAll(() => system.stop())

const getJson = async (path: string) =>
  (await (await fetch(system.origin + path)).json()) as Record<string, unknown>

describe.each(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'])(
  '%s',
  (path) => {
    test('names the issuer byte for byte, our endpoints, and only what we support', async () => {
      const { origin } = system
      expect(await getJson(path)).toEqual({
        issuer: origin,
        authorization_endpoint: `${origin}/oauth/authorize`,
        token_endpoint: `${origin}/oauth/token`,
        registration_endpoint: `${origin}/oauth/register`,
        revocation_endpoint: `${origin}/oauth/revoke`,
        jwks_uri: `${origin}/oauth/jwks`,
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: [
          'authorization_code',
          'refresh_token',
          'urn:ietf:params:oauth:grant-type:jwt-bearer',
          'client_credentials',
        ],
        authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: expect.toSatisfy(
          (methods: string[]) =>
            methods.toSorted().join() === 'client_secret_basic,client_secret_post,none,private_key_jwt',
        ),
        token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'RS256', 'PS256'],
        scopes_supported: [...RESOURCE_SCOPES.platform, ...RESOURCE_SCOPES.notifications, 'offline_access'],
        protected_resources: [`${origin}/platform`, `${origin}/notifications`],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
      })
    })
  },
)

/** fetch() does not let a program forge its Host. */
const askWithHost = (path: string, headers: Record<string, string>) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const { port } = new URL(system.origin)
    httpRequest({ host: '127.0.0.1', port, path, headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode!, text }))
    })
      .on('error', reject)
      .end()
  })

/** Threat: Host and forwarded headers poison the addresses in the metadata. */
describe('forged headers', () => {
  test.each(['evil.example', 'localhost', 'localhost:1', 'auth.localhost'])(
    'the host %s is not served',
    async (host) => {
      for (const path of ['/.well-known/oauth-authorization-server', '/oauth/authorize', '/platform']) {
        expect((await askWithHost(path, { host })).status).toBe(421)
      }
    },
  )

  test('forwarded host, protocol and port change nothing', async () => {
    const { host } = new URL(system.origin)
    const { status, text } = await askWithHost('/.well-known/oauth-authorization-server', {
      host,
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'ftp',
      'x-forwarded-port': '1',
      forwarded: 'host=evil.example;proto=https',
      'x-original-host': 'evil.example',
    })
    expect([status, JSON.parse(text)]).toEqual([
      200,
      await getJson('/.well-known/oauth-authorization-server'),
    ])
  })

  test('another name of the same machine gets the configured addresses', async () => {
    const { port } = new URL(system.origin)
    const { text } = await askWithHost('/.well-known/oauth-authorization-server', {
      host: `127.0.0.1:${port}`,
    })
    expect(JSON.parse(text)).toMatchObject({
      issuer: system.origin,
      token_endpoint: `${system.origin}/oauth/token`,
    })
  })
})

describe('protected-resource metadata', () => {
  test.each(RESOURCES)('of /%s names its scopes and the issuer, and no offline_access', async (resource) => {
    expect(await getJson(`/.well-known/oauth-protected-resource/${resource}`)).toMatchObject({
      resource: `${system.origin}/${resource}`,
      authorization_servers: [system.origin],
      scopes_supported: RESOURCE_SCOPES[resource],
    })
  })

  test('at the root form is that of /platform', async () => {
    expect(await getJson('/.well-known/oauth-protected-resource')).toEqual(
      await getJson('/.well-known/oauth-protected-resource/platform'),
    )
  })
})

/** People paste the address with a slash at its end. */
describe('/platform/ is /platform', () => {
  const post = (path: string, token?: string) =>
    fetch(system.origin + path, {
      method: 'POST',
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })

  test.each(RESOURCES)('/%s/ gives the same challenge, metadata and answers', async (resource) => {
    const refused = await Promise.all([post(`/${resource}`), post(`/${resource}/`)])
    expect(refused.map(({ status }) => status)).toEqual([401, 401])
    const [plain, slashed] = refused.map(({ headers }) => headers.get('www-authenticate'))
    expect(slashed).toBe(plain)
    const metadata = '/.well-known/oauth-protected-resource'
    expect(await getJson(`${metadata}/${resource}/`)).toEqual(await getJson(`${metadata}/${resource}`))
    const { owner } = await makeOrganization(system)
    const assistant = newAssistant(system, await preRegistered(system))
    const tokens = await assistant.connect(owner, { resource: `${system.origin}/${resource}/` })
    const answers = await Promise.all([
      post(`/${resource}`, tokens.access),
      post(`/${resource}/`, tokens.access),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const [one, two] = await Promise.all(answers.map((answer) => answer.json()))
    expect(two).toEqual(one)
  })

  test('nothing more is', async () => {
    for (const path of ['/platform//', '/platform/x', '/platformx']) {
      expect((await post(path)).status).toBe(404)
    }
  })
})

describe('challenges', () => {
  test.each([
    ['platform', 'data:read'],
    ['notifications', 'notifications:read'],
  ] as const)('/%s without a token says where to go and the least scope', async (resource, scope) => {
    const metadata = `resource_metadata="${system.origin}/.well-known/oauth-protected-resource/${resource}"`
    const nothing = await whoami(system, undefined, resource)
    expect(nothing).toMatchObject({ status: 401, challenge: `Bearer ${metadata}, scope="${scope}"` })
    const wrong = await whoami(system, 'nonsense', resource)
    expect(wrong).toMatchObject({
      status: 401,
      challenge: `Bearer error="invalid_token", ${metadata}, scope="${scope}"`,
    })
  })
})

describe('a page in a browser', () => {
  const origin = 'https://inspector.example'

  test.each([
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/platform',
    '/oauth/jwks',
  ])('may read %s', async (path) => {
    const answer = await fetch(system.origin + path, { headers: { origin } })
    expect(answer.status).toBe(200)
    expect(['*', origin]).toContain(answer.headers.get('access-control-allow-origin'))
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
  })

  test.each(['/oauth/register', '/oauth/token', '/oauth/revoke'])(
    'may post to %s after asking',
    async (path) => {
      const preflight = await fetch(system.origin + path, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type',
        },
      })
      expect([200, 204]).toContain(preflight.status)
      expect(['*', origin]).toContain(preflight.headers.get('access-control-allow-origin'))
      expect(preflight.headers.get('access-control-allow-methods')).toContain('POST')
      expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('content-type')
      const answer = await fetch(system.origin + path, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/json' },
        body: '{}',
      })
      expect(answer.status).toBeGreaterThanOrEqual(400)
      // Errors too: a client that cannot read them cannot tell its person what is wrong.
      expect(['*', origin]).toContain(answer.headers.get('access-control-allow-origin'))
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    },
  )

  describe.each(['/oauth/token', '/oauth/revoke'])('at %s', (path) => {
    const fields = { grant_type: 'refresh_token', refresh_token: 'nothing', token: 'nothing' }
    const post = (from: string, params: Record<string, string>) =>
      fetch(system.origin + path, {
        method: 'POST',
        headers: { origin: from, 'x-forwarded-for': newAddress() },
        body: new URLSearchParams({ ...fields, ...params }),
      })

    test.each([
      ['in the web', `${origin}/callback`, origin],
      ['on this computer', 'http://localhost:6274/callback', 'http://localhost:6274'],
      ['on this computer, on another port', 'http://localhost:6274/callback', 'http://localhost:6275'],
    ])('reads what is said to its own client, %s', async (_where, redirect, from) => {
      const { body } = await register(system, {
        redirect_uris: [redirect],
        client_name: 'Inspector',
        token_endpoint_auth_method: 'none',
      })
      const client_id = String(body.client_id)
      const answer = await post(from, { client_id })
      expect(answer.headers.get('access-control-allow-origin')).toBe(from)
      // It got as far as the token, which does not exist.
      if (path === '/oauth/token') expect(await answer.json()).toMatchObject({ error: 'invalid_grant' })
      else expect(answer.status).toBe(200)
      const other = await post('https://other.example', { client_id })
      expect(other.status).toBe(400)
      expect(other.headers.get('access-control-allow-origin')).toBeNull()
    })

    /** The answer to another would tell that there is such a client, before it proved anything. */
    test('reads what is said to a client with a secret, whichever page it is', async () => {
      const { clientId } = await preRegistered(system, {
        token_endpoint_auth_method: 'client_secret_basic',
        client_secret: sha256('a secret'),
      })
      for (const [client_secret, status] of [
        ['a secret', path === '/oauth/token' ? 400 : 200],
        ['another one', 401],
      ] as const) {
        const answer = await post(origin, { client_id: clientId, client_secret })
        expect(answer.status).toBe(status)
        expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
        expect(await answer.text()).not.toContain('not allowed')
      }
    })
  })
})
