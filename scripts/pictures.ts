/**
 * `node_modules/.bin/node scripts/pictures.ts`: the pictures of the documentation, light and dark, from a server of its own
 * with the sample: the page on which an assistant asks for access, and pages of the console after a week in which two
 * assistants asked. The week passes by the server's clock, from today on: a browser drops cookies of the past.
 */
import { createHash, randomBytes } from 'node:crypto'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium, type Browser, type Page } from 'playwright-core'
import { findChromium } from '../test/find-chromium.ts'
import { freePort } from '../test/support/free-port.ts'
import type { ClockMessage, ServerSettings } from '../test/support/server-with-clock.ts'
import { SAMPLE_APP } from '../src/sample/sample-app.ts'
import { ROOT } from './generated/files.ts'

const OUT = join(ROOT, 'docs/pictures')
/** Two beside each other in a page of 1,012 pixels. The height is that at which the cards of the console end. */
const WIDTH = 1280
const MARGIN = 12
/** Of pages with long lists the beginning says enough. */
const HEIGHT_MAX = 1100
/** And the page of consent, which is none of the console. */
const PAGES = {
  console: '/console',
  activity: '/console/activity',
  agents: '/console/agents?all=true',
  'data-source': '/console/data-sources/db_sample',
  app: `/console/apps/${SAMPLE_APP.alias}`,
  logs: `/console/apps/${SAMPLE_APP.alias}/logs`,
  connect: '/console/connect',
}
const CALLBACK = new URL('http://127.0.0.1:8472/callback')
const DAY_SECONDS = 24 * 60 * 60
/** What each assistant does on each of seven days, today last. */
const WEEK = {
  'Claude Code': { questions: [2, 4, 3, 6, 5, 8, 6], looks: [1, 1, 1, 2, 1, 3, 2] },
  Codex: { questions: [0, 1, 2, 2, 0, 3, 2], looks: [0, 1, 1, 1, 0, 1, 1] },
}
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
const settings: ServerSettings = {
  env: {
    PORT: String(port),
    METRICS_PORT: 'off',
    MANAGED_DATABASE_PORT: '0',
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_ADMIN_EMAIL: 'ada@example.com',
  },
  documents: { port: 1, certificate: '' },
  aheadSeconds: 0,
}
const server = fork(join(ROOT, 'test/support/server-with-clock.ts'), [JSON.stringify(settings)], {
  cwd: folder,
  stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
})
try {
  await untilReady()
  const person = await firstWords()
  await untilSample(person.token)
  mkdirSync(OUT, { recursive: true })
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--force-color-profile=srgb'],
  })
  await invite(person.token)
  await passWeek(browser, person)
  for (const scheme of ['light', 'dark'] as const) await takePictures(browser, scheme, person)
  await browser.close()
} finally {
  if (server.kill('SIGKILL')) await once(server, 'exit')
  rmSync(folder, { recursive: true, force: true })
}

type Login = { readonly email: string; readonly password: string }
type Assistant = { readonly clientId: string; refreshToken: string }

async function takePictures(browser: Browser, colorScheme: 'light' | 'dark', person: Login): Promise<void> {
  const viewport = { width: WIDTH, height: 860 }
  const context = await browser.newContext({ colorScheme, viewport, reducedMotion: 'reduce' })
  await context.clock.setSystemTime(Date.now() + 6 * DAY_SECONDS * 1000)
  const page = await context.newPage()
  await page.goto(`${origin}/console`)
  await signIn(page, person)
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  for (const [name, path] of Object.entries(PAGES)) {
    await page.setViewportSize(viewport)
    await page.goto(origin + path)
    const height = await page.evaluate(() => {
      const cards = [...document.querySelectorAll('main .card')]
      return Math.ceil(Math.max(...cards.map((card) => card.getBoundingClientRect().bottom)))
    })
    await page.setViewportSize({ width: WIDTH, height: Math.min(height + MARGIN, HEIGHT_MAX) })
    await page.screenshot({ path: join(OUT, `${name}-${colorScheme}.png`) })
  }
  const { url } = await authorization('Claude Code')
  await page.goto(url)
  await allowButton(page).waitFor()
  await page.screenshot({ path: join(OUT, `consent-${colorScheme}.png`) })
  await context.close()
}

async function signIn(page: Page, { email, password }: Login): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

function allowButton(page: Page) {
  return page.getByRole('button', { name: 'Allow', exact: true })
}

/** Both connect on the first day, and ask on every day. */
async function passWeek(browser: Browser, person: Login): Promise<void> {
  const context = await browser.newContext()
  const page = await context.newPage()
  const assistants = new Map<string, Assistant>()
  for (const name of Object.keys(WEEK)) assistants.set(name, await connect(page, name, person))
  await context.close()
  for (let day = 0; day < 7; day += 1) {
    await moveClock(day * DAY_SECONDS)
    for (const [name, { questions, looks }] of Object.entries(WEEK)) {
      const token = await refresh(assistants.get(name)!)
      for (let at = 0; at < looks[day]!; at += 1) await callTool(token, 'datasource_list', {})
      for (let at = 0; at < questions[day]!; at += 1) {
        const query = QUESTIONS[(day + at) % QUESTIONS.length]
        await callTool(token, 'datasource_query', { source_id: 'db_sample', query, top_k: 3 })
      }
    }
  }
}

async function moveClock(aheadSeconds: number): Promise<void> {
  server.send({ aheadSeconds } satisfies ClockMessage)
  await once(server, 'message')
}

/** As an assistant does it: registered, with PKCE, and a program of its own that waits for the code. */
async function connect(page: Page, name: string, person: Login): Promise<Assistant> {
  const { url, clientId, verifier } = await authorization(name)
  const code = codeAtCallback()
  await page.goto(url)
  if (await page.getByLabel('Password').isVisible()) await signIn(page, person)
  await allowButton(page)
    .click({ timeout: 15_000 })
    .catch(async (error: unknown) => {
      throw new Error(`no button at ${page.url()}: ${await page.innerText('body')}`, { cause: error })
    })
  const tokens = await requestTokens({
    grant_type: 'authorization_code',
    client_id: clientId,
    code: await code,
    redirect_uri: CALLBACK.href,
    code_verifier: verifier,
    resource: `${origin}/platform`,
  })
  return { clientId, refreshToken: tokens.refresh_token }
}

async function authorization(name: string) {
  const registered = await post<{ client_id: string }>('/oauth/register', {
    client_name: name,
    redirect_uris: [CALLBACK.href],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  })
  const verifier = randomBytes(32).toString('base64url')
  const url = new URL('/oauth/authorize', origin)
  const parameters = {
    client_id: registered.client_id,
    redirect_uri: CALLBACK.href,
    response_type: 'code',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: `${origin}/platform`,
    scope: 'data:read maintenance:read',
    state: 'picture',
  }
  for (const [key, value] of Object.entries(parameters)) url.searchParams.set(key, value)
  return { url: url.href, clientId: registered.client_id, verifier }
}

function codeAtCallback(): Promise<string> {
  return new Promise((resolve, reject) => {
    const listener = createServer(({ url = '' }, response) => {
      // Kept alive, it would be asked again in place of the next one.
      response.setHeader('connection', 'close').end('You can close this window.')
      const code = new URL(url, CALLBACK).searchParams.get('code')
      if (code === null) return
      listener.close()
      resolve(code)
    })
    listener.once('error', reject).listen(Number(CALLBACK.port), CALLBACK.hostname)
  })
}

async function refresh(assistant: Assistant): Promise<string> {
  const { clientId, refreshToken } = assistant
  const tokens = await requestTokens({
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: refreshToken,
    resource: `${origin}/platform`,
  })
  assistant.refreshToken = tokens.refresh_token
  return tokens.access_token
}

async function requestTokens(form: Record<string, string>) {
  const answer = await fetch(`${origin}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })
  if (!answer.ok) throw new Error(`no tokens: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { access_token: string; refresh_token: string }
}

async function callTool(token: string, name: string, given: object): Promise<void> {
  const params = { name, arguments: given }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const { result } = await post<{ result?: { isError?: boolean } }>('/platform', message, token)
  if (result === undefined || result.isError) throw new Error(`${name}: ${JSON.stringify(result)}`)
}

/** It is loaded after the start. */
async function untilSample(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  for (let left = 300; left > 0; left -= 1) {
    const answer = await fetch(`${origin}/api/wf/slim/data-sources`, { headers })
    if ((await answer.text()).includes('db_sample')) return
    await sleep(200)
  }
  throw new Error('the sample was not loaded')
}

async function invite(token: string): Promise<void> {
  const { organization } = (await (
    await fetch(`${origin}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })
  ).json()) as { organization: { id: string } }
  const invitation = { email: 'grace@example.com', role: 'developer' }
  await post(`/api/v1/orgs/${organization.id}/invitations`, invitation, token)
}

async function post<Answer>(path: string, body: object, token?: string): Promise<Answer> {
  const answer = await fetch(origin + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as Answer
}

async function firstWords(): Promise<Login & { token: string }> {
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
