/** The whole product in a real browser: sign in, invite, join, make a token, switch agents off, leave. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { listen, type Listening } from '../../src/boot/listener.ts'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { makeMember, makeOrganization, makePerson, PASSWORD, type Org, type Person } from '../support/make.ts'
import { LOOKS } from '../support/looks.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

describe.skipIf(findChromium() === undefined)('svc in a browser', { timeout: 120_000 }, () => {
  let browser: Browser
  let system: TestSystem
  let listening: Listening
  let base: string
  let org: Org

  beforeAll(async () => {
    const port = await freePort()
    system = await startSystem({ PORT: String(port) })
    listening = await listen(system.system)
    base = `http://localhost:${port}`
    org = await makeOrganization(system)
    browser = await openBrowser()
  }, 60_000)

  afterAll(async () => {
    await browser?.close()
    await listening?.stop()
    await system?.stop()
  })

  async function signIn(
    person: Person,
    options: BrowserContextOptions = {},
  ): Promise<{ context: BrowserContext; page: Page }> {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    await page.goto(`${base}/`)
    await page.getByLabel('Email').fill(person.email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${base}/console`)
    return { context, page }
  }

  test('an owner invites somebody, who opens the link, makes an account and is a member', async () => {
    const { context, page } = await signIn(org.owner)
    await page.goto(`${base}/console/members`)
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    const invite = page.getByRole('dialog', { name: 'Invite' })
    await invite.getByLabel('Email address').fill('guest@people.test')
    await invite.getByRole('button', { name: 'Invite', exact: true }).click()
    const link = await page.locator('code', { hasText: '/auth/invitation/' }).innerText()

    const guest = await browser.newContext()
    const theirs = await guest.newPage()
    await theirs.goto(link)
    expect(await theirs.getByRole('heading', { level: 1 }).innerText()).toBe(`Join ${org.name}`)
    await theirs.getByLabel('Your name').fill('Guest')
    await theirs.getByLabel('Choose a password').fill('words that only the guest knows')
    await theirs.getByRole('button', { name: 'Create account and join' }).click()
    await theirs.waitForURL(`${base}/console`)
    expect(await theirs.locator('.organization-menu summary').innerText()).toContain(org.name)

    await page.goto(`${base}/console/members`)
    await page.getByText('guest@people.test').first().waitFor()
    await Promise.all([context.close(), guest.close()])
  })

  test('a token is made in the browser, works, and ends in the browser', async () => {
    const { context, page } = await signIn(org.owner)
    await page.goto(`${base}/console/settings/tokens/new`)
    await page.getByLabel('Name').fill('From the browser')
    await page.getByRole('button', { name: /make|create/i }).click()
    const token = await page.locator('code', { hasText: /^svc_/ }).innerText()
    const ask = () => fetch(`${base}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })
    expect((await ask()).status).toBe(200)

    await page.goto(`${base}/console/settings/tokens`)
    expect(await page.content()).not.toContain(token)
    const row = page.getByRole('row', { name: /From the browser/ })
    await row.getByRole('button', { name: 'Revoke' }).first().click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /revoke|end/i })
      .click()
    await page.waitForURL(`${base}/console/settings/tokens`)
    expect((await ask()).status).toBe(401)
    await context.close()
  })

  test.runIf(inject('everyCase'))('whoever is removed meets it on the next click', async () => {
    const member = await makeMember(system, org, 'developer')
    const { context, page } = await signIn(member)
    const owner = await signIn(org.owner)
    await owner.page.goto(`${base}/console/members?search=${member.name}`)
    await owner.page.getByRole('button', { name: `Manage ${member.name}` }).click()
    await owner.page
      .getByRole('dialog')
      .getByRole('button', { name: /remove/i })
      .click()
    await page.goto(`${base}/console/members`)
    expect(await page.content()).not.toContain(org.owner.email)
    await Promise.all([context.close(), owner.context.close()])
  })

  test.runIf(inject('everyCase'))('signing out ends the session here and at the sign-in page', async () => {
    const { context, page } = await signIn(await makePerson(system))
    await page.locator('.person-menu summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${base}/console/signed-out`)
    await page.goto(`${base}/console`)
    expect(await page.getByLabel('Password').isVisible()).toBe(true)
    await context.close()
  })

  // Looked at among the long proofs.
  test.runIf(inject('everyCase')).each(Object.entries(LOOKS))(
    '%s: the pages outside the console have no finding',
    async (_look, options) => {
      const invited = await system.fetch(`/api/v1/orgs/${org.id}/invitations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${org.owner.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ email: `somebody-${Math.random()}@people.test` }),
      })
      const { invitation_url } = (await invited.json()) as { invitation_url: string }
      const context = await browser.newContext(options)
      const page = await context.newPage()
      const findings: string[] = []
      const paths = [
        '/auth/sign-in',
        '/auth/forgot',
        '/auth/reset/x',
        '/auth/verify/x',
        '/auth/invitation/unknown',
        '/auth/sign-in?return_to=https://evil.test',
        new URL(invitation_url).pathname,
        '/api/docs',
        '/api/docs/integrations',
        '/api/docs/notifications',
        '/api/docs?q=token',
        '/api/docs?q=nothing-is-called-this',
      ]
      for (const path of paths) {
        await page.goto(base + path)
        const extra = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        if (extra > 0) findings.push(`${path} is ${extra} pixels too wide`)
        findings.push(...(await axeFindings(page)).map((finding) => `${path} ${finding}`))
      }
      expect(findings).toEqual([])
      await context.close()
    },
  )

  test('the sign-in form is reached and sent by keyboard alone', async () => {
    const person = await makePerson(system)
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${base}/console`)
    await page.getByLabel('Email').waitFor()
    for (let steps = 0; steps < 6; steps++) {
      await page.keyboard.press('Tab')
      if ((await page.evaluate(() => document.activeElement?.id)) === 'email') break
    }
    await page.keyboard.type(person.email)
    await page.keyboard.press('Tab')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${base}/console`)
    expect(await page.locator('.person-menu').innerText()).toContain(person.name)
    await context.close()
  })
})
