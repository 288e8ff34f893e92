import { expect, test } from 'vitest'
import { ServiceError } from '../contracts/errors.ts'
import { unsubscribePages } from './unsubscribe.ts'

const REAL = 'n1.org_1.sub_1.abcdefghijklmnopqrstuv'
const FORGED = 'n1.org_1.sub_1.bbbbbbbbbbbbbbbbbbbbbb'
const AT = (token: string) => `https://svc.test/unsubscribe/${token}`

/** A site over a gateway with one subscription, which records its requests. */
function siteWith({ enabled = true, down = false } = {}) {
  const asked: string[] = []
  const state = { enabled }
  const site = unsubscribePages({
    async gateway(request) {
      if (down) throw new ServiceError('TIMEOUT')
      const url = new URL(request.url)
      const isPost = request.method === 'POST'
      const token = isPost
        ? ((await request.json()) as { token: string }).token
        : url.searchParams.get('token')
      asked.push(`${request.method} ${token}`)
      if (isPost) {
        if (token === REAL) state.enabled = false
        return new Response(null, { status: 204 })
      }
      return Response.json(
        token === REAL
          ? { pattern: 'support.ticket.replied', organization: 'Acme & <Söhne>', enabled: state.enabled }
          : { pattern: null, organization: null, enabled: false },
      )
    },
  })
  return { site, state, asked }
}

const form = (fields: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(fields) })
function multipart(fields: Record<string, string>) {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.set(name, value)
  return { method: 'POST', body }
}

test('the page names the subscription and has one button', async () => {
  const { site, state } = siteWith()
  const response = await site.request(AT(REAL))
  const page = await response.text()
  expect(response.status).toBe(200)
  expect(page).toContain('Acme &amp; &lt;Söhne&gt;')
  expect(page).toContain('support.ticket.replied')
  expect(page.match(/<button/g)).toHaveLength(1)
  expect(state.enabled).toBe(true)
})

/** A mail scanner opens every link, some run what they find, some post an empty form. */
test.each<[string, RequestInit]>([
  ['GET', {}],
  ['HEAD', { method: 'HEAD' }],
  ['OPTIONS', { method: 'OPTIONS' }],
  ['PUT', { method: 'PUT' }],
  ['DELETE', { method: 'DELETE' }],
  ['a bare POST', { method: 'POST' }],
  ['a POST of something else', form({ 'List-Unsubscribe': 'Two-Clicks', confirm: '0' })],
  [
    'a POST that is no form',
    { method: 'POST', body: '{"confirm":"1"}', headers: { 'content-type': 'application/json' } },
  ],
  [
    'a POST that is a broken form',
    { method: 'POST', body: 'confirm=1', headers: { 'content-type': 'multipart/form-data' } },
  ],
  ['a POST that never ends', form({ confirm: '1', more: 'x'.repeat(20_000) })],
])('%s changes nothing', async (_what, init) => {
  const { site, state, asked } = siteWith()
  await site.request(AT(REAL), init)
  expect(state.enabled).toBe(true)
  expect(asked.filter((line) => line.startsWith('POST'))).toEqual([])
})

test.each([
  ['a mailbox, as one kind of form', form({ 'List-Unsubscribe': 'One-Click' })],
  ['a mailbox, as the other', multipart({ 'List-Unsubscribe': 'One-Click' })],
  ['the button', form({ confirm: '1' })],
])('%s unsubscribes at once, and may be repeated', async (_who, init) => {
  const { site, state } = siteWith()
  for (let n = 0; n < 2; n++) {
    const response = await site.request(AT(REAL), init)
    expect([response.status, response.redirected, response.headers.get('location')]).toEqual([
      200,
      false,
      null,
    ])
    expect(await response.text()).toContain('You will get no more email')
    expect(state.enabled).toBe(false)
  }
  const after = await (await site.request(AT(REAL))).text()
  expect(after).toContain('is turned off')
  expect(after).not.toContain('<button')
})

test('a forged link is answered like a real one when submitted, and names nothing when opened', async () => {
  const { site, state } = siteWith()
  const [real, forged] = await Promise.all(
    [REAL, FORGED].map(async (token) =>
      (await siteWith().site.request(AT(token), form({ confirm: '1' }))).text(),
    ),
  )
  expect(forged).toBe(real)
  const opened = await site.request(AT(FORGED))
  expect(opened.status).toBe(200)
  expect(await opened.text()).toContain('This subscription no longer exists')
  expect(state.enabled).toBe(true)
})

test('no script, no cookie, no cache, no referrer, no frame', async () => {
  const { site } = siteWith()
  for (const init of [{}, form({ confirm: '1' })]) {
    const response = await site.request(AT(REAL), init)
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('referrer-policy')).toBe('no-referrer')
    expect(response.headers.get('x-robots-tag')).toBe('noindex')
    expect(response.headers.get('content-security-policy')).toMatch(
      /default-src 'none'.*frame-ancestors 'none'/,
    )
    expect(await response.text()).not.toMatch(/<script|onload|http-equiv/i)
  }
})

test('the style of the page is served beside it', async () => {
  const { site } = siteWith()
  const page = await (await site.request(AT(REAL))).text()
  const [, style] = /href="(\/unsubscribe\/assets\/[^"]+\.css)"/.exec(page)!
  expect((await site.request(`https://svc.test${style}`)).headers.get('content-type')).toContain('text/css')
})

test('while the gateway is down the page does not claim success', async () => {
  const { site } = siteWith({ down: true })
  for (const init of [{}, form({ 'List-Unsubscribe': 'One-Click' })]) {
    const response = await site.request(AT(REAL), init)
    expect(response.status).toBe(503)
    expect(await response.text()).toContain('Try again later')
  }
})
