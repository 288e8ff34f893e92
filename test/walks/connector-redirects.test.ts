/** Redirect URIs: three rules for loopback ports, error pages instead of open redirects, and always a consent page for loopback. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { platformAccessGrants } from '../../db/schema.ts'
import {
  arrive,
  decide,
  isConsent,
  newAssistant,
  startListeningSystem,
  preRegistered,
  register,
  whoami,
  type ListeningSystem,
} from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import { makeOrganization, unique, type Org } from '../support/make.ts'
import { newWalker } from '../support/walker.ts'

const MODES = ['portless', 'exact', 'any'] as const
type Mode = (typeof MODES)[number]

const REDIRECTS: [registered: string, asked: string, where: readonly Mode[]][] = [
  ['http://127.0.0.1/callback', 'http://127.0.0.1:53682/callback', ['portless', 'any']],
  ['http://localhost/callback', 'http://localhost:1/callback', ['portless', 'any']],
  ['http://[::1]/callback', 'http://[::1]:65535/callback', ['portless', 'any']],
  ['http://127.0.0.1:33418/', 'http://127.0.0.1:33418/', MODES],
  ['http://127.0.0.1:33418/', 'http://127.0.0.1:33419/', ['any']],
  ['http://127.0.0.1:33418/', 'http://127.0.0.1/', ['any']],
  ['http://127.0.0.1/callback', 'http://localhost:53682/callback', []],
  ['http://127.0.0.1/callback', 'http://127.0.0.1:53682/callback/', []],
  ['http://127.0.0.1/callback', 'http://127.0.0.1:53682/callback?x=1', []],
  ['http://127.0.0.1/callback', 'http://127.0.0.1:53682@evil.example/callback', []],
  ['http://127.0.0.1/callback', 'http://127.0.0.1.evil.example/callback', []],
  ['http://127.0.0.1/callback', 'https://127.0.0.1:53682/callback', []],
  ['https://app.example/cb', 'https://app.example/cb', MODES],
  ['https://app.example/cb', 'https://app.example:8443/cb', []],
  ['https://app.example/cb', 'https://app.example/cb/../evil', []],
  ['https://app.example/cb', 'https://APP.example/cb', []],
  ['https://app.example/cb', 'http://app.example/cb', []],
  ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor://anysphere.cursor-mcp/oauth/callback', MODES],
  ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor://anysphere.cursor-mcp/oauth/callback2', []],
]

describe.each(MODES)('OAUTH_LOOPBACK_PORTS=%s', (mode) => {
  let system: ListeningSystem
  let org: Org
  beforeAll(async () => {
    system = await startListeningSystem({ OAUTH_LOOPBACK_PORTS: mode })
    org = await makeOrganization(system)
  })
  afterAll(() => system.stop())

  const fits = REDIRECTS.filter(([, , where]) => where.includes(mode))
  test.each(fits)('%s registered: %s gets the answer and exchanges it', async (registered, redirectUri) => {
    const { clientId } = await preRegistered(system, { redirect_uris: [registered] })
    const assistant = newAssistant(system, { clientId, redirectUri })
    const { asked, back } = await assistant.ask(org.owner)
    expect(back.href.startsWith(`${redirectUri}?code=`)).toBe(true)
    const answer = await assistant.exchange(back.searchParams.get('code')!, asked)
    expect(answer.status).toBe(200)
    expect((await whoami(system, String(answer.body.access_token))).status).toBe(200)
  })

  /** Threats: redirect matching, open redirect. */
  const unfit = REDIRECTS.filter(([, , where]) => !where.includes(mode))
  test.each(unfit)('%s registered: %s gets nothing, and a page shows both', async (registered, asked) => {
    const { clientId } = await preRegistered(system, { redirect_uris: [registered] })
    const assistant = newAssistant(system, { clientId, redirectUri: asked })
    const page = await newWalker(system, { overSockets: true }).open(assistant.request().url)
    expect([page.status, page.location]).toEqual([400, undefined])
    expect(page.words).toContain('Redirect URI mismatch')
    expect(page.words).toContain(`Received ${asked}`)
    expect(page.words).toContain(`Registered ${registered}`)
  })

  test('advertises metadata documents unless their clients could not connect', async () => {
    const metadata = (await (
      await fetch(`${system.origin}/.well-known/oauth-authorization-server`)
    ).json()) as Record<string, unknown>
    expect(metadata.client_id_metadata_document_supported ?? false).toBe(mode !== 'exact')
  })
})

/** Threat: open redirect. */
describe('nothing is sent to an unregistered address', () => {
  let system: ListeningSystem
  beforeAll(async () => void (system = await startListeningSystem()))
  afterAll(() => system.stop())
  const evil = 'https://evil.example/cb'

  test.each([
    ['an unknown client', { client_id: 'dcr_unknown' }, 'Unknown assistant'],
    ['no client', { client_id: undefined }, ''],
    ['no redirect', { redirect_uri: undefined }, ''],
    ['an empty redirect', { redirect_uri: '' }, ''],
    ['a foreign redirect and an error besides', { redirect_uri: evil, response_type: 'token' }, ''],
    ['a foreign redirect without PKCE', { redirect_uri: evil, code_challenge: undefined }, ''],
    ['a script', { redirect_uri: 'javascript:alert(1)' }, ''],
    ['text that turns words around', { redirect_uri: 'https://evil.example/\u202ebc\u0007' }, ''],
  ])('%s', async (_what, params: Record<string, string | undefined>, words) => {
    const assistant = newAssistant(system, await preRegistered(system))
    const page = await newWalker(system, { overSockets: true }).open(assistant.request(params).url)
    expect([page.status, page.location]).toEqual([400, undefined])
    expect(page.headers.get('content-type')).toContain('text/html')
    expect(page.words).toContain(words)
    expect(page.text).not.toMatch(/(?!\s)\p{C}/u)
    expect(page.text).not.toMatch(/\bat .*\.[jt]s:/)
  })

  test.each(['/oauth/authorize', '/oauth/authorize/nothing', '/oauth/interaction/nothing'])(
    '%s without anything is a page',
    async (path) => {
      const page = await newWalker(system, { overSockets: true }).open(path)
      expect([page.status, page.location]).toEqual([400, undefined])
      expect(page.headers.get('content-type')).toContain('text/html')
      expect(page.words).toMatch(/Start again from your assistant|connect again/)
    },
  )
})

/** Threat: a local program borrows the client id of another, for which the person has a live grant. */
describe('the page is never skipped', () => {
  let host: DocumentHost
  let system: ListeningSystem
  let org: Org
  beforeAll(async () => {
    host = await openDocumentHost()
    system = await startListeningSystem({}, { guardedFetch: host.guardedFetch })
    org = await makeOrganization(system)
  })
  afterAll(async () => {
    await system.stop()
    host.close()
  })

  /** As Claude Code's: without ports. */
  const LOCAL = ['http://localhost/callback', 'http://127.0.0.1/callback', 'http://[::1]/callback']
  const PRIVATE = 'cursor://anysphere.cursor-mcp/oauth/callback'

  test('for a loopback or private-scheme redirect, although a grant covers it and https on its own host is remembered', async () => {
    const path = `/${unique('code')}.json`
    const own = `${host.origin}/callback`
    const clientId = host.putClient(path, { redirect_uris: [own, ...LOCAL, PRIVATE] })
    const walker = newWalker(system, { overSockets: true })
    const at = (redirectUri: string) => newAssistant(system, { clientId, redirectUri })
    await at(own).connect(org.owner, {}, {}, walker)
    const redirects = [...LOCAL.map((uri) => uri.replace(/(?=\/callback)/, ':40123')), PRIVATE]
    for (const redirectUri of redirects) {
      for (const _again of [1, 2]) {
        const page = await arrive(system, walker, org.owner, at(redirectUri).request().url)
        expect([redirectUri, isConsent(page), page.location]).toEqual([redirectUri, true, undefined])
        await decide(system, walker, page)
      }
    }
    const remembered = await arrive(system, walker, org.owner, at(own).request().url)
    expect(remembered.location?.href.startsWith(own)).toBe(true)
  })

  /** Threat: what was allowed once is stretched to what nobody allowed. */
  test('for a scope that no grant has, although one has the rest', async () => {
    const clientId = host.putClient(`/${unique('wider')}.json`)
    const walker = newWalker(system, { overSockets: true })
    const assistant = newAssistant(system, { clientId, redirectUri: `${host.origin}/callback` })
    const narrow = { scope: 'data:read' }
    await assistant.connect(org.owner, narrow, {}, walker)
    const wider = { scope: 'data:read maintenance:admin' }
    expect(isConsent(await arrive(system, walker, org.owner, assistant.request(wider).url))).toBe(true)
    const again = await arrive(system, walker, org.owner, assistant.request(narrow).url)
    expect(again.location?.searchParams.has('code')).toBe(true)
  })

  /** Threat: consent that outlives what was consented to. */
  test('for an approval that was ended, has expired, or is of other keys', async () => {
    const clientId = host.putClient(`/${unique('ended')}.json`)
    const walker = newWalker(system, { overSockets: true })
    const assistant = newAssistant(system, { clientId, redirectUri: `${host.origin}/callback` })
    const isShown = async () => isConsent(await arrive(system, walker, org.owner, assistant.request().url))
    const now = system.clock.now()
    for (const over of [{ revokedAt: now }, { expiresAt: now }, { keyEpoch: 'before' }]) {
      await assistant.connect(org.owner, {}, {}, walker)
      expect([over, await isShown()]).toEqual([over, false])
      const isIts = eq(platformAccessGrants.clientId, clientId)
      await system.db.update(platformAccessGrants).set(over).where(isIts)
      expect([over, await isShown()]).toEqual([over, true])
    }
  })

  /** Threat: consent that outlives what was consented to. */
  test('for a document that says something else than when this person approved it', async () => {
    const path = `/${unique('changed')}.json`
    const clientId = host.putClient(path)
    const other = await makeOrganization(system)
    const [walker, beside] = [1, 2].map(() => newWalker(system, { overSockets: true }))
    const assistant = newAssistant(system, { clientId, redirectUri: `${host.origin}/callback` })
    const isShown = async () => isConsent(await arrive(system, walker!, org.owner, assistant.request().url))
    await assistant.connect(org.owner, {}, {}, walker)
    expect(await isShown()).toBe(false)
    // Any member of it, also one that nobody here reads.
    host.putClient(path, { logo_uri: `${host.origin}/new.png` })
    await assistant.connect(other.owner, {}, {}, beside)
    expect(await isShown()).toBe(true)
  })

  test('for https on another host than the document’s', async () => {
    const path = `/${unique('elsewhere')}.json`
    const elsewhere = 'https://elsewhere.example/callback'
    const clientId = host.putClient(path, { redirect_uris: [elsewhere] })
    const walker = newWalker(system, { overSockets: true })
    const assistant = newAssistant(system, { clientId, redirectUri: elsewhere })
    await assistant.connect(org.owner, {}, {}, walker)
    expect(isConsent(await arrive(system, walker, org.owner, assistant.request().url))).toBe(true)
  })

  /** Threat: confused deputy. */
  test('for a client that registered itself or was registered, in a browser that is signed in and approved it', async () => {
    const https = `https://${unique('app')}.example/cb`
    const dynamic = await register(system, { redirect_uris: [https], client_name: unique('app') })
    const walker = newWalker(system, { overSockets: true })
    for (const clientId of [
      String(dynamic.body.client_id),
      (await preRegistered(system, { redirect_uris: [https] })).clientId,
    ]) {
      const assistant = newAssistant(system, { clientId, redirectUri: https })
      await assistant.connect(org.owner, {}, {}, walker)
      expect(isConsent(await arrive(system, walker, org.owner, assistant.request().url))).toBe(true)
    }
  })

  test('by prompt=none: that asks for what cannot be had without a person', async () => {
    const assistant = newAssistant(system, await preRegistered(system))
    const walker = newWalker(system, { overSockets: true })
    await assistant.connect(org.owner, {}, {}, walker)
    const page = await walker.open(assistant.request({ prompt: 'none' }).url)
    expect(page.location?.searchParams.get('error')).toMatch(/^(login|consent|interaction)_required$/)
    expect(page.location?.searchParams.has('code')).toBe(false)
  })
})
