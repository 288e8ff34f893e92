/** What every page of the console has: who may come in, what it allows, where it is, and forms that nobody else can send. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { CONSOLE_PAGES } from '../../../src/cli/console-pages.ts'
import { createConsole } from '../../../src/console/app.ts'
import type { ConsoleDeps, ConsoleEnv } from '../../../src/console/context.ts'
import { handleError } from '../../../src/console/error-page.ts'
import { limitBody } from '../../../src/console/limit-body.ts'
import { INTERNAL_ORIGIN } from '../../../src/client/service.ts'
import { createApp } from '../../../src/contracts/apps.ts'
import { createAppToken } from '../../../src/contracts/app-tokens.ts'
import { createCheck } from '../../../src/contracts/checks.ts'
import { connectWebhook } from '../../../src/contracts/integrations.ts'
import { createMachineAgent } from '../../../src/contracts/machine-agents.ts'
import { createGroup } from '../../../src/contracts/groups.ts'
import { removeMember } from '../../../src/contracts/members.ts'
import {
  showOrganization,
  switchOrganization,
  updateOrganization,
} from '../../../src/contracts/organizations.ts'
import { createPipeline, startPipelineRun } from '../../../src/contracts/pipelines.ts'
import type { Role } from '../../../src/contracts/roles.ts'
import { listSessions, signOut } from '../../../src/contracts/sessions.ts'
import { createSubscription } from '../../../src/contracts/subscriptions.ts'
import { createTicket, replyToTicket } from '../../../src/contracts/tickets.ts'
import { createApiToken } from '../../../src/contracts/tokens.ts'
import { openConsole, type Console } from '../../support/console.ts'
import { insertSource } from '../../support/data-sources.ts'
import { insertDelivery } from '../../support/deliveries.ts'
import { fakeChecks } from '../../support/fake-integrations.ts'
import {
  makeMember,
  makeOrganization,
  makePerson,
  PASSWORD,
  signedIn,
  unique,
  type Org,
} from '../../support/make.ts'
import { startSystem, type TestSystem } from '../../support/system.ts'
import { newWalker, wordsOf } from '../../support/walker.ts'

/** Names come from people: a name that is markup must stay a name. */
const HOSTILE = `<img src=x onerror=alert(1)>"'&`

let system: TestSystem
let org: Org
let owner: Console
let alias: string
let ids: Record<'check' | 'pipeline' | 'ticket' | 'agent' | 'integration' | 'delivery' | 'group', string>
beforeAll(async () => {
  system = await startSystem({}, { checks: fakeChecks })
  const person = await makePerson(system, { name: HOSTILE, email: `${unique('owner')}@people.test` })
  org = await makeOrganization(system, person)
  const { call } = person
  await call(updateOrganization, { org_id: org.id, name: HOSTILE })
  alias = unique('shop')
  await call(createApp, { alias, name: HOSTILE })
  await call(createAppToken, { alias, name: HOSTILE, scope: 'apps:run' })
  await call(createApiToken, { name: HOSTILE })
  await insertSource(system, org, {
    name: 'handbook',
    title: HOSTILE,
    description: HOSTILE,
    enabled: true,
    exposed: true,
  })
  const definition = { kind: 'logs', pattern: HOSTILE } as const
  const { id: check } = await call(createCheck, { alias, name: HOSTILE, definition })
  const { id: pipeline } = await call(createPipeline, { alias, name: 'nightly' })
  await call(startPipelineRun, { alias, pipeline_id: pipeline })
  const { id: ticket } = await call(createTicket, { alias, title: HOSTILE, body: HOSTILE })
  await call(replyToTicket, { alias, ticket_id: ticket, body: HOSTILE })
  const { id: agent } = await call(createMachineAgent, { name: HOSTILE })
  const { id: integration } = await call(connectWebhook, {
    name: HOSTILE,
    url: 'https://hooks.test/abcdefgh',
  })
  await call(createSubscription, { integration_id: integration, pattern: 'deploy.failed' })
  const { id: delivery } = await insertDelivery(system, org, {
    integrationId: integration,
    state: 'failed',
    reason: 'gave_up',
  })
  const { id: group } = await call(createGroup, { name: HOSTILE })
  ids = { check, pipeline, ticket, agent, integration, delivery, group }
  owner = await openConsole(system, person)
})
afterAll(() => system.stop())

const text = (markup: string): string => wordsOf(markup)
const within = (page: string, opening: string, tag: string): string => {
  const start = page.indexOf(opening)
  return start < 0 ? '' : page.slice(start, page.indexOf(`</${tag}>`, start))
}
const currentOf = (markup: string): string =>
  text(/<a [^>]*aria-current="page"[^>]*>.*?<\/a>/s.exec(markup)?.[0] ?? '')

/** Each with its place in the side bar, its breadcrumb, and its tab. */
const places = (): [path: string, side: string, crumbs: string, tab: string][] => {
  const app = `/console/apps/${alias}`
  const inApp = `Apps ${HOSTILE}`
  return [
    ['/console', 'Overview', '', ''],
    ['/console/data-sources', 'Data sources', '', ''],
    ['/console/data-sources/new', 'Data sources', 'Data sources', ''],
    ['/console/data-sources/attach', 'Data sources', 'Data sources', ''],
    ['/console/data-sources/db_handbook', 'Data sources', 'Data sources', 'Ask'],
    ['/console/data-sources/db_handbook/access', 'Data sources', 'Data sources', 'Access'],
    ['/console/apps', 'Apps', '', ''],
    [app, 'Apps', 'Apps', 'Overview'],
    [`${app}/source`, 'Apps', 'Apps', 'Source'],
    [`${app}/deployments`, 'Apps', 'Apps', 'Deployments'],
    [`${app}/logs`, 'Apps', 'Apps', 'Logs'],
    [`${app}/checks`, 'Apps', 'Apps', 'Checks'],
    [`${app}/checks/${ids.check}`, 'Apps', `${inApp} Checks`, ''],
    [`${app}/checks/${ids.check}/edit`, 'Apps', `${inApp} Checks ${HOSTILE}`, ''],
    [`${app}/pipelines`, 'Apps', 'Apps', 'Pipelines'],
    [`${app}/pipelines/new`, 'Apps', `${inApp} Pipelines`, ''],
    [`${app}/pipelines/${ids.pipeline}`, 'Apps', `${inApp} Pipelines`, ''],
    [`${app}/pipelines/${ids.pipeline}/edit`, 'Apps', `${inApp} Pipelines nightly`, ''],
    [`${app}/maintenance`, 'Apps', 'Apps', 'Maintenance'],
    [`${app}/tickets/new`, 'Apps', `${inApp} Tickets`, ''],
    [`${app}/tickets/${ids.ticket}`, 'Apps', `${inApp} Tickets`, ''],
    [`${app}/people`, 'Apps', 'Apps', 'People'],
    ['/console/proposals', 'Change queue', '', ''],
    ['/console/maintenance', 'Maintenance agent', 'Organization settings', ''],
    ['/console/inbox', 'Inbox', '', ''],
    ['/console/activity', 'Activity', 'MCP', 'Questions 0'],
    ['/console/connect', 'Connect an assistant', 'MCP', ''],
    ['/console/agents', 'Connected agents', 'MCP', 'Agents'],
    ['/console/agents/clients', 'Connected agents', 'MCP', 'Clients'],
    ['/console/agents/machine', 'Connected agents', 'MCP', 'Machine agents'],
    ['/console/access', 'Connected agents', 'MCP', 'Access'],
    ['/console/agents/machine/new', 'Connected agents', 'MCP Machine agents', ''],
    [`/console/agents/machine/${ids.agent}`, 'Connected agents', 'MCP Machine agents', ''],
    ['/console/identity-provider', 'Identity provider', 'MCP', ''],
    ['/console/settings/tokens', 'API tokens', 'Settings', ''],
    ['/console/settings/tokens/new', 'API tokens', 'Settings API tokens', ''],
    ['/console/settings/organization', 'General', 'Organization settings', 'General'],
    ['/console/settings/security', 'General', 'Organization settings', 'Security'],
    ['/console/members', 'Members', 'Organization settings', 'Members'],
    ['/console/members/groups', 'Members', 'Organization settings', 'Groups'],
    [`/console/members/groups/${ids.group}`, 'Members', 'Organization settings Groups', ''],
    ['/console/members/scim', 'Members', 'Organization settings', 'SCIM'],
    ['/console/integrations', 'Integrations', 'Organization settings', 'Integrations'],
    ['/console/integrations/new/webhook', 'Integrations', 'Organization settings Integrations', ''],
    [`/console/integrations/${ids.integration}`, 'Integrations', 'Organization settings Integrations', ''],
    ['/console/subscriptions', 'Integrations', 'Organization settings', 'Subscriptions'],
    ['/console/subscriptions/new', 'Integrations', 'Organization settings Subscriptions', ''],
    ['/console/deliveries', 'Deliveries', 'Organization settings', ''],
    [`/console/deliveries/${ids.delivery}`, 'Deliveries', 'Organization settings Deliveries', ''],
    ['/console/audit', 'Audit trail', 'Organization settings', 'Audit trail'],
    ['/console/audit/streams', 'Audit trail', 'Organization settings', 'Streams'],
  ]
}

describe('every page', () => {
  test('shows where it is, a hostile name as text, and allows nothing but its own files', async () => {
    for (const [path, side, crumbs, tab] of places()) {
      const page = await owner.open(path)
      const shown = {
        path,
        status: page.status,
        side: currentOf(within(page.html, '<nav id="navigation"', 'nav')),
        crumbs: text(within(page.html, '<nav class="crumbs"', 'nav')),
        tab: currentOf(within(page.html, '<nav class="tabs"', 'nav')),
        hasImage: page.html.includes('<img'),
        hasName: page.html.includes('&lt;img src=x'),
        isInline: / style=|<style|<script(?! src=)| on[a-z]+="/.test(page.html),
      }
      expect(shown).toEqual({
        path,
        status: 200,
        side,
        crumbs,
        tab,
        hasImage: false,
        hasName: true,
        isInline: false,
      })
      expect(page.headers.get('content-security-policy')).toBe(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
          "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      )
      expect(page.headers.get('x-content-type-options')).toBe('nosniff')
      expect(page.headers.get('referrer-policy')).toBe('same-origin')
      expect(page.headers.get('cross-origin-opener-policy')).toBe('same-origin')
      expect(page.headers.get('cache-control')).toBe('no-store')
    }
  })

  test('of the account is in its menu; a viewer is offered no place of admins', async () => {
    for (const [path, label] of [
      ['/console/profile', 'Profile'],
      ['/console/profile/notifications', 'Notifications'],
      ['/console/end-access', 'End access'],
    ] as const) {
      const { html } = await owner.open(path)
      expect(currentOf(within(html, '<nav id="navigation"', 'nav'))).toBe('')
      expect(currentOf(within(html, '<ul class="menu-list"', 'ul'))).toBe(label)
      expect(currentOf(within(html, '<nav class="tabs"', 'nav'))).toBe(label)
      expect(text(within(html, '<nav class="crumbs"', 'nav'))).toBe('Profile settings')
    }
    const viewer = await openConsole(system, await makeMember(system, org, 'viewer'))
    for (const path of ['/console', '/console/agents', '/console/search']) {
      expect((await viewer.open(path)).html).not.toMatch(
        /href="\/console\/(integrations|subscriptions|deliveries|audit|agents\/(clients|machine)|identity-provider[^"]*)"/,
      )
    }
  })

  test('that the client opens is there', async () => {
    const names: Record<string, string> = { datasources: 'db_handbook', apps: alias }
    for (const [page, { path, item }] of Object.entries(CONSOLE_PAGES)) {
      for (const one of item === undefined ? [path] : [path, item.replace('{name}', names[page]!)]) {
        expect([one, (await owner.open(one)).status]).toEqual([one, 200])
      }
    }
  })

  test('that is none is a page too, with the id of the request; the root and a trailing slash lead on', async () => {
    const none = await owner.open('/console/nothing')
    expect(none.status).toBe(404)
    expect(none.text).toContain(none.headers.get('x-request-id')!)
    expect((await owner.open('/console/members/')).path).toBe('/console/members')
    const outside = await newWalker(system).open('/console/not-found')
    expect([outside.status, outside.words]).toEqual([404, expect.stringContaining('Page not found')])
  })

  test('finds style and script under an address of their content, compressed and kept, and small', async () => {
    const { text: html } = await newWalker(system).open('/console/signed-out')
    const paths = [...html.matchAll(/(?:href|src)="(\/console\/assets\/[^"]+)"/g)].map(([, path]) => path!)
    expect(paths).toHaveLength(3)
    for (const path of paths.filter((one) => !one.endsWith('.svg'))) {
      expect(path).toMatch(/\.[\w-]{12}\.(css|js)$/)
      const read = async (encoding?: string) =>
        system.fetch(path, encoding === undefined ? {} : { headers: { 'accept-encoding': encoding } })
      const [plain, br, gzip] = [await read(), await read('br'), await read('gzip')]
      for (const response of [plain, br, gzip]) {
        expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
        expect(response.headers.get('vary')).toContain('accept-encoding')
      }
      const source = await plain.text()
      if (path.endsWith('.js')) expect(source.length).toBeLessThanOrEqual(16 * 1024)
      expect(brotliDecompressSync(Buffer.from(await br.arrayBuffer())).toString()).toBe(source)
      expect(gunzipSync(Buffer.from(await gzip.arrayBuffer())).toString()).toBe(source)
      expect((await system.fetch(path.replace(/\.[\w-]{12}\./, '.AAAAAAAAAAAA.'))).status).not.toBe(200)
    }
  })

  /** BREACH: what another site made the browser ask for repeats its text, and the length would tell what stands beside it. */
  test('is compressed for whoever came by themselves, and never where another site may have asked', async () => {
    const { token } = await signedIn(system, org.owner.email)
    const ask = (site: string | undefined, init: RequestInit = {}) =>
      system.fetch('/console/members?search=guess', {
        ...init,
        headers: {
          cookie: `svc_console=${token}`,
          'accept-encoding': 'gzip, deflate, br, zstd',
          ...(site && { 'sec-fetch-site': site }),
        },
      })
    for (const site of ['same-origin', 'none']) {
      const response = await ask(site)
      expect(response.headers.get('content-encoding')).toBe('br')
      expect(brotliDecompressSync(Buffer.from(await response.arrayBuffer())).toString()).toContain('<main')
    }
    for (const site of ['cross-site', 'same-site', undefined]) {
      const response = await ask(site)
      expect([response.status, response.headers.get('content-encoding')]).toEqual([200, null])
    }
    // Nor the answer to a form, which may show a secret.
    expect((await ask('same-origin', { method: 'POST' })).headers.get('content-encoding')).toBeNull()
  })
})

/** The console in front of the real gateway, with settings of a test's own. */
function consoleWith(changes: Partial<ConsoleDeps>) {
  const { config } = system.system
  return createConsole({
    gateway: system.system.services.get('api-gateway')!,
    appUrl: config.APP_URL,
    mcpUrl: config.MCP_URL,
    signInUrl: new URL('/auth/sign-in', config.AUTH_URL),
    deliveryDays: config.DELIVERY_DAYS,
    clock: () => system.clock.now(),
    version: '0.0.0',
    ...changes,
  })
}

describe('with other settings', () => {
  test('a login page elsewhere is where a form sent too late may end', async () => {
    const app = consoleWith({ signInUrl: new URL('https://login.example/in') })
    const policy = (await app.request('/console')).headers.get('content-security-policy')
    expect(policy).toContain("form-action 'self' https://login.example;")
  })

  test('over https its cookies are out of reach for other hosts', async () => {
    const app = consoleWith({ appUrl: new URL('https://app.svc.example') })
    const cookies = (await app.request('https://app.svc.example/console/sign-in')).headers.getSetCookie()
    expect(cookies.length).toBeGreaterThan(0)
    expect(cookies.every((one) => one.startsWith('__Host-svc_console') && one.includes('Secure'))).toBe(true)
  })

  test('a failure nobody foresaw is left for the log and shown without its words', async () => {
    const app = consoleWith({ gateway: () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7')) })
    app.get('/api/other', (c) => c.text('ok'))
    const seen: unknown[] = []
    const frame = new Hono<ConsoleEnv>()
    frame.use(async (c, next) => {
      c.set('requestId', 'named-by-the-frame')
      await next()
      seen.push(c.get('route'), c.get('failure'))
    })
    frame.route('/', app)
    const response = await frame.request('/console/members', { headers: { cookie: 'svc_console=x' } })
    expect(response.status).toBe(500)
    const page = await response.text()
    expect(page).not.toContain('10.0.0.7')
    expect(page).toContain('named-by-the-frame')
    expect(seen).toEqual([
      '/console/members',
      expect.objectContaining({ message: 'connect ECONNREFUSED 10.0.0.7' }),
    ])
    // Beside other services it leaves their answers alone.
    expect((await app.request(`${INTERNAL_ORIGIN}/api/other`)).headers.has('content-security-policy')).toBe(
      false,
    )
  })

  test('with hosted auth nobody is sent to sign in an assistant: a token, and those that take one', async () => {
    const app = consoleWith({ authMode: 'hosted', mcpUrl: new URL('https://mcp.example.com') })
    const headers = { cookie: `svc_console=${(await signedIn(system, org.owner.email)).token}` }
    for (const path of ['/console/connect', '/console/connect?assistant=codex']) {
      const html = await (await app.request(path, { headers })).text()
      const main = html.slice(html.indexOf('<main'))
      expect(text(main)).toContain('Create a token')
      expect(text(main)).not.toMatch(/Sign in|machine agent/)
      expect(main).toContain('bearer_token_env_var')
      expect(main).not.toMatch(/href="(?:https:\/\/(?:claude\.ai|chatgpt\.com)|cursor:|vscode:)/)
    }
  })
})

describe('forms', () => {
  const rename = async () => {
    const own = await makeOrganization(system)
    const browser = await openConsole(system, own.owner)
    const page = await browser.open('/console/settings/organization')
    const name = async () => (await own.owner.call(showOrganization, { org_id: own.id })).name
    return { own, browser, page, name }
  }

  /** Cross-site request forgery: the cookie alone must not be enough. */
  test('from another site, without the token or with another one are refused', async () => {
    const { own, browser, name } = await rename()
    const answer = await browser.walker.open('/console/settings/organization')
    const path = '/console/settings/organization'
    const { fields } = answer.forms.find(({ button }) => button === 'Save settings')!
    const renamed = { ...fields, name: 'Taken over' }
    const evil = await browser.walker.postFrom('https://evil.example/', path, renamed)
    expect(evil.status).not.toBe(200)
    for (const form_token of ['', 'x'.repeat(43)]) {
      expect((await browser.walker.postFrom(answer, path, { ...renamed, form_token })).status).toBe(403)
    }
    expect(await name()).toBe(own.name)
    expect((await browser.walker.postFrom(answer, path, renamed)).status).toBe(303)
    expect(await name()).toBe('Taken over')
  })

  test('of an organization one has left do nothing', async () => {
    const { own, page, name } = await rename()
    const second = await makeMember(system, own, 'owner')
    await system.as({ token: second.token, organization: own.id })(removeMember, {
      org_id: own.id,
      user_id: own.owner.userId,
    })
    expect((await page.form('Save settings').with({ name: 'Mine' }).submit()).status).toBe(403)
    expect(
      (await system.as({ token: second.token, organization: own.id })(showOrganization, { org_id: own.id }))
        .name,
    ).toBe(own.name)
    await expect(name()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    // Signing out needs no organization.
    expect((await page.form('Sign out').submit()).path).toBe('/console/signed-out')
  })

  test('a message is shown once, on the page that is opened, and only if it is ours', async () => {
    const { browser, page } = await rename()
    const done = await page.form('Save settings').with({ name: 'Renamed' }).submit()
    expect(done.notices[0]).toBe('Settings saved.')
    expect((await browser.open('/console')).notices).toEqual([])
    const { walker } = browser
    const tab = await walker.open('/console/settings/organization')
    const { fields } = tab.forms.find(({ button }) => button === 'Save settings')!
    const saved = await walker.postFrom(tab, tab.url, { ...fields, name: 'Renamed again' })
    // Another tab shows itself anew at this moment.
    expect((await walker.refresh(tab)).text).not.toContain('Settings saved.')
    expect((await walker.step(saved)).text).toContain('Settings saved.')
    const forged = `svc_console_flash=${btoa('{"kind":"done","text":"Call +1 900"}')}.forged; Path=/`
    browser.walker.jar.keep(forged, system.system.config.APP_URL)
    expect((await browser.open('/console')).text).not.toContain('+1 900')
  })
})

describe('signing in and out', () => {
  test('a page leads to the login page and back to where one was going; the cookie is out of reach', async () => {
    const walker = newWalker(system)
    const stopped = await walker.open('/console/members?role=admin')
    expect(stopped.location?.pathname).toBe('/console/sign-in')
    expect(stopped.location?.searchParams.get('next')).toBe('/console/members?role=admin')
    const begun = await walker.step(stopped)
    expect(begun.location?.searchParams.get('return_to')).toContain('/console/sign-in/done')
    for (const name of ['state', 'code_challenge'])
      expect(begun.location?.searchParams.get(name)).toHaveLength(43)
    const login = await walker.follow(begun)
    const email = org.owner.email
    const answer = await walker.submit(login, 'Sign in', { email, password: PASSWORD })
    const there = await walker.follow(answer)
    expect(there.url.pathname + there.url.search).toBe('/console/members?role=admin')
    expect(walker.jar.find('svc_console')).toMatchObject({ httpOnly: true, sameSite: 'lax', path: '/' })
  })

  /** Login CSRF: a link that signs the reader in as the attacker, who later reads what was typed. */
  test('a code without the state of this browser, a second time, or too late is refused by a page', async () => {
    const attempt = async (walker = newWalker(system), next = '') => {
      const begun = await walker.open(`/console/sign-in${next}`)
      const isBack = (url: URL) => url.pathname === '/console/sign-in/done'
      const login = await walker.follow(begun, isBack)
      const filled = { email: org.owner.email, password: PASSWORD }
      const back = login.location
        ? login
        : await walker.follow(await walker.submit(login, 'Sign in', filled), isBack)
      return { walker, back: back.location! }
    }
    const { back } = await attempt()
    for (const change of [null, 'made-up']) {
      const url = new URL(back)
      if (change === null) url.searchParams.delete('state')
      else url.searchParams.set('state', change)
      const { walker } = await attempt()
      const refused = await walker.open(url)
      expect([refused.status, refused.words]).toEqual([400, expect.stringContaining('Try again')])
      expect(walker.jar.find('svc_console')).toBeUndefined()
    }
    // Tabs may sign in at the same time.
    const walker = newWalker(system)
    const [first, second] = [
      await attempt(walker, '?next=/console/members'),
      await attempt(walker, '?next=/console/profile'),
    ]
    expect((await walker.open(first.back)).location?.pathname).toBe('/console/members')
    expect((await walker.open(second.back)).location?.pathname).toBe('/console/profile')
    expect((await walker.open(second.back)).status).toBe(400)
    const late = await attempt()
    system.clock.advance(11 * 60)
    expect((await late.walker.open(late.back)).status).toBe(400)
    for (let times = 0; times < 30; times += 1) await walker.open('/console/sign-in')
    expect(walker.jar.all().filter(({ name }) => name.startsWith('svc_console')).length).toBeLessThanOrEqual(
      9,
    )
  })

  test('the token is swapped when it is older than fifteen minutes, on pages', async () => {
    const browser = await openConsole(system, org.owner)
    const token = () => browser.walker.jar.find('svc_console')?.value
    const first = token()
    system.clock.advance(14 * 60)
    await browser.open('/console')
    expect(token()).toBe(first)
    system.clock.advance(2 * 60)
    expect((await browser.open('/console')).status).toBe(200)
    expect(token()).not.toBe(first)
  })

  test('a session that is over leads to sign-in and back, also from a form; a moment after sign-in to a page', async () => {
    const person = await makeMember(system, org, 'viewer')
    const browser = await openConsole(system, person)
    const page = await browser.walker.open('/console/members?role=admin')
    const call = system.as({ token: browser.walker.jar.find('svc_console')!.value })
    await call(signOut, { session_id: 'current' })
    const soon = await browser.walker.open('/console')
    expect([soon.status, soon.location]).toEqual([401, undefined])
    expect(browser.walker.jar.find('svc_console')).toBeUndefined()
    const again = await openConsole(system, person)
    system.clock.advance(5 * 60)
    await system.as({ token: again.walker.jar.find('svc_console')!.value })(signOut, {
      session_id: 'current',
    })
    const late = await again.walker.postFrom(page, '/console/members/leave', {})
    expect(late.location?.searchParams.get('next')).toBe('/console/members?role=admin')
  })

  test('signing out ends the session there and the cookie here; everywhere means here too; no other site can', async () => {
    const person = await makeMember(system, org, 'viewer')
    const browser = await openConsole(system, person)
    const { token } = { token: browser.walker.jar.find('svc_console')!.value }
    const evil = await browser.walker.postFrom('https://evil.example/', '/console/sign-out', {})
    expect(evil.location?.pathname).not.toBe('/console/signed-out')
    expect((await system.as({ token })(listSessions, {})).sessions.length).toBeGreaterThan(0)
    const out = await (await browser.open('/console')).form('Sign out').submit()
    expect([out.path, out.offers('Sign in again')]).toEqual(['/console/signed-out', true])
    expect(browser.walker.jar.find('svc_console')).toBeUndefined()
    await expect(system.as({ token })(listSessions, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const everywhere = await openConsole(system, person)
    const gone = await (await everywhere.open('/console/profile')).form('Sign out everywhere').submit()
    expect(gone.path).toBe('/console/signed-out')
    await expect(system.as({ token: person.token })(listSessions, {})).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    })
  })
})

describe('the places of uploads', () => {
  const PATH = '/console/upload'

  /** One process with several people. */
  function startUploads() {
    const limit = limitBody((path) => path === PATH)
    const app = new Hono<ConsoleEnv>()
    app.onError(handleError)
    app.use('*', async (c, next) => {
      const { config } = system.system
      const signInUrl = new URL('/auth/sign-in', config.AUTH_URL)
      const clock = () => system.clock.now()
      const gateway = system.system.services.get('api-gateway')!
      c.set('deps', {
        gateway,
        appUrl: config.APP_URL,
        mcpUrl: config.MCP_URL,
        signInUrl,
        deliveryDays: config.DELIVERY_DAYS,
        clock,
        version: '0.0.0',
      })
      c.set('requestId', 'req_test')
      await next()
    })
    app.use('*', limit)
    app.post(PATH, async (c) => c.text(await c.req.text()))
    return async function person(at: Org, role: Role = 'developer') {
      const member = await makeMember(system, at, role)
      const { token } = member
      const send = (body: BodyInit) =>
        app.request(PATH, {
          method: 'POST',
          headers: { cookie: `svc_console=${token}` },
          body,
          duplex: 'half',
        } as RequestInit)
      /** A body that begins and does not end. */
      async function begin() {
        const beginning = Promise.withResolvers<void>()
        let end = () => {}
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(new TextEncoder().encode('a'))
            end = () => {
              controller.close()
              end = () => {}
            }
          },
          pull: () => beginning.resolve(),
        })
        const answer = Promise.resolve(send(body))
        void answer.then(() => beginning.resolve())
        await beginning.promise
        onTestFinished(async () => {
          end()
          await answer
        })
        return { end: () => end(), answer }
      }
      return { send, begin, member }
    }
  }

  test('a person has one, and the next after it; an organization has two, so that others find one', async () => {
    const [person, own, other] = [
      startUploads(),
      await makeOrganization(system),
      await makeOrganization(system),
    ]
    const ann = await person(own)
    const slow = await ann.begin()
    expect((await ann.send('b')).status).toBe(429)
    const ben = await person(own)
    const second = await ben.begin()
    expect((await (await person(own)).send('c')).status).toBe(429)
    expect((await (await person(other)).send('d')).status).toBe(200)
    for (const one of [slow, second]) {
      one.end()
      expect((await one.answer).status).toBe(200)
    }
    expect((await ann.send('b')).status).toBe(200)
  })

  test('a person has one in however many organizations, and all together have four', async () => {
    const person = startUploads()
    const [own, other, third] = [
      await makeOrganization(system),
      await makeOrganization(system),
      await makeOrganization(system),
    ]
    const ann = await person(own)
    const slow = await ann.begin()
    await makeMember(system, other, 'developer', ann.member)
    await ann.member.call(switchOrganization, { org_id: other.id })
    const refused = await ann.send('b')
    expect([refused.status, await refused.text()]).toEqual([
      429,
      expect.stringContaining('Too many files are being uploaded'),
    ])
    const others = [await person(own), await person(other), await person(other)]
    const open = await Promise.all(others.map((one) => one.begin()))
    const last = await person(third)
    expect((await last.send('c')).status).toBe(429)
    for (const one of [slow, ...open]) {
      one.end()
      expect((await one.answer).status).toBe(200)
    }
    expect([(await last.send('c')).status, (await ann.send('b')).status]).toEqual([200, 200])
  })

  test('whoever may load no file has none, and nothing of it is read', async () => {
    const viewer = await startUploads()(await makeOrganization(system), 'viewer')
    let pulls = 0
    const answer = await viewer.send(
      new ReadableStream({ pull: () => void (pulls += 1) }, { highWaterMark: 0 }),
    )
    expect([answer.status, await answer.text()]).toEqual([
      403,
      expect.stringContaining('Only developers, admins and owners can load files'),
    ])
    expect(pulls).toBe(0)
  })
})
