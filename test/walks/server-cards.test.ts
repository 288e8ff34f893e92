/** Server cards and their catalog through the real port: what everybody may know, and nothing that a request or an organization says. */
import { request as httpRequest } from 'node:http'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { VERSION } from '../../src/boot/version.ts'
import { RESOURCES, type Resource } from '../../src/contracts/scopes.ts'
import { startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import { makeApiToken, makeOrganization, unique } from '../support/make.ts'
import { freshSecrets, startSystem } from '../support/system.ts'
import schema from '../vectors/server-card.schema.json' with { type: 'json' }

const CATALOG = '/.well-known/ai-catalog.json'
const PATHS = [...RESOURCES.map((resource) => `/${resource}/server-card`), CATALOG]

type Card = {
  name: string
  title: string
  description: string
  version: string
  remotes: { type: string; url: string; supportedProtocolVersions: string[] }[]
}

let system: ListeningSystem
beforeAll(async () => void (system = await startListeningSystem()))
afterAll(() => system?.stop())

const cardOf = async (resource: Resource) =>
  (await (await fetch(`${system.origin}/${resource}/server-card`)).json()) as Card

const isValid = new AjvJsonSchemaValidator().getValidator(schema)

describe('a card', () => {
  test.each(RESOURCES)(
    'of /%s follows the schema of server cards, and names one endpoint',
    async (resource) => {
      const answer = await fetch(`${system.origin}/${resource}/server-card`)
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        'application/mcp-server-card+json',
      ])
      const card = (await answer.json()) as Card
      expect(isValid(card)).toMatchObject({ valid: true })
      expect(Object.keys(card).toSorted()).toEqual(
        ['$schema', 'description', 'name', 'remotes', 'title', 'version'].toSorted(),
      )
      expect(card.name).toBe(`dev.svc/svc-${resource}`)
      expect(card.version).toBe(VERSION)
      expect(card.remotes).toEqual([
        {
          type: 'streamable-http',
          url: `${system.origin}/${resource}`,
          supportedProtocolVersions: expect.arrayContaining(['2026-07-28', '2025-11-25']) as unknown,
        },
      ])
    },
  )

  test('that lacks something, or says it wrongly, would not', async () => {
    const card = await cardOf('platform')
    const { name: _name, ...nameless } = card
    expect(isValid(nameless).valid).toBe(false)
    expect(isValid({ ...card, name: 'svc' }).valid).toBe(false)
    expect(isValid({ ...card, description: 'x'.repeat(101) }).valid).toBe(false)
    expect(isValid({ ...card, remotes: [{ type: 'stdio', url: 'https://x' }] }).valid).toBe(false)
  })

  test.each(RESOURCES)('of /%s says what the server says once connected', async (resource) => {
    const org = await makeOrganization(system)
    const { token } = await makeApiToken(system, org, org.owner, { audiences: [resource] })
    const ask = async (version: string, method: string, params: object) => {
      const isNew = method === 'server/discover'
      const answer = await fetch(`${system.origin}/${resource}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(isNew && { 'mcp-protocol-version': version, 'mcp-method': method }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      const text = await answer.text()
      const { result } = JSON.parse(text.match(/^data: (.+)$/m)?.[1] ?? text) as {
        result: Record<string, unknown>
      }
      return result
    }
    const { name, title, description, version, remotes } = await cardOf(resource)
    const versions = remotes[0]!.supportedProtocolVersions
    const clientInfo = { name: 'hand-made', version: '0' }
    const found = await ask('2026-07-28', 'server/discover', {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': clientInfo,
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    })
    const info = { name: name.split('/')[1], title, description, version }
    expect(found).toMatchObject({
      supportedVersions: versions.slice(0, 1),
      _meta: { 'io.modelcontextprotocol/serverInfo': info },
    })
    for (const older of versions.slice(1)) {
      expect(
        await ask(older, 'initialize', { protocolVersion: older, capabilities: {}, clientInfo }),
      ).toMatchObject({ protocolVersion: older, serverInfo: info })
    }
  })
})

test('the catalog leads to every card', async () => {
  const answer = await fetch(system.origin + CATALOG)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/ai-catalog+json'])
  const { specVersion, entries } = (await answer.json()) as {
    specVersion: string
    entries: { identifier: string; type: string; url: string }[]
  }
  expect(specVersion).toBe('1.0')
  expect(entries.map(({ identifier }) => identifier)).toEqual(
    RESOURCES.map((resource) => `urn:air:localhost:mcp:svc-${resource}`),
  )
  for (const { type, url } of entries) {
    const card = await fetch(url)
    expect(card.headers.get('content-type')).toBe(type)
    expect(isValid(await card.json())).toMatchObject({ valid: true })
  }
})

describe.each(PATHS)('%s', (path) => {
  test('may be read by any page, and be kept for an hour', async () => {
    const preflight = await fetch(system.origin + path, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://anywhere.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'if-none-match',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-methods')).toContain('GET')
    for (const name of ['Content-Type', 'If-None-Match']) {
      expect(preflight.headers.get('access-control-allow-headers')).toContain(name)
    }
    const answer = await fetch(system.origin + path, { headers: { origin: 'https://anywhere.example' } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    expect(answer.headers.get('access-control-expose-headers')).toContain('ETag')
    expect(answer.headers.get('cache-control')).toBe('public, max-age=3600')
    expect(answer.headers.get('set-cookie')).toBeNull()
  })

  test('is not sent again to whoever has it', async () => {
    const first = await fetch(system.origin + path)
    const etag = first.headers.get('etag')!
    expect(etag).toMatch(/^"sha256-[0-9a-f]{64}"$/)
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await fetch(system.origin + path, { headers: { 'if-none-match': known } })
      expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
    }
    const other = await fetch(system.origin + path, { headers: { 'if-none-match': '"other"' } })
    expect([other.status, await other.text()]).toEqual([200, await first.text()])
  })

  test('answers HEAD without a body, and no method that changes something', async () => {
    const head = await fetch(system.origin + path, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(head.headers.get('etag')).not.toBeNull()
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await fetch(system.origin + path, { method })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    }
  })

  test('is the same for whoever asks, with credentials or without', async () => {
    const org = await makeOrganization(system)
    const { token } = await makeApiToken(system, org, org.owner)
    const plain = await (await fetch(system.origin + path)).text()
    const known = await fetch(system.origin + path, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/html', cookie: 'svc_session=x' },
    })
    expect(await known.text()).toBe(plain)
  })
})

/** fetch() does not let a program forge its Host. */
const askWithHeaders = (path: string, headers: Record<string, string>) =>
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

describe('attack 40', () => {
  test.each(PATHS)('%s: a forged Host reaches nothing, forwarded ones change nothing', async (path) => {
    const { host, port } = new URL(system.origin)
    expect((await askWithHeaders(path, { host: 'evil.example' })).status).toBe(421)
    const plain = await (await fetch(system.origin + path)).text()
    for (const headers of [
      { host, 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'ftp', 'x-forwarded-port': '1' },
      { host, forwarded: 'host=evil.example;proto=https', 'x-original-host': 'evil.example' },
      { host, 'x-forwarded-prefix': '/evil', 'x-original-url': '/evil', 'x-rewrite-url': '/evil' },
      { host: `127.0.0.1:${port}` },
    ]) {
      expect(await askWithHeaders(path, headers)).toEqual({ status: 200, text: plain })
    }
    expect(await askWithHeaders(`${path}?host=evil.example&url=https://evil.example`, { host })).toEqual({
      status: 200,
      text: plain,
    })
  })

  test('nothing of an organization or a person is in them', async () => {
    const { id, name, slug, owner } = await makeOrganization(system)
    for (const path of PATHS) {
      const text = await (await fetch(system.origin + path)).text()
      for (const word of [id, name, slug, owner.userId, owner.name, owner.email]) {
        expect(text).not.toContain(word)
      }
    }
  })

  /** As the chart runs it: the mcp-server alone, at a host of its own. */
  test('nothing of a secret or an internal address is in them, and they are at no other host', async () => {
    const secrets = freshSecrets()
    const internal = {
      AUTH_SERVICE_URL: 'http://auth.internal:4100',
      GATEWAY_URL: 'http://gateway.internal:4200',
    }
    const alone = await startSystem({
      ...secrets,
      ...internal,
      SVC_SERVICES: 'mcp-server',
      API_URL: 'https://api.example.com',
      APP_URL: 'https://app.example.com',
      AUTH_URL: 'https://auth.example.com',
      MCP_URL: 'https://mcp.example.com',
    })
    try {
      for (const path of PATHS) {
        const answer = await alone.service(new Request(`https://mcp.example.com${path}`))
        expect(answer.status).toBe(200)
        const text = await answer.text()
        for (const url of text.match(/https?:\/\/[^"]+/g) ?? []) {
          expect(url).toMatch(/^https:\/\/(mcp\.example\.com|static\.modelcontextprotocol\.io)\//)
        }
        for (const word of [...Object.values(secrets), 'internal']) expect(text).not.toContain(word)
        expect((await alone.service(new Request(`https://app.example.com${path}`))).status).toBe(421)
      }
    } finally {
      await alone.stop()
    }
  })

  test.each(['/platform/server-card/', '/platform/server-card/x', '/server-card', '/api/server-card'])(
    '%s is no card',
    async (path) => {
      expect((await fetch(system.origin + path)).status).not.toBe(200)
    },
  )
})

test('whoever asks too often waits, by address, and others do not', async () => {
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
  const ask = (address: string) => fetch(system.origin + CATALOG, from(address))
  const network = `2001:db8:${unique('').slice(1, 5)}:1`
  let last = await ask(`${network}::1`)
  for (let sent = 1; sent < 120; sent += 1) last = await ask(`${network}::${sent.toString(16)}`)
  expect(last.status).toBe(200)
  const refused = await ask(`${network}::ffff`)
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(refused.headers.get('access-control-allow-origin')).toBe('*')
  expect((await ask('203.0.113.9')).status).toBe(200)
  system.clock.advance(60)
  expect((await ask(`${network}::1`)).status).toBe(200)
})
