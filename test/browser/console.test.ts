/** The console in a real browser: nothing in axe's way, nothing in the console log, everything within reach of the keyboard. */
import { LOOKS } from '../support/looks.ts'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { claimDeployment, reportDeploymentOutput } from '../../src/contracts/deployments.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import { pushLogs } from '../../src/contracts/logs.ts'
import { deployments } from '../../db/schema.ts'
import { eq } from '../../db/drizzle.ts'
import { makeIssuer } from '../support/issuer.ts'
import { makeOrgWithDomain } from '../support/identity-providers.ts'
import { unique } from '../support/make.ts'
import { serveConsole, type ServedConsole } from '../support/serve-console.ts'

/** Of an organization that has one of everything. */
const pagesOf = ({ things, deliveries }: ServedConsole): string[] => [
  '/console',
  '/console/members',
  '/console/members?search=nobody',
  '/console/data-sources',
  '/console/data-sources/attach',
  '/console/data-sources/search',
  '/console/data-sources/db_handbook',
  '/console/data-sources/db_warehouse',
  '/console/data-sources/db_handbook/access',
  '/console/data-sources/db_handbook/search',
  '/console/data-sources/db_warehouse/search',
  '/console/data-sources/db_handbook/database',
  '/console/data-sources/db_handbook/usage',
  '/console/data-sources/db_handbook/quality',
  '/console/data-sources/db_handbook/remove',
  '/console/data-sources/load',
  `/console/data-sources/db_warehouse/loads/${things.load_id}`,
  '/console/activity',
  '/console/activity?type=data_source&outcome=failed',
  '/console/activity?type=function',
  '/console/apps',
  '/console/apps?search=nothing',
  '/console/apps/shop',
  '/console/apps/shop/source',
  '/console/apps/shop/source?path=README.md',
  '/console/apps/shop/source/revisions',
  '/console/apps/shop/source/diff',
  '/console/apps/shop/deployments',
  '/console/apps/shop/logs',
  '/console/apps/shop/logs?text=nothing',
  '/console/apps/shop/logs?view=groups',
  '/console/apps/shop/logs?view=live',
  '/console/apps/shop/checks',
  '/console/apps/shop/checks/new',
  '/console/apps/shop/checks/new?kind=logs',
  `/console/apps/shop/checks/${things.check.check_id}`,
  `/console/apps/shop/checks/${things.check.check_id}?result=error`,
  `/console/apps/shop/checks/${things.check.check_id}/edit`,
  '/console/apps/shop/pipelines',
  '/console/apps/shop/pipelines/new',
  `/console/apps/shop/pipelines/${things.pipeline.pipeline_id}`,
  `/console/apps/shop/pipelines/${things.pipeline.pipeline_id}/edit`,
  '/console/apps/shop/maintenance',
  '/console/apps/shop/remote',
  '/console/apps/shop/tickets',
  '/console/apps/shop/people',
  '/console/apps/shop/settings',
  '/console/apps/shop/tokens/new?scope=apps:run',
  '/console/apps/shop/tickets?status=done',
  '/console/apps/shop/tickets/new',
  `/console/apps/shop/tickets/${things.ticket.ticket_id}`,
  '/console/connect',
  '/console/connect?assistant=codex',
  '/console/connect?assistant=cursor',
  '/console/connect?assistant=token',
  '/console/agents',
  '/console/agents?all=true',
  '/console/agents?client_id=nobody',
  '/console/agents/clients',
  '/console/agents/machine',
  '/console/access',
  '/console/agents/machine?search=nothing',
  '/console/agents/machine/new',
  `/console/agents/machine/${things.machine_agent.id}`,
  '/console/identity-provider',
  '/console/identity-provider/clients',
  '/console/identity-provider/clients/allow?preset=claude',
  '/console/identity-provider/clients/allow?client_id=desk-assistant',
  '/console/identity-provider/rules',
  '/console/identity-provider/rules/new',
  '/console/identity-provider/rules/1',
  '/console/identity-provider/people',
  '/console/identity-provider/people?search=nobody',
  '/console/identity-provider/refusals',
  '/console/identity-provider/refusals?reason=replayed',
  '/console/audit',
  '/console/audit?search=token',
  '/console/receipts',
  '/console/receipts/end?of=organization',
  '/console/maintenance',
  '/console/proposals',
  '/console/integrations',
  '/console/integrations?search=nobody',
  '/console/integrations/new/email',
  '/console/integrations/new/webhook',
  '/console/integrations/new/chat',
  '/console/integrations/new/forum',
  '/console/integrations/chat/callback?error=access_denied',
  '/console/subscriptions',
  '/console/subscriptions?pattern=nothing',
  '/console/subscriptions/new?pattern=application.*',
  '/console/deliveries',
  '/console/deliveries?channel=forum&type=Nonsense!',
  '/console/deliveries?live=true',
  '/console/deliveries?state=missed',
  '/console/inbox',
  '/console/inbox?state=read&type=deploy.*',
  '/console/organizations',
  '/console/organizations/new',
  '/console/settings/organization',
  '/console/settings/tokens',
  '/console/settings/tokens/new',
  '/console/settings/security',
  '/console/profile',
  '/console/profile/notifications',
  '/console/end-access',
  '/console/nothing',
  '/console/search',
  '/console/search?q=shop',
  '/console/search?q=nothing-is-called-this',
  '/console/signed-out',
  '/console/sign-in/done?code=x&state=y',
  `/console/apps/shop/deployments/${things.deployment.deployment_id}`,
  `/console/agents/${things.grant_id}`,
  `/console/integrations/${things.integration_id}`,
  `/console/deliveries?integration=${things.integration_id}`,
  ...deliveries.map((id) => `/console/deliveries/${id}`),
]

describe.skipIf(findChromium() === undefined)('the console in a browser', { timeout: 600_000 }, () => {
  let browser: Browser
  let served: ServedConsole
  let base: string

  beforeAll(async () => {
    served = await serveConsole()
    ;({ base } = served)
    browser = await openBrowser()
  }, 120_000)

  afterAll(async () => {
    await browser?.close()
    await served?.stop()
  })

  /** A page that has signed in, and what its browser complained about. */
  async function open(
    options: BrowserContextOptions = {},
    who = served.people.owner,
  ): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> {
    const context = await served.contextOf(browser, who, options)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      // The log also repeats the status of pages that answer 404 on purpose.
      const isStatus = /the server responded with a status of 4\d\d/.test(message.text())
      if (message.type() === 'error' && !isStatus) complaints.push(message.text())
    })
    await page.goto(`${base}/console`)
    return { context, page, complaints }
  }

  test.each(Object.entries(LOOKS))(
    '%s: no page has a finding, scrolls sideways or complains',
    async (_look, options) => {
      const { context, page, complaints } = await open(options)
      const findings: string[] = []
      for (const path of pagesOf(served)) {
        await page.goto(base + path)
        const extra = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        if (extra > 0) findings.push(`${path} is ${extra} pixels too wide`)
        findings.push(...(await axeFindings(page)).map((finding) => `${path} ${finding}`))
      }
      expect(findings).toEqual([])
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  test.each(['light', 'dark'] as const)(
    '%s: opened windows and menus have no finding',
    async (colorScheme) => {
      const { context, page } = await open({ colorScheme })
      await page.goto(`${base}/console/members`)
      await page.getByRole('button', { name: 'Manage Grace Hopper' }).click()
      await page.getByRole('dialog', { name: 'Grace Hopper' }).waitFor()
      expect(await axeFindings(page)).toEqual([])
      await page.keyboard.press('Escape')
      await page.locator('.organization-menu summary').click()
      expect(await axeFindings(page)).toEqual([])
      await context.close()
    },
  )

  test('the keyboard goes skip link, brand, organization, search, inbox, account, navigation, content', async () => {
    const { context, page } = await open()
    const walked: string[] = []
    for (let steps = 0; steps < 7; steps += 1) {
      await page.keyboard.press('Tab')
      walked.push(
        await page.evaluate(() => document.activeElement?.textContent?.trim().replaceAll(/\s+/g, ' ') ?? ''),
      )
    }
    expect(walked).toEqual([
      'Skip to content',
      'svc',
      'Northwind Traders Switch organization',
      'Search Ctrl K',
      'Inbox 1 unread',
      'AL Account: Ada Lovelace',
      'Overview',
    ])
    await page.goto(`${base}/console/members`)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    // The button of the header, the tabs, and what the list is filtered by.
    for (const name of ['Invite', 'Members', 'Groups', 'SCIM']) {
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.textContent?.trim())).toBe(name)
    }
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('search')
    await context.close()
  })

  test('a window takes the focus, closes on Escape and gives the focus back', async () => {
    const { context, page } = await open()
    await page.goto(`${base}/console/members`)
    const manage = page.getByRole('button', { name: 'Manage Edsger Dijkstra' })
    await manage.focus()
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Close')
    await page.keyboard.press('Escape')
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe(
      'Manage Edsger Dijkstra',
    )
    await context.close()
  })

  test.each([1280, 375])(
    'the tabs of an app are all in view at %i pixels, and reached by keyboard',
    async (width) => {
      const { context, page, complaints } = await open({ viewport: { width, height: 800 } })
      await page.goto(`${base}/console/apps/shop/pipelines`)
      const tabs = page.getByRole('navigation', { name: 'Tabs' }).getByRole('link')
      expect(await tabs.count()).toBe(10)
      for (const tab of await tabs.all()) {
        const box = await tab.boundingBox()
        expect(box!.x).toBeGreaterThanOrEqual(0)
        expect(box!.x + box!.width).toBeLessThanOrEqual(width)
      }
      const names: (string | null | undefined)[] = []
      await tabs.first().focus()
      for (let at = 0; at < 10; at += 1) {
        names.push(await page.evaluate(() => document.activeElement?.firstChild?.textContent?.trim()))
        if (at < 9) await page.keyboard.press('Tab')
      }
      expect(names).toEqual([
        'Overview',
        'Source',
        'Deployments',
        'Logs',
        'Checks',
        'Pipelines',
        'Maintenance',
        'Tickets',
        'People',
        'Settings',
      ])
      await page.keyboard.press('Enter')
      await page.waitForURL(`${base}/console/apps/shop/settings`)
      expect(await page.locator('.tabs [aria-current=page]').textContent()).toBe('Settings')
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  test('the menu of a phone opens, leads on and closes', async () => {
    const { context, page } = await open({ viewport: { width: 320, height: 640 } })
    expect(
      await page.getByRole('link', { name: 'Members', exact: true }).filter({ visible: true }).count(),
    ).toBe(0)
    await page.getByRole('button', { name: 'Menu' }).click()
    expect(await axeFindings(page)).toEqual([])
    await page.getByRole('navigation').getByRole('link', { name: 'Audit trail' }).click()
    await page.getByRole('heading', { name: 'Audit trail' }).waitFor()
    expect(await page.getByRole('navigation', { name: 'Main' }).isVisible()).toBe(false)
    await context.close()
  })

  test.each([true, false])(
    'the filters of a list are folded on a phone until one is set, and in view elsewhere (scripts: %s)',
    async (javaScriptEnabled) => {
      const { context, page } = await open({ javaScriptEnabled, viewport: { width: 375, height: 740 } })
      const contains = page.getByLabel('Contains')
      await page.goto(`${base}/console/audit`)
      expect(await contains.isVisible()).toBe(false)
      expect((await page.getByRole('row').nth(1).boundingBox())!.y).toBeLessThan(740)
      await page.locator('summary', { hasText: 'Filter audit trail' }).focus()
      await page.keyboard.press('Enter')
      await page.keyboard.press('Tab')
      await page.keyboard.type('nobody-did-this')
      await page.keyboard.press('Enter')
      await page.getByText('No entries found').waitFor()
      expect(await contains.inputValue()).toBe('nobody-did-this')
      expect(await contains.isVisible()).toBe(true)
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.goto(`${base}/console/audit`)
      expect(await contains.isVisible()).toBe(true)
      expect(await page.locator('summary', { hasText: 'Filter audit trail' }).isVisible()).toBe(false)
      await context.close()
    },
  )

  test.each([870, 1280])('no cell of a table reaches into the next one at %i pixels', async (width) => {
    const { context, page } = await open({ viewport: { width, height: 800 } })
    const found: string[] = []
    for (const path of ['agents?all=true', 'activity', 'audit', 'deliveries', 'members', 'settings/tokens']) {
      await page.goto(`${base}/console/${path}`)
      const wide = await page.locator('th, td time, td .row-actions').evaluateAll((parts) =>
        parts
          .filter((part) => {
            const cell = part.closest('th, td')!
            return cell.scrollWidth > cell.clientWidth + 1
          })
          .map((part) => part.textContent.trim()),
      )
      found.push(...wide.map((text) => `${path}: ${text}`))
      const extra = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (extra > 0) found.push(`${path} is ${extra} pixels too wide`)
    }
    expect(found).toEqual([])
    await context.close()
  })

  test.each([true, false])(
    'a token is made, copied where scripts run, and revoked (scripts: %s)',
    async (javaScriptEnabled) => {
      const { context, page, complaints } = await open({
        javaScriptEnabled,
        permissions: ['clipboard-read', 'clipboard-write'],
      })
      await page.goto(`${base}/console/settings/tokens/new`)
      const name = `Walk ${javaScriptEnabled}`
      await page.getByLabel('Name').fill(name)
      // The least comes first; the list of permissions is there for whoever does not want all.
      expect(await page.getByLabel('Query the data sources').isChecked()).toBe(true)
      await page.getByLabel('All permissions of the role').check()
      expect(await page.getByLabel('Query the data sources').isVisible()).toBe(false)
      await page.getByLabel('Only selected permissions').check()
      await page.getByRole('button', { name: 'Create token' }).click()
      const value = await page.locator('#token').textContent()
      expect(value).toMatch(/^svc_/)
      const copied = javaScriptEnabled ? await copyFirst(page) : value
      expect(copied).toBe(value)
      await page.getByRole('link', { name: 'Done' }).click()
      await page.getByRole('button', { name: `Revoke ${name}` }).click()
      await page.getByRole('button', { name: 'Revoke token' }).filter({ visible: true }).click()
      await page.getByText('Token revoked.').waitFor()
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  test.each([true, false])(
    'a source is asked, and the answer opens where it stands (scripts: %s)',
    async (javaScriptEnabled) => {
      const { context, page, complaints } = await open({
        javaScriptEnabled,
        viewport: { width: 390, height: 800 },
      })
      await page.goto(`${base}/console/data-sources/db_handbook`)
      await page.getByLabel('Question').fill('When are holidays planned?')
      await page.getByLabel('draft').selectOption('false')
      await page.getByRole('button', { name: 'Ask', exact: true }).click()
      await page.getByRole('heading', { name: /^2 hits in / }).waitFor()
      expect(page.url()).not.toContain('holidays')
      expect(await page.evaluate(() => scrollY)).toBeGreaterThan(0)
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
      if (javaScriptEnabled) expect(await axeFindings(page)).toEqual([])
      await page.getByText('all 720 characters').click()
      expect(await page.getByLabel('Question').inputValue()).toBe('When are holidays planned?')
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  test('a connection string is on the page, and seen only when unfolded', async () => {
    const { context, page, complaints } = await open()
    await page.goto(`${base}/console/data-sources/db_handbook/database`)
    await page.getByRole('button', { name: 'Show connection string' }).click()
    const value = page.locator('#connection')
    await value.waitFor({ state: 'attached' })
    expect(await value.isVisible()).toBe(false)
    await page.getByText('Reveal').click()
    expect(await value.isVisible()).toBe(true)
    expect(await axeFindings(page)).toEqual([])
    expect(complaints).toEqual([])
    await context.close()
  })

  test.each([true, false])(
    'a pattern shows what it matches before it is subscribed to (scripts: %s)',
    async (javaScriptEnabled) => {
      const { context, page, complaints } = await open({ javaScriptEnabled })
      await page.goto(`${base}/console/subscriptions/new`)
      await page.getByLabel('Event type').pressSequentially('application.check.*')
      if (!javaScriptEnabled) await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByText(/Matches \d event types, \d+ events? in the last 7 days\./).waitFor()
      await page.getByLabel('Destination').selectOption({ label: 'Archive (webhook)' })
      await page.getByLabel('Timing').selectOption(javaScriptEnabled ? 'hourly' : 'daily')
      if (javaScriptEnabled) expect(await axeFindings(page)).toEqual([])
      await page.getByRole('button', { name: 'Preview' }).click()
      expect(await page.getByLabel('Timing').inputValue()).toBe(javaScriptEnabled ? 'hourly' : 'daily')
      await page.getByRole('button', { name: 'Subscribe' }).click()
      await page.getByText('Archive is subscribed to application.check.*').waitFor()
      await page.getByRole('button', { name: 'Manage application.check.* to Archive' }).click()
      await page.getByRole('button', { name: 'Delete subscription' }).filter({ visible: true }).click()
      await page.getByText('Subscription deleted.').waitFor()
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  test('an unconfirmed delivery says so, and is replayed with the keyboard alone', async () => {
    const { context, page, complaints } = await open()
    await page.goto(`${base}/console/deliveries?reason=outcome_unknown`)
    await page.getByRole('link', { name: /, deploy\.failed$/ }).click()
    await page.getByRole('heading', { name: 'It may have arrived' }).waitFor()
    await page.getByRole('button', { name: 'Replay' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('so it may arrive twice').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('Replayed. This page shows the new delivery.').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  test('what a command and a program write is shown as it comes, and it is said when it cannot come', async () => {
    const { context, page, complaints } = await open()
    const { byOwner } = served.things
    const { token } = await byOwner(createAppToken, { alias: 'shop', name: 'runner', scope: 'apps:run' })
    const runner = served.system.as({ token })
    // The one that waits already.
    const claimed = await runner(claimDeployment, { alias: 'shop', runner: 'web-1', wait_seconds: 0 })
    const deployment = claimed.deployment!.id
    const output = { alias: 'shop', deployment_id: deployment, fence: claimed.fence! }
    await runner(reportDeploymentOutput, { ...output, text: 'begun\n', position: 0 })
    await page.goto(`${base}/console/apps/shop/deployments/${deployment}`)
    const written = 'written while the page was open <b>\n'
    await runner(reportDeploymentOutput, { ...output, text: written, position: 6 })
    await page.getByRole('log').getByText('written while the page was open <b>').waitFor()
    await page.goto(`${base}/console/apps/shop/logs?view=live`)
    await byOwner(pushLogs, { alias: 'shop', body: Buffer.from('arrived <i>just now</i>\n') })
    await page.getByRole('log').getByText('arrived <i>just now</i>').first().waitFor()
    expect(await axeFindings(page)).toEqual([])
    // The session has ended, or too many read already: the log is not quiet, it is not read.
    await page.route('**/logs/live?*', (route) => route.fulfill({ status: 429, body: '{}' }))
    await page.getByText('Not connected').waitFor()
    await page.unroute('**/logs/live?*')
    await page.getByText('Not connected').waitFor({ state: 'hidden' })
    expect(complaints).toEqual([])
    await context.close()
  })

  test.each(Object.entries(LOOKS))(
    '%s: an app without anything, a lost runner and new tokens have no finding',
    async (_look, options) => {
      const { context, page, complaints } = await open(options)
      const isOne = eq(deployments.id, served.things.deployment.deployment_id)
      const { db } = served.system
      await db
        .update(deployments)
        .set({ state: 'failed', code: 'RUNNER_LOST', releasedAt: null })
        .where(isOne)
      await page.goto(`${base}/console/apps/shop/deployments`)
      await page.getByText('was lost').waitFor()
      expect(await axeFindings(page)).toEqual([])
      await db.update(deployments).set({ releasedAt: new Date() }).where(isOne)
      await page.goto(`${base}/console/settings/tokens/new?audience=platform`)
      await page.getByLabel('Name').fill('Nightly report')
      await page.getByRole('button', { name: 'Create token' }).click()
      await page.getByText('Copy it now').waitFor()
      expect(await axeFindings(page)).toEqual([])
      await page.goto(`${base}/console/apps/shop/tokens/new?scope=apps:report`)
      await page.getByLabel('Name').fill('Production')
      await page.getByRole('button', { name: 'Create token' }).click()
      await page.getByText('Copy it now').waitFor()
      expect(await axeFindings(page)).toEqual([])
      const alias = unique('empty')
      await served.things.byOwner(createApp, { alias, name: 'Empty' })
      for (const tab of ['', '/source', '/deployments', '/logs', '/checks', '/pipelines']) {
        await page.goto(`${base}/console/apps/${alias}${tab}`)
        expect([tab, await axeFindings(page)]).toEqual([tab, []])
      }
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  test.each(['light', 'dark'] as const)(
    '%s: an identity provider is set up with the keyboard and the mouse, without a finding on the way',
    async (colorScheme) => {
      const org = await makeOrgWithDomain(served.system)
      const { owner } = org
      const issuer = await makeIssuer(served.system, served.host)
      const { context, page, complaints } = await open({ colorScheme }, owner)
      await page.goto(`${base}/console/identity-provider`)
      expect(await axeFindings(page)).toEqual([])
      await page.getByLabel('Name').fill('Google')
      await page.getByLabel('Issuer').fill('https://accounts.google.com')
      await page.keyboard.press('Enter')
      // Refused, because others share it: the fields for that are open now.
      await page.getByLabel('Your value').waitFor()
      expect(await axeFindings(page)).toEqual([])
      await page.getByLabel('Issuer').fill(issuer.issuer)
      await page.getByRole('button', { name: 'Add identity provider' }).click()
      await page.getByText('Check it next').waitFor()
      expect(await axeFindings(page)).toEqual([])
      await page
        .locator('#tried')
        .fill(await issuer.assertionFor(owner, { aud: 'https://elsewhere.example' }))
      await page.getByRole('button', { name: 'Check', exact: true }).click()
      await page.getByText('Usually there is a slash too many').waitFor()
      expect(await axeFindings(page)).toEqual([])
      await page.locator('#tried').fill(await issuer.assertionFor(owner))
      await page.getByRole('button', { name: 'Check', exact: true }).click()
      await page.getByRole('button', { name: 'Switch on with this assertion' }).click()
      await page.getByText('Identity provider switched on').waitFor()
      for (const tab of ['Clients', 'Rules', 'People', 'Refusals']) {
        await page.getByRole('navigation', { name: 'Tabs' }).getByRole('link', { name: tab }).click()
        expect([tab, await axeFindings(page)]).toEqual([tab, []])
      }
      await page.goto(`${base}/console/agents/machine/new`)
      await page.getByLabel('Name').fill('Nightly backup')
      await page.getByRole('button', { name: 'Create machine agent' }).click()
      await page.getByText('Copy the secret now').waitFor()
      expect(await axeFindings(page)).toEqual([])
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  test('switching and signing out work through the menus', async () => {
    const { context, page, complaints } = await open()
    await page.locator('.organization-menu summary').click()
    await page.getByRole('button', { name: 'Fabrikam' }).click()
    await page.getByRole('heading', { level: 1, name: 'Fabrikam' }).waitFor()
    await page.locator('.organization-menu summary').click()
    await page.getByRole('button', { name: 'Northwind Traders' }).click()
    await page.getByRole('heading', { level: 1, name: 'Northwind Traders' }).waitFor()
    await page.locator('.person-menu summary').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

async function copyFirst(page: Page): Promise<string> {
  await page.getByRole('button', { name: 'Copy' }).first().click()
  return page.evaluate(() => navigator.clipboard.readText())
}
