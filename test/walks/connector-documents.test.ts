/** Clients that are an https document about themselves: fetched at every authorization, at no other time. */
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../db/schema.ts'
import { setOauthClientActive } from '../../src/contracts/grants.ts'
import { documentDigest } from '../../oauth/connector/canonical-json.ts'
import {
  arrive,
  boxes,
  decide,
  isConsent,
  newAssistant,
  startListeningSystem,
  tokensIn,
  whoami,
  type Assistant,
  type Authenticate,
  type ListeningSystem,
} from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import { makeOrganization, unique, type Org } from '../support/make.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'
import { newWalker } from '../support/walker.ts'

let host: DocumentHost
let system: ListeningSystem
let org: Org
let path: string
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startListeningSystem({}, { guardedFetch: host.guardedFetch })
})
beforeEach(async () => {
  org = await makeOrganization(system)
  path = `/${unique('client')}.json`
})
afterAll(async () => {
  await system.stop()
  host.close()
})

const callback = () => `${host.origin}/callback`
const client = (redirectUri = callback(), authenticate?: Authenticate): Assistant =>
  newAssistant(system, { clientId: host.origin + path, redirectUri }, authenticate)
const newBrowser = () => newWalker(system, { overSockets: true })
const grantOf = async (id: string) =>
  (await system.db.select().from(platformAccessGrants).where(eq(platformAccessGrants.id, id)))[0]!

describe('a document', () => {
  test('is fetched once for an authorization and never for code, refresh or call', async () => {
    host.putClient(path)
    const assistant = client()
    let tokens = await assistant.connect(org.owner)
    expect(host.hits(path)).toBe(1)
    for (let i = 0; i < 3; i++) tokens = tokensIn(await assistant.refresh(tokens.refresh))
    expect((await whoami(system, tokens.access)).who?.client).toBe(host.origin + path)
    expect(host.hits(path)).toBe(1)
    await assistant.connect(org.owner)
    expect(host.hits(path)).toBe(2)
  })

  test('is fetched again although it says that it may be kept for a day', async () => {
    const document = { client_id: host.origin + path, client_name: 'Cached', redirect_uris: [callback()] }
    host.put(path, (answer) => {
      answer.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=86400' })
      answer.end(JSON.stringify(document))
    })
    await client().connect(org.owner)
    await client().connect(org.owner)
    expect(host.hits(path)).toBe(2)
  })

  test('leaves no client row, and its digest on the grant', async () => {
    host.putClient(path, { something_new: [1, { b: 2, a: 1 }] })
    const { grantId } = await client().connect(org.owner)
    const rows = await system.db
      .select()
      .from(platformOauthClients)
      .where(eq(platformOauthClients.clientId, host.origin + path))
    expect(rows).toEqual([])
    expect(await grantOf(grantId)).toMatchObject({
      clientKind: 'metadata_document',
      documentSha256: documentDigest({
        redirect_uris: [callback()],
        something_new: [1, { a: 1, b: 2 }],
        client_id: host.origin + path,
        client_name: 'A document',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
      }),
    })
  })

  test('whose host is gone no longer lets anybody in, but whoever is in refreshes on', async () => {
    const mortal = await openDocumentHost()
    const own = await startListeningSystem({}, { guardedFetch: mortal.guardedFetch })
    try {
      const person = (await makeOrganization(own)).owner
      const redirectUri = `${mortal.origin}/callback`
      const assistant = newAssistant(own, { clientId: mortal.putClient('/client.json'), redirectUri })
      const tokens = await assistant.connect(person)
      mortal.die()
      const again = tokensIn(await assistant.refresh(tokens.refresh))
      expect((await whoami(own, again.access)).status).toBe(200)
      const page = await newWalker(own, { overSockets: true }).open(assistant.request().url)
      expect([page.status, page.location]).toEqual([400, undefined])
      expect(page.words).toContain('could not be fetched')
    } finally {
      await own.stop()
      mortal.close()
    }
  })
})

describe('the page', () => {
  /** Threat: consent that outlives what was consented to. */
  test('is skipped for an unchanged document and an https redirect on its own host, and comes back when it changed', async () => {
    host.putClient(path)
    const assistant = client()
    const walker = newBrowser()
    const first = await arrive(system, walker, org.owner, assistant.request().url)
    expect(isConsent(first)).toBe(true)
    await decide(system, walker, first)
    const second = await arrive(system, walker, org.owner, assistant.request().url)
    expect(second.location?.searchParams.get('code')).toEqual(expect.any(String))
    // White space and order are not a change; any member is, also one that nobody here reads.
    host.putClient(path, { logo_uri: 'https://client.test/new.png' })
    const third = await arrive(system, walker, org.owner, assistant.request().url)
    expect(isConsent(third)).toBe(true)
    await decide(system, walker, third)
    expect((await arrive(system, walker, org.owner, assistant.request().url)).location).toBeDefined()
  })

  test.each([
    ['prompt=consent', { prompt: 'consent' }],
    ['a scope that was not granted', { scope: 'data:read maintenance:run' }],
    ['the other endpoint', { resource: 'notifications' }],
  ])('is shown again for %s', async (_why, params: Record<string, string>) => {
    host.putClient(path)
    const assistant = client()
    const walker = newBrowser()
    await assistant.connect(org.owner, {}, {}, walker)
    const asked = params.resource ? { resource: `${system.origin}/${params.resource}` } : params
    expect(isConsent(await arrive(system, walker, org.owner, assistant.request(asked).url))).toBe(true)
  })

  test('is shown again to another person, and after the grant has ended', async () => {
    host.putClient(path)
    const assistant = client()
    const { grantId, refresh } = await assistant.connect(org.owner)
    const other = await makeOrganization(system)
    expect(isConsent(await arrive(system, newBrowser(), other.owner, assistant.request().url))).toBe(true)
    expect((await assistant.revoke(refresh)).status).toBe(200)
    expect((await grantOf(grantId)).revokedReason).toBe('token_revoked')
    expect(isConsent(await arrive(system, newBrowser(), org.owner, assistant.request().url))).toBe(true)
  })

  /** Threat: a skipped page that gives more than was asked for. */
  test('skipped, gives what was asked for and no more, as a grant of its own', async () => {
    host.putClient(path)
    const assistant = client()
    const both = { scope: 'data:read maintenance:read' }
    const wide = await assistant.connect(org.owner, both, { scopes: ['data:read', 'maintenance:read'] })
    const narrow = await assistant.connect(org.owner, { scope: 'data:read' })
    expect(narrow.scope).toBe('data:read')
    expect(narrow.grantId).not.toBe(wide.grantId)
    expect((await grantOf(narrow.grantId)).scopes).toEqual(['data:read'])
    expect((await whoami(system, wide.access)).status).toBe(200)
  })

  /** Threat: the document changes between what the person read and what they approve. */
  test('open while the document changes is asked again, and the old one grants nothing', async () => {
    host.putClient(path)
    const assistant = client()
    const walker = newBrowser()
    const open = await arrive(system, walker, org.owner, assistant.request().url)
    host.putClient(path, { client_name: 'Somebody else' })
    await newBrowser().open(assistant.request().url)
    const again = await decide(system, walker, open)
    expect([again.status, again.location]).toEqual([400, undefined])
    expect(again.words).toContain('The request has changed')
    expect(again.words).toContain('Somebody else')
    const grants = await system.db
      .select()
      .from(platformAccessGrants)
      .where(eq(platformAccessGrants.clientId, host.origin + path))
    expect(grants).toEqual([])
    expect((await decide(system, walker, again)).location?.searchParams.has('code')).toBe(true)
  })

  test('leads with the host that serves the document', async () => {
    host.putClient(path, { client_name: 'Claude' })
    const page = await arrive(system, newBrowser(), org.owner, client().request().url)
    expect(page.words).toContain(`${new URL(host.origin).host} requests access`)
    expect(page.words).toMatch(/Client name “Claude”.{0,4}unverified, chosen by the client/)
    expect(boxes(page, 'organization').all).toEqual([org.id])
  })
})

test('a row that switches the address off blocks without a fetch, and ends what is connected', async () => {
  host.putClient(path)
  const assistant = client()
  const tokens = await assistant.connect(org.owner)
  const operator = system.as({ token: OPERATOR_TOKEN })
  const client_id = host.origin + path
  await operator(setOauthClientActive, { client_id, is_active: false })
  const before = host.hits(path)
  const page = await newBrowser().open(assistant.request().url)
  expect([page.status, page.location]).toEqual([400, undefined])
  expect(page.words).toContain('Unknown assistant')
  expect(host.hits(path)).toBe(before)
  expect((await whoami(system, tokens.access)).status).toBe(401)
  expect((await assistant.refresh(tokens.refresh)).body).toMatchObject({ error: 'invalid_client' })
  await operator(setOauthClientActive, { client_id, is_active: true })
  expect((await whoami(system, tokens.access)).status).toBe(200)
  expect((await assistant.refresh(tokens.refresh)).status).toBe(200)
})

describe('what is no document', () => {
  const whole = () => ({ client_id: host.origin + path, client_name: 'X', redirect_uris: [callback()] })
  const json = { 'content-type': 'application/json' }
  /** Of the one that sends them one after the other, and never ends. */
  let bytes = 0
  const answers: Record<string, () => void> = {
    'a redirect': () => {
      host.putClient('/elsewhere.json', { client_id: host.origin + path })
      host.put(path, (answer) => answer.writeHead(302, { location: '/elsewhere.json' }).end())
    },
    'a page': () =>
      host.put(path, (answer) =>
        answer.writeHead(200, { 'content-type': 'text/html' }).end(JSON.stringify(whole())),
      ),
    'six kilobytes': () => host.putClient(path, { padding: 'x'.repeat(6 * 1024) }),
    'another client_id': () => host.putClient(path, { client_id: `${host.origin}/other.json` }),
    'no client_id': () => host.putClient(path, { client_id: undefined }),
    'no name': () => host.putClient(path, { client_name: undefined }),
    'no redirects': () => host.putClient(path, { redirect_uris: [] }),
    'a redirect nobody may have': () => host.putClient(path, { redirect_uris: ['http://evil.example/cb'] }),
    'a shared secret': () =>
      host.putClient(path, { token_endpoint_auth_method: 'client_secret_post', client_secret: 'x' }),
    'a list': () => host.put(path, (answer) => answer.writeHead(200, json).end('[]')),
    'broken JSON': () => host.put(path, (answer) => answer.writeHead(200, json).end('{')),
    'no such page': () => host.put(path, (answer) => answer.writeHead(404, json).end('{}')),
    'a failure': () => host.put(path, (answer) => answer.writeHead(500).end(JSON.stringify(whole()))),
    'a byte every 100 ms': () =>
      host.put(path, (answer) => {
        answer.writeHead(200, json)
        const drip = setInterval(() => {
          bytes += 1
          answer.write(' ')
        }, 100)
        answer.on('close', () => clearInterval(drip))
      }),
  }
  test.each(Object.keys(answers))('%s: a page says so, and nobody is sent anywhere', async (what) => {
    answers[what]!()
    const page = await newBrowser().open(client().request().url)
    expect([page.status, page.location]).toEqual([400, undefined])
    expect(page.headers.get('content-type')).toContain('text/html')
    expect(page.words).toMatch(/Unknown assistant|Metadata document could not be fetched/)
    // Given up after some of them.
    expect(bytes).toBeLessThan(100)
    // Not a second time for the error page, and never at the place it points to.
    expect(host.hits(path)).toBe(1)
    expect(host.hits('/elsewhere.json')).toBe(0)
  })

  test.each(['/', '', '/doc.json?x=1', '/doc.json#x', '/a/../doc.json'])(
    'an address that ends in %s is not fetched',
    async (end) => {
      const clientId = host.origin + end
      host.putClient('/doc.json', { client_id: clientId })
      const before = host.hits('/') + host.hits('/doc.json')
      const page = await newBrowser().open(
        newAssistant(system, { clientId, redirectUri: callback() }).request().url,
      )
      expect([page.status, page.location]).toEqual([400, undefined])
      expect(host.hits('/') + host.hits('/doc.json')).toBe(before)
    },
  )

  /** Threat: SSRF. */
  test('an address of the inside is not connected to, and the page says of it what it says of a name that is not there', async () => {
    const guarded = await startListeningSystem()
    try {
      const inside = ['127.0.0.1', 'localhost', '[::1]', '169.254.169.254', '10.0.0.1', '2130706433']
      const pages: string[] = []
      for (const name of [...inside, 'absent.invalid']) {
        const clientId = `https://${name}:${new URL(host.origin).port}/inside.json`
        const page = await newWalker(guarded, { overSockets: true }).open(
          newAssistant(guarded, { clientId, redirectUri: callback() }).request().url,
        )
        expect([page.status, page.location]).toEqual([400, undefined])
        pages.push(page.words.replaceAll(name, 'HOST').replaceAll(new URL(clientId).hostname, 'HOST'))
      }
      expect(pages[0]).toContain('its name has no public address')
      expect(new Set(pages).size).toBe(1)
      expect(host.hits('/inside.json')).toBe(0)
    } finally {
      await guarded.stop()
    }
  })
})

/** As ChatGPT: RS256 by a key set of its own, and `none` named as another way. */
describe('private_key_jwt', () => {
  const keys = generateKeyPair('RS256')
  const foreign = generateKeyPair('RS256')

  beforeEach(async () => {
    const jwk = { ...(await exportJWK((await keys).publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
    host.put(`${path}.jwks`, { keys: [jwk] })
    host.putClient(path, {
      client_name: 'ChatGPT',
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      token_endpoint_auth_signing_alg: 'RS256',
      jwks_uri: `${host.origin}${path}.jwks`,
    })
  })

  const assertion = async (
    by: Awaited<typeof keys>,
    claims: { jti?: string; aud?: string; sub?: string } = {},
  ) => {
    const { jti = unique('jti'), aud = `${system.origin}/oauth/token`, sub = host.origin + path } = claims
    return new SignJWT({ jti })
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setIssuer(sub)
      .setSubject(sub)
      .setAudience(aud)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(by.privateKey)
  }
  const carrying = (client_assertion: string) => ({
    fields: {
      client_id: host.origin + path,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
    },
  })
  const signing: Authenticate = async () => carrying(await assertion(await keys))

  test('exchanges and refreshes, and its keys are not fetched every time', async () => {
    const assistant = client(callback(), signing)
    let tokens = await assistant.connect(org.owner)
    for (let i = 0; i < 3; i++) tokens = tokensIn(await assistant.refresh(tokens.refresh))
    expect((await whoami(system, tokens.access)).status).toBe(200)
    expect([host.hits(path), host.hits(`${path}.jwks`)]).toEqual([1, 1])
  })

  test('a foreign key, another audience or client, a spent assertion and none at all are refused', async () => {
    const { refresh } = await client(callback(), signing).connect(org.owner)
    const spent = carrying(await assertion(await keys))
    expect((await client(callback(), () => spent).revoke('nothing')).status).toBe(200)
    const impostors: Record<string, Authenticate> = {
      'foreign key': async () => carrying(await assertion(await foreign)),
      'another audience': async () => carrying(await assertion(await keys, { aud: 'https://other.example' })),
      'another client': async () =>
        carrying(await assertion(await keys, { sub: `${host.origin}/other.json` })),
      spent: () => spent,
      none: () => ({ fields: { client_id: host.origin + path } }),
      nonsense: () => carrying('a.b.c'),
    }
    for (const [who, authenticate] of Object.entries(impostors)) {
      const { status, body } = await client(callback(), authenticate).refresh(refresh)
      expect([who, status, body.error]).toEqual([
        who,
        expect.toBeOneOf([400, 401]),
        expect.stringMatching(/^invalid_(client|request)$/),
      ])
    }
    expect((await client(callback(), signing).refresh(refresh)).status).toBe(200)
  })

  /** The library looks and remembers in two steps. */
  test('one assertion presented ten times at once counts once', async () => {
    await client(callback(), signing).connect(org.owner)
    const one = carrying(await assertion(await keys))
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => client(callback(), () => one).revoke('nothing')),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })
})
