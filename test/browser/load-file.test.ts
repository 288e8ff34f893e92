/** From a CSV file, or a folder of documents, to an answer from it, in a browser; and the same without a script. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listen, type Listening } from '../../src/boot/listener.ts'
import { setDataSourceExposure, setDataSourceState } from '../../src/contracts/data-sources.ts'
import { findChromium } from '../find-chromium.ts'
import { axeFindings, openBrowser } from '../support/browser.ts'
import { placeForDatabases, toyModels } from '../support/data-sources.ts'
import { freePort } from '../support/free-port.ts'
import { makeOrganization, PASSWORD, type Org } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const CSV = `sku,name,description
T1,Tent,A light tent for two people
S1,Stove,A small stove that burns wood
B1,Bottle,A bottle that keeps tea warm for a day
`
const LEAVE =
  '# Leave\n\nEverybody has 25 days a year, which are asked for in the calendar.\n\n## Parents\n\nTwelve weeks for each parent, at the birth of a child or later in the same year.\n\n## Sick\n\nCall before nine.\n'
const WIDE = { width: 1280, height: 800 }
const NARROW = { width: 375, height: 800 }
const FILE = { name: 'camping gear.csv', mimeType: 'text/csv', buffer: Buffer.from(CSV) }

describe.skipIf(findChromium() === undefined)('own data in the console', { timeout: 180_000 }, () => {
  let browser: Browser
  let system: TestSystem
  let listening: Listening
  let place: Awaited<ReturnType<typeof placeForDatabases>>
  let base: string
  let org: Org
  const models = toyModels()

  beforeAll(async () => {
    const port = await freePort()
    place = await placeForDatabases('embedded')
    system = await startSystem({ PORT: String(port), ...place.settings }, { models, clock: () => new Date() })
    listening = await listen(system.system)
    system.system.startJobs()
    base = `http://localhost:${port}`
    org = await makeOrganization(system)
    browser = await openBrowser()
  }, 90_000)

  afterAll(async () => {
    await browser?.close()
    await listening?.stop()
    await system?.stop()
    await models.close()
    await place?.remove()
  })

  async function signIn(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    const page = await (await browser.newContext(options)).newPage()
    await page.goto(`${base}/`)
    await page.getByLabel('Email').fill(org.owner.email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${base}/console`)
    return page
  }

  /** At both widths, one after the other. */
  async function findings(page: Page) {
    const wide = await axeFindings(page)
    await page.setViewportSize(NARROW)
    const narrow = await axeFindings(page)
    await page.setViewportSize(WIDE)
    return [...wide, ...narrow]
  }

  test('a file is asked after six clicks', async () => {
    const page = await signIn({ viewport: WIDE, colorScheme: 'dark' })
    let clicks = 0
    const click = async (role: 'link' | 'button', name: string) => {
      clicks += 1
      await page.getByRole(role, { name, exact: true }).first().click()
    }
    await click('link', 'Data sources')
    await click('link', 'Load a file')
    expect(await findings(page)).toEqual([])
    // Choosing a file is a click, too.
    clicks += 1
    await page.getByLabel('File', { exact: true }).setInputFiles(FILE)
    await click('button', 'Upload')
    await page.getByRole('heading', { name: 'Choose columns' }).waitFor()
    expect(await findings(page)).toEqual([])
    await click('button', 'Load')
    // The page shows itself anew as the load goes on.
    await page.getByText('3 rows loaded').waitFor({ timeout: 120_000 })
    expect(await findings(page)).toEqual([])
    await page.getByLabel('Question').fill('Something to make a fire with')
    await click('button', 'Ask')
    const answer = page.locator('#answer')
    await answer.waitFor()
    expect(await answer.innerText()).toContain('Stove')
    expect(clicks).toBe(6)
    expect(await findings(page)).toEqual([])
    await page.context().close()
  })

  test('the same without a script, by the keyboard, in a database that is there', async () => {
    const page = await signIn({ javaScriptEnabled: false, viewport: NARROW })
    await page.goto(`${base}/console/data-sources/load?database=camping_gear`)
    await page.getByLabel('File', { exact: true }).setInputFiles({ ...FILE, name: 'more.csv' })
    await page.getByRole('button', { name: 'Upload' }).press('Enter')
    await page.getByRole('heading', { name: 'Choose columns' }).waitFor()
    await page.getByRole('button', { name: 'Load', exact: true }).press('Enter')
    await expect
      .poll(
        async () => {
          await page.reload()
          return page.getByText('3 rows loaded').isVisible()
        },
        { timeout: 120_000, interval: 500 },
      )
      .toBe(true)
    await page.context().close()
  })

  test('a bad file is told line by line', async () => {
    const page = await signIn()
    await page.goto(`${base}/console/data-sources/load?database=camping_gear`)
    const buffer = Buffer.from(`${CSV}T1,Tent again,x\nZ1,Short\n`)
    await page.getByLabel('File', { exact: true }).setInputFiles({ ...FILE, name: 'bad.csv', buffer })
    await page.getByRole('button', { name: 'Upload' }).click()
    // Not offered by itself: it is not unique.
    await page.getByLabel('ID', { exact: true }).selectOption({ index: 1 })
    await page.getByRole('button', { name: 'Load', exact: true }).click()
    await page.getByText('line 6: the row has 2 values, and the header has 3').waitFor({ timeout: 60_000 })
    await page.getByText('line 5: the id is that of line 2').waitFor()
    expect(await page.locator('main').innerText()).toContain('Nothing was loaded')
    await page.context().close()
  })

  test('a folder of documents is uploaded, asked, and opened at the passage', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-folder-'))
    await mkdir(join(folder, 'it'))
    await writeFile(join(folder, 'it', 'leave.md'), LEAVE)
    await writeFile(join(folder, 'plan.png'), 'no document')
    const page = await signIn({ viewport: WIDE, colorScheme: 'dark' })
    await page.goto(`${base}/console/data-sources`)
    await page.getByRole('link', { name: 'New documents source' }).click()
    await page.getByLabel('Name', { exact: true }).fill('handbook')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    expect(await findings(page)).toEqual([])
    await page.getByLabel('A folder').setInputFiles(folder)
    await page.getByRole('button', { name: 'Upload', exact: true }).click()
    await page.getByText('1 file left out.').waitFor()
    expect(await page.locator('main').innerText()).toContain('plan.png')
    expect(await findings(page)).toEqual([])
    // The page shows itself anew as it goes on; the one that named what was left out asks again by hand.
    await expect
      .poll(
        async () => {
          await page.goto(`${base}/console/data-sources/db_handbook/documents`)
          return page.getByText('Passages', { exact: true }).isVisible()
        },
        { timeout: 120_000, interval: 500 },
      )
      .toBe(true)
    expect(await findings(page)).toEqual([])
    const source_id = 'db_handbook'
    await org.owner.call(setDataSourceState, { source_id, enabled: true })
    await org.owner.call(setDataSourceExposure, { source_id, exposed: true })
    await page.goto(`${base}/console/data-sources/db_handbook`)
    await page.getByLabel('Question').fill('How many weeks do parents have?')
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    const answer = page.locator('#answer')
    await answer.waitFor()
    expect(await answer.locator('mark').allInnerTexts()).toContain('weeks')
    expect(await findings(page)).toEqual([])
    await answer.getByRole('link', { name: 'Leave', exact: true }).first().click()
    await page.locator('.passage-found').waitFor()
    expect(await page.locator('.passage-found').innerText()).toContain('Twelve weeks')
    expect(await findings(page)).toEqual([])
    await page.context().close()
    await rm(folder, { recursive: true })
  })
})
