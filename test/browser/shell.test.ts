/** What every page of the console has around it, in a real browser: search, dialogs, rows, times, copying. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { createApiToken, listApiTokens } from '../../src/contracts/tokens.ts'
import { serveConsole, type ServedConsole } from '../support/serve-console.ts'

describe.skipIf(findChromium() === undefined)('the shell in a browser', { timeout: 120_000 }, () => {
  let browser: Browser
  let base: string
  let served: ServedConsole

  beforeAll(async () => {
    served = await serveConsole()
    ;({ base } = served)
    await served.things.byOwner(createApiToken, { name: 'Laptop' })
    browser = await openBrowser()
  }, 120_000)

  afterAll(async () => {
    await browser?.close()
    await served?.stop()
  })

  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await (await served.contextOf(browser, served.people.owner, options)).newPage()
    await page.goto(base + path)
    return page
  }

  describe('search', () => {
    test('Ctrl-K finds while typing; arrows choose, Enter opens, Escape gives the focus back', async () => {
      const page = await open('/console/members')
      await page.getByRole('link', { name: 'Search' }).focus()
      await page.keyboard.press('Control+k')
      const field = page.getByRole('dialog').getByRole('combobox')
      await field.waitFor()
      await page.keyboard.type('shop')
      await page.getByRole('option', { name: 'Shop shop', exact: true }).waitFor()
      expect(await axeFindings(page)).toEqual([])
      const chosen = () => page.locator('[role=option][aria-selected=true]').innerText()
      const first = await chosen()
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowUp')
      expect(await chosen()).toBe(first)
      // The focus never leaves the field, so that a screen reader reads the option and typing goes on.
      expect(await page.evaluate(() => document.activeElement?.getAttribute('role'))).toBe('combobox')
      expect(await field.getAttribute('aria-activedescendant')).toBe(
        await page.locator('[role=option][aria-selected=true]').getAttribute('id'),
      )
      await page.keyboard.press('Escape')
      expect(await page.evaluate(() => document.activeElement?.getAttribute('href'))).toBe('/console/search')
      await page.keyboard.press('Control+k')
      await page.keyboard.type('shop')
      await page.locator('[role=option][aria-selected=true]', { hasText: 'Shop' }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Shop' }).waitFor()
      await page.context().close()
    })

    test('without scripts it is a page', async () => {
      const page = await open('/console', { javaScriptEnabled: false })
      await page.getByRole('link', { name: 'Search' }).click()
      await page.getByLabel('Search for').fill('handbook')
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByRole('link', { name: 'handbook' }).click()
      await page.getByRole('heading', { level: 1, name: 'handbook' }).waitFor()
      expect(new URL(page.url()).pathname).toBe('/console/data-sources/db_handbook')
      await page.context().close()
    })
  })

  describe('what changes elsewhere', () => {
    /** Streams that the server has open for pages. */
    const streamsOf = (pages: readonly Page[]) => {
      const opened: string[] = []
      for (const page of pages)
        page.on('request', (request) => {
          if (request.url().includes('/console/changes')) opened.push(request.url())
        })
      return opened
    }

    test('is on open pages without a reload, with one stream for two tabs, and typed words stay', async () => {
      const context = await served.contextOf(browser, served.people.owner)
      const [first, second] = [await context.newPage(), await context.newPage()]
      const opened = streamsOf([first, second])
      await first.goto(`${base}/console/inbox`)
      await second.goto(`${base}/console/inbox`)
      await second.getByLabel('Event type').fill('deploy.*')
      const unread = (page: Page) => page.locator('.news-unread')
      const before = await unread(first).count()
      await served.notifyOwner('A deployment of the shop failed while somebody looked')
      for (const page of [first, second]) {
        await page.getByText('failed while somebody looked').waitFor()
        expect(await unread(page).count()).toBe(before + 1)
      }
      expect(await second.getByLabel('Event type').inputValue()).toBe('deploy.*')
      expect(opened).toHaveLength(1)
      expect(await axeFindings(first)).toEqual([])
      // The tab that had it goes; the other one goes on.
      await first.close()
      await served.notifyOwner('Another one failed after that')
      await second.getByText('failed after that').waitFor()
      expect(opened).toHaveLength(2)
      await context.close()
    })

    test('a stream that is refused is over for good: the browser does not ask again', async () => {
      const page = await open('/console/inbox')
      const state = await page.evaluate(
        () =>
          new Promise((resolve) => {
            const source = new EventSource('/console/changes?organization=org_0000000000000000000000000')
            source.addEventListener('error', () => resolve(source.readyState))
          }),
      )
      expect(state).toBe(2)
      await page.context().close()
    })

    test.each([
      [503, ['GET', 'HEAD', 'GET']],
      [429, ['GET', 'HEAD', 'GET']],
      [403, ['GET', 'HEAD']],
    ])(
      'a page whose stream is refused with %i lets other tabs try, and asks: %j',
      async (status, expected) => {
        const context = await served.contextOf(browser, served.people.owner)
        const page = await context.newPage()
        // A minute of the page, which nobody waits for.
        await page.clock.install()
        const asked: string[] = []
        await page.route('**/console/changes?*', async (route) => {
          asked.push(route.request().method())
          await route.fulfill({ status })
        })
        const looked = page.waitForResponse((one) => one.request().method() === 'HEAD', {
          timeout: 20_000,
        })
        await page.goto(`${base}/console/inbox`)
        await looked
        const held = () => page.evaluate(async () => (await navigator.locks.query()).held?.length)
        expect([asked, await held()]).toEqual([['GET', 'HEAD'], 0])
        await page.clock.fastForward(80_000)
        await vi.waitUntil(() => asked.length >= expected.length, { timeout: 10_000 })
        expect(await held()).toBe(0)
        expect(asked.slice(0, 3)).toEqual(expected)
        await context.close()
      },
    )

    test('without scripts there is none', async () => {
      const context = await served.contextOf(browser, served.people.owner, { javaScriptEnabled: false })
      const page = await context.newPage()
      const opened = streamsOf([page])
      await page.goto(`${base}/console/inbox`)
      expect(opened).toEqual([])
      await context.close()
    })
  })

  describe.each([true, false])('a dialog (scripts: %s)', (javaScriptEnabled) => {
    test('keeps the focus, is left by Cancel, and gives the focus back', async () => {
      const page = await open('/console/settings/tokens', { javaScriptEnabled })
      const opener = page.getByRole('button', { name: 'Revoke Laptop' })
      await opener.click()
      const dialog = page.getByRole('dialog')
      await dialog.waitFor()
      const inside = page.locator('dialog[open] :focus')
      for (let steps = 0; steps < 4; steps += 1) {
        // Beyond the last one is the browser's own bar, never the page behind.
        const isOutside = await page.locator('body:has(main :focus)').count()
        expect((await inside.count()) === 1 || isOutside === 0).toBe(true)
        await page.keyboard.press('Tab')
      }
      // The page behind takes no click.
      await expect(page.getByRole('link', { name: 'Overview' }).click({ timeout: 500 })).rejects.toThrow(
        /Timeout/,
      )
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      expect(await dialog.count()).toBe(0)
      expect(await page.locator(':focus').getAttribute('aria-label')).toBe('Revoke Laptop')
      const { tokens } = await served.things.byOwner(listApiTokens, {})
      expect(tokens.some(({ name }) => name === 'Laptop')).toBe(true)
      await page.context().close()
    })
  })

  test('what is hidden is not seen, whatever else it is', async () => {
    const page = await open('/console/connect?assistant=codex', { javaScriptEnabled: false })
    const copy = page.locator('button[data-copy]').first()
    await copy.waitFor({ state: 'attached' })
    expect(await copy.isVisible()).toBe(false)
    await page.context().close()
  })

  test('copying works where the browser has no clipboard API', async () => {
    const page = await open('/console', { permissions: ['clipboard-read', 'clipboard-write'] })
    await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
    await page.goto(`${base}/console/connect?assistant=codex`)
    await page.getByRole('button', { name: 'Copy' }).first().click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const reader = await page.context().newPage()
    await reader.goto(`${base}/console`)
    expect(await reader.evaluate(() => navigator.clipboard.readText())).toBe(
      `codex mcp add svc --url ${base}/platform`,
    )
    await page.context().close()
  })

  test('times are relative, go on by themselves, and are exact on hover', async () => {
    const page = await open('/console/audit')
    const times = page.locator('td time')
    expect(await times.first().innerText()).toMatch(/^\d+ (?:sec|min|hr)\. ago$|^\d+ days? ago$/)
    expect(await times.first().getAttribute('title')).toMatch(/\d\d:\d\d:\d\d.* UTC\)$/)
    await page.evaluate(() => {
      const now = Date.now()
      Date.now = () => now + 3_600_000 * 5
    })
    const before = await times.first().innerText()
    await page.waitForFunction((text) => document.querySelector('td time')?.textContent !== text, before)
    await page.context().close()
  })

  test('without scripts a time is in UTC, to the second on hover', async () => {
    const page = await open('/console/audit', { javaScriptEnabled: false })
    const time = page.locator('td time').first()
    expect(await time.innerText()).toMatch(/ \d\d:\d\d UTC$/)
    expect(await time.getAttribute('title')).toMatch(/ \d\d:\d\d:\d\d UTC$/)
    await page.context().close()
  })

  test.each([
    '/console/members',
    '/console/agents?all=true',
    '/console/activity',
    '/console/subscriptions',
    '/console/deliveries',
  ])('%s: a row is two lines at most', async (path) => {
    const page = await open(path, { viewport: { width: 1280, height: 860 } })
    const heights = await page
      .locator('table[class*=columns-] tbody tr')
      .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height))
    expect(heights.length).toBeGreaterThan(0)
    // Of the second line of an event, or a badge below its name; nothing is cut for it.
    expect(Math.max(...heights)).toBeLessThan(64)
    await page.context().close()
  })

  test.each([
    ['/console/agents?all=true', 880],
    ['/console/agents?all=true', 1024],
    ['/console/activity', 880],
    ['/console/activity', 1024],
  ] as const)('%s: no word is cut at %d pixels', async (path, width) => {
    const page = await open(path, { viewport: { width, height: 860 } })
    const words = await page.locator('table[class*=columns-] .cell').evaluateAll((cells) =>
      cells.flatMap((cell) => {
        const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
        const found: { word: string; lines: number }[] = []
        while (texts.nextNode()) {
          const text = texts.currentNode
          if (text.parentElement?.closest('dialog')) continue
          for (const { 0: word, index } of (text.textContent ?? '').matchAll(/[^\s-]+/g)) {
            const range = new Range()
            range.setStart(text, index)
            range.setEnd(text, index + word.length)
            found.push({ word, lines: new Set([...range.getClientRects()].map(({ top }) => top)).size })
          }
        }
        return found
      }),
    )
    expect(words.length).toBeGreaterThan(0)
    expect(words.filter(({ lines }) => lines > 1)).toEqual([])
    await page.context().close()
  })

  test('the width of the window is used up to 1440 pixels', async () => {
    const page = await open('/console/members', { viewport: { width: 1920, height: 900 } })
    const frame = await page.locator('.frame').evaluate((one) => one.getBoundingClientRect().width)
    expect(frame).toBe(1440)
    await page.setViewportSize({ width: 1280, height: 900 })
    expect(await page.locator('.frame').evaluate((one) => one.getBoundingClientRect().width)).toBe(1280)
    await page.context().close()
  })

  test('the whole side bar is seen at once', async () => {
    const page = await open('/console/audit', { viewport: { width: 1280, height: 720 } })
    const current = page.getByRole('navigation', { name: 'Main' }).locator('[aria-current=page]')
    expect(await current.innerText()).toBe('Audit trail')
    const side = await page.locator('.side').evaluate((one) => one.scrollHeight - one.clientHeight)
    expect(side).toBe(0)
    await page.context().close()
  })

  test('an address that is none is a page of ours', async () => {
    const page = await open('/console/not-found')
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Page not found')
    await page.context().close()
  })
})
