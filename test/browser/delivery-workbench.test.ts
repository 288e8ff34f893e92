/** The journey of somebody who wants to know why a webhook failed, on the whole product, counted in clicks. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listen, type Listening } from '../../src/boot/listener.ts'
import { connectWebhook } from '../../src/contracts/integrations.ts'
import type { ChannelPorts, Outcome } from '../../src/cores/notifications/index.ts'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { insertDelivery } from '../support/deliveries.ts'
import { fakeChecks } from '../support/fake-integrations.ts'
import { freePort } from '../support/free-port.ts'
import { makeOrganization, PASSWORD, unique, type Org } from '../support/make.ts'
import { START_MS, startSystem, type TestSystem } from '../support/system.ts'

const TRACEBACK = '<b>Traceback</b> (most recent call last): KeyError: "deployment"'

describe.skipIf(findChromium() === undefined)('why a webhook failed', { timeout: 120_000 }, () => {
  let browser: Browser
  let system: TestSystem
  let listening: Listening
  let base: string
  let org: Org
  let answer: Outcome = { kind: 'sent', httpStatus: 200, response: 'ok' }

  beforeAll(async () => {
    const port = await freePort()
    const reply = async () => answer
    const channels: ChannelPorts = {
      webhook: reply,
      chat: reply,
      direct_message: reply,
      email: reply,
      forum: reply,
    }
    system = await startSystem({ PORT: String(port) }, { checks: fakeChecks, channels })
    listening = await listen(system.system)
    // Jobs go by the clock of the database where this one is far from it.
    system.clock.advance((Date.now() - START_MS) / 1000)
    system.system.startJobs()
    base = `http://localhost:${port}`
    org = await makeOrganization(system)
    const other = await makeOrganization(system)
    await receiver(other, 'Of somebody else')
    browser = await openBrowser()
  }, 60_000)

  afterAll(async () => {
    await browser?.close()
    await listening?.stop()
    await system?.stop()
  })

  async function receiver(where: Org, name: string): Promise<string> {
    const url = `https://hooks.test/${unique('in')}`
    return (await where.owner.call(connectWebhook, { name, url })).id
  }

  async function signIn(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await (
      await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options })
    ).newPage()
    await page.goto(`${base}/`)
    await page.getByLabel('Email').fill(org.owner.email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${base}/console`)
    return page
  }

  test.each([true, false])(
    'is two clicks away, the answer and the headers in view (scripts: %s)',
    async (javaScriptEnabled) => {
      const name = unique('Billing')
      const integrationId = await receiver(org, name)
      await insertDelivery(system, org, { integrationId, state: 'failed', reason: 'gave_up' }, [
        {
          outcome: 'failed',
          reason: 'server_error',
          httpStatus: 500,
          response: TRACEBACK,
          requestHeaders: { 'X-Svc-Signature': 'v1=…' },
        },
      ])
      const page = await signIn({ javaScriptEnabled })
      let clicks = 0
      const click = async (link: string | RegExp, within = page.locator('body')) => {
        clicks += 1
        await within.getByRole('link', { name: link, exact: true }).click()
      }
      await click('Deliveries', page.getByRole('navigation', { name: 'Main' }))
      expect(await page.locator('main').innerText()).not.toContain('Of somebody else')
      await click('HTTP 500', page.getByRole('row', { name }))
      await page.getByRole('heading', { name: 'Why it failed' }).waitFor()
      const shown = page.locator('main')
      expect(await shown.innerText()).toContain('The receiver returned an error. It answered 500')
      // As text: nothing of it is markup.
      expect(await page.locator('#response-1').innerText()).toBe(TRACEBACK)
      expect(await page.locator('#response-1').isVisible()).toBe(true)
      expect(await page.locator('#headers').innerText()).toContain('X-Svc-Signature: v1=…')
      expect(clicks).toBeLessThanOrEqual(3)
      // axe is a script itself.
      if (javaScriptEnabled) expect(await axeFindings(page)).toEqual([])
      await page.context().close()
    },
  )

  test.each([true, false])(
    'a test shows its result there and then (scripts: %s)',
    async (javaScriptEnabled) => {
      const name = unique('Tested')
      await receiver(org, name)
      answer = {
        kind: 'refused',
        reason: 'refused',
        retry: true,
        httpStatus: 401,
        response: 'signature does not match',
      }
      const page = await signIn({ javaScriptEnabled })
      await page.goto(`${base}/console/deliveries`)
      await page.getByRole('button', { name: `Send test to ${name}` }).click()
      await page.getByText('signature does not match').first().waitFor()
      expect(await page.locator('main').innerText()).toContain('The receiver rejected it. It answered 401')
      answer = { kind: 'sent', httpStatus: 204 }
      await page.getByRole('button', { name: 'Retry now' }).click()
      await page.getByRole('heading', { name: 'It arrived' }).waitFor()
      await page.context().close()
    },
  )

  test('live, a delivery appears by itself, and the focus stays where it was', async () => {
    const integrationId = await receiver(org, unique('Live'))
    await insertDelivery(system, org, { integrationId })
    const page = await signIn()
    await page.goto(`${base}/console/deliveries`)
    await page.getByRole('link', { name: 'Live', exact: true }).click()
    const rows = page.getByRole('row')
    const before = await rows.count()
    const first = page.locator('tbody a').first()
    const href = await first.getAttribute('href')
    await first.focus()
    await insertDelivery(system, org, { integrationId, state: 'failed', reason: 'gave_up' })
    await expect.poll(() => rows.count(), { timeout: 15_000 }).toBe(before + 1)
    expect(await page.evaluate(() => document.activeElement?.getAttribute('href'))).toBe(href)
    await page.context().close()
  })
})
