/**
 * Pictures of every page of a running console, in light and dark, at 1280, 1920 and 375 pixels:
 *
 *   npm start
 *   node_modules/.bin/node scripts/console-pictures.ts <console URL> <email> <password> <folder>
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { findChromium } from '../test/find-chromium.ts'

const [, , address, email, password, folder] = process.argv
if (!address || !email || !password || !folder) {
  console.error('Usage: scripts/console-pictures.ts <console URL> <email> <password> <folder>')
  process.exit(1)
}

const WIDTHS = { 1280: 860, 1920: 1080, 375: 760 }
const SCHEMES = ['light', 'dark'] as const

const executablePath = findChromium()
if (executablePath === undefined) throw new Error('no Chromium found; set CHROMIUM_PATH')
await mkdir(folder, { recursive: true })
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
for (const colorScheme of SCHEMES) {
  const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 860 } })
  const page = await context.newPage()
  await signIn(page)
  const paths = await placesOf(page)
  for (const [width, height] of Object.entries(WIDTHS)) {
    await page.setViewportSize({ width: Number(width), height })
    for (const path of paths) {
      await page.goto(new URL(path, address).href)
      const name = path.replace(/^\/console\/?/, '').replaceAll(/[^a-z0-9]+/g, '-') || 'overview'
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true })
    }
  }
  await context.close()
}
await browser.close()

async function signIn(page: Page): Promise<void> {
  await page.goto(address!)
  await page.getByLabel('Email').fill(email!)
  await page.getByLabel('Password').fill(password!)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}

/** Every place the search knows, and from the lists the first page of one row each. */
async function placesOf(page: Page): Promise<string[]> {
  await page.goto(new URL('/console/search', address).href)
  const places = await hrefs(page, '.found a')
  const rows: string[] = []
  for (const place of places) {
    await page.goto(new URL(place, address).href)
    rows.push(...(await hrefs(page, 'main td:first-child a[href^="/console/"]')).slice(0, 1))
  }
  return [
    ...new Set([...places, ...rows, '/console/search', '/console/settings/tokens/new', '/console/nothing']),
  ]
}

function hrefs(page: Page, selector: string): Promise<string[]> {
  return page.locator(selector).evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
}
