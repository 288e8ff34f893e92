/** Journeys with agents in a real browser, and how many clicks each takes: connect an assistant, revoke an agent. */
import { createHash, randomBytes } from 'node:crypto'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { listen, type Listening } from '../../src/boot/listener.ts'
import { findChromium } from '../find-chromium.ts'
import { whoami } from '../support/assistant.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { makeOrganization, PASSWORD, type Org, type Person } from '../support/make.ts'
import { receive, type Receiver } from '../support/receiver.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

describe.skipIf(findChromium() === undefined)('agents in a browser', { timeout: 120_000 }, () => {
  let browser: Browser
  let system: TestSystem
  let listening: Listening
  let base: string
  let org: Org
  let program: Receiver

  beforeAll(async () => {
    const port = await freePort()
    system = await startSystem({ PORT: String(port), TRUSTED_PROXIES: '127.0.0.1' })
    listening = await listen(system.system)
    base = `http://localhost:${port}`
    program = await receive()
    browser = await openBrowser()
  }, 60_000)

  afterAll(async () => {
    await browser?.close()
    program?.close()
    await listening?.stop()
    await system?.stop()
  })

  beforeEach(async () => {
    org = await makeOrganization(system)
  })

  async function signIn({ email }: Person, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    await page.goto(`${base}/console`)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    return page
  }

  /** What a journey costs. */
  function counting() {
    let clicks = 0
    return {
      click: async (what: Locator) => {
        clicks += 1
        await what.click()
      },
      count: () => clicks,
    }
  }

  /** What the assistant does once it knows the address: registers, opens the browser, exchanges the code. */
  async function assistantAt(address: string, context: BrowserContext, allow: (page: Page) => Promise<void>) {
    const json = { 'content-type': 'application/json', 'x-forwarded-for': anyAddress() }
    const registered = await fetch(`${base}/oauth/register`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/cb'], client_name: 'Codex' }),
    })
    const { client_id } = (await registered.json()) as { client_id: string }
    const verifier = randomBytes(32).toString('base64url')
    const redirect_uri = `http://127.0.0.1:${program.port}/cb`
    const asked = new URLSearchParams({
      client_id,
      redirect_uri,
      response_type: 'code',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state: 'x',
      resource: address,
    })
    const page = await context.newPage()
    await page.goto(`${base}/oauth/authorize?${asked}`)
    const [answer] = await Promise.all([program.next(), allow(page)])
    const exchanged = await fetch(`${base}/oauth/token`, {
      method: 'POST',
      headers: { 'x-forwarded-for': anyAddress() },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: answer.searchParams.get('code') ?? '',
        redirect_uri,
        code_verifier: verifier,
        client_id,
      }),
    })
    const { access_token } = (await exchanged.json()) as { access_token: string }
    return () => whoami({ origin: base }, access_token)
  }

  const allowButton = (page: Page) => page.getByRole('button', { name: 'Allow' })
  const firstCall = (page: Page) => page.locator('.card', { hasText: 'First call' })

  test('connecting an assistant takes three clicks, and the page turns green with its first call', async () => {
    const page = await signIn(org.owner, { permissions: ['clipboard-read', 'clipboard-write'] })
    const { click, count } = counting()
    await click(page.getByRole('navigation', { name: 'Assistants' }).getByRole('link', { name: 'Codex' }))
    await click(page.getByRole('button', { name: 'Copy' }).first())
    const command = await page.evaluate(() => navigator.clipboard.readText())
    expect(command).toBe(`codex mcp add svc --url ${base}/platform`)
    await firstCall(page).getByText('Waiting for your approval').waitFor()
    expect(await axeFindings(page)).toEqual([])
    const call = await assistantAt(command.split(' ').at(-1)!, page.context(), (consent) =>
      click(allowButton(consent)),
    )
    await firstCall(page).getByText('You approved “Codex”').waitFor()
    expect(await page.locator('[data-final]').count()).toBe(0)
    expect((await call()).status).toBe(200)
    await firstCall(page).getByText('Its first call has arrived').waitFor()
    expect(await page.title()).toMatch(/^✓ /)
    expect(await axeFindings(page)).toEqual([])
    expect(count()).toBe(3)
    await firstCall(page).getByRole('link', { name: 'Open its page' }).click()
    await page.getByRole('heading', { level: 1, name: /^“Codex” \(127\.0\.0\.1/ }).waitFor()
    await page.context().close()
  })

  test('without scripts a reload shows the first call', async () => {
    const page = await signIn(org.owner, { javaScriptEnabled: false })
    await page.getByRole('navigation', { name: 'Assistants' }).getByRole('link', { name: 'Codex' }).click()
    const command = await page.locator('.copyable code').first().innerText()
    const call = await assistantAt(command.split(' ').at(-1)!, page.context(), (consent) =>
      allowButton(consent).click(),
    )
    await page.reload()
    await firstCall(page).getByText('You approved “Codex”').waitFor()
    await call()
    await firstCall(page).getByRole('link', { name: 'Check again' }).click()
    await firstCall(page).getByText('Its first call has arrived').waitFor()
    expect(await page.locator('[data-final]').count()).toBe(1)
    await page.context().close()
  })

  test.each([
    ['from the overview', (page: Page) => [page.getByRole('table').getByRole('link', { name: '“Codex”' })]],
    [
      'from the list',
      (page: Page) => [
        page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Connected agents' }),
      ],
    ],
  ] as const)('revoking an agent takes three clicks %s, and its next call is refused', async (_from, way) => {
    const page = await signIn(org.owner)
    const call = await assistantAt(`${base}/platform`, page.context(), (consent) =>
      allowButton(consent).click(),
    )
    expect((await call()).status).toBe(200)
    await page.goto(`${base}/console`)
    const { click, count } = counting()
    for (const link of way(page)) await click(link)
    await click(page.getByRole('button', { name: /^Disconnect/ }))
    await click(page.getByRole('button', { name: 'Disconnect agent' }))
    await page.getByText('Agent disconnected.').waitFor()
    expect((await call()).status).toBe(401)
    expect(count()).toBe(3)
    await page.context().close()
  })
})

const anyAddress = (): string =>
  `2001:db8:${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}::1`
