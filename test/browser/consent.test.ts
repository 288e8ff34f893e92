/** The approval of an assistant in a real browser: the page that asks, and the answer that really arrives. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listGrants } from '../../src/contracts/grants.ts'
import { updateOrganization } from '../../src/contracts/organizations.ts'
import type { GuardedFetch } from '../../src/cores/needs.ts'
import { listen, type Listening } from '../../src/listener.ts'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { makeOrganization, PASSWORD, type Org } from '../support/make.ts'
import { freePort } from '../support/process.ts'
import { selfSigned } from '../support/self-signed.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const LOOKS: Record<string, BrowserContextOptions> = {
  light: { colorScheme: 'light', viewport: { width: 1280, height: 860 } },
  dark: { colorScheme: 'dark', viewport: { width: 1280, height: 860 } },
  '320 pixels': { colorScheme: 'light', viewport: { width: 320, height: 640 } },
}

const EVERYTHING = 'data:read maintenance:read maintenance:run maintenance:admin proposals:decide'
const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback'
const DOCUMENT = 'https://assistant.example/oauth/client.json'

/** The one document of the web of this test. */
const documents: GuardedFetch = async (url) => ({
  status: url === DOCUMENT ? 200 : 404,
  headers: new Headers({ 'content-type': 'application/json' }),
  body: new TextEncoder().encode(
    JSON.stringify({
      client_id: DOCUMENT,
      client_name: 'Assistant',
      redirect_uris: ['https://assistant.example/cb', 'http://127.0.0.1/cb'],
      token_endpoint_auth_method: 'none',
    }),
  ),
})

describe.skipIf(findChromium() === undefined)('consent in a browser', { timeout: 120_000 }, () => {
  let browser: Browser
  let system: TestSystem
  let listening: Listening
  let base: string
  let org: Org
  let program: Receiver
  let site: Receiver

  beforeAll(async () => {
    const port = await freePort()
    const env = { PORT: String(port), TRUSTED_PROXIES: '127.0.0.1' }
    system = await startSystem(env, { guardedFetch: documents })
    listening = await listen(system.system)
    base = `http://localhost:${port}`
    org = await makeOrganization(system)
    const closed = await makeOrganization(system, org.owner)
    await org.owner.call(updateOrganization, { org_id: closed.id, agents_enabled: false })
    program = await receive(http.createServer())
    site = await receive(https.createServer(selfSigned('localhost')))
    browser = await openBrowser()
  }, 60_000)

  afterAll(async () => {
    await browser?.close()
    program?.close()
    site?.close()
    await listening?.stop()
    await system?.stop()
  })

  async function register(redirectUri: string, client_name: string): Promise<string> {
    const response = await fetch(`${base}/oauth/register`, {
      method: 'POST',
      // Each from an address of its own: an address may have five.
      headers: { 'content-type': 'application/json', 'x-forwarded-for': anyAddress() },
      body: JSON.stringify({ redirect_uris: [redirectUri], client_name }),
    })
    const { client_id } = (await response.json()) as { client_id: string }
    return client_id
  }

  /** What an assistant opens in the browser. */
  const authorizeUrl = (client_id: string, redirect_uri: string, scope = EVERYTHING): string =>
    `${base}/oauth/authorize?${new URLSearchParams({
      client_id,
      redirect_uri,
      scope,
      response_type: 'code',
      code_challenge: createHash('sha256').update(randomBytes(32)).digest('base64url'),
      code_challenge_method: 'S256',
      state: 'the state of the assistant',
      resource: `${base}/platform`,
    })}`

  type Opened = { context: BrowserContext; page: Page; complaints: string[] }

  /** Signed in, with the question on the screen. */
  async function openQuestion(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    await page.goto(url)
    await page.getByLabel('E-mail').fill(org.owner.email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    return { context, page, complaints }
  }

  const asked = async (redirectUri: string, name = 'Walk', options: BrowserContextOptions = {}) =>
    openQuestion(authorizeUrl(await register(redirectUri, name), redirectUri), options)

  const granted = async (client_id: string) => (await org.owner.call(listGrants, { client_id })).grants

  test.each(Object.entries(LOOKS))('%s: no page has a finding', async (look, options) => {
    const loopback = `http://127.0.0.1:${program.port}/cb`
    const questions = {
      registered: authorizeUrl(await register('http://127.0.0.1/cb', 'Editor'), loopback),
      document: authorizeUrl(DOCUMENT, loopback),
    }
    const findings: string[] = []
    const look_at = async (page: Page, what: string) => {
      await page.screenshot({ path: `/tmp/shots/${what}-${look.slice(0, 5).trim()}.png`, fullPage: true })
      const extra = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (extra > 0) findings.push(`${what} is ${extra} pixels too wide`)
      findings.push(...(await axeFindings(page)).map((finding) => `${what}: ${finding}`))
    }
    for (const [what, url] of Object.entries(questions)) {
      const { context, page, complaints } = await openQuestion(url, options)
      await look_at(page, what)
      for (const box of await page.getByRole('checkbox').all()) await box.uncheck()
      await page.getByRole('button', { name: 'Allow' }).click()
      await page.getByRole('alert').waitFor()
      await look_at(page, `${what} refused`)
      await page.goto(authorizeUrl(DOCUMENT, 'https://elsewhere.example/cb'))
      await look_at(page, 'wrong redirect')
      await page.goto(`${base}/oauth/interaction/unknown`)
      await look_at(page, 'expired')
      expect(complaints.filter((said) => !/status of 400/.test(said))).toEqual([])
      await context.close()
    }
    expect(findings).toEqual([])
  })

  void [site, granted]
})

type Receiver = { port: number; next: () => Promise<URL>; close: () => void }

/** A client that waits for its answer, on all three spellings of loopback. */
async function receive(server: http.Server | https.Server): Promise<Receiver> {
  const waiting: ((url: URL) => void)[] = []
  server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Connected</title>You may close this.')
    const url = new URL(request.url ?? '', `http://${request.headers.host}`)
    if (url.pathname === '/cb') waiting.shift()?.(url)
  })
  server.listen(0, '::')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    next: () => new Promise((resolve) => waiting.push(resolve)),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const anyAddress = (): string => `2001:db8::${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}`
