/** Which proxy the environment names, and calls through a real one on loopback. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openConnectProxy, type ConnectProxy } from '../../test/support/connect-proxy.ts'
import { fakeEnvironment } from '../../test/support/fake-environment.ts'
import { selfSigned } from '../../test/support/self-signed.ts'
import type { ServiceError } from '../contracts/errors.ts'
import { sendRequest } from './http-request.ts'
import { proxyFor, type Proxy } from './proxy.ts'
import { proxiedFetch } from './proxied-fetch.ts'
import { run } from './run.ts'

const HTTPS = new URL('https://api.example.com')
const PROXY = 'http://proxy.test:3128'
const SVC = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url))

describe('which proxy', () => {
  const named = (url: string, env: Record<string, string>) => {
    const found = proxyFor(new URL(url), env)
    return found && `${found.variable} ${found.url.href}`
  }

  test.each([
    ['https://api.example.com', { HTTPS_PROXY: PROXY }, `HTTPS_PROXY ${PROXY}/`],
    ['https://api.example.com', { https_proxy: PROXY }, `https_proxy ${PROXY}/`],
    [
      'https://api.example.com',
      { https_proxy: PROXY, HTTPS_PROXY: 'http://other.test' },
      `https_proxy ${PROXY}/`,
    ],
    ['https://api.example.com', { https_proxy: '', HTTPS_PROXY: PROXY }, undefined],
    ['https://api.example.com', { HTTPS_PROXY: 'proxy.test:3128' }, `HTTPS_PROXY ${PROXY}/`],
    ['https://api.example.com', { HTTP_PROXY: PROXY }, undefined],
    ['http://api.example.com', { HTTP_PROXY: PROXY }, `HTTP_PROXY ${PROXY}/`],
    ['http://api.example.com', { http_proxy: PROXY }, `http_proxy ${PROXY}/`],
    ['http://api.example.com', { HTTPS_PROXY: PROXY }, undefined],
    ['http://localhost:4000', { HTTP_PROXY: PROXY }, undefined],
    ['https://127.0.0.1:4000', { HTTPS_PROXY: PROXY }, undefined],
    ['https://[::1]:4000', { HTTPS_PROXY: PROXY }, undefined],
  ])('%s with %j: %s', (url, env, expected) => expect(named(url, env)).toBe(expected))

  test.each([
    ['https://api.example.com', 'example.com', true],
    ['https://api.example.com', '.example.com', true],
    ['https://api.example.com', '*.example.com', true],
    ['https://api.example.com', 'a.test, API.example.com', true],
    ['https://api.example.com', 'a.test API.example.com', true],
    ['https://api.example.com', '*', true],
    ['https://api.example.com', 'api.example.com:443', true],
    ['https://api.example.com', 'api.example.com:8443', false],
    ['https://api.example.com:8443', 'api.example.com:8443', true],
    ['https://api.example.com', 'ample.com', false],
    ['https://api.example.com', 'example.com.evil.test', false],
    ['https://api.example.com', '', false],
    ['https://10.1.2.3', '10.0.0.0/8', true],
    ['https://11.1.2.3', '10.0.0.0/8', false],
    ['https://api.example.com', '10.0.0.0/8', false],
    ['https://10.1.2.3', '10.0.0.0/99', false],
    ['https://10.1.2.3', '10.1.2.3', true],
    ['https://[2001:db8::1]', '2001:db8::1', true],
    ['https://[2001:db8::1]', '2001:db8::/32', true],
    ['https://[2001:db8::1]:8443', '[2001:db8::1]:8443', true],
  ])('%s with NO_PROXY=%s: excepted %s', (url, NO_PROXY, excepted) => {
    expect(proxyFor(new URL(url), { HTTPS_PROXY: PROXY, NO_PROXY }) === undefined).toBe(excepted)
    expect(proxyFor(new URL(url), { HTTPS_PROXY: PROXY, no_proxy: NO_PROXY }) === undefined).toBe(excepted)
  })

  test('one that is not used is not looked at', () => {
    expect(proxyFor(new URL('http://localhost'), { HTTP_PROXY: '::' })).toBeUndefined()
  })

  test('one of another kind is an error that does not show its password', () => {
    expect(() => proxyFor(HTTPS, { HTTPS_PROXY: 'socks5://user:hidden@proxy.test' })).toThrow(
      /^HTTPS_PROXY is not an http\(s\) URL$/,
    )
  })
})

describe('through a proxy', () => {
  const certificate = selfSigned('host.test')
  let server: Server
  let proxy: ConnectProxy
  let plain: HttpServer
  const asked: { url: string; host: string | undefined; authorization: string | undefined }[] = []

  beforeAll(async () => {
    server = createServer(certificate, (request, response) => {
      asked.push({
        url: request.url!,
        host: request.headers.host,
        authorization: request.headers.authorization,
      })
      response.setHeader('content-type', 'application/json').end('{"through":"tls"}')
    }).listen(0, '127.0.0.1')
    // A proxy for plain http is a server that is asked for whole URLs.
    plain = createHttpServer((request, response) => {
      asked.push({
        url: request.url!,
        host: request.headers.host,
        authorization: request.headers['proxy-authorization'],
      })
      response.end('{"through":"http"}')
    }).listen(0, '127.0.0.1')
    await Promise.all([once(server, 'listening'), once(plain, 'listening')])
    proxy = await openConnectProxy({ 'host.test': (server.address() as AddressInfo).port })
  })
  beforeEach(() => {
    proxy.misbehave(undefined)
    asked.length = 0
  })
  afterAll(() => {
    proxy.close()
    server.closeAllConnections()
    server.close()
    plain.closeAllConnections()
    plain.close()
  })

  const at = (url: string): Proxy => ({ url: new URL(url), variable: 'HTTPS_PROXY' })
  const get = (url: string, through: Proxy, timeoutMs = 3_000) =>
    sendRequest(new URL(url), {
      method: 'GET',
      headers: { authorization: 'Bearer svc_secret' },
      timeoutMs,
      proxy: through,
    })
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: ServiceError) => [error.code, error.message, error.hint],
    )

  test('https goes in a tunnel, in which the proxy sees no token, and the certificate is checked', async () => {
    const failure = await failureOf(get('https://host.test/api', at(proxy.url)))
    // Self-signed, so the call ends there; what the proxy saw is a name and the first bytes of TLS.
    expect(failure?.[1]).toMatch(/^https:\/\/host.test has an untrusted certificate/)
    expect(proxy.asked.at(-1)).toBe('host.test:443')
    expect(proxy.sent().includes('svc_secret')).toBe(false)
    expect(asked).toEqual([])
  })

  test('the program itself, with HTTPS_PROXY and a certificate authority of its own, gets an answer', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-proxy-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const authority = join(folder, 'cert.pem')
    writeFileSync(authority, certificate.cert)
    const env = {
      PATH: '/usr/bin:/bin',
      SVC_API_URL: 'https://host.test',
      SVC_API_KEY: 'svc_secret',
      https_proxy: proxy.url,
      NODE_EXTRA_CA_CERTS: authority,
    }
    const child = spawn(process.execPath, [SVC, 'api', 'GET', '/api/v1/me'], { env })
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    expect([JSON.parse(out), err]).toEqual([{ through: 'tls' }, ''])
    expect(asked).toEqual([{ url: '/api/v1/me', host: 'host.test', authorization: 'Bearer svc_secret' }])
    expect(proxy.sent().includes('svc_secret')).toBe(false)
  })

  test('http is asked for with its whole URL, and with the login of the proxy', async () => {
    const { port } = plain.address() as AddressInfo
    const response = await get('http://host.test:8080/api?a=b', at(`http://me:p%40ss@127.0.0.1:${port}`))
    expect(response.body).toBe('{"through":"http"}')
    const login = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
    expect(asked).toEqual([
      { url: 'http://host.test:8080/api?a=b', host: 'host.test:8080', authorization: login },
    ])
  })

  test('a password with a bare % is told, without the password', async () => {
    for (const url of ['https://host.test', 'http://host.test:8080']) {
      expect(await failureOf(get(url, at('http://me:hidden100%@127.0.0.1:1')))).toEqual([
        'INVALID_REQUEST',
        'HTTPS_PROXY has a % in its user or password that stands for nothing',
        'Write % as %25',
      ])
    }
  })

  test('a proxy that refuses, wants a login, is silent or away is told as the proxy, without its password', async () => {
    const url = proxy.url.replace('//', '//me:hidden@')
    const host = new URL(url).origin
    proxy.misbehave(403)
    expect(await failureOf(get('https://host.test', at(url)))).toEqual([
      'UNEXPECTED',
      `The proxy ${host} (HTTPS_PROXY) did not connect to host.test:443 (403)`,
      'Ask whoever runs the proxy, or add host.test to NO_PROXY.',
    ])
    expect(proxy.authorizations.at(-1)).toBe(`Basic ${Buffer.from('me:hidden').toString('base64')}`)
    proxy.misbehave(407)
    expect((await failureOf(get('https://host.test', at(url))))?.[1]).toBe(
      `The proxy ${host} (HTTPS_PROXY) requires a login (407)`,
    )
    proxy.misbehave('silence')
    expect(await failureOf(get('https://host.test', at(url), 50))).toEqual([
      'TIMEOUT',
      'https://host.test did not respond within 0.05 s',
      'Try again, or wait longer with --timeout <seconds>.',
    ])
    expect(await failureOf(get('https://host.test', at('http://127.0.0.1:1')))).toEqual([
      'UNEXPECTED',
      'The proxy http://127.0.0.1:1 (HTTPS_PROXY) is unreachable (ECONNREFUSED)',
      'Check HTTPS_PROXY, or add host.test to NO_PROXY.',
    ])
  })

  test('the checks of the MCP endpoint take the same way', async () => {
    const { port } = plain.address() as AddressInfo
    const throughProxy = proxiedFetch({ HTTP_PROXY: `http://127.0.0.1:${port}` })
    const response = await throughProxy(new URL('http://host.test/platform'), { method: 'POST', body: '{}' })
    expect([response.status, await response.json()]).toEqual([200, { through: 'http' }])
    expect(asked[0]?.url).toBe('http://host.test/platform')
  })

  test('doctor names the proxy, and why it is not used', async () => {
    const login = { SVC_API_URL: 'https://host.test', SVC_API_KEY: 'svc_x' }
    const doctor = async (env: Record<string, string>) => {
      const environment = fakeEnvironment({ env: { ...login, ...env } })
      const exit = await run(['doctor', '--timeout', '1'], environment)
      return { exit, out: environment.out() }
    }
    proxy.misbehave(403)
    const used = await doctor({ HTTPS_PROXY: proxy.url.replace('//', '//me:hidden@') })
    expect(used).toMatchObject({ exit: 8 })
    expect(used.out).toContain(
      `ok      proxy: ${proxy.url} (HTTPS_PROXY)\nfailed  server: The proxy ${proxy.url}`,
    )
    expect(used.out).not.toContain('hidden')
    const here = { SVC_API_URL: 'http://localhost:1', HTTP_PROXY: proxy.url }
    expect((await doctor(here)).out).toContain(
      'ok      proxy: HTTP_PROXY is not used for localhost: this machine',
    )
    expect((await doctor({ SVC_API_URL: 'http://localhost:1' })).out).toContain('ok      proxy: none')
  })
})
