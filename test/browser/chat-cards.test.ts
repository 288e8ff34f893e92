/** Every chat card in the official host of MCP Apps, in a real browser: both themes, wide and narrow, with the keyboard. */
import type { Browser, Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CARD_TYPE, cardUri, CHAT_CARDS, type ChatCard } from '../../mcp/chat-card.ts'
import { showApp } from '../../src/contracts/apps.ts'
import { createApiToken } from '../../src/contracts/tokens.ts'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { serveChatHost } from '../support/chat-host.ts'
import type { ChatHost } from '../support/chat-host/page.ts'
import { EVIDENCE_REF, insertProposal } from '../support/insert-proposal.ts'
import { serveConsole, type ServedConsole } from '../support/serve-console.ts'

declare const host: ChatHost

const HOSTILE = '<img src=x onerror="parent.hurt = true"> \u202Etxet'
const DIFF =
  'diff --git a/main.js b/main.js\n--- a/main.js\n+++ b/main.js\n@@ -1,2 +1,2 @@\n const sum = 0\n-x</script><b>\n+y\n'
type Answer = { content: { type: 'text'; text: string }[]; _meta?: Record<string, unknown> }

describe.skipIf(findChromium() === undefined)('chat cards in a browser', { timeout: 120_000 }, () => {
  let browser: Browser
  let served: ServedConsole
  let chat: Awaited<ReturnType<typeof serveChatHost>>
  let token: string
  let proposal: { id: string }

  beforeAll(async () => {
    ;[served, chat] = [await serveConsole(), await serveChatHost()]
    const { things, system, org } = served
    ;({ token } = await things.byOwner(createApiToken, {
      name: 'chat',
      audiences: ['platform', 'notifications'],
    }))
    const { id } = await things.byOwner(showApp, { alias: 'shop' })
    proposal = await insertProposal(
      system,
      { orgId: org.id, id },
      { title: HOSTILE, rationale: `Because of the log.\n${HOSTILE}`, diff: DIFF },
    )
    browser = await openBrowser()
  }, 120_000)

  afterAll(async () => {
    await browser?.close()
    chat?.stop()
    await served?.stop()
  })

  async function send<Result>(resource: string, method: string, params: Record<string, unknown>) {
    const version = '2026-07-28'
    const capabilities = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [CARD_TYPE] } } }
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'chat', version: '0' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    }
    const response = await fetch(`${served.base}/${resource}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': version,
        'mcp-method': method,
        'mcp-name': String(params['name'] ?? params['uri']),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    })
    const text = await response.text()
    const { result } = JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? text) as { result: Result }
    return result
  }
  const call = (resource: string, name: string, input: object) =>
    send<Answer>(resource, 'tools/call', { name, arguments: input })

  /** What each card is drawn from; answers are those of the system. */
  const CALLS: Record<string, { card: ChatCard; says: string; answer: () => Promise<Answer> }> = {
    'a proposal': {
      card: 'proposal',
      says: 'Review and decide',
      async answer() {
        const found = await call('platform', 'proposal_show', { app: 'shop', proposal_id: proposal.id })
        // Rows of tests have no lines that were kept.
        return {
          ...found,
          _meta: { 'svc/evidence': [{ ref: EVIDENCE_REF, text: `const sum = 0\n${HOSTILE}` }] },
        }
      },
    },
    'a list of proposals': {
      card: 'proposal',
      says: 'Repair the sum',
      answer: () => call('platform', 'proposal_show', {}),
    },
    'a search': {
      card: 'answer',
      says: 'How we plan holidays',
      answer: () => call('platform', 'search', { query: 'Days off' }),
    },
    'a question': {
      card: 'answer',
      says: 'They are counted in half days.',
      answer: () => call('platform', 'datasource_query', { source_id: 'db_handbook', query: 'Days off' }),
    },
    'the inbox': {
      card: 'inbox',
      says: 'A deployment failed',
      answer: () => call('notifications', 'notifications_list', {}),
    },
  }

  async function draw(
    page: Page,
    theme: 'light' | 'dark',
    { card, answer, says }: (typeof CALLS)[string],
  ): Promise<Frame> {
    type Read = { contents: [{ text: string; _meta: { ui: { csp: object } } }] }
    const { resource } = CHAT_CARDS[card]
    const { contents } = await send<Read>(resource, 'resources/read', { uri: cardUri(card) })
    const [{ text: html, _meta }] = contents
    const drawn = { html, csp: _meta.ui.csp, theme, result: await answer() }
    await page.goto(chat.url)
    await page.waitForFunction(() => 'host' in globalThis)
    await page.evaluate((one) => host.draw(one), drawn)
    const view = page.frameLocator('iframe').frameLocator('iframe')
    await view.getByText(says).first().waitFor()
    return page.frames().at(-1)!
  }

  async function open(colorScheme: 'light' | 'dark', width: number) {
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } })
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    const requested: string[] = []
    page.on('request', (one) => requested.push(new URL(one.url()).origin))
    return { page, complaints, requested }
  }

  test.each([
    ['light', 760],
    ['dark', 340],
    ['dark', 760],
    ['light', 340],
  ] as const)('%s, %i pixels: all are drawn, and axe finds nothing', async (theme, width) => {
    // The chat is not as the system is: the card follows the chat.
    const { page, complaints, requested } = await open(theme === 'light' ? 'dark' : 'light', width)
    const findings: string[] = []
    const grounds = new Set<string>()
    for (const [name, drawn] of Object.entries(CALLS)) {
      const view = await draw(page, theme, drawn)
      const { ground, extra } = await view.evaluate(() => ({
        ground: getComputedStyle(document.body).backgroundColor,
        extra: document.documentElement.scrollWidth - innerWidth,
      }))
      grounds.add(ground)
      if (extra > 0) findings.push(`${name} is ${extra} pixels too wide`)
      // A line that ends is nothing invisible.
      if ((await view.locator('main').innerText()).includes('U+000A'))
        findings.push(`${name} shows line ends`)
      findings.push(...(await axeFindings(page, view)).map((finding) => `${name} ${finding}`))
      if (process.env['CARD_PICTURES']) {
        await page.screenshot({
          path: `${process.env['CARD_PICTURES']}/${name.replaceAll(' ', '-')}-${theme}-${width}.png`,
          fullPage: true,
        })
      }
    }
    expect(findings).toEqual([])
    expect([...grounds]).toEqual([theme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(23, 25, 28)'])
    expect(complaints).toEqual([])
    // The chat, its script and its sandbox: a card loads nothing.
    expect(new Set(requested).size).toBe(2)
    await page.close()
  })

  test('what others wrote is text: nothing of it runs, and nothing in it is invisible', async () => {
    const { page } = await open('light', 760)
    const view = await draw(page, 'light', CALLS['a proposal']!)
    expect(await view.locator('img, b').count()).toBe(0)
    expect(await view.getByRole('heading', { level: 1 }).innerText()).toBe(
      '<img src=x onerror="parent.hurt = true"> U+202Etxet',
    )
    expect(await view.locator('.code .removed').innerText()).toContain('x</script><b>')
    expect(await view.getByText('U+202E').count()).toBe(3)
    expect(await page.evaluate(() => 'hurt' in globalThis)).toBe(false)
    await page.close()
  })

  test('the button opens the page by the keyboard, and a card asks a host for nothing else', async () => {
    const { page } = await open('light', 760)
    for (const [name, url] of [
      ['a proposal', `${served.base}/console/apps/shop/proposals/${proposal.id}`],
      ['the inbox', `${served.base}/console/inbox`],
    ] as const) {
      const view = await draw(page, 'light', CALLS[name]!)
      await view.locator('a.button').focus()
      await page.keyboard.press('Enter')
      await expect.poll(() => page.evaluate(() => host.opened)).toEqual([url])
      await page.evaluate(() => host.end())
      const said = await page.evaluate(() => [...new Set(host.methods)])
      expect(said.toSorted()).toEqual([
        'ui/initialize',
        'ui/notifications/initialized',
        'ui/notifications/sandbox-proxy-ready',
        'ui/notifications/size-changed',
        'ui/open-link',
      ])
    }
    await page.close()
  })

  test('a card follows when the chat changes its theme', async () => {
    const { page } = await open('light', 760)
    const view = await draw(page, 'light', CALLS['the inbox']!)
    await page.evaluate(() => host.setTheme('dark'))
    await expect
      .poll(() => view.evaluate(() => getComputedStyle(document.body).backgroundColor))
      .toBe('rgb(23, 25, 28)')
    await page.close()
  })

  test('a refused call is shown as the text that it is', async () => {
    const { page } = await open('light', 760)
    const refused = {
      card: 'proposal' as const,
      says: 'NOT_FOUND',
      answer: () => call('platform', 'proposal_show', { app: 'nothing', proposal_id: proposal.id }),
    }
    const view = await draw(page, 'light', refused)
    expect(await view.locator('main').innerText()).toMatch(/^NOT_FOUND: /)
    expect(await view.locator('a').count()).toBe(0)
    await page.close()
  })
})
