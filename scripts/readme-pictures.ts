/**
 * `node_modules/.bin/node scripts/readme-pictures.ts`: the pictures of the README, light and dark, from a server of its own
 * with the sample: the page on which an assistant asks for access, and the console after some use.
 */
import { createHash, randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium, type Browser, type Page } from 'playwright-core'
import { findChromium } from '../test/find-chromium.ts'
import { freePort } from '../test/support/free-port.ts'
import { ROOT } from './generated/files.ts'

const OUT = join(ROOT, 'docs/pictures')
/** Two beside each other in a page of 1,012 pixels, sharp on screens with twice the points. */
const VIEWPORT = { width: 1280, height: 860 }
const CALLBACK = 'http://127.0.0.1:8472/callback'
const QUESTIONS = [
  'May I work from Spain for a month?',
  'something warm for a night in the snow',
  'How many days of parental leave do I get?',
  'a light tent for two',
]

const executablePath = findChromium()
if (executablePath === undefined) throw new Error('no Chromium found; set CHROMIUM_PATH')
const folder = mkdtempSync(join(tmpdir(), 'svc-pictures-'))
const port = await freePort()
const origin = `http://localhost:${port}`
const server = spawn(process.execPath, [join(ROOT, 'bin/server')], {
  cwd: folder,
  stdio: 'ignore',
  env: {
    PATH: process.env['PATH'],
    HOME: folder,
    PORT: String(port),
    METRICS_PORT: 'off',
    MANAGED_DATABASE_PORT: '0',
    SVC_DATA_DIR: join(folder, 'data'),
  },
})
try {
  await untilReady()
  const { email, password, token } = await firstWords()
  await useIt(token)
  mkdirSync(OUT, { recursive: true })
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--force-color-profile=srgb'],
  })
  for (const scheme of ['light', 'dark'] as const) await takePictures(browser, scheme, email, password)
  await browser.close()
} finally {
  server.kill('SIGKILL')
  await new Promise((resolve) => server.once('exit', resolve))
  rmSync(folder, { recursive: true, force: true })
}

async function takePictures(
  browser: Browser,
  colorScheme: 'light' | 'dark',
  email: string,
  password: string,
): Promise<void> {
  const context = await browser.newContext({ colorScheme, viewport: VIEWPORT, reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(await authorizationUrl())
  await signIn(page, email, password)
  await page
    .getByRole('button', { name: /allow|approve/i })
    .first()
    .waitFor()
  await page.screenshot({ path: join(OUT, `consent-${colorScheme}.png`) })
  await page
    .getByRole('button', { name: /allow|approve/i })
    .first()
    .click()
    .catch(() => {})
  await page.goto(`${origin}/console`)
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await page.screenshot({ path: join(OUT, `console-${colorScheme}.png`) })
  await context.close()
}

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** As an assistant asks: registered, with PKCE. */
async function authorizationUrl(): Promise<string> {
  const registered = await fetch(`${origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Claude Code',
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }),
  })
  const { client_id } = (await registered.json()) as { client_id: string }
  const url = new URL('/oauth/authorize', origin)
  const parameters = {
    client_id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    code_challenge: createHash('sha256').update(randomBytes(32)).digest('base64url'),
    code_challenge_method: 'S256',
    resource: `${origin}/platform`,
    scope: 'data:read maintenance:read',
    state: 'picture',
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

/** A console that nobody used shows nothing. */
async function useIt(token: string): Promise<void> {
  for (const query of QUESTIONS) {
    await fetch(`${origin}/api/wf/slim/data-sources/db_sample/query`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, top_k: 3 }),
    })
  }
}

async function firstWords(): Promise<{ email: string; password: string; token: string }> {
  const text = await readFile(join(folder, 'data/first-run.txt'), 'utf8')
  const word = (pattern: RegExp): string => pattern.exec(text)?.[1] ?? ''
  return { email: word(/Email +(\S+)/), password: word(/Password +(\S+)/), token: word(/Bearer (svc_\w+)/) }
}

async function untilReady(): Promise<void> {
  for (let left = 600; left > 0; left -= 1) {
    const answer = await fetch(`${origin}/readyz`).catch(() => undefined)
    if (answer?.ok) return
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`)
    await sleep(200)
  }
  throw new Error('the server did not get ready')
}
