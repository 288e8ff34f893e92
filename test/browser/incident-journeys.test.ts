/** Journeys of somebody who wants to know what is wrong and what to do, counted in clicks; some with the keyboard alone. */
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { grantUses, platformAccessGrants } from '../../db/schema.ts'
import { listChecks } from '../../src/contracts/checks.ts'
import { listGrants, showGrant } from '../../src/contracts/grants.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { listIntegrations } from '../../src/contracts/integrations.ts'
import { UNUSED_DAYS } from '../../src/contracts/limits.ts'
import { pushLogs } from '../../src/contracts/logs.ts'
import { listInvitations } from '../../src/contracts/members.ts'
import { showProposal } from '../../src/contracts/proposals.ts'
import { SCOPE_EDITION } from '../../src/contracts/scopes.ts'
import { listApiTokens } from '../../src/contracts/tokens.ts'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { serveConsole, type ServedConsole } from '../support/serve-console.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const ERROR = 'TypeError: order 12 has no price\n    at sum (src/sum.js:2:3)'

describe.skipIf(findChromium() === undefined)('what is wrong, and what to do', { timeout: 120_000 }, () => {
  let browser: Browser
  let base: string
  let served: ServedConsole

  beforeAll(async () => {
    served = await serveConsole()
    ;({ base } = served)
    const body = Buffer.from(JSON.stringify({ level: 'error', message: ERROR }))
    await served.things.byOwner(pushLogs, { alias: 'shop', body })
    browser = await openBrowser()
  }, 120_000)

  afterAll(async () => {
    await browser?.close()
    await served?.stop()
  })

  async function open(path: string, who: Person = served.people.owner, options: BrowserContextOptions = {}) {
    const context = await served.contextOf(browser, who, {
      viewport: { width: 1280, height: 860 },
      ...options,
    })
    const page = await context.newPage()
    await page.goto(base + path)
    let clicks = 0
    return {
      page,
      context,
      clicks: () => clicks,
      click: async (target: Locator) => {
        clicks += 1
        await target.click()
      },
    }
  }

  const link = (page: Page, name: string | RegExp) => page.getByRole('link', { name }).first()
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  test('an error in the logs to a check: three clicks', async () => {
    const { page, context, click, clicks } = await open('/console/apps/shop/logs')
    await click(
      page.getByRole('listitem').filter({ hasText: 'TypeError' }).getByRole('link', { name: 'Incident' }),
    )
    await page.getByRole('heading', { level: 1, name: 'TypeError: order 12 has no price' }).waitFor()
    await click(link(page, 'Make a check of this'))
    await click(press(page, 'Create check'))
    await page.getByText('Check created.').waitFor()
    expect(clicks()).toBe(3)
    const { checks } = await served.things.byOwner(listChecks, { alias: 'shop' })
    expect(checks.map(({ definition }) => definition)).toContainEqual(
      expect.objectContaining({ pattern: expect.stringContaining('TypeError'), level: 'error' }),
    )
    await context.close()
  })

  test('trouble to an approved fix: four clicks', async () => {
    // Not by whoever started the run.
    const { page, context, click, clicks } = await open('/console', served.people.colleague)
    await click(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Apps' }))
    await click(link(page, /^\d+ proposals?$/))
    await click(press(page, 'Approve'))
    await page.getByRole('dialog').getByText('becomes the head of shop and is deployed').waitFor()
    await click(press(page, 'Approve and deploy'))
    await page.getByText('The fix was approved').waitFor()
    expect(clicks()).toBe(4)
    const { proposal_id } = served.things.proposal
    const approved = await served.things.byOwner(showProposal, { alias: 'shop', proposal_id })
    expect(approved.decided).toMatchObject({ approved: true, by: served.people.colleague.name })
    await context.close()
  })

  test('why a webhook failed, and again: three clicks', async () => {
    const { page, context, click, clicks } = await open('/console')
    await click(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Deliveries' }))
    await click(page.getByRole('row').filter({ hasText: 'Retrying' }).getByRole('link').first())
    await page.getByRole('heading', { name: /^Why/ }).waitFor()
    expect(await page.locator('main').innerText()).toContain('It answered 503')
    const answered = page.waitForResponse((response) => new URL(response.url()).pathname.endsWith('/retry'))
    await click(press(page, 'Retry now'))
    expect((await answered).status()).toBe(303)
    await page.getByRole('heading', { name: /^Why/ }).waitFor()
    expect(await page.locator('.notice-problem').count()).toBe(0)
    expect(clicks()).toBe(3)
    await context.close()
  })

  /** Counted for longer than a suggestion takes; of what it may do, it has done one thing. */
  async function insertAgent(org: Org, userId: string): Promise<string> {
    const { db, system, clock } = served.system
    const now = clock.now().getTime()
    const since = new Date(now - (UNUSED_DAYS + 1) * DAY_MS)
    const id = makeId('grt', now)
    await db.insert(platformAccessGrants).values({
      id,
      orgId: org.id,
      userId,
      clientId: 'https://notes.test/client.json',
      clientName: 'Notes',
      clientKind: 'metadata_document',
      redirectHost: '127.0.0.1',
      resource: 'platform',
      scopes: ['data:read', 'maintenance:read'],
      scopeEdition: SCOPE_EDITION,
      payload: {},
      keyEpoch: system.auth!.keyEpoch,
      createdAt: since,
      usesSince: since,
      expiresAt: new Date(now + DAY_MS),
    })
    const used = { scope: 'maintenance:read', sourceId: '', calls: 3, lastUsedAt: new Date(now) } as const
    await db.insert(grantUses).values({ orgId: org.id, grantId: id, ...used })
    return id
  }

  test('an agent is narrowed to what it used: three clicks', async () => {
    const elsewhere = await makeOrganization(served.system)
    const [grant_id, another] = [
      await insertAgent(served.org, served.people.member.userId),
      await insertAgent(elsewhere, elsewhere.owner.userId),
    ]
    const { page, context, click, clicks } = await open('/console')
    await click(
      page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Connected agents' }),
    )
    await click(page.getByRole('table').getByRole('link', { name: '“Notes”' }))
    await page.getByText('Some of it has not been used for 30 days.').waitFor()
    await click(press(page, 'Narrow to what it used'))
    await page.getByText('Narrowed to what it used.').waitFor()
    expect(clicks()).toBe(3)
    expect(await press(page, 'Narrow to what it used').count()).toBe(0)
    const left = await served.things.byOwner(showGrant, { grant_id })
    expect(left).toMatchObject({ scopes: ['maintenance:read'], sources: [] })
    const same = await elsewhere.owner.call(showGrant, { grant_id: another })
    expect(same).toMatchObject({ scopes: ['data:read', 'maintenance:read'], sources: null })
    await context.close()
  })

  const palette = async (page: Page, typed: string, option: string) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type(typed)
    await page.locator('[role=option][aria-selected=true]', { hasText: option }).waitFor()
    await page.keyboard.press('Enter')
  }

  test('an admin is invited in two clicks and a field', async () => {
    const { page, context, click, clicks } = await open('/console')
    await palette(page, 'invite admin', 'Invite an admin')
    const email = `${unique('admin')}@northwind.test`
    await page.getByLabel('Email address').fill(email)
    await click(
      page.locator('form[action$="/invitations"]').getByRole('button', { name: 'Invite', exact: true }),
    )
    await page.getByText(email).first().waitFor()
    expect(clicks()).toBeLessThanOrEqual(2)
    const { invitations } = await served.things.byOwner(listInvitations, { org_id: served.org.id })
    expect(invitations.find((one) => one.email === email)).toMatchObject({ role: 'admin' })
    await context.close()
  })

  describe('with the keyboard alone', () => {
    /** The next thing in the order of the page that has these words. */
    async function tabTo(page: Page, words: RegExp): Promise<void> {
      for (let steps = 0; steps < 120; steps += 1) {
        await page.keyboard.press('Tab')
        const said = await page.evaluate(() => {
          const { activeElement: one } = document
          const label = one instanceof HTMLInputElement ? one.labels?.[0]?.textContent : one?.textContent
          return (one?.getAttribute('aria-label') ?? label ?? '').trim()
        })
        if (words.test(said)) return
      }
      throw new Error(`nothing with ${String(words)} can be reached`)
    }

    test('the menu opens at once with what the page brought along', async () => {
      const { page, context } = await open('/console')
      await page.route('**/console/search**', (route) => route.abort())
      // In the same moment as the key, so that nothing is waited for.
      const offered = await page.evaluate(() => {
        document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }))
        return [...document.querySelectorAll('#palette[open] [role=option]')].map(
          ({ textContent }) => textContent,
        )
      })
      expect(offered).toEqual(
        expect.arrayContaining(['Invite an admin', 'Approve the next proposal', 'Audit trail']),
      )
      await page.keyboard.type('audit')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Audit trail' }).waitFor()
      await context.close()
    })

    test('an agent is revoked', async () => {
      const idsOf = async () =>
        (await served.things.byOwner(listGrants, { all: 'true' })).grants.map(({ id }) => id)
      const before = await idsOf()
      const { page, context } = await open('/console')
      await palette(page, 'revoke desk', 'Revoke')
      await page.getByRole('dialog').getByText('Disconnect this agent?').waitFor()
      const revoked = new URL(page.url()).pathname.split('/').at(-1)!
      expect(before).toContain(revoked)
      await tabTo(page, /^Disconnect agent$/)
      await page.keyboard.press('Enter')
      await page.getByText('Agent disconnected.').waitFor()
      expect(await idsOf()).toEqual(before.filter((id) => id !== revoked))
      await context.close()
    })

    test('an integration is paused', async () => {
      const { page, context } = await open('/console')
      await page.keyboard.press('Control+k')
      await page.keyboard.type('pause archive')
      await page.getByRole('option', { name: 'Pause Archive' }).waitFor()
      // What is sent at once is chosen by hand.
      expect(await page.locator('[role=option][aria-selected=true]').count()).toBe(0)
      await page.keyboard.press('ArrowDown')
      await page.locator('[role=option][aria-selected=true]', { hasText: 'Pause Archive' }).waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL(/integrations/)
      const { integrations } = await served.things.byOwner(listIntegrations, {})
      expect(integrations.find(({ name }) => name === 'Archive')).toMatchObject({ state: 'paused' })
      await context.close()
    })

    test('a token is created', async () => {
      const { page, context } = await open('/console')
      await palette(page, 'create token', 'Create an API token')
      await page.getByRole('heading', { level: 1 }).filter({ hasText: 'token' }).waitFor()
      const name = unique('token')
      await tabTo(page, /^Name/)
      await page.keyboard.type(name)
      await tabTo(page, /^Create token$/)
      await page.keyboard.press('Enter')
      await expect
        .poll(async () => {
          const { tokens } = await served.things.byOwner(listApiTokens, {})
          return tokens.map((one) => one.name)
        })
        .toContain(name)
      await context.close()
    })

    test('an error is read, and all of its lines', async () => {
      const { page, context } = await open('/console/apps/shop/logs?level=error')
      await tabTo(page, /^Incident$/)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'TypeError: order 12 has no price' }).waitFor()
      await tabTo(page, /^All lines like this$/)
      await page.keyboard.press('Enter')
      await page.waitForURL(/group=lgr_/)
      expect(await page.locator('main').innerText()).toContain('TypeError: order 12 has no price')
      await context.close()
    })
  })

  test('what one may not do is not offered', async () => {
    const { page, context } = await open('/console', served.people.member)
    await page.keyboard.press('Control+k')
    const offered = await page.locator('#palette [role=option]').allInnerTexts()
    expect(offered).toContain('Connect an assistant')
    expect(offered.filter((words) => /Invite|Approve|Run maintenance|Pause|Revoke/i.test(words))).toEqual([])
    await context.close()
  })

  test.each([
    ['light', 1280],
    ['dark', 375],
    ['light', 375],
    ['dark', 1280],
  ] as const)('%s, %i pixels: no finding, and nothing scrolls sideways', async (colorScheme, width) => {
    const { page, context } = await open('/console/apps/shop/logs?level=error', served.people.owner, {
      colorScheme,
      viewport: { width, height: 860 },
    })
    const findings: string[] = []
    const incident = await page.getByRole('link', { name: 'Incident' }).first().getAttribute('href')
    const { finding } = served.things
    const pages = [incident!, `/console/apps/shop/incidents/${finding.finding_id}`, '/console/apps']
    for (const path of pages) {
      await page.goto(base + path)
      const extra = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (extra > 0) findings.push(`${path} is ${extra} pixels too wide`)
      findings.push(...(await axeFindings(page)).map((one) => `${path} ${one}`))
    }
    await page.keyboard.press('Control+k')
    await page.locator('#palette [role=option]').first().waitFor()
    findings.push(...(await axeFindings(page)).map((one) => `search ${one}`))
    expect(findings).toEqual([])
    await context.close()
  })
})
