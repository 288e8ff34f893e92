/** The connector under attack: each test names the threat it would let through without its defense. */
import { createPrivateKey } from 'node:crypto'
import { SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq, lt } from '../../db/drizzle.ts'
import { oauthArtifacts, platformAccessGrants } from '../../db/schema.ts'
import { CONNECTOR_SECONDS } from '../../src/contracts/limits.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { sweep } from '../../src/worker/jobs.ts'
import {
  arrive,
  decide,
  isConsent,
  newAddress,
  newAssistant,
  startListeningSystem,
  preRegistered,
  register,
  whoami,
  type Assistant,
  type ListeningSystem,
} from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import { makeOrganization, PASSWORD, unique, type Org } from '../support/make.ts'
import { formOn, newWalker, type Page } from '../support/walker.ts'

let host: DocumentHost
let system: ListeningSystem
let org: Org
let assistant: Assistant
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startListeningSystem({}, { guardedFetch: host.guardedFetch })
  org = await makeOrganization(system)
})
beforeEach(async () => void (assistant = newAssistant(system, await preRegistered(system))))
afterAll(async () => {
  await system.stop()
  host.close()
})

const newBrowser = (options = {}) => newWalker(system, { overSockets: true, ...options })
const grantsOf = ({ clientId }: { clientId: string }) =>
  system.db.select().from(platformAccessGrants).where(eq(platformAccessGrants.clientId, clientId))
/** What pressing Allow on the page would send. */
const approval = (page: Page): [string, string][] => [
  ['form', formOn(page, 'Allow').fields.form!],
  ['organization', org.id],
  ['scope', 'data:read'],
  ['decision', 'approve'],
]

/** Threat: consent phishing by names and logos. */
describe('what a client says of itself', () => {
  const names: [string, string][] = [
    ['markup', '<img src=x onerror=alert(1)><b>Google</b>'],
    ['characters that turn words around', 'Evil \u202eedualC\u202c \u2066x\u2069'],
    ['control characters and line breaks', 'A\u0001B\u0007\n\n\nSigned in as admin'],
    ['a thousand letters', 'x'.repeat(1000)],
    ['quotation marks', '“; we checked that. “'],
  ]
  test.each(names)('%s: stays a quoted name, below a heading that is ours', async (_what, client_name) => {
    const { host: ownHost, href: redirectUri } = new URL(`https://${unique('app')}.example/cb`)
    const { body } = await register(system, {
      redirect_uris: [redirectUri],
      client_name,
      logo_uri: 'https://tracker.example/logo.png',
      client_uri: 'https://tracker.example/',
      policy_uri: 'https://tracker.example/policy',
      tos_uri: 'https://tracker.example/tos',
    })
    const registered = { clientId: String(body.client_id), redirectUri }
    const page = await arrive(system, newBrowser(), org.owner, newAssistant(system, registered).request().url)
    expect(isConsent(page)).toBe(true)
    expect(/<h1[^>]*>([^<]*)<\/h1>/.exec(page.text)?.[1]?.trim()).toBe(
      'An unverified application requests access',
    )
    expect(page.text).not.toContain('tracker.example')
    expect(page.text).not.toMatch(/<script|<img|onerror=[^"]*>\s*<b>/i)
    expect(page.text).not.toMatch(/(?!\s)\p{C}/u)
    expect(page.text).not.toContain('x'.repeat(101))
    expect(page.words).toContain(ownHost)
  })

  test('of a document: the host that was proven leads, whatever it calls itself', async () => {
    const path = `/${unique('phish')}.json`
    const clientId = host.putClient(path, {
      client_name: 'claude.ai',
      logo_uri: 'https://tracker.example/l.png',
    })
    const redirectUri = `${host.origin}/callback`
    const page = await arrive(
      system,
      newBrowser(),
      org.owner,
      newAssistant(system, { clientId, redirectUri }).request().url,
    )
    const heading = /<h1[^>]*>([^<]*)<\/h1>/.exec(page.text)![1]!
    expect(heading.trim()).toBe(`${new URL(host.origin).host} requests access`)
    expect(page.text).not.toContain('tracker.example')
  })

  test('on loopback: the page names the redirect host and warns', async () => {
    const page = await arrive(system, newBrowser(), org.owner, assistant.request().url)
    expect(page.words).toContain('127.0.0.1:8472')
    expect(page.words).toMatch(/only if you started it/i)
    expect(page.words).toContain(org.owner.email)
  })
})

/** Threat: CSRF on the consent form. */
describe('an approval', () => {
  test('that another site sends is refused, also in a browser from before SameSite', async () => {
    const walker = newBrowser({ knowsSameSite: false })
    const page = await arrive(system, walker, org.owner, assistant.request().url)
    const sent = await walker.postFrom('https://evil.example/page', page.url, approval(page))
    expect([sent.status, sent.location]).toEqual([403, undefined])
    expect(await grantsOf(assistant)).toEqual([])
    expect((await decide(system, walker, page)).location).toBeDefined()
  })

  test('without an origin that is ours is refused', async () => {
    const walker = newBrowser()
    const page = await arrive(system, walker, org.owner, assistant.request().url)
    const cookie = walker.jar.headerFor(page.url, {
      isCrossSite: false,
      isForeignPost: false,
      knowsSameSite: true,
    })
    const origins: Record<string, string>[] = [
      {},
      { origin: 'null' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      { origin: 'null', 'sec-fetch-site': 'same-site' },
      { origin: `${system.origin}.evil.example` },
      { origin: 'http://localhost' },
    ]
    for (const headers of origins) {
      const answer = await fetch(page.url, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie, ...headers },
        body: new URLSearchParams(approval(page)),
      })
      expect([headers, answer.status]).toEqual([headers, 403])
    }
    expect(await grantsOf(assistant)).toEqual([])
  })

  test('with the form token of another request, of nobody, or of another person is asked again', async () => {
    const walker = newBrowser()
    const [mine, another] = [
      await arrive(system, walker, org.owner, assistant.request().url),
      await arrive(system, walker, org.owner, assistant.request().url),
    ]
    const outsider = await makeOrganization(system)
    const theirs = await arrive(system, newBrowser(), outsider.owner, assistant.request().url)
    for (const form of [approval(another)[0]![1], approval(theirs)[0]![1], '', 'x']) {
      const fields = approval(mine).map(([name, value]): [string, string] =>
        name === 'form' ? [name, form] : [name, value],
      )
      const page = await walker.send(mine, 'Allow', fields)
      expect([page.status, page.location, isConsent(page)]).toEqual([400, undefined, true])
    }
    expect(await grantsOf(assistant)).toEqual([])
  })

  test('counts once: the page sent a second time gives no second answer', async () => {
    const walker = newBrowser()
    const page = await arrive(system, walker, org.owner, assistant.request().url)
    const first = await decide(system, walker, page)
    expect(first.location?.searchParams.has('code')).toBe(true)
    const second = await decide(system, walker, page).catch(() => undefined)
    expect(second?.location?.searchParams.has('code') ?? false).toBe(false)
    expect(await grantsOf(assistant)).toHaveLength(1)
  })

  test('of an endless form is not read to its end', async () => {
    const walker = newBrowser()
    const page = await arrive(system, walker, org.owner, assistant.request().url)
    const answer = await walker
      .send(page, 'Allow', [...approval(page), ['padding', 'x'.repeat(100_000)]])
      .catch(() => undefined)
    expect(answer?.location).toBeUndefined()
    expect(await grantsOf(assistant)).toEqual([])
  })
})

/** Threat: clickjacking; leaks by referrer and caches. */
test('no page of the connector can be framed, cached, scripted or leak where it was', async () => {
  const walker = newBrowser()
  const consent = await arrive(system, walker, org.owner, assistant.request().url)
  const pages = [
    consent,
    await newBrowser().open(assistant.request({ redirect_uri: 'https://evil.example/' }).url),
    await newBrowser().open(consent.url),
    await walker.send(consent, 'Allow', [['form', 'wrong']]),
  ]
  for (const { headers, url, status } of pages) {
    expect([url.pathname, status === 200 || status === 400]).toEqual([url.pathname, true])
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/form-action|unsafe|script-src/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toContain('no-store')
  }
  const back = await decide(system, walker, consent)
  expect(back.headers.get('referrer-policy')).toBe('no-referrer')
})

/** Threat: session fixation. */
describe('a request begun in one browser', () => {
  test('is nothing in another', async () => {
    const page = await arrive(system, newBrowser(), org.owner, assistant.request().url)
    const elsewhere = await newBrowser().open(page.url)
    expect([elsewhere.status, elsewhere.location, isConsent(elsewhere)]).toEqual([400, undefined, false])
  })

  test('is not answered under another one’s address', async () => {
    const walker = newBrowser()
    const first = await arrive(system, walker, org.owner, assistant.request().url)
    const other = await arrive(system, newBrowser(), org.owner, assistant.request().url)
    const cookie = walker.jar.headerFor(first.url, {
      isCrossSite: false,
      isForeignPost: false,
      knowsSameSite: true,
    })
    const answer = await fetch(other.url, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, origin: system.origin },
      body: new URLSearchParams(approval(other)),
    })
    expect(answer.status).toBe(400)
    expect(await grantsOf(assistant)).toEqual([])
  })

  /** RFC 9700, 4.8.2: a code that was asked for without a challenge is good with no verifier. */
  test.each(['with a challenge of hers', 'without any challenge'])(
    'cannot be finished with a sign-in that somebody else made %s',
    async (how) => {
      const mallory = (await makeOrganization(system)).owner
      const hers = newBrowser()
      const { url } = await hers.follow(await hers.open(assistant.request().url))
      if (how.startsWith('without')) url.searchParams.delete('code_challenge')
      const signIn = await hers.open(url)
      const signedIn = await hers.submit(signIn, 'Sign in', { email: mallory.email, password: PASSWORD })
      const code = signedIn.location?.searchParams.get('code')
      expect(code).toEqual(expect.any(String))
      const victim = newBrowser()
      const begun = await victim.open(assistant.request().url)
      expect(begun.location?.pathname).toMatch(/^\/oauth\/interaction\//)
      await victim.open(begun.location!)
      const planted = new URL(begun.location!)
      planted.searchParams.set('code', code!)
      const page = await victim.open(planted)
      expect(isConsent(page)).toBe(false)
      expect(page.location?.pathname).toBe('/auth/sign-in')
    },
  )

  test('keeps its cookies from scripts and other sites, and forgets them with the answer', async () => {
    const walker = newBrowser()
    const page = await arrive(system, walker, org.owner, assistant.request().url)
    const own = walker.jar.all().filter(({ name }) => /^svc_(as|consent)/.test(name))
    expect(own.length).toBeGreaterThan(0)
    for (const { httpOnly, sameSite, hostOnly } of own) {
      expect([httpOnly, sameSite, hostOnly]).toEqual([true, 'lax', true])
    }
    await decide(system, walker, page)
    expect(walker.jar.all().filter(({ name, value }) => name === 'svc_consent_s' && value !== '')).toEqual([])
  })
})

/** Threat: token passthrough. */
test('a token works for one audience: no agent’s at the API, no user’s at the MCP endpoints', async () => {
  const tokens = await assistant.connect(org.owner)
  await expect(system.as({ token: tokens.access })(whoAmI, {})).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  })
  await expect(system.as({ token: tokens.refresh })(whoAmI, {})).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  })
  for (const token of [org.owner.token, tokens.refresh]) {
    expect((await whoami(system, token)).status).toBe(401)
  }
  const inAddress = await fetch(`${system.origin}/platform?access_token=${tokens.access}`, { method: 'POST' })
  expect(inAddress.status).toBe(401)
})

/** Threat: algorithm confusion and forged claims. */
describe('a forged access token', () => {
  type Lie = { alg?: string; typ?: string; key?: Uint8Array; claims?: Record<string, unknown> }
  const secretOf = (name: 'JWT_SECRET' | 'JWT_SIGNING_KEY' | 'ACTOR_ASSERTION_SECRET') =>
    new Uint8Array(Buffer.from(system.system.config[name]!, 'hex'))

  async function tell(claims: Record<string, unknown>, lie: Lie): Promise<string> {
    const { alg = 'HS256', typ = 'at+jwt', key = secretOf('JWT_SECRET') } = lie
    return new SignJWT({ ...claims, ...lie.claims }).setProtectedHeader({ alg, typ, kid: 'svc-1' }).sign(key)
  }

  test('is refused, and the real one is accepted', async () => {
    const { claims } = await assistant.connect(org.owner)
    const other = await makeOrganization(system)
    const theirs = await newAssistant(system, await preRegistered(system)).connect(other.owner)
    expect((await whoami(system, await tell(claims, {}))).status).toBe(200)
    const past = Math.floor(system.clock.now().getTime() / 1000) - 3600
    const lies: Record<string, Lie> = {
      'another key': { key: secretOf('ACTOR_ASSERTION_SECRET') },
      'the signing key as a secret': { key: secretOf('JWT_SIGNING_KEY') },
      'another digest': {
        alg: 'HS512',
        key: new Uint8Array(Buffer.concat([secretOf('JWT_SECRET'), secretOf('JWT_SECRET')])),
      },
      'another type': { typ: 'JWT' },
      'the type of an assertion': { typ: 'svc-actor+jwt' },
      'another issuer': { claims: { iss: 'https://evil.example' } },
      'another audience': { claims: { aud: `${system.origin}/notifications` } },
      'no audience': { claims: { aud: undefined } },
      'an old one': { claims: { iat: past - 3600, exp: past } },
      'no end': { claims: { exp: undefined } },
      'another person': { claims: { sub: other.owner.userId } },
      'another organization': { claims: { org_id: other.id } },
      'another grant': { claims: { grant_id: theirs.grantId } },
      'no grant': { claims: { grant_id: undefined } },
      'a grant that never was': { claims: { grant_id: 'grt_00000000000000000000000000' } },
    }
    for (const [what, lie] of Object.entries(lies)) {
      expect([what, (await whoami(system, await tell(claims, lie))).status]).toEqual([what, 401])
    }
    const der = Buffer.concat([
      Buffer.from('302e020100300506032b657004220420', 'hex'),
      secretOf('JWT_SIGNING_KEY'),
    ])
    const ed25519 = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const signed = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: 'svc-1' })
      .sign(ed25519)
    expect((await whoami(system, signed)).status).toBe(401)
    expect((await whoami(system, new UnsecuredJWT(claims).encode())).status).toBe(401)
  })

  test('with more scopes than were approved has no more than those', async () => {
    const { claims } = await assistant.connect(org.owner, { scope: 'data:read' })
    const wide = await tell(claims, { claims: { scope: 'data:read maintenance:admin proposals:decide' } })
    expect((await whoami(system, wide)).who?.scopes).toEqual(['data:read'])
  })
})

/** Threat: downgrade by response type or mode. */
test.each([
  ['response_type', 'token'],
  ['response_type', 'id_token'],
  ['response_type', 'code token'],
  ['response_type', 'none'],
  ['response_mode', 'fragment'],
  ['response_mode', 'form_post'],
  ['response_mode', 'web_message'],
])('%s=%s gives no code and no token, and shows nothing to a page', async (name, value) => {
  const page = await newBrowser().open(assistant.request({ [name]: value }).url)
  const told = page.location ?? page.url
  expect(`${told.href} ${page.text}`).not.toMatch(/[?#&](code|access_token|id_token)=/)
  expect(page.location?.pathname ?? '').not.toMatch(/^\/oauth\/interaction/)
  if (page.location)
    expect(new URLSearchParams(told.search || told.hash.slice(1)).get('error')).not.toBeNull()
  else expect(page.status).toBe(400)
})

test.each(['client_credentials', 'password', 'urn:ietf:params:oauth:grant-type:device_code', 'implicit', ''])(
  'the grant type %s is not there',
  async (grant_type) => {
    const { status, body } = await assistant.refresh('x', { grant_type })
    expect([status, body.error]).toEqual([
      400,
      expect.stringMatching(/^(unsupported_grant_type|invalid_request|unauthorized_client)$/),
    ])
  },
)

test.each([
  '/oauth/introspect',
  '/oauth/userinfo',
  '/oauth/device',
  '/oauth/par',
  '/oauth/request',
  '/me',
  '/session/end',
  '/oauth/session/end',
  '/.well-known/webfinger',
])('%s, which the library could serve, is not there', async (path) => {
  expect((await fetch(system.origin + path, { redirect: 'manual' })).status).toBe(404)
})

/** Threat: secrets at rest. */
test('codes, tokens and cookies are not in the database', async () => {
  const walker = newBrowser()
  const page = await arrive(system, walker, org.owner, assistant.request().url)
  const cookies = walker.jar
    .all()
    .filter(({ name }) => name.startsWith('svc_as'))
    .map(({ value }) => value)
  expect(cookies.length).toBeGreaterThan(0)
  const back = (await decide(system, walker, page)).location!
  const tokens = await assistant.connect(org.owner)
  const kept = JSON.stringify([await system.db.select().from(oauthArtifacts), await grantsOf(assistant)])
  for (const secret of [back.searchParams.get('code')!, tokens.refresh, tokens.access, ...cookies]) {
    expect(kept.includes(secret)).toBe(false)
  }
})

/** Threat: token leak in logs. */
test('no code, token, verifier, state or request id of a sign-in stands in the log', async () => {
  const { asked, back, page } = await assistant.ask(org.owner, { state: 'a-state-to-be-kept' })
  const code = back.searchParams.get('code')!
  const answer = await assistant.exchange(code, asked)
  const { access_token, refresh_token } = answer.body as Record<string, string>
  await assistant.refresh(refresh_token!)
  await whoami(system, access_token)
  await assistant.exchange(code, asked)
  const log = system.logLines.join('\n')
  expect(log).toContain('/oauth/token')
  const uid = page.came.way
    .find(({ pathname }) => pathname.startsWith('/oauth/interaction/'))
    ?.pathname.split('/')[3]
  const secrets = [code, asked.verifier, 'a-state-to-be-kept', access_token!, refresh_token!]
  for (const secret of [...secrets, ...(uid === undefined ? [] : [uid])])
    expect(log.includes(secret)).toBe(false)
})

/** Threat: floods of interactions, guesses and registrations. */
describe('too much', () => {
  let later = 0
  const wait = (seconds: number) => {
    later += seconds
    system.clock.advance(seconds)
  }
  afterEach(() => wait(-later))

  test('of authorizations from one address waits; another address does not', async () => {
    const open = (address: string) =>
      fetch(assistant.request().url, { redirect: 'manual', headers: { 'x-forwarded-for': address } })
    const address = newAddress()
    const answers: Response[] = []
    // As fast as this machine can: two tries a second are won back meanwhile.
    while (answers.at(-1)?.status !== 429 && answers.length < 600) {
      answers.push(...(await Promise.all(Array.from({ length: 20 }, () => open(address)))))
    }
    expect(answers.slice(0, 120).map(({ status }) => status)).toEqual(Array(120).fill(303))
    expect(answers.at(-1)!.status).toBe(429)
    expect(Number(answers.at(-1)!.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await open(newAddress())).status).toBe(303)
  })

  /** A client that does not hear invalid_grant never sends its person to sign in again. */
  test('at the token endpoint never hides invalid_grant, nor keeps an honest refresh waiting', async () => {
    const tokens = await assistant.connect(org.owner)
    const guesses = Array.from({ length: 130 }, () => assistant.refresh('a guess'))
    for (const { status, body } of await Promise.all(guesses)) {
      expect([status, body.error]).toEqual([400, 'invalid_grant'])
    }
    expect((await assistant.refresh(tokens.refresh)).status).toBe(200)
  })

  test('of wrong clients at the token endpoint waits, and still nothing else does', async () => {
    const tokens = await assistant.connect(org.owner)
    const nobody = () => assistant.refresh('x', { client_id: 'nobody' })
    const answers = await Promise.all(Array.from({ length: 120 }, nobody))
    const statuses = new Set(answers.map(({ status }) => status))
    expect(statuses.has(429)).toBe(true)
    expect([...statuses].every((status) => [400, 401, 429].includes(status))).toBe(true)
    expect(await assistant.refresh('a guess')).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    })
    expect((await assistant.refresh(tokens.refresh)).status).toBe(200)
  })

  test('time: a page that stood open for longer than ten minutes approves nothing', async () => {
    const walker = newBrowser()
    const page = await arrive(system, walker, org.owner, assistant.request().url)
    const cookie = walker.jar.headerFor(page.url, {
      isCrossSite: false,
      isForeignPost: false,
      knowsSameSite: true,
    })
    wait(CONNECTOR_SECONDS.consent + 1)
    // With its cookies, as a browser with a slow clock: it is the server that must know.
    const answer = await fetch(page.url, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, origin: system.origin },
      body: new URLSearchParams(approval(page)),
    })
    expect(answer.status).toBe(400)
    expect(await grantsOf(assistant)).toEqual([])
  })

  test('is swept: what has expired goes, what lives stays', async () => {
    const tokens = await assistant.connect(org.owner)
    await newBrowser().open(assistant.request().url)
    wait(CONNECTOR_SECONDS.consent + 1)
    const expired = () =>
      system.db.select().from(oauthArtifacts).where(lt(oauthArtifacts.expiresAt, system.clock.now()))
    expect((await expired()).map(({ kind }) => kind)).toContain('Interaction')
    await sweep({ db: system.db, clock: () => system.clock.now() })
    expect(await expired()).toEqual([])
    expect(
      await system.db.select().from(oauthArtifacts).where(eq(oauthArtifacts.grantId, tokens.grantId)),
    ).toMatchObject([{ kind: 'RefreshToken' }])
    wait(-later)
    expect((await assistant.refresh(tokens.refresh)).status).toBe(200)
  })
})

/** Postgres stores neither; without a check each would be a 500. */
describe.each([
  ['NUL', '\u0000'],
  ['half a surrogate pair', '\ud800'],
])('%s', (_what, character) => {
  const expectAnswered = (status: number) => expect([303, 400, 401]).toContain(status)

  test.each(['state', 'scope', 'client_id', 'redirect_uri', 'resource', 'nonce', 'login_hint', 'prompt'])(
    'in %s is answered',
    async (name) => {
      const { status } = await fetch(assistant.request({ [name]: `a${character}b` }).url, {
        redirect: 'manual',
      })
      expectAnswered(status)
    },
  )

  test.each(['client_id', 'refresh_token', 'scope', 'resource', 'grant_type'])(
    'in %s at the token endpoint is answered',
    async (name) => expectAnswered((await assistant.refresh('x', { [name]: `a${character}b` })).status),
  )

  test.each(['client_name', 'software_id', 'client_uri', 'token_endpoint_auth_method'])(
    'in a registered %s is answered',
    async (name) => {
      const metadata = { redirect_uris: ['http://127.0.0.1/cb'], [name]: `a${character}b` }
      const { status } = await register(system, metadata)
      expect([201, 400]).toContain(status)
    },
  )

  test('in a metadata document is a page', async () => {
    const path = `/${unique('broken')}.json`
    const clientId = host.putClient(path, { something: `a${character}b` })
    const redirectUri = `${host.origin}/callback`
    const page = await newBrowser().open(newAssistant(system, { clientId, redirectUri }).request().url)
    expect([page.status, page.location]).toEqual([400, undefined])
    expect(page.words).toContain('Unknown assistant')
  })
})
