import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import {
  ask,
  say,
  saying,
  startListener,
  type ListeningServices,
} from '../../test/support/listening-services.ts'
import type { Service } from '../client/service.ts'
import { answerGoesOn } from '../trust/open-answers.ts'
import type { Listening } from './listener.ts'

const open: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

async function startListeningSystem(options: ListeningServices = {}): Promise<Listening> {
  const listening = await startListener(options)
  open.push(() => listening.stop())
  return listening
}

const addressSeen: Service = async (request) => new Response(request.headers.get('x-svc-address'))

// Who may ask

test('a path leads to the service that owns it, and a path nobody owns to nothing', async () => {
  const { port } = await startListeningSystem()
  const at = async (path: string) => (await ask(port, { path })).body
  expect(await at('/api/v1/me')).toBe('gateway')
  expect(await at('/api')).toBe('gateway')
  expect(await at('/auth/sign-in')).toBe('auth')
  expect(await at('/console')).toBe('console')
  expect(await at('/')).toBe('console')
  for (const path of [
    '/apiary',
    '/authentic',
    '/consoles',
    '/metrics',
    '/console.html',
    '//api',
    '/nothing',
  ]) {
    expect(await ask(port, { path }), `at ${path}`).toMatchObject({ status: 404, body: 'Not found.\n' })
  }
})

const SPLIT = {
  API_URL: 'https://api.example.com',
  AUTH_URL: 'https://auth.example.com',
  APP_URL: 'https://app.example.com',
  AUTH_SERVICE_URL: 'http://auth.internal:4000',
  GATEWAY_URL: 'http://gateway.internal:4000',
}
const HOSTS: [host: string, path: string, status: number, body: string][] = [
  ['api.example.com', '/api/v1/me', 200, 'gateway'],
  ['API.Example.COM', '/api/v1/me', 200, 'gateway'],
  ['api.example.com', '/console', 404, 'Not found.\n'],
  ['api.example.com', '/auth/sign-in', 404, 'Not found.\n'],
  ['auth.example.com', '/api/v1/tokens/validate', 200, 'auth'],
  ['auth.example.com', '/console', 404, 'Not found.\n'],
  ['app.example.com', '/console', 200, 'console'],
  ['app.example.com', '/auth/sign-in', 200, 'auth'],
  ['auth.internal:4000', '/api/v1/tokens/validate', 200, 'gateway'],
  ['gateway.internal:4000', '/api/v1/me', 200, 'gateway'],
  ['evil.example', '/api/v1/me', 421, 'Unknown host.\n'],
  ['example.com', '/console', 421, 'Unknown host.\n'],
  ['api.example.com.evil.example', '/api/v1/me', 421, 'Unknown host.\n'],
  ['api.example.com:8443', '/api/v1/me', 421, 'Unknown host.\n'],
  ['auth.internal', '/api/v1/me', 421, 'Unknown host.\n'],
  ['localhost', '/api/v1/me', 421, 'Unknown host.\n'],
]
test('the tool host of maintenance runs answers our own services, and nobody at a public address', async () => {
  const env = { ...SPLIT, DEPLOY_URL: 'http://deploy.internal:4000' }
  const { port } = await startListeningSystem({ env, services: { 'deploy-api': saying('deploy') } })
  const at = async (host: string, path: string) => (await ask(port, { path, headers: { host } })).body
  expect(await at('api.example.com', '/api/deploy/deployments')).toBe('deploy')
  expect(await at('deploy.internal:4000', '/api/deploy/deployments')).toBe('deploy')
  expect(await at('api.example.com', '/agent-runs/claimRun')).toBe('Not found.\n')
  expect(await at('deploy.internal:4000', '/agent-runs/claimRun')).toBe('deploy')
})

test('a person who opens a path nobody owns gets the page of the console, where the console is', async () => {
  const saidPath: Service = async ({ url }) => new Response(new URL(url).pathname, { status: 404 })
  const { port } = await startListeningSystem({
    services: { console: saidPath, 'api-gateway': saying('gateway') },
  })
  const headers = { accept: 'text/html,application/xhtml+xml' }
  expect(await ask(port, { path: '/nothing', headers })).toMatchObject({
    status: 404,
    body: '/console/not-found',
  })
  expect(await ask(port, { path: '/nothing' })).toMatchObject({ status: 404, body: 'Not found.\n' })
  expect(await ask(port, { path: '/nothing', headers, method: 'POST' })).toMatchObject({
    body: 'Not found.\n',
  })
  const without = await startListeningSystem({ services: { 'api-gateway': saying('gateway') } })
  expect(await ask(without.port, { path: '/nothing', headers })).toMatchObject({ body: 'Not found.\n' })
})

test('with a host for each service, each answers on its own and nothing on a foreign one', async () => {
  const { port } = await startListeningSystem({ env: SPLIT })
  for (const [host, path, status, body] of HOSTS) {
    expect(await ask(port, { path, headers: { host } }), `${host}${path}`).toMatchObject({ status, body })
  }
})

test('behind public addresses the process also answers on the address it listens on', async () => {
  const { port } = await startListeningSystem({ env: SPLIT })
  expect(await ask(port, { headers: { host: `127.0.0.1:${port}` } })).toMatchObject({ status: 200 })
  expect(await ask(port, { headers: { host: `127.0.0.1:${port + 1}` } })).toMatchObject({ status: 421 })
})

test('the three names of this machine are one place, at the same port', async () => {
  const { port } = await startListeningSystem()
  for (const name of ['localhost', '127.0.0.1', '[::1]']) {
    expect(await ask(port, { headers: { host: `${name}:${port}` } })).toMatchObject({
      status: 200,
      body: 'gateway',
    })
    expect(await ask(port, { headers: { host: `${name}:1` } })).toMatchObject({ status: 421 })
    expect(await ask(port, { headers: { host: name } })).toMatchObject({ status: 421 })
  }
})

/** Each once led to a page built from, or a service chosen by, something the caller wrote. */
test.each([
  ['no Host', 'GET /api HTTP/1.0\r\n\r\n', /^HTTP\/1.1 400 /],
  [
    'an address in the request line',
    'GET http://evil.example/api HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n',
    /^HTTP\/1.1 421 /,
  ],
  ['a Host with a path in it', 'GET /api HTTP/1.1\r\nHost: localhost:PORT/x\r\n\r\n', /^HTTP\/1.1 400 /],
  ['a Host with a user in it', 'GET /api HTTP/1.1\r\nHost: evil@localhost:PORT\r\n\r\n', /^HTTP\/1.1 400 /],
  [
    'a second Host',
    'GET /api HTTP/1.1\r\nHost: localhost:PORT\r\nHost: localhost:PORT\r\n\r\n',
    /^HTTP\/1.1 400 /,
  ],
  [
    'a second Host of another name, at a health path too',
    'GET /healthz HTTP/1.1\r\nHost: localhost:PORT\r\nhost: evil.test\r\n\r\n',
    /^HTTP\/1.1 400 /,
  ],
  ['an empty Host', 'GET /api HTTP/1.1\r\nHost:\r\n\r\n', /^HTTP\/1.1 400 /],
])('%s is refused', async (_what, words, answer) => {
  const { port } = await startListeningSystem()
  const closing = words.replaceAll('PORT', String(port)).replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  expect(await say(port, closing)).toMatch(answer)
})

test('health is told on any Host: probes do not know our names', async () => {
  const { port } = await startListeningSystem({ env: SPLIT })
  const headers = { host: '10.1.2.3:9999' }
  expect(await ask(port, { path: '/healthz', headers })).toMatchObject({
    status: 200,
    body: '{"status":"alive"}',
  })
  expect(await ask(port, { path: '/readyz', headers })).toMatchObject({
    status: 200,
    body: '{"status":"ready"}',
  })
})

test('a process that cannot work is alive, not ready, and says why', async () => {
  const { port } = await startListeningSystem({
    readiness: async () => ({ ready: false, because: 'the database cannot be reached' }),
  })
  expect(await ask(port, { path: '/healthz' })).toMatchObject({ status: 200 })
  expect(await ask(port, { path: '/readyz' })).toMatchObject({
    status: 503,
    body: '{"status":"not ready","because":"the database cannot be reached"}',
  })
})

test('a service that fails costs its own request only', async () => {
  const failing: Service = async () => {
    throw new Error('geheim')
  }
  const { port } = await startListeningSystem({ services: { 'api-gateway': failing } })
  const answer = await ask(port)
  expect(answer.status).toBe(500)
  expect(answer.body).not.toContain('geheim')
  expect(await ask(port, { path: '/healthz' })).toMatchObject({ status: 200 })
})

// Where the question comes from

const PROXIES = '127.0.0.1, 10.0.0.0/8, 2001:db8:aa::/48'
const WALKS: [trusted: string, forwarded: string | string[] | undefined, seen: string][] = [
  ['', undefined, '127.0.0.1'],
  ['', '6.6.6.6', '127.0.0.1'],
  ['10.0.0.0/8', '6.6.6.6', '127.0.0.1'],
  [PROXIES, undefined, '127.0.0.1'],
  [PROXIES, '1.2.3.4', '1.2.3.4'],
  // What stands left of the first address our own proxies vouch for was written by the client.
  [PROXIES, '6.6.6.6, 1.2.3.4', '1.2.3.4'],
  [PROXIES, '6.6.6.6, 1.2.3.4, 10.1.1.1', '1.2.3.4'],
  [PROXIES, ['6.6.6.6', '1.2.3.4, 10.1.1.1'], '1.2.3.4'],
  [PROXIES, '6.6.6.6,1.2.3.4 ,  10.1.1.1', '1.2.3.4'],
  [PROXIES, '10.1.1.1, 10.2.2.2', '10.1.1.1'],
  [PROXIES, '2001:db8:bb::7', '2001:db8:bb::7'],
  [PROXIES, '2001:db8:bb::7, 2001:db8:aa::1', '2001:db8:bb::7'],
  // The same address written as the other family: to a throttle it must not be a second client.
  [PROXIES, '1.2.3.4, ::ffff:10.1.1.1', '1.2.3.4'],
  [PROXIES, '::ffff:1.2.3.4', '1.2.3.4'],
  [PROXIES, '::FFFF:1.2.3.4, 10.1.1.1', '1.2.3.4'],
  // A word that is no address ends the walk: nothing behind it can be believed.
  [PROXIES, '1.2.3.4, unknown', '127.0.0.1'],
  [PROXIES, '1.2.3.4, unknown, 10.1.1.1', '10.1.1.1'],
  [PROXIES, '', '127.0.0.1'],
  [PROXIES, ', ,', '127.0.0.1'],
  [PROXIES, '1.2.3.4:5678', '127.0.0.1'],
  ['any', '6.6.6.6, 1.2.3.4', '6.6.6.6'],
]
test.each(WALKS)(
  'with the proxies %j, X-Forwarded-For %j comes from %s',
  async (trusted, forwarded, seen) => {
    const { port } = await startListeningSystem({
      env: { TRUSTED_PROXIES: trusted },
      services: { 'api-gateway': addressSeen },
    })
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    expect(await ask(port, { headers })).toMatchObject({ status: 200, body: seen })
  },
)

test('a client cannot say its address itself, however it writes the header', async () => {
  const { port } = await startListeningSystem({ services: { 'api-gateway': addressSeen } })
  for (const name of ['x-svc-address', 'X-Svc-Address', 'X-SVC-ADDRESS']) {
    expect(await ask(port, { headers: { [name]: '6.6.6.6' } })).toMatchObject({ body: '127.0.0.1' })
    expect(await ask(port, { headers: { [name]: ['6.6.6.6', '7.7.7.7'] } })).toMatchObject({
      body: '127.0.0.1',
    })
  }
})

const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)
// Containers often have no such address.
test.skipIf(!hasIPv6)(
  'a client on IPv6 is seen by its address, one on IPv4 by the same address on a socket for both',
  async () => {
    const { port } = await startListeningSystem({
      env: { HOST: '::' },
      services: { 'api-gateway': addressSeen },
    })
    const headers = { host: `localhost:${port}` }
    expect(await ask(port, { headers })).toMatchObject({ body: '127.0.0.1' })
    expect(await ask(port, { headers, host: '::1' })).toMatchObject({ body: '::1' })
  },
)

test('a load balancer that asks by HTTP/1.0 without a Host is told of health, and of nothing else', async () => {
  const { port } = await startListeningSystem()
  const askWithoutHost = async (path: string) => {
    const socket = connect(port, '127.0.0.1')
    socket.end(`GET ${path} HTTP/1.0\r\n\r\n`)
    return (await text(socket)).split('\r\n', 1)[0]
  }
  expect(await askWithoutHost('/healthz')).toBe('HTTP/1.1 200 OK')
  expect(await askWithoutHost('/readyz')).toBe('HTTP/1.1 200 OK')
  expect(await askWithoutHost('/api/v1/me')).toBe('HTTP/1.1 400 Bad Request')
})

test('a client that hangs up before it is heard does no harm', async () => {
  const { port } = await startListeningSystem({ services: { 'api-gateway': addressSeen } })
  for (let count = 0; count < 20; count++) {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`GET /api HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`, () => socket.resetAndDestroy())
    })
    socket.on('error', () => {})
  }
  await sleep(50)
  expect(await ask(port)).toMatchObject({ status: 200 })
})

test('calls of processes without a database are noted once together, and one that has gone meanwhile is not begun', async () => {
  const noted = Promise.withResolvers<void>()
  const began: string[] = []
  let notes = 0
  const { port } = await startListeningSystem({
    noteRemote() {
      notes++
      return noted.promise
    },
    services: {
      'api-gateway': async ({ url }) => {
        began.push(new URL(url).pathname)
        return new Response('whole')
      },
    },
  })
  const headers = { 'x-svc-remote': '1' }
  const gone = connect(port, '127.0.0.1')
  gone.write(`GET /api/gone HTTP/1.1\r\nHost: localhost:${port}\r\nx-svc-remote: 1\r\n\r\n`)
  await expect.poll(() => notes).toBeGreaterThan(0)
  gone.resetAndDestroy()
  const stays = ask(port, { path: '/api/stays', headers })
  // Later than both, so both are known by then.
  expect(await ask(port, { path: '/api/other' })).toMatchObject({ status: 200 })
  expect(notes).toBe(1)
  noted.resolve()
  expect(await stays).toMatchObject({ status: 200, body: 'whole' })
  expect(began).toEqual(['/api/other', '/api/stays'])
})

// The end

/** A service that answers when told to. */
function slowService() {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const { promise: asked, resolve: tell } = Promise.withResolvers<void>()
  const service: Service = async (request) => {
    if (new URL(request.url).pathname !== '/api/slow') return new Response('quick')
    tell()
    await answered
    return new Response('slow but whole '.repeat(10_000))
  }
  return { service, asked, answer }
}

test('a stop lets a slow request finish, takes no new connection, and does not wait for quiet ones', async () => {
  const { service, asked, answer } = slowService()
  const { port, stop } = await startListeningSystem({
    services: { 'api-gateway': service },
    // Longer than a test may take.
    env: { STOP_SECONDS: '600' },
  })
  const agent = new Agent({ keepAlive: true })
  open.push(() => agent.destroy())
  const slow = ask(port, { path: '/api/slow', agent })
  await asked
  const quiet = new Agent({ keepAlive: true })
  open.push(() => quiet.destroy())
  await ask(port, { agent: quiet })

  const stopped = stop()
  await expect(ask(port)).rejects.toThrow('ECONNREFUSED')
  await sleep(300)
  answer()
  const { status, body, headers } = await slow
  expect([status, body.length, headers.connection]).toEqual([200, 150_000, 'close'])
  await stopped
})

test('a stop lets a slow reader have a large answer to its end', async () => {
  const size = 30_000_000
  const large: Service = async () => new Response('x'.repeat(size))
  const { port, stop } = await startListeningSystem({ services: { 'api-gateway': large } })
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET /api HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`)
  await once(socket, 'readable')
  const stopped = stop()
  await sleep(2_500)
  let read = 0
  for await (const chunk of socket) read += (chunk as Buffer).length
  expect(read).toBeGreaterThan(size)
  await stopped
})

test('a stop ends what goes on by itself, also what began since, and lets a call that is answered by events finish', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const streams: Service = async (request) => {
    const isCall = new URL(request.url).pathname === '/api/call'
    if (!isCall) answerGoesOn()
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from('data: first\n\n'))
        if (!isCall) return
        await answered
        controller.enqueue(Buffer.from('data: last\n\n'))
        controller.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  const { port, stop } = await startListeningSystem({
    env: { STOP_DELAY_SECONDS: '1', STOP_SECONDS: '60' },
    services: { 'api-gateway': streams },
  })
  const read = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { rest: response.text() }
  }
  const [call, before] = [await read('/api/call'), await read('/api/changes')]
  const stopped = stop()
  const since = await read('/api/changes')
  expect(await Promise.all([before.rest, since.rest])).toEqual(['data: first\n\n', 'data: first\n\n'])
  answer()
  expect(await call.rest).toBe('data: first\n\ndata: last\n\n')
  await stopped
})

/** Idle to us, while the next request is under way to us: closing such a connection at once would lose it. */
test('a connection in use is told to go with an answer, not cut off between two requests', async () => {
  const { port, stop } = await startListeningSystem({ services: { 'api-gateway': saying('whole') } })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  open.push(() => agent.destroy())
  await ask(port, { agent })
  const stopped = stop()
  const late = await ask(port, { agent })
  expect(late).toMatchObject({ status: 200, body: 'whole', headers: { connection: 'close' } })
  await stopped
})

test('while it stops it is alive and not ready', async () => {
  const { service, asked, answer } = slowService()
  const { port, stop } = await startListeningSystem({ services: { 'api-gateway': service } })
  const agent = new Agent({ keepAlive: true })
  open.push(() => agent.destroy())
  await ask(port, { agent })
  const slow = ask(port, { path: '/api/slow' })
  await asked
  const stopped = stop()
  expect(await ask(port, { path: '/readyz', agent })).toMatchObject({
    status: 503,
    body: '{"status":"not ready","because":"the process is stopping"}',
  })
  answer()
  await Promise.all([slow, stopped])
})

test('with a delay it goes on taking connections while it is not ready, each for one answer, and then takes no more', async () => {
  const { port, stop } = await startListeningSystem({ env: { STOP_DELAY_SECONDS: '1' } })
  // Timers of the same length end in the order in which they began.
  const delay = AbortSignal.timeout(1_000)
  const stopped = stop()
  // Each over a connection of its own: they come from a balancer that has not noticed yet.
  expect(await ask(port, { path: '/readyz' })).toMatchObject({ status: 503 })
  expect(await ask(port)).toMatchObject({ status: 200, body: 'gateway', headers: { connection: 'close' } })
  await stopped
  expect(delay.aborted).toBe(true)
  await expect(ask(port)).rejects.toThrow('ECONNREFUSED')
})

test('who does not finish in the time that is given is cut off', async () => {
  const { service, asked } = slowService()
  const { port, stop } = await startListeningSystem({
    env: { STOP_SECONDS: '0' },
    services: { 'api-gateway': service },
  })
  const slow = ask(port, { path: '/api/slow' })
  await asked
  await Promise.all([expect(slow).rejects.toThrow(/ECONNRESET|socket hang up/), stop()])
})

test('a port that is taken is named, with the setting that changes it', async () => {
  const { port } = await startListeningSystem()
  await expect(startListeningSystem({ env: { PORT: String(port) } })).rejects.toThrow(
    `Port ${port} is in use. Stop the other program, or set PORT.`,
  )
})

test('answers at an https address tell browsers to come by https only, and at no other address', async () => {
  const { port } = await startListeningSystem({
    env: { APP_URL: 'https://app.example.com', API_URL: 'https://api.example.com' },
  })
  const hstsAt = async (host: string, path: string) =>
    (await ask(port, { path, headers: { host } })).headers['strict-transport-security']
  expect(await hstsAt('app.example.com', '/console')).toBe('max-age=31536000')
  expect(await hstsAt('api.example.com', '/api/v1/me')).toBe('max-age=31536000')
  // A refusal of ours is an answer of that host too.
  expect(await hstsAt('app.example.com', '/nothing')).toBe('max-age=31536000')
  expect(await hstsAt(`127.0.0.1:${port}`, '/api/v1/me')).toBeUndefined()
  // Where the auth service is, in this configuration: an address of ours without TLS.
  expect(await hstsAt(`localhost:${port}`, '/api/v1/me')).toBeUndefined()
  expect(await hstsAt('elsewhere.example.com', '/console')).toBeUndefined()
})
