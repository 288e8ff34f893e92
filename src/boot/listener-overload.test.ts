/** What somebody who sends too much, in whatever way, costs everybody else: over raw sockets, which do what no client would. */
import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest'
import {
  ask,
  say,
  saying,
  startListener,
  type ListeningServices,
} from '../../test/support/listening-services.ts'
import type { Service } from '../client/service.ts'
import { createMetrics, type Metrics } from '../observe/metrics.ts'
import { ADMISSION_LIMITS, FORGOTTEN_PROXY, type AdmissionLimits } from './admission.ts'
import type { Listening } from './listener.ts'

const toClose: (() => Promise<unknown> | void)[] = []
let metrics: Metrics
beforeEach(() => void (metrics = createMetrics()))
afterEach(async () => {
  for (const close of toClose.splice(0)) await close()
})

async function start(options: ListeningServices = {}): Promise<Listening> {
  const listening = await startListener({
    ...options,
    metrics,
    env: { STOP_SECONDS: '0', ...options.env },
  })
  toClose.push(() => listening.stop())
  return listening
}

/** A service whose requests hang until the test answers them; `seen` has their paths in order. */
function hangingService() {
  const seen: string[] = []
  const signals: AbortSignal[] = []
  const answers: (() => void)[] = []
  const service: Service = (request) => {
    seen.push(new URL(request.url).pathname)
    signals.push(request.signal)
    return new Promise((resolve) => answers.push(() => resolve(new Response('whole'))))
  }
  return { service, seen, signals, answers }
}

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  toClose.push(() => void socket.destroy())
  return socket
}

const get = (port: number, path = '/api', headers = '') =>
  `GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\n${headers}\r\n`
const pipelined = (port: number, count: number) =>
  Array.from({ length: count }, (_, at) => get(port, `/api/${at}`)).join('')

async function metric(name: string): Promise<number> {
  const { text: exposed } = await metrics.expose()
  return Number(
    exposed
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length),
  )
}
const refusals = (reason: string) => metric(`svc_http_requests_refused_total{reason="${reason}"}`)
const openRequests = async () => ({
  open: await metric('svc_http_requests_open'),
  waiting: await metric('svc_http_requests_waiting'),
})
/** Waits for what the other side does. */
const until = (check: () => unknown) => vi.waitFor(check, { timeout: 20_000, interval: 5 })
const statuses = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)

/** One at a time that is not validated, and the others wait; slow ones do not let them start. */
const oneAtATime = ({ waiting = 4_096, waitMs = 60_000 } = {}): Partial<AdmissionLimits> => {
  const rules = {
    ...ADMISSION_LIMITS.lanes.unvalidated,
    running: { all: 1 },
    waiting: { all: waiting },
    waitMs,
  }
  return {
    slowMs: { validated: 60_000, unvalidated: 60_000 },
    lanes: { ...ADMISSION_LIMITS.lanes, unvalidated: rules },
  }
}

// Refusals

test.each([
  ['others of its network wait', '192.0.2.1', 429, 'RATE_LIMITED', 'Too many requests; try again later'],
  [
    'none does',
    '192.0.2.9',
    503,
    'OVERLOADED',
    'The server has too many requests at the moment; try again later',
  ],
])(
  'a refusal where %s is an error like any other, says when to come back, closes the connection, and is counted',
  async (_who, address, expected, code, message) => {
    const { service, seen } = hangingService()
    const { port } = await start({
      services: { 'api-gateway': service },
      env: { API_URL: 'https://api.example.com', TRUSTED_PROXIES: '127.0.0.1' },
      limits: oneAtATime({ waiting: 1 }),
    })
    const from = (one: string) => ({
      host: 'api.example.com',
      'x-request-id': 'of-the-client',
      'x-forwarded-for': one,
    })
    for (let asked = 0; asked < 2; asked += 1) void ask(port, { headers: from('192.0.2.1') }).catch(() => {})
    await until(async () => expect(await openRequests()).toEqual({ open: 1, waiting: 1 }))
    const agent = new Agent({ keepAlive: true })
    toClose.push(() => agent.destroy())
    const { status, body, headers: answered } = await ask(port, { headers: from(address), agent })
    expect(status).toBe(expected)
    expect(JSON.parse(body)).toEqual({ error: { code, message, request_id: 'of-the-client' } })
    expect(answered).toMatchObject({
      'content-type': 'application/json',
      'retry-after': '1',
      'x-request-id': 'of-the-client',
      'cache-control': 'no-store',
      'strict-transport-security': 'max-age=31536000',
      connection: 'close',
    })
    expect(await refusals('line_full')).toBe(1)
    expect(seen).toHaveLength(1)
  },
)

test('whoever waited for too long is refused, and counted', async () => {
  const { service, seen, answers } = hangingService()
  const { port } = await start({
    services: { 'api-gateway': service },
    limits: oneAtATime({ waitMs: 50 }),
  })
  const [first, late] = [ask(port), ask(port)]
  await until(async () => expect(await openRequests()).toEqual({ open: 1, waiting: 1 }))
  await sleep(80)
  answers[0]!()
  expect((await Promise.all([first, late])).map(({ status }) => status)).toEqual([200, 503])
  expect(seen).toHaveLength(1)
  expect(await refusals('waited_too_long')).toBe(1)
})

// Whose turn it is

test('made-up credentials of one address neither fill the line nor take the turns of another address', async () => {
  const { service, seen, answers } = hangingService()
  const { port } = await start({
    services: { 'api-gateway': service },
    env: { TRUSTED_PROXIES: '127.0.0.1' },
    limits: oneAtATime({ waiting: 20 }),
  })
  const from = (address: string, path: string, authorization: string) =>
    ask(port, { path, headers: { authorization, 'x-forwarded-for': address } })
  for (let at = 1; at <= 30; at += 1) {
    // Every address of the same /64 is theirs.
    void from(`2001:db8::${at}`, '/api/flood', `Bearer made-up-${at}`).catch(() => {})
  }
  await until(async () => expect(await openRequests()).toEqual({ open: 1, waiting: 20 }))
  const person = from('192.0.2.7', '/api/person', 'Bearer genuine')
  await until(async () => expect(await refusals('line_full')).toBe(10))
  for (let answered = 0; answered < 2; answered += 1) {
    await until(() => expect(answers.length).toBeGreaterThan(answered))
    answers[answered]!()
  }
  expect(await person).toMatchObject({ status: 200, body: 'whole' })
  expect(seen.slice(0, 2)).toEqual(['/api/flood', '/api/person'])
})

const INTERNAL = { path: '/auth/sign-in', headers: { host: 'auth.internal:4000' } }
const withInternal = (trusted: string, service: Service): ListeningServices => ({
  env: { AUTH_SERVICE_URL: 'http://auth.internal:4000', TRUSTED_PROXIES: trusted },
  services: { 'api-gateway': service, 'auth-service': saying('auth') },
  limits: oneAtATime(),
})

test('health and our own services, from an address that is trusted, do not wait', async () => {
  const { service } = hangingService()
  const { port } = await start(withInternal('127.0.0.1', service))
  for (let asked = 0; asked < 3; asked += 1) void ask(port).catch(() => {})
  await until(async () => expect(await openRequests()).toEqual({ open: 1, waiting: 2 }))
  expect((await ask(port, { path: '/healthz' })).body).toBe('{"status":"alive"}')
  expect((await ask(port, INTERNAL)).body).toBe('auth')
})

test('a Host that names one of our services, or this process, does not start anything of anybody else at once', async () => {
  const { service, answers } = hangingService()
  const { port } = await start(withInternal('10.0.0.0/8', service))
  void ask(port).catch(() => {})
  await until(async () => expect(await openRequests()).toEqual({ open: 1, waiting: 0 }))
  const forged = [
    ask(port, INTERNAL),
    // Not believed, because it does not come from a trusted address.
    ask(port, { ...INTERNAL, headers: { ...INTERNAL.headers, 'x-forwarded-for': '10.0.0.1' } }),
    ask(port, { path: '/auth/sign-in', headers: { host: `127.0.0.1:${port}` } }),
  ]
  await until(async () => expect(await openRequests()).toEqual({ open: 1, waiting: 3 }))
  answers[0]!()
  for (const answer of await Promise.all(forged)) expect(answer.body).toBe('auth')
})

test('requests that do not end keep nobody waiting for long', async () => {
  const { service, seen } = hangingService()
  const { port } = await start({ services: { 'api-gateway': service, 'auth-service': saying('auth') } })
  for (let asked = 0; asked < 40; asked += 1) void ask(port).catch(() => {})
  const other = ask(port, { path: '/auth/sign-in' })
  await until(() => expect(seen.length).toBeGreaterThanOrEqual(32))
  expect((await other).body).toBe('auth')
  await until(() => expect(seen).toHaveLength(40))
})

test('forwarded addresses from a private one that nobody trusts are named once in the log', async () => {
  const warned: unknown[] = []
  const { port } = await start({ log: { warn: (event, fields) => void warned.push([event, fields]) } })
  await ask(port)
  expect(warned).toEqual([])
  for (const name of ['x-forwarded-for', 'forwarded', 'x-forwarded-for'])
    await ask(port, { headers: { [name]: '192.0.2.1' } })
  expect(warned).toEqual([[FORGOTTEN_PROXY, expect.objectContaining({ proxy: '127.0.0.1' })]])
})

test('forwarded addresses from a proxy that is trusted are nothing to name', async () => {
  const warned: string[] = []
  const { port } = await start({
    env: { TRUSTED_PROXIES: '127.0.0.1' },
    log: { warn: (event) => void warned.push(event) },
  })
  await ask(port, { headers: { 'x-forwarded-for': '192.0.2.1' } })
  expect(warned).toEqual([])
})

test('however many ask whether it is ready, the database is asked by one at a time', async () => {
  let [asking, most, times] = [0, 0, 0]
  const hold = Promise.withResolvers<void>()
  const { port } = await start({
    async readiness() {
      times += 1
      most = Math.max(most, ++asking)
      await hold.promise
      asking -= 1
      return { ready: true }
    },
  })
  const asked = Array.from({ length: 50 }, () => ask(port, { path: '/readyz' }))
  await until(async () => expect(await openRequests()).toEqual({ open: 50, waiting: 0 }))
  hold.resolve()
  const answers = await Promise.all(asked)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(most).toBe(1)
  // Whoever comes while it is asked waits for that answer, or for the next one.
  expect(times).toBeLessThanOrEqual(2)
})

// One connection

test('of the requests on one connection one is under way at a time, and the answers come in order', async () => {
  const { service, seen, answers } = hangingService()
  const { port } = await start({ services: { 'api-gateway': service } })
  const socket = open(port)
  let received = ''
  socket.on('data', (chunk) => (received += String(chunk)))
  socket.write(pipelined(port, 3))
  for (const count of [1, 2, 3]) {
    await until(() => expect(seen).toHaveLength(count))
    await sleep(20)
    expect(seen).toHaveLength(count)
    expect(await openRequests()).toEqual({ open: 1, waiting: 0 })
    answers[count - 1]!()
    await until(() => expect(received.match(/whole/g)).toHaveLength(count))
  }
  expect(seen).toEqual(['/api/0', '/api/1', '/api/2'])
  await until(async () => expect(await openRequests()).toEqual({ open: 0, waiting: 0 }))
})

test('a connection that is destroyed with twenty requests on it leaves none of them, and a stop does not wait', async () => {
  const { service, seen, signals } = hangingService()
  const { port, stop } = await start({ services: { 'api-gateway': service }, env: { STOP_SECONDS: '600' } })
  const socket = open(port)
  socket.write(pipelined(port, 20))
  await until(() => expect(seen).toHaveLength(1))
  socket.resetAndDestroy()
  await until(async () => expect(await openRequests()).toEqual({ open: 0, waiting: 0 }))
  expect(signals[0]!.aborted).toBe(true)
  // It would for longer than a test may take.
  await stop()
  expect(seen).toEqual(['/api/0'])
})

test('the ninth that waits behind another on a connection is refused, and those after it are not answered', async () => {
  const { service, seen, answers } = hangingService()
  const { port } = await start({ services: { 'api-gateway': service } })
  const received = say(port, pipelined(port, 20))
  for (let answered = 0; answered < 9; answered += 1) {
    await until(() => expect(answers).toHaveLength(answered + 1))
    answers[answered]!()
  }
  expect(statuses(await received)).toEqual([...Array<string>(9).fill('200'), '503'])
  expect(seen).toHaveLength(9)
  expect(await refusals('too_many_pipelined')).toBe(1)
  expect(await openRequests()).toEqual({ open: 0, waiting: 0 })
})

test('whoever goes on sending after that is cut off', async () => {
  const { service, seen } = hangingService()
  const { port } = await start({ services: { 'api-gateway': service } })
  const socket = open(port)
  const closed = once(socket, 'close')
  socket.write(pipelined(port, 200))
  await closed
  expect(seen.length).toBeLessThanOrEqual(1)
  await until(async () => expect(await openRequests()).toEqual({ open: 0, waiting: 0 }))
})

// Connections

test.each([
  ['reset', (socket: Socket) => void socket.resetAndDestroy()],
  ['closed', (socket: Socket) => void socket.destroy()],
  ['closed on one side', (socket: Socket) => void socket.end()],
])(
  'a request whose connection is %s before its turn leaves the line, and never starts',
  async (_how, leave) => {
    const { service, seen, answers } = hangingService()
    const { port } = await start({ services: { 'api-gateway': service }, limits: oneAtATime() })
    const first = ask(port, { path: '/api/first' })
    await until(() => expect(seen).toEqual(['/api/first']))
    const sockets = Array.from({ length: 5 }, () => open(port))
    for (const socket of sockets) {
      socket.write(`POST /api/gone HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 100\r\n\r\nsome`)
    }
    await until(async () => expect(await openRequests()).toEqual({ open: 1, waiting: 5 }))
    for (const socket of sockets) leave(socket)
    await until(async () => expect(await openRequests()).toEqual({ open: 1, waiting: 0 }))
    answers[0]!()
    expect((await first).status).toBe(200)
    await until(async () => expect(await openRequests()).toEqual({ open: 0, waiting: 0 }))
    expect(seen).toEqual(['/api/first'])
  },
)

test('bodies that never come keep nobody from being answered', async () => {
  const reading: Service = async (request) => new Response(await request.text())
  const { port } = await start({ services: { 'api-gateway': reading, console: saying('console') } })
  for (let opened = 0; opened < 100; opened += 1) {
    open(port).write(
      `POST /api HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 1000\r\n\r\n${'x'.repeat(10)}`,
    )
  }
  await until(async () => expect((await openRequests()).open).toBeGreaterThan(30))
  expect((await ask(port, { path: '/console' })).body).toBe('console')
  await until(async () => expect(await openRequests()).toEqual({ open: 100, waiting: 0 }))
})

test.runIf(inject('everyCase'))(
  'connections that are kept open without a request keep nobody waiting',
  async () => {
    const { port } = await start()
    const idle = Array.from({ length: 500 }, () => open(port))
    const answered = await Promise.all(
      idle.map(async (socket) => {
        socket.write(get(port))
        return String(((await once(socket, 'data')) as [Buffer])[0])
      }),
    )
    expect(new Set(answered.flatMap(statuses))).toEqual(new Set(['200']))
    expect(await openRequests()).toEqual({ open: 0, waiting: 0 })
    expect((await ask(port)).status).toBe(200)
  },
)

test('asking for another protocol is an ordinary request, and a tunnel is closed', async () => {
  const { port } = await start()
  const upgrade = get(port, '/api', 'Connection: Upgrade, close\r\nUpgrade: websocket\r\n')
  expect(statuses(await say(port, upgrade))).toEqual(['200'])
  expect(await say(port, `CONNECT localhost:${port} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`)).toBe('')
  expect(await openRequests()).toEqual({ open: 0, waiting: 0 })
})
