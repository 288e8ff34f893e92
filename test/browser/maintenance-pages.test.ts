/** The pages of maintenance in a real browser, light and dark, on a phone and on a desk; a proposal is read, printed and approved. */
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { serveConsole, type ServedConsole } from '../support/serve-console.ts'
import { EVIDENCE_REF } from '../support/insert-proposal.ts'

const TAB = '/console/apps/shop/maintenance'
const pagesOf = ({ things: { proposal, run, finding } }: ServedConsole) => ({
  proposal: `/console/apps/shop/proposals/${proposal.proposal_id}`,
  others: [
    TAB,
    `${TAB}/runs/${run.execution_id}`,
    `${TAB}/runs/${run.execution_id}/evidence?ref=${encodeURIComponent(EVIDENCE_REF)}`,
    `${TAB}/findings`,
    `${TAB}/findings/${finding.finding_id}`,
    '/console/maintenance',
    '/console/proposals',
  ],
})

describe.skipIf(findChromium() === undefined)(
  'pages of maintenance in a browser',
  { timeout: 120_000 },
  () => {
    let browser: Browser
    let base: string
    let served: ServedConsole

    beforeAll(async () => {
      served = await serveConsole()
      ;({ base } = served)
      browser = await openBrowser()
    }, 120_000)

    afterAll(async () => {
      await browser?.close()
      await served?.stop()
    })

    async function open(options: BrowserContextOptions) {
      // Not by whoever started the run: they may not approve what came of it.
      const context = await served.contextOf(browser, served.people.colleague, options)
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
      const { proposal, others } = pagesOf(served)
      for (const path of isFirst ? [proposal, ...others] : [proposal]) {
        await page.goto(base + path)
        const extra = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        if (extra > 0) findings.push(`${path} is ${extra} pixels too wide`)
        findings.push(...(await axeFindings(page)).map((finding) => `${path} ${finding}`))
      }
      expect(findings).toEqual([])
      expect(complaints).toEqual([])
      await context.close()
    })

    test('a proposal is reviewed by keys, and no key decides', async () => {
      const { context, page } = await open({ viewport: { width: 1280, height: 860 } })
      const url = base + pagesOf(served).proposal
      await page.goto(url)
      await page.getByText('next change').waitFor()
      const focused = () =>
        page.evaluate(() => document.activeElement!.id || document.activeElement!.textContent.trim())
      await page.keyboard.press('j')
      expect(await focused()).toBe('hunk-0-0')
      await page.keyboard.press('k')
      expect(await focused()).toBe('hunk-0-0')
      await page.keyboard.press('d')
      expect(await focused()).toBe('Deny')
      await page.keyboard.press('a')
      await page.getByRole('dialog').waitFor()
      // In a dialog, and in a field, a letter is a letter.
      await page.keyboard.press('d')
      expect(await page.getByRole('dialog').isVisible()).toBe(true)
      await page.keyboard.press('Escape')
      await page.getByLabel('Note').last().fill('add jkd')
      expect(await page.getByRole('dialog').count()).toBe(0)
      await page.getByRole('button', { name: 'Turn keys off' }).click()
      await page.reload()
      await page.getByRole('button', { name: 'Turn keys on' }).waitFor()
      await page.keyboard.press('a')
      expect(await page.getByRole('dialog').count()).toBe(0)
      expect(await page.getByText('Needs review').isVisible()).toBe(true)
      await context.close()
    })

    test('a proposal is printed without buttons and with whole lines, and approved', async () => {
      const { context, page } = await open({ viewport: { width: 800, height: 860 } })
      await page.goto(base + pagesOf(served).proposal)
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
      const asked = page.getByRole('dialog')
      expect(await asked.innerText()).toMatch(/Approve and deploy to Shop\?[^]*becomes the head of Shop/)
      await asked.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Approved by Grace Hopper').waitFor()
      await page.getByRole('button', { name: 'Cancel deployment' }).click()
      await page.getByText('Canceled. The approval stands.').waitFor()
      await context.close()
    })
  },
)
