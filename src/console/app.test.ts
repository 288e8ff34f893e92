import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { openConsole, signedIn } from '../../test/support/console-client.ts'
import { SEEDED_PIPELINE } from '../../test/support/fake-app-overview.ts'
import { SEEDED_TICKET } from '../../test/support/fake-apps.ts'
import { seed } from '../../test/support/fake-gateway.ts'
import type { FakeNotifications } from '../../test/support/fake-notifications.ts'
import { INTERNAL_ORIGIN } from '../client/service.ts'
import type { ConsoleEnv } from './context.ts'

const PAGES = [
  '/console',
  '/console/members',
  '/console/data-sources',
  '/console/data-sources/new',
  '/console/data-sources/attach',
  '/console/activity',
  '/console/apps',
  '/console/apps/shop',
  '/console/apps/shop/source',
  '/console/apps/shop/deployments',
  '/console/apps/shop/logs',
  '/console/apps/shop/checks',
  '/console/apps/shop/pipelines',
  '/console/apps/shop/pipelines/new',
  `/console/apps/shop/pipelines/${SEEDED_PIPELINE}`,
  `/console/apps/shop/pipelines/${SEEDED_PIPELINE}/edit`,
  '/console/apps/shop/tickets',
  '/console/apps/shop/people',
  '/console/apps/shop/tokens/new',
  '/console/apps/shop/tickets/new',
  `/console/apps/shop/tickets/${SEEDED_TICKET}`,
  '/console/connect',
  '/console/agents',
  '/console/agents/clients',
  '/console/audit',
  '/console/integrations',
  '/console/integrations/new/webhook',
  '/console/integrations/new/chat',
  '/console/integrations/new/forum',
  '/console/subscriptions',
  '/console/subscriptions/new',
  '/console/deliveries',
  '/console/inbox',
  '/console/organizations',
  '/console/organizations/new',
  '/console/settings/organization',
  '/console/settings/tokens',
  '/console/settings/tokens/new',
  '/console/settings/security',
  '/console/profile',
  '/console/profile/notifications',
]

function plantInNotifications(data: FakeNotifications['data'], text: string): void {
  for (const one of data.integrations) Object.assign(one, { name: text, address: text, channel: text })
  for (const one of data.subscriptions)
    Object.assign(one, { pattern: text, integration: { id: '', name: text } })
  for (const one of data.deliveries) Object.assign(one, { type: text, subject: text, destination: text })
  for (const one of data.inbox) Object.assign(one, { summary: text, type: text, url: `javascript:${text}` })
  for (const one of data.follows) Object.assign(one, { app: text, name: text })
  for (const one of data.mine) Object.assign(one, { pattern: text })
  const link = {
    workspace: text,
    user_id: text,
    display_name: text,
    active: false,
    linked_at: '2026-11-01T00:00:00Z',
  }
  data.chatLink = { workspace_connected: true, link }
}

describe('every page', () => {
  test.each([...PAGES, '/console/signed-out', '/console/nothing'])(
    '%s allows nothing but its own files',
    async (path) => {
      const response = await (await signedIn()).get(path)
      expect(response.headers.get('content-security-policy')).toBe(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
          "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      )
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('referrer-policy')).toBe('same-origin')
      expect(response.headers.get('cross-origin-opener-policy')).toBe('same-origin')
      expect(response.headers.get('cache-control')).toBe('no-store')
      const page = await response.text()
      expect(page).not.toMatch(/ style=|<style|<script(?! src=)| on[a-z]+="/)
    },
  )

  test('a login page elsewhere is where a form sent too late may end', async () => {
    const client = openConsole({ signInUrl: 'https://login.example/in' })
    const policy = (await client.get('/console')).headers.get('content-security-policy')
    expect(policy).toContain("form-action 'self' https://login.example;")
  })

  /** Names come from people: a name that is markup must stay a name. */
  test.each(PAGES)('%s shows a hostile name as text', async (path) => {
    const hostile = `<img src=x onerror=alert(1)>"'&`
    const client = await signedIn({ name: hostile })
    client.gateway.org.name = hostile
    seed(client.gateway)
    for (const member of client.gateway.data.members) Object.assign(member, { name: hostile, email: hostile })
    for (const token of client.gateway.data.tokens) Object.assign(token, { name: hostile })
    for (const grant of client.gateway.data.grants) Object.assign(grant, { client_name: hostile })
    for (const entry of client.gateway.data.audit) Object.assign(entry, { subject: hostile })
    for (const source of client.gateway.sources.data.sources) Object.assign(source, { name: hostile })
    plantInNotifications(client.gateway.notifications.data, hostile)
    for (const session of client.gateway.data.sessions) Object.assign(session, { device: hostile })
    const { apps, tickets, sessions } = client.gateway.apps.data
    for (const app of apps) Object.assign(app, { name: hostile })
    for (const ticket of tickets) {
      Object.assign(ticket, { title: hostile, body: hostile, reporter: { id: 'x', name: hostile } })
      for (const reply of ticket.replies) Object.assign(reply, { body: hostile })
    }
    for (const session of sessions) Object.assign(session, { reason: hostile })
    const overview = client.gateway.appOverview.data
    for (const one of [...overview.checks, ...overview.pipelines, ...overview.tokens])
      Object.assign(one, { name: hostile, created_by: hostile })
    for (const one of client.gateway.appSource.data.deployments)
      Object.assign(one, { requested_by: hostile, runner: hostile })
    const { runs, workers } = client.gateway.pipelines.data
    for (const one of runs) Object.assign(one, { worker: hostile, message: hostile })
    for (const one of workers) Object.assign(one, { name: hostile, pipelines: [hostile] })
    const response = await client.get(`${path}?search=${encodeURIComponent(hostile)}`)
    expect(response.status).toBe(200)
    const page = await response.text()
    expect(page).toContain('&lt;img src=x')
    expect(page).not.toContain('<img')
  })

  test('assets are found under an address of their content, and kept', async () => {
    const client = openConsole()
    const page = await client.read('/console/signed-out')
    const addresses = [...page.matchAll(/(?:href|src)="(\/console\/assets\/[^"]+)"/g)].map(
      ([, address]) => address,
    )
    expect(addresses).toHaveLength(3)
    for (const address of addresses) {
      const response = await client.get(address ?? '')
      expect(response.status).toBe(200)
      expect(response.headers.get('cache-control')).toContain('immutable')
    }
  })

  test('the script stays small', async () => {
    const client = openConsole()
    const script = /src="([^"]+\.js)"/.exec(await client.read('/console/signed-out'))?.[1] ?? ''
    expect((await client.read(script)).length).toBeLessThanOrEqual(12 * 1024)
  })

  test('the page for addresses outside of the console needs nobody to be signed in', async () => {
    const response = await openConsole().get('/console/not-found')
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('Page not found')
  })

  test('an unknown address is a page too, with the id of the request', async () => {
    const response = await (await signedIn()).get('/console/nothing')
    expect(response.status).toBe(404)
    expect(await response.text()).toContain(response.headers.get('x-request-id'))
  })

  test('the root and a trailing slash lead to the console', async () => {
    const client = await signedIn()
    expect((await client.get('/')).headers.get('location')).toBe('/console')
    expect((await client.get('/console/members/')).headers.get('location')).toBe('/console/members')
  })

  test('a failure nobody foresaw is left for the log and shown without its words', async () => {
    const client = await signedIn()
    client.deps.gateway = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7'))
    const seen: unknown[] = []
    const frame = new Hono<ConsoleEnv>()
    frame.use(async (c, next) => {
      c.set('requestId', 'named-by-the-frame')
      await next()
      seen.push(c.get('route'), c.get('failure'))
    })
    frame.route('/', client.app)
    const headers = { cookie: `svc_console=${client.cookies.get('svc_console')}` }
    const response = await frame.request('/console/members', { headers })
    expect(response.status).toBe(500)
    const page = await response.text()
    expect(page).not.toContain('10.0.0.7')
    expect(page).toContain('named-by-the-frame')
    expect(seen).toEqual([
      '/console/members',
      expect.objectContaining({ message: 'connect ECONNREFUSED 10.0.0.7' }),
    ])
  })

  test('mounted beside other services it leaves their answers alone', async () => {
    const { app } = openConsole()
    app.get('/api/other', (c) => c.text('ok'))
    const response = await app.request(`${INTERNAL_ORIGIN}/api/other`)
    expect(response.headers.has('content-security-policy')).toBe(false)
  })
})

describe('forms', () => {
  const rename = { name: 'Renamed' }

  test('a form of ours is obeyed', async () => {
    const client = await signedIn()
    expect((await client.post('/console/settings/organization', rename)).status).toBe(303)
    expect(client.gateway.org.name).toBe('Renamed')
  })

  /** Cross-site request forgery: the cookie alone must not be enough. */
  test.each([
    ['another site', {}, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a sandboxed frame', {}, { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['nowhere', {}, { origin: '' }],
    ['our origin without the token', { form_token: '' }, {}],
    ['our origin with another token', { form_token: 'x'.repeat(43) }, {}],
  ])('a form from %s is refused', async (_whence, fields, headers) => {
    const client = await signedIn()
    const response = await client.post('/console/settings/organization', { ...rename, ...fields }, headers)
    expect(response.status).toBe(403)
    expect(client.gateway.org.name).toBe('Northwind Traders')
  })

  test('a form is about the organization it was shown for, not the one another tab switched to', async () => {
    const client = await signedIn()
    const other = client.gateway.addOrganization('Contoso', 'owner')
    await client.post('/console/organization', { org_id: other.id })
    await client.post('/console/settings/organization', { ...rename, organization: client.gateway.org.id })
    expect([client.gateway.org.name, other.name]).toEqual(['Renamed', 'Contoso'])
  })

  test('a form for an organization one has left does nothing', async () => {
    const client = await signedIn()
    const organization = client.gateway.id('org')
    const response = await client.post('/console/settings/organization', { ...rename, organization })
    expect(response.status).toBe(403)
  })

  test('what was refused is said at its field and what was typed is kept', async () => {
    const client = await signedIn()
    const response = await client.post('/console/members/invitations', {
      email: 'not an address',
      role: 'admin',
    })
    expect(response.status).toBe(400)
    const page = await response.text()
    expect(page).toContain('value="not an address"')
    expect(page).toMatch(/<option[^>]*value="admin"[^>]*selected/)
    expect(page).toContain('aria-invalid="true"')
    expect(page).toContain('Invalid email address')
  })

  test('passwords are never written back', async () => {
    const client = await signedIn()
    const fields = { current_password: 'wrong but secret', new_password: 'another long secret' }
    const response = await client.post('/console/profile/password', fields)
    expect(response.status).toBe(403)
    const page = await response.text()
    expect(page).toContain('The current password is not right')
    expect(page).not.toContain('secret')
  })

  test('a message is shown once, and only if it is ours', async () => {
    const client = await signedIn()
    await client.post('/console/settings/organization', rename)
    expect(await client.read('/console')).toContain('renamed to Renamed')
    expect(await client.read('/console')).not.toContain('renamed to Renamed')
    client.cookies.set('svc_console_flash', `${btoa('{"kind":"done","text":"Call +1 900"}')}.forged`)
    expect(await client.read('/console')).not.toContain('+1 900')
  })

  test('a refused button in a row says why after the redirect', async () => {
    const client = await signedIn()
    const path = `/console/members/${client.gateway.data.me.id}/role`
    const response = await client.post(path, { role: 'viewer', back: '/console/members?role=owner' })
    expect(response.headers.get('location')).toBe('/console/members?role=owner')
    expect(await client.read('/console/members')).toContain('The last owner cannot be lowered')
  })
})
