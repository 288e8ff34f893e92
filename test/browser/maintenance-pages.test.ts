/** The pages of maintenance in a real browser, light and dark, on a phone and on a desk; a proposal is read, printed and approved. */
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import type { FakeGateway } from '../support/fake-gateway.ts'
import { SEEDED_FINDING, SEEDED_PROPOSAL, SEEDED_RUN } from '../support/fake-maintenance-gateway.ts'
import { serveConsole } from '../support/serve-console.ts'

const TAB = '/console/apps/shop/maintenance'
const PROPOSAL = `/console/apps/shop/proposals/${SEEDED_PROPOSAL}`
const PAGES = [
  PROPOSAL,
  TAB,
  `${TAB}/runs/${SEEDED_RUN}`,
  `${TAB}/runs/${SEEDED_RUN}/steps/3`,
  `${TAB}/runs/${SEEDED_RUN}/evidence?ref=${encodeURIComponent('file:src/orders.js#L1-L2')}`,
  `${TAB}/findings`,
  `${TAB}/findings/${SEEDED_FINDING}`,
  '/console/maintenance',
  '/console/proposals',
]

describe.skipIf(findChromium() === undefined)(
  'pages of maintenance in a browser',
  { timeout: 120_000 },
  () => {
    let browser: Browser
    let stop: () => Promise<unknown>
    let base: string
    let gateway: FakeGateway

    beforeAll(async () => {
      ;({ base, gateway, stop } = await serveConsole())
      gateway.maintenance.turnOn()
      browser = await openBrowser()
    }, 60_000)

    afterAll(async () => {
      await browser?.close()
      await stop?.()
    })

    async function open(options: BrowserContextOptions) {
      const context = await browser.newContext(options)
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
      await page.goto(`${base}/console`)
      return { context, page, complaints }
    }

    test.each([
      ['light', 1280],
      ['dark', 375],
      ['light', 375],
      ['dark', 1280],
    ] as const)('%s, %i pixels: no finding, and nothing scrolls sideways', async (colorScheme, width) => {
      const { context, page, complaints } = await open({ colorScheme, viewport: { width, height: 860 } })
      const findings: string[] = []
      // Color and width do not touch each other; the page that people decide on is looked at in all four.
      const isFirst = (colorScheme === 'light') === (width === 1280)
      for (const path of isFirst ? PAGES : [PROPOSAL]) {
        await page.goto(base + path)
        const extra = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        if (extra > 0) findings.push(`${path} is ${extra} pixels too wide`)
        findings.push(...(await axeFindings(page)).map((finding) => `${path} ${finding}`))
      }
      expect(findings).toEqual([])
      expect(complaints).toEqual([])
      await context.close()
    })

    test('a proposal is printed without buttons and with whole lines, and approved', async () => {
      const { context, page } = await open({ viewport: { width: 800, height: 860 } })
      await page.goto(base + PROPOSAL)
      await page.emulateMedia({ media: 'print' })
      expect(await page.getByRole('button', { name: 'Approve' }).isVisible()).toBe(false)
      expect(await page.locator('.diff-added .code-text').first().isVisible()).toBe(true)
      const isCut = await page.evaluate(() =>
        [...document.querySelectorAll('.code-frame')].some(
          (frame) => frame.scrollWidth > frame.clientWidth + 1,
        ),
      )
      expect(isCut).toBe(false)
      await page.emulateMedia({ media: 'screen' })
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Approved by Ada Lovelace').waitFor()
      await context.close()
    })
  },
)
