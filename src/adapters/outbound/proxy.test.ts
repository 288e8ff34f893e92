/** Through a real proxy on loopback, to a real TLS server behind it. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openConnectProxy, type ConnectProxy } from '../../../test/support/connect-proxy.ts'
import { selfSigned } from '../../../test/support/self-signed.ts'
import { FetchRefused } from './guard.ts'
import { guardedFetch } from './guarded-fetch.ts'
import { outboundProxy } from './proxy.ts'
import { keptFetch, proxiedFetch } from './proxied-fetch.ts'

const NAME = 'host.test'
const LIMITS = { maxBytes: 1000, deadlineMs: 3000 }
const certificate = selfSigned(NAME)
const received: { path: string; method: string; headers: IncomingHttpHeaders; body: string }[] = []

let server: Server
let proxy: ConnectProxy
beforeAll(async () => {
  server = createServer(certificate, (request, response) => {
    let body = ''
    request
      .on('data', (chunk: Buffer) => void (body += chunk.toString()))
      .on('end', () => {
        received.push({
          path: request.url ?? '',
          method: request.method ?? '',
          headers: request.headers,
          body,
        })
        if (request.url === '/redirect') response.writeHead(302, { location: 'https://host.test/ok' }).end()
        else if (request.url === '/large') response.end('x'.repeat(5000))
        else if (request.url === '/empty') response.writeHead(204).end()
        else if (request.url !== '/never')
          response.writeHead(200, { 'content-type': 'text/plain' }).end('hello')
      })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  // The proxy knows more names than the certificate has.
  proxy = await openConnectProxy({ [NAME]: port, 'other.test': port, 'inside.test': port })
})
beforeEach(() => {
  proxy.misbehave(undefined)
  received.length = 0
})
afterAll(() => {
  proxy.close()
  server.closeAllConnections()
  server.close()
})

const outbound = (exceptions: readonly string[] = [], credentials = '') =>
  outboundProxy(new URL(proxy.url.replace('//', `//${credentials}`)), exceptions)
/** The proxy alone knows the names, unless a test says otherwise. */
const guarded = (resolve: (name: string) => Promise<readonly string[]> = async () => []) =>
  guardedFetch({ proxy: outbound(), resolve, ca: certificate.cert })
const asks = async (work: () => Promise<unknown>) => {
  const before = proxy.asked.length
  const result = await work()
  return { asked: proxy.asked.slice(before), result }
}
const reasonOf = async (fetching: Promise<unknown>): Promise<string> => {
  const error: unknown = await fetching.then(
    () => new Error('It was fetched'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof FetchRefused)) throw error
  return error.reason
}
const textOf = (body: Uint8Array) => new TextDecoder().decode(body)

describe('a guarded fetch', () => {
  test('asks the proxy for the name and reads the answer', async () => {
    const { asked, result } = await asks(async () => guarded()('https://host.test/ok', LIMITS))
    expect(asked).toEqual(['host.test:443'])
    expect(result).toMatchObject({ status: 200 })
    expect(textOf((result as { body: Uint8Array }).body)).toBe('hello')
    expect(received[0]!.headers).toMatchObject({ host: NAME, 'accept-encoding': 'identity' })
    // The path is the host's alone.
    expect(proxy.sent().includes('/ok')).toBe(false)
  })

  test('reaches port 443 alone through it', async () => {
    const { asked, result } = await asks(() => reasonOf(guarded()('https://host.test:8443/ok', LIMITS)))
    expect([asked, result]).toEqual([[], 'port'])
    expect(await guarded()('https://host.test:443/ok', LIMITS)).toMatchObject({ status: 200 })
  })

  /** Threat: SSRF through the proxy, which may reach more than we do. */
  test.each([
    '10.0.0.1',
    '169.254.169.254',
    '[::1]',
    '[fd00::1]',
    '127.0.0.1',
    '2130706433',
    'localhost',
    'a.localhost',
  ])('of %s is refused, and the proxy not asked', async (host) => {
    const { asked, result } = await asks(() =>
      reasonOf(guardedFetch({ proxy: outbound() })(`https://${host}/`, LIMITS)),
    )
    expect([asked, result]).toEqual([[], 'address not public'])
  })

  test('of a name that our own name servers place inside is refused, and the proxy not asked', async () => {
    const inside = async () => ['10.1.2.3']
    const { asked, result } = await asks(() => reasonOf(guarded(inside)('https://inside.test/', LIMITS)))
    expect([asked, result]).toEqual([[], 'address not public'])
    // One public address beside a private one is not enough.
    const both = async () => ['93.184.215.14', '10.1.2.3']
    expect(await reasonOf(guarded(both)('https://inside.test/', LIMITS))).toBe('address not public')
  })

  test('does not wait for name servers that do not answer', async () => {
    const never = () => new Promise<never>(() => {})
    expect(await guarded(never)('https://host.test/ok', LIMITS)).toMatchObject({ status: 200 })
  })

  test('trusts the certificate of the host alone, whatever the proxy connected to', async () => {
    expect(await reasonOf(guarded()('https://other.test/ok', LIMITS))).toBe(
      'connection failed: ERR_TLS_CERT_ALTNAME_INVALID',
    )
    const untrusting = guardedFetch({ proxy: outbound(), resolve: async () => [] })
    expect(await reasonOf(untrusting('https://host.test/ok', LIMITS))).toMatch(/^connection failed: /)
    expect(received).toEqual([])
  })

  test('keeps its other limits: redirects, size and time', async () => {
    const fetch = guarded()
    expect(await reasonOf(fetch('https://host.test/redirect', LIMITS))).toBe('redirect')
    expect(await reasonOf(fetch('https://host.test/large', LIMITS))).toBe('too large')
    expect(await reasonOf(fetch('https://host.test/never', { ...LIMITS, deadlineMs: 200 }))).toBe('deadline')
    proxy.misbehave('silence')
    expect(await reasonOf(fetch('https://host.test/ok', { ...LIMITS, deadlineMs: 200 }))).toBe('deadline')
  })

  test.each([403, 407, 502])('the proxy refuses with %i', async (status) => {
    proxy.misbehave(status)
    expect(await reasonOf(guarded()('https://host.test/ok', LIMITS))).toBe(
      `connection failed: proxy_${status}`,
    )
  })

  test('without a proxy that answers, is refused', async () => {
    const gone = guardedFetch({
      proxy: outboundProxy(new URL('http://127.0.0.1:9')),
      resolve: async () => [],
    })
    expect(await reasonOf(gone('https://host.test/ok', LIMITS))).toBe('connection failed: ECONNREFUSED')
  })

  test('of a host of NO_PROXY is made directly, with the whole guard', async () => {
    const fetch = guardedFetch({ proxy: outbound([NAME]), resolve: async () => ['127.0.0.1'] })
    const { asked, result } = await asks(() => reasonOf(fetch('https://host.test/ok', LIMITS)))
    expect([asked, result]).toEqual([[], 'address not public'])
  })

  test('gives its credentials to the proxy and to nobody else', async () => {
    const proxied = outbound([], 'user:p%40ss@')
    const fetch = guardedFetch({ proxy: proxied, resolve: async () => [], ca: certificate.cert })
    await fetch('https://host.test/ok', LIMITS)
    expect(proxy.authorizations.at(-1)).toBe(`Basic ${Buffer.from('user:p@ss').toString('base64')}`)
    expect(received[0]!.headers).not.toHaveProperty('proxy-authorization')
  })
})

describe('a fetch of a host that the operator names', () => {
  const fetch = (exceptions: readonly string[] = []) =>
    proxiedFetch(outbound(exceptions), { ca: certificate.cert })

  test('sends method, headers and body through the proxy', async () => {
    const { asked, result } = await asks(async () => {
      const response = await fetch()('https://host.test/ok', {
        method: 'POST',
        headers: { 'x-key': 'k' },
        body: new URLSearchParams({ a: 'é&b' }),
      })
      return [response.status, await response.text(), response.headers.get('content-type')]
    })
    expect([asked, result]).toEqual([['host.test:443'], [200, 'hello', 'text/plain']])
    expect(received[0]).toMatchObject({ method: 'POST', body: 'a=%C3%A9%26b', headers: { 'x-key': 'k' } })
    expect((await fetch()('https://host.test/empty')).status).toBe(204)
  })

  test('follows no redirect', async () => {
    await expect(fetch()('https://host.test/redirect', { redirect: 'error' })).rejects.toMatchObject({
      message: 'fetch failed',
      cause: { message: 'unexpected redirect' },
    })
    await expect(fetch()('https://host.test/redirect')).rejects.toThrow('fetch failed')
    expect((await fetch()('https://host.test/redirect', { redirect: 'manual' })).status).toBe(302)
    expect(received.map(({ path }) => path)).toEqual(['/redirect', '/redirect', '/redirect'])
  })

  test('fails as Node’s own does, and stops when told', async () => {
    proxy.misbehave(502)
    await expect(fetch()('https://host.test/ok')).rejects.toMatchObject({
      name: 'TypeError',
      message: 'fetch failed',
      cause: { code: 'proxy_502' },
    })
    proxy.misbehave('silence')
    await expect(fetch()('https://host.test/ok', { signal: AbortSignal.timeout(100) })).rejects.toMatchObject(
      { name: 'TimeoutError' },
    )
    proxy.misbehave(undefined)
    await expect(
      fetch()('https://host.test/never', { signal: AbortSignal.timeout(100) }),
    ).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})

describe('a fetch that keeps its connections', () => {
  test('asks again over the same one, through the proxy too', async () => {
    const { fetch, close } = keptFetch(outbound(), { ca: certificate.cert })
    onTestFinished(close)
    const { asked, result } = await asks(async () => {
      const texts: string[] = []
      for (let time = 0; time < 3; time += 1) texts.push(await (await fetch('https://host.test/ok')).text())
      return texts
    })
    expect([asked, result]).toEqual([['host.test:443'], ['hello', 'hello', 'hello']])
  })

  test('follows no redirect, and fails as Node’s own does', async () => {
    const { fetch, close } = keptFetch(outbound(), { ca: certificate.cert })
    onTestFinished(close)
    await expect(fetch('https://host.test/redirect', { redirect: 'error' })).rejects.toMatchObject({
      message: 'fetch failed',
      cause: { message: 'unexpected redirect' },
    })
    await expect(fetch('http://127.0.0.1:9/')).rejects.toMatchObject({
      message: 'fetch failed',
      cause: { code: 'ECONNREFUSED' },
    })
    await expect(
      fetch('https://host.test/never', { signal: AbortSignal.timeout(100) }),
    ).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})

test.each([
  ['https://api.example.com/x', [], true],
  ['http://api.example.com/x', [], false],
  ['https://localhost:4000/', [], false],
  ['https://127.0.0.1/', [], false],
  ['https://api.example.com/', ['example.com'], false],
  ['https://api.example.com/', ['.example.com'], false],
  ['https://api.example.com/', ['*.example.com'], false],
  ['https://api.EXAMPLE.com./', ['Example.com'], false],
  ['https://notexample.com/', ['example.com'], true],
  ['https://example.com.evil.test/', ['example.com'], true],
  ['https://10.0.0.5/', ['10.0.0.5'], false],
  ['https://anything.test/', ['*'], false],
])('%s, except %j: through the proxy %s', (url, exceptions, covered) => {
  expect(outbound(exceptions).covers(new URL(url))).toBe(covered)
})
