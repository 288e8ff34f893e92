/** The approval of an assistant in a real browser: the page that asks, and the answer that really arrives. */
import { createHash, randomBytes } from 'node:crypto'
import * as http from 'node:http'
import * as https from 'node:https'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listGrants } from '../../src/contracts/grants.ts'
import { switchOrganization, updateOrganization } from '../../src/contracts/organizations.ts'
import type { GuardedFetch } from '../../src/cores/dependencies.ts'
import { listen, type Listening } from '../../src/boot/listener.ts'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { makeExposedSource } from '../support/exposed-source.ts'
import { makeOrganization, PASSWORD, type Org } from '../support/make.ts'
import { freePort } from '../support/free-port.ts'
import { receive, type Receiver } from '../support/receiver.ts'
import { selfSigned } from '../support/self-signed.ts'
import { LOOKS } from '../support/looks.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const EVERYTHING = 'data:read maintenance:read maintenance:run maintenance:admin proposals:decide'
const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback'
const STATE = 'the state of the assistant'
const DOCUMENT = 'https://assistant.example/oauth/client.json'

/** What a client sends as its name, and what becomes of it. */
const HOSTILE: readonly (readonly [string, string])[] = [
  ['</bdi><script>hacked=1</script>', '</bdi><script>hacked=1</script>'],
  ['"><img src=x onerror=hacked=1>', '"><img src=x onerror=hacked=1>'],
  ['\u202egnp.tnatsissa\u2066\u200f', 'gnp.tnatsissa'],
  ['A\u200bs\u200ds\u00adi\ufeffstant', 'Assistant'],
  ['W'.repeat(5000), 'W'.repeat(100)],
]

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
    // The one they used last in the console, so that the page proposes it.
    await org.owner.call(switchOrganization, { org_id: org.id })
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
      state: STATE,
      resource: `${base}/platform`,
    })}`

  type Opened = { context: BrowserContext; page: Page; complaints: string[] }

  /** A browser that has signed in and shows the question. */
  async function openQuestion(
    url: string,
    options: BrowserContextOptions = {},
    email = org.owner.email,
  ): Promise<Opened> {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      // The log also repeats the status of pages that answer 400 on purpose.
      const isStatus = /the server responded with a status of 400/.test(message.text())
      if (message.type() === 'error' && !isStatus) complaints.push(message.text())
    })
    await page.goto(url)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await allow(page).waitFor()
    return { context, page, complaints }
  }

  const allow = (page: Page) => page.getByRole('button', { name: 'Allow' })
  const deny = (page: Page) => page.getByRole('button', { name: 'Deny' })

  const grantsOf = async (client_id: string) => (await org.owner.call(listGrants, { client_id })).grants

  test.each(Object.entries(LOOKS))(
    '%s: no page has a finding, scrolls sideways or complains',
    async (_look, options) => {
      const findings: string[] = []
      const lookAt = async (what: string) => {
        const extra = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        if (extra > 0) findings.push(`${what} is ${extra} pixels too wide`)
        findings.push(...(await axeFindings(page)).map((finding) => `${what}: ${finding}`))
      }
      const answerTo = `http://127.0.0.1:${program.port}/cb`
      const { context, page, complaints } = await openQuestion(authorizeUrl(DOCUMENT, answerTo), options)
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(
        'assistant.example requests access',
      )
      await lookAt('a verified client')
      for (const box of await page.getByRole('checkbox').all()) await box.uncheck()
      await allow(page).click()
      await page.getByText('Select at least one permission, or deny the request.').waitFor()
      await lookAt('a refused form')
      await page.goto(authorizeUrl(await register('http://127.0.0.1/cb', 'Editor'), answerTo))
      await page.getByText('An unverified application').waitFor()
      await lookAt('an unverified client')
      await page.goto(authorizeUrl(DOCUMENT, 'https://elsewhere.example/cb'))
      await page.getByText('https://elsewhere.example/cb').waitFor()
      await lookAt('a wrong redirect')
      await page.goto(`${base}/oauth/interaction/unknown`)
      await lookAt('an expired request')
      expect(findings).toEqual([])
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  /** Chrome applies a page's form-action to the whole chain of redirects: this is where other servers fail. */
  test.each([
    ['http://127.0.0.1', () => ({ registered: 'http://127.0.0.1/cb', receiver: program })],
    ['http://localhost', () => ({ registered: 'http://localhost/cb', receiver: program })],
    ['http://[::1]', () => ({ registered: 'http://[::1]/cb', receiver: program })],
    ['https://localhost', () => ({ registered: `https://localhost:${site.port}/cb`, receiver: site })],
  ])('the approval arrives at %s', async (origin, where) => {
    const { registered, receiver } = where()
    const answerTo = `${origin}:${receiver.port}/cb`
    const clientId = await register(registered, 'Walk')
    const { context, page, complaints } = await openQuestion(authorizeUrl(clientId, answerTo), {
      ignoreHTTPSErrors: true,
    })
    const [answer] = await Promise.all([receiver.next(), allow(page).click()])
    expect(`${new URL(origin).protocol}//${answer.host}${answer.pathname}`).toBe(answerTo)
    expect(Object.fromEntries(answer.searchParams)).toEqual({
      code: expect.stringMatching(/^[\w-]{20,}$/) as string,
      state: STATE,
      iss: base,
    })
    await page.waitForURL(`${answerTo}?**`)
    expect((await grantsOf(clientId)).map(({ scopes }) => scopes)).toEqual([
      ['data:read', 'maintenance:read'],
    ])
    expect(complaints).toEqual([])
    await context.close()
  })

  test('the approval is handed to the program of a private-use scheme', async () => {
    const clientId = await register(CURSOR, 'Cursor')
    const { context, page, complaints } = await openQuestion(authorizeUrl(clientId, CURSOR))
    expect(await page.getByRole('definition').filter({ hasText: 'cursor:' }).innerText()).toContain(
      'A program on this computer.',
    )
    const [request] = await Promise.all([
      // Nobody here opens such links, so the browser gives up what it would have handed over.
      page.waitForEvent('requestfailed', (failed) => failed.url().startsWith('cursor:')),
      allow(page).click(),
    ])
    const answer = new URL(request.url())
    expect(request.url().startsWith(`${CURSOR}?`)).toBe(true)
    expect([...answer.searchParams.keys()]).toEqual(['code', 'state', 'iss'])
    expect(request.isNavigationRequest()).toBe(true)
    expect(request.failure()?.errorText).toBe('net::ERR_ABORTED')
    expect(complaints).toEqual([])
    await context.close()
  })

  test('a refusal arrives as one, and leaves nothing behind', async () => {
    const clientId = await register('http://127.0.0.1/cb', 'Refused')
    const answerTo = `http://127.0.0.1:${program.port}/cb`
    const { context, page, complaints } = await openQuestion(authorizeUrl(clientId, answerTo))
    const [answer] = await Promise.all([program.next(), deny(page).click()])
    expect(Object.fromEntries(answer.searchParams)).toEqual({
      error: 'access_denied',
      error_description: expect.any(String) as string,
      state: STATE,
      iss: base,
    })
    expect(await grantsOf(clientId)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })

  test('the keyboard alone chooses and approves', async () => {
    const clientId = await register('http://127.0.0.1/cb', 'Keyboard')
    const answerTo = `http://127.0.0.1:${program.port}/cb`
    const { context, page } = await openQuestion(authorizeUrl(clientId, answerTo))
    const walked: string[] = []
    for (let steps = 0; steps < 12 && walked.at(-1) !== 'approve'; steps += 1) {
      await page.keyboard.press('Tab')
      const here = await page.evaluate(() => {
        const { activeElement: at } = document
        return at?.getAttribute('value') ?? at?.textContent?.trim() ?? ''
      })
      walked.push(here)
      if (here === 'proposals:decide' || here === 'data:read') await page.keyboard.press('Space')
    }
    expect(walked).toEqual(['Skip to content', 'svc', org.id, ...EVERYTHING.split(' '), 'approve'])
    const [answer] = await Promise.all([program.next(), page.keyboard.press('Enter')])
    expect(answer.searchParams.has('code')).toBe(true)
    expect((await grantsOf(clientId)).map(({ scopes }) => scopes)).toEqual([
      ['maintenance:read', 'proposals:decide'],
    ])
    await context.close()
  })

  test.each(Object.entries(LOOKS))(
    '%s: the data sources of the chosen organization show when they are asked for, and no others',
    async (_look, options) => {
      const first = await makeOrganization(system)
      const second = await makeOrganization(system, first.owner)
      const [a, b] = [await makeExposedSource(system, first), await makeExposedSource(system, second)]
      for (let more = 0; more < 20; more += 1) await makeExposedSource(system, second)
      const clientId = await register('http://127.0.0.1/cb', 'Sources')
      const answerTo = `http://127.0.0.1:${program.port}/cb`
      const url = authorizeUrl(clientId, answerTo)
      const { context, page, complaints } = await openQuestion(url, options, first.owner.email)
      const [boxA, boxB] = [page.getByLabel(a.name), page.getByLabel(b.name)]
      const seen = async () => [await boxA.isVisible(), await boxB.isVisible()]
      // What it would reach stands behind the name.
      const pick = async ({ name }: Org) =>
        page.getByRole('radio', { name: new RegExp(`^${name}\\b`) }).check()
      const only = ({ name }: Org) =>
        page.getByRole('group', { name: `Data sources of ${name}` }).getByLabel('Only selected')
      await pick(first)
      expect(await seen()).toEqual([false, false])
      await only(first).check()
      expect(await seen()).toEqual([true, false])
      await pick(second)
      expect([await only(first).isVisible(), ...(await seen())]).toEqual([false, false, false])
      await only(second).check()
      expect(await seen()).toEqual([false, true])
      expect(await axeFindings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThan(1)
      const asks = page.getByLabel('Query the data sources you may query')
      await asks.uncheck()
      expect([await only(second).isVisible(), ...(await seen())]).toEqual([false, false, false])
      await asks.check()
      await allow(page).click()
      await page.getByText('Select at least one data source').waitFor()
      expect(await seen()).toEqual([false, true])
      await boxB.check()
      await Promise.all([program.next(), allow(page).click()])
      const { grants } = await system.as({ token: first.owner.token, organization: second.id })(listGrants, {
        client_id: clientId,
      })
      expect(grants.map(({ sources }) => sources)).toEqual([[b]])
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  test.each([
    ['everything, of one among seven organizations', { width: 1280, height: 860 }, EVERYTHING, 6],
    ['everything, of one organization', { width: 720, height: 860 }, EVERYTHING, 0],
    [
      'what is asked for by default, on a phone',
      { width: 375, height: 860 },
      'data:read maintenance:read',
      0,
    ],
  ] as const)('%s: whatever decides is seen without scrolling', async (_what, viewport, scope, more) => {
    const own = await makeOrganization(system)
    for (let at = 0; at < 8; at += 1) await makeExposedSource(system, own)
    for (let at = 0; at < more; at += 1) await makeOrganization(system, own.owner)
    await own.owner.call(switchOrganization, { org_id: own.id })
    const clientId = await register('http://127.0.0.1/cb', 'A quite long name of an assistant on a laptop')
    const answerTo = `http://127.0.0.1:${program.port}/cb`
    const url = authorizeUrl(clientId, answerTo, scope)
    const { context, page } = await openQuestion(url, { viewport }, own.owner.email)
    await page.getByLabel('Only selected').first().check()
    const below = async () => {
      const decisive = page.locator('h1, dd, .notice, [name=scope], :checked, button[name=decision]')
      const boxes = await decisive.evaluateAll((all) =>
        all
          .filter((one) => one.checkVisibility())
          .map((one) => ({ text: one.outerHTML.slice(0, 90), box: one.getBoundingClientRect() })),
      )
      expect(boxes.length).toBeGreaterThan(8)
      return boxes.filter(({ box }) => box.top < 0 || box.bottom > 860).map(({ text }) => text)
    }
    expect(await below()).toEqual([])
    expect(await axeFindings(page)).toEqual([])
    await context.close()
  })

  test('in a low window on a phone nothing that warns is below Allow', async () => {
    const own = await makeOrganization(system)
    for (let at = 0; at < 8; at += 1) await makeExposedSource(system, own)
    const clientId = await register('http://127.0.0.1/cb', 'A quite long name of an assistant on a laptop')
    const url = authorizeUrl(clientId, `http://127.0.0.1:${program.port}/cb`, EVERYTHING)
    const viewport = { width: 375, height: 740 }
    const { context, page } = await openQuestion(url, { viewport }, own.owner.email)
    const allow = (await page.getByRole('button', { name: 'Allow', exact: true }).boundingBox())!
    expect(allow.y + allow.height).toBeLessThanOrEqual(viewport.height)
    const warnings = await page
      .locator('.notice')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().bottom))
    expect(warnings.length).toBeGreaterThan(0)
    expect(warnings.filter((bottom) => bottom > allow.y)).toEqual([])
    await context.close()
  })

  test('whatever a client calls itself is text between two quotation marks', async () => {
    const answerTo = `http://127.0.0.1:${program.port}/cb`
    const ask = async (name: string) => authorizeUrl(await register('http://127.0.0.1/cb', name), answerTo)
    const { context, page, complaints } = await openQuestion(await ask('Harmless'), LOOKS['dark, 320 pixels'])
    for (const [name, shown] of HOSTILE) {
      await page.goto(await ask(name))
      expect(await page.locator('bdi').innerText()).toBe(`“${shown}”`)
      expect(await page.locator('h1').innerText()).toBe('An unverified application requests access')
      expect(await page.locator('script, img, iframe, [onerror], [style]').count()).toBe(0)
      expect(await page.evaluate(() => 'hacked' in globalThis)).toBe(false)
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThan(1)
    }
    expect(complaints).toEqual([])
    await context.close()
  })

  test('what was approved is found in the console, narrowed and ended there', async () => {
    const clientId = await register('http://127.0.0.1/cb', 'Console walk')
    const answerTo = `http://127.0.0.1:${program.port}/cb`
    const { context, page, complaints } = await openQuestion(authorizeUrl(clientId, answerTo))
    await Promise.all([program.next(), allow(page).click()])
    await page.goto(`${base}/console/agents`)
    await page.getByRole('link', { name: /“Console walk”/ }).click()
    await page.getByLabel('Read apps, maintenance runs').uncheck()
    await page.getByRole('button', { name: 'Save permissions' }).click()
    await page.getByText('Permissions saved.').waitFor()
    expect((await grantsOf(clientId)).map(({ scopes }) => scopes)).toEqual([['data:read']])
    await page.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByRole('button', { name: 'Disconnect agent' }).click()
    await page.getByText('Agent disconnected.').waitFor()
    await page.getByText('This agent has no access any more.').waitFor()
    expect(await grantsOf(clientId)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })
})

const anyAddress = (): string =>
  `2001:db8:${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}::1`
