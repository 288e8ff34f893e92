/** The sign-in pages behind a real socket: forged hosts, forged addresses. */
import { createServer, request as httpRequest } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { and, eq } from 'drizzle-orm'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { throttles } from '../../db/schema.ts'
import { ADDRESS_HEADER } from '../../src/client/service.ts'
import { SIGN_IN_FAILURES_PER_ADDRESS } from '../../src/contracts/limits.ts'
import { listen } from '../../src/listener.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import { linkIn } from '../support/links.ts'
import { makePerson, unique } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'



describe('at the socket', () => {
  async function listening(env: Record<string, string> = {}) {
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as AddressInfo
    await new Promise((closed) => probe.close(closed))
    const own = await startSystem(
      { ...PAGES, PORT: String(port), STOP_SECONDS: '0', ...env },
      { withMail: true },
    )
    const listener = await listen(own.system)
    onTestFinished(async () => {
      await listener.stop()
      await own.stop()
    })
    return { own, port, origin: `http://localhost:${port}` }
  }

  /** Below fetch, because fetch does not let anybody choose these headers. */
  const ask = (port: number, path: string, headers: Record<string, string>, method = 'GET', body = '') =>
    new Promise<{ status: number; text: string; headers: Record<string, unknown> }>((resolve, reject) => {
      const sent = httpRequest(
        { host: '127.0.0.1', port, path, method, headers, agent: false },
        (response) => {
          let text = ''
          response.on('data', (chunk: Buffer) => (text += chunk.toString()))
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, text, headers: response.headers }),
          )
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })

  /** A forged Host is written into links and cookies, or reaches a page under a name that another site owns. */
  test.each([
    'evil.test',
    'localhost',
    'localhost:1',
    'localhost.evil.test',
    'evil.test:4000',
    'localhost.:PORT',
    'PORT',
    '',
  ])('the host %j is not ours', async (host) => {
    const { port } = await listening()
    const forged = host.replace('PORT', String(port))
    const { status, text } = await ask(port, '/auth/sign-in', { host: forged })
    expect([421, 400]).toContain(status)
    expect(text).not.toContain('<form')
  })

  test('a host in the request line counts as little as one in the header', async () => {
    const { port } = await listening()
    const answer = await ask(port, 'http://evil.test/auth/sign-in', { host: `localhost:${port}` })
    expect([400, 421]).toContain(answer.status)
  })

  /** A forwarded host or scheme turns the link in a mail, or the callback, to the attacker's machine. */
  test('forwarded names change no link, no redirect and no cookie', async () => {
    const { own, port, origin } = await listening()
    const { email } = await makePerson(own)
    const lies = {
      host: `localhost:${port}`,
      'x-forwarded-host': 'evil.test',
      'x-forwarded-proto': 'https',
      'x-forwarded-server': 'evil.test',
      'x-original-host': 'evil.test',
      'x-original-url': '/auth/forgot?evil.test',
      forwarded: 'host=evil.test;proto=https',
    }
    const page = await ask(port, '/auth/forgot', lies)
    expect(page.text).not.toContain('evil.test')
    const [cookie = ''] = page.headers['set-cookie'] as string[]
    expect(cookie).toMatch(/^svc_visitor=/)
    const form = /name="form" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
    const body = String(new URLSearchParams({ form, email }))
    const posted = {
      ...lies,
      origin,
      cookie: cookie.split(';')[0]!,
      'content-type': 'application/x-www-form-urlencoded',
    }
    expect((await ask(port, '/auth/forgot', posted, 'POST', body)).status).toBe(200)
    const text = await vi.waitFor(() => own.mails.find(({ to }) => to === email)!.text)
    expect(linkIn(text)).toMatch(`${origin}/auth/reset/`)
  })

  /** Tries wrong passwords until the address has to wait; `headers` says where each try claims to come from. */
  async function knock(
    port: number,
    origin: string,
    times: number,
    headers: (time: number) => Record<string, string>,
  ) {
    const host = `localhost:${port}`
    const page = await ask(port, '/auth/sign-in', { host })
    const cookie = (page.headers['set-cookie'] as string[])[0]!.split(';')[0]!
    const form = /name="form" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
    const statuses: number[] = []
    for (let time = 0; time < times; time++) {
      const body = String(
        new URLSearchParams({ form, email: `${unique('nobody')}@people.test`, password: 'x' }),
      )
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      const answer = await ask(
        port,
        '/auth/sign-in',
        { host, origin, cookie, ...type, ...headers(time) },
        'POST',
        body,
      )
      statuses.push(answer.status)
    }
    return statuses
  }

  const { count } = SIGN_IN_FAILURES_PER_ADDRESS
  const forget = (own: TestSystem, address: string) =>
    own.db.delete(throttles).where(eq(throttles.key, sha256(`password-from:${address}`)))

  /** Guessing goes on for ever if every try may claim another address. */
  test('without trusted proxies nobody chooses the address their tries are counted at', async () => {
    const { own, port, origin } = await listening()
    await forget(own, '127.0.0.1')
    const statuses = await knock(port, origin, count + 3, (time) => ({
      'x-forwarded-for': `198.51.100.${time}`,
      'x-real-ip': `198.51.100.${time}`,
      forwarded: `for=198.51.100.${time}`,
      [ADDRESS_HEADER]: `198.51.100.${time}`,
    }))
    await forget(own, '127.0.0.1')
    expect(statuses).toEqual([...Array(count).fill(401), 429, 429, 429])
  })

  test('a trusted proxy says which address it was, and what the client wrote before it does not count', async () => {
    const { own, port, origin } = await listening({ TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' })
    const client = '203.0.113.7'
    await forget(own, client)
    const claimed = (time: number) => ({ 'x-forwarded-for': `198.51.100.${time}, ${client}, 10.1.2.3` })
    expect(await knock(port, origin, count + 1, claimed)).toEqual([...Array(count).fill(401), 429])
    // Another client behind the same proxy has tries of its own.
    expect(await knock(port, origin, 1, () => ({ 'x-forwarded-for': '203.0.113.8' }))).toEqual([401])
    await forget(own, client)
  })
})
