/** The sign-in pages behind a real socket: forged hosts and forged addresses. */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { throttles } from '../../db/schema.ts'
import { ADDRESS_HEADER } from '../../src/client/service.ts'
import { SIGN_IN_FAILURES_PER_ADDRESS } from '../../src/contracts/limits.ts'
import { listen } from '../../src/boot/listener.ts'
import { sha256 } from '../../src/trust/keyed-hash.ts'
import { linkIn, mailTo } from '../support/links.ts'
import { makePerson, unique } from '../support/make.ts'
import { startSystem } from '../support/system.ts'
import { PAGES } from '../support/walker.ts'

type Headers = Record<string, string>

async function startListening(env: Record<string, string> = {}) {
  // Addresses are settings, so the port must be known before the system is made.
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise((closed) => probe.close(closed))
  const settings = { ...PAGES, PORT: String(port), STOP_SECONDS: '0', ...env }
  const system = await startSystem(settings, { withMail: true })
  const listener = await listen(system.system)
  const stop = async () => {
    await listener.stop()
    await system.stop()
  }
  return { system, port, host: `localhost:${port}`, origin: `http://localhost:${port}`, stop }
}

type Listening = Awaited<ReturnType<typeof startListening>>

/** Below fetch, which does not let anybody choose these headers. */
async function ask({ port, host }: Listening, path: string, headers: Headers, fields?: Headers) {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const sent = request({
    host: '127.0.0.1',
    port,
    path,
    agent: false,
    method: fields ? 'POST' : 'GET',
    headers: { host, ...(fields && type), ...headers },
  })
  sent.end(fields && String(new URLSearchParams(fields)))
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage]
  return {
    status: response.statusCode ?? 0,
    cookies: response.headers['set-cookie'] ?? [],
    text: await text(response),
  }
}

/** What one needs to send a form of a page: its token, and the cookie it is bound to. */
async function openForm(listening: Listening, path: string, headers: Headers = {}) {
  const page = await ask(listening, path, headers)
  const form = /name="form" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
  const cookie = page.cookies[0]?.split(';')[0] ?? ''
  return { page, form, headers: { origin: listening.origin, cookie } }
}

describe('without trusted proxies', () => {
  let listening: Listening
  beforeAll(async () => {
    listening = await startListening()
  })
  afterAll(() => listening.stop())

  async function statusLine(words: string): Promise<string> {
    const socket = connect(listening.port, '127.0.0.1')
    socket.end(words.replaceAll('HERE', listening.host).replaceAll('PORT', String(listening.port)))
    return (await text(socket)).split('\r\n')[0] ?? ''
  }

  /** A forged Host is written into links, or reaches the pages under a name that belongs to another site (rebinding). */
  test.each([
    ['another host', 'GET /auth/sign-in HTTP/1.1\r\nHost: evil.test', 421],
    ['another host at our port', 'GET /auth/sign-in HTTP/1.1\r\nHost: evil.test:PORT', 421],
    ['another port', 'GET /auth/sign-in HTTP/1.1\r\nHost: localhost:1', 421],
    ['no port', 'GET /auth/sign-in HTTP/1.1\r\nHost: localhost', 421],
    ['a host that begins like ours', 'GET /auth/sign-in HTTP/1.1\r\nHost: localhost.evil.test:PORT', 421],
    ['a trailing dot', 'GET /auth/sign-in HTTP/1.1\r\nHost: localhost.:PORT', 421],
    ['a number', 'GET /auth/sign-in HTTP/1.1\r\nHost: PORT', 421],
    ['a foreign one before ours', 'GET /auth/sign-in HTTP/1.1\r\nHost: evil.test\r\nHost: HERE', 400],
    ['a foreign one in the request line', 'GET http://evil.test/auth/sign-in HTTP/1.1\r\nHost: HERE', 421],
    ['a user before ours', 'GET /auth/sign-in HTTP/1.1\r\nHost: evil@HERE', 400],
    ['ours with a path', 'GET /auth/sign-in HTTP/1.1\r\nHost: HERE/evil', 400],
    ['an empty one', 'GET /auth/sign-in HTTP/1.1\r\nHost:', 400],
    ['none', 'GET /auth/sign-in HTTP/1.1', 400],
    ['none, as in the old days', 'GET /auth/sign-in HTTP/1.0', 400],
    ['ours', 'GET /auth/sign-in HTTP/1.1\r\nHost: HERE', 200],
  ])('the host: %s', async (_what, head, status) => {
    expect(await statusLine(`${head}\r\nConnection: close\r\n\r\n`)).toMatch(`HTTP/1.1 ${status} `)
  })

  /** A forwarded host or scheme turns the link in a mail to the attacker's machine. */
  test('forwarded names change no page, no cookie and no link', async () => {
    const lies = {
      'x-forwarded-host': 'evil.test',
      'x-forwarded-proto': 'https',
      'x-forwarded-server': 'evil.test',
      'x-original-host': 'evil.test',
      'x-original-url': '/console?evil.test',
      forwarded: 'host=evil.test;proto=https',
    }
    const { email } = await makePerson(listening.system)
    const { page, form, headers } = await openForm(listening, '/auth/forgot', lies)
    expect([page.status, page.text.includes('evil.test'), page.cookies[0]?.includes('Secure')]).toEqual([
      200,
      false,
      false,
    ])
    expect((await ask(listening, '/auth/forgot', { ...lies, ...headers }, { form, email })).status).toBe(200)
    expect(linkIn((await mailTo(listening.system, email)).text)).toMatch(`${listening.origin}/auth/reset/`)
  })

  /** Guessing goes on for ever if every try may claim another address. */
  test('nobody chooses the address at which their tries are counted', async () => {
    await forgetTriesFrom('127.0.0.1')
    const statuses = await guess(listening, count + 3, (time) => ({
      'x-forwarded-for': `198.51.100.${time}`,
      'x-real-ip': `198.51.100.${time}`,
      forwarded: `for=198.51.100.${time}`,
      [ADDRESS_HEADER]: `198.51.100.${time}`,
    }))
    await forgetTriesFrom('127.0.0.1')
    expect(statuses).toEqual([...Array<number>(count).fill(401), 429, 429, 429])
  })

  /** Other walks on this database come from the same address. */
  const forgetTriesFrom = (address: string) =>
    listening.system.db.delete(throttles).where(eq(throttles.key, sha256(`password-from:${address}`)))
})

test('a trusted proxy says which address it was; what the client wrote before it does not count', async () => {
  const listening = await startListening({ TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' })
  onTestFinished(() => listening.stop())
  const network = `2001:db8:${Math.floor(Math.random() * 0xffff).toString(16)}`
  const client = `${network}::7`
  const claimed = (time: number) => ({ 'x-forwarded-for': `198.51.100.${time}, ${client}, 10.1.2.3` })
  expect(await guess(listening, count + 1, claimed)).toEqual([...Array<number>(count).fill(401), 429])
  // Another client behind the same proxies has tries of its own; another address of the same /64 is the same client.
  const from = (address: string) => () => ({ 'x-forwarded-for': `${address}, 10.1.2.3` })
  expect(await guess(listening, 1, from(`${network}:8::7`))).toEqual([401])
  expect(await guess(listening, 1, from(`${network}::8:7`))).toEqual([429])
})

const { count } = SIGN_IN_FAILURES_PER_ADDRESS

/** Tries passwords for one unknown account after the other; `claim` says where each try pretends to come from. */
async function guess(
  listening: Listening,
  times: number,
  claim: (time: number) => Headers,
): Promise<number[]> {
  const { form, headers } = await openForm(listening, '/auth/sign-in')
  const statuses: number[] = []
  for (let time = 0; time < times; time++) {
    const fields = { form, email: `${unique('nobody')}@people.test`, password: 'a guess' }
    const answer = await ask(listening, '/auth/sign-in', { ...headers, ...claim(time) }, fields)
    statuses.push(answer.status)
  }
  return statuses
}
