/** Connections kept between messages, against real sockets: what is used again, what never is, and what ends one. */
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { playedTimers } from '../../../test/support/played-timers.ts'
import { selfSigned } from '../../../test/support/self-signed.ts'
import { outbound, type Outbound, type Posted } from './guarded-post.ts'
import { keptConnections } from './kept-connections.ts'

const HERE = '127.0.0.1'
const SENT = { kind: 'answered', status: 200 }
const certificate = selfSigned('receiver.test')

type Answer = (response: ServerResponse, request: IncomingMessage) => void
const OK: Answer = (response) => void response.end('ok')
let answer: Answer
/** The receiver's side of every connection that was made, and the address each came in at. */
let connections: Socket[] = []
let addresses: (string | undefined)[] = []
let requests = 0

const take = (request: IncomingMessage, response: ServerResponse) => {
  request.resume().once('end', () => {
    requests++
    answer(response, request)
  })
}
// Kept for long by the receiver, unless a test says otherwise: what ends a connection is what the test does.
const secure = createHttpsServer({ ...certificate, keepAliveTimeout: 60_000 }, take)
const plain = createHttpServer({ keepAliveTimeout: 60_000 }, take)
const ports = { https: 0, http: 0 }

beforeAll(async () => {
  for (const [scheme, server] of [
    ['https', secure],
    ['http', plain],
  ] as const) {
    server.on(scheme === 'https' ? 'secureConnection' : 'connection', (socket: Socket) => {
      connections.push(socket.on('error', () => {}))
      addresses.push(socket.localAddress)
    })
    server.listen(0, '0.0.0.0')
    await once(server, 'listening')
    ports[scheme] = ((server as Server).address() as AddressInfo).port
  }
})
afterAll(() => {
  for (const server of [secure, plain]) {
    server.close()
    server.closeAllConnections()
  }
})
beforeEach(() => {
  ;[answer, connections, addresses, requests] = [OK, [], [], 0]
})

const settings = { resolve: async () => [HERE], allowNets: ['127.0.0.0/8'], ca: certificate.cert }
const urlOf = (scheme: 'https' | 'http', host = 'receiver.test') =>
  scheme === 'https' ? `https://${host}:${ports.https}/` : `http://${host}:${ports.http}/`
const send = (by: Outbound, url: string, keptFor: string | null = 'org_1 int_1') =>
  by.post({ url, headers: {}, body: '[]', keptFor })
/** A connection is kept a turn after its answer was read. */
const settle = () => wait(5)

async function sendTwice(by: Outbound, url: string, keptFor?: string | null) {
  const first = await send(by, url, keptFor)
  await settle()
  return [first, await send(by, url, keptFor)]
}

describe.each(['https', 'http'] as const)('by %s', (scheme) => {
  const url = () => urlOf(scheme)

  test('the next messages of the same owner go over the same connection, and it gathers no listeners', async () => {
    const by = outbound(settings)
    const warnings: Error[] = []
    const note = (warning: Error) => void warnings.push(warning)
    process.on('warning', note)
    for (let n = 0; n < 20; n++) {
      expect(await send(by, url())).toMatchObject(SENT)
      await settle()
    }
    process.off('warning', note)
    expect([connections.length, requests, warnings]).toEqual([1, 20, []])
    by.close()
    await once(connections[0]!, 'close')
  })

  test('another organization or integration, and whoever keeps none, has a connection of its own', async () => {
    const by = outbound(settings)
    for (const keptFor of ['org_1 int_1', 'org_1 int_2', 'org_2 int_1', null, null]) {
      expect(await send(by, url(), keptFor)).toMatchObject(SENT)
      await settle()
    }
    expect(connections.length).toBe(5)
    by.close()
  })

  test('two at the same time have two connections', async () => {
    const by = outbound(settings)
    await sendTwice(by, url())
    await settle()
    await Promise.all([send(by, url()), send(by, url())])
    expect(connections.length).toBe(2)
    by.close()
  })

  test('a name that leads elsewhere now is not sent to over the old address', async () => {
    const told = [[HERE], ['127.0.0.2'], ['127.0.0.2', HERE], ['169.254.169.254']]
    const by = outbound({ ...settings, resolve: async () => told.shift() ?? [] })
    await sendTwice(by, url())
    expect(addresses).toEqual([HERE, '127.0.0.2'])
    await settle()
    // Resolved and checked before every message, kept connection or not.
    expect(await send(by, url())).toMatchObject(SENT)
    await settle()
    expect(await send(by, url())).toEqual({ kind: 'not_sent', because: 'address' })
    expect([connections.length, requests]).toEqual([2, 3])
    by.close()
  })

  test('a close that is on its way is seen before the message is written', async () => {
    for (let n = 1; n <= 10; n++) {
      // A new one each time: it would have learned that this receiver closes early.
      const by = outbound(settings)
      await send(by, url())
      await settle()
      // It has left the receiver and nobody here has read it.
      connections.at(-1)![n % 2 === 0 ? 'end' : 'destroy']()
      expect(await send(by, url())).toMatchObject(SENT)
      by.close()
    }
    expect([connections.length, requests]).toEqual([20, 20])
  })

  test('a connection that breaks under a message leaves it unknown, and says that it was a kept one', async () => {
    const by = outbound(settings)
    answer = (response) => (requests === 1 ? OK(response, response.req) : response.socket!.destroy())
    expect(await sendTwice(by, url())).toEqual([
      expect.objectContaining(SENT),
      { kind: 'unknown', brokeKeptSocket: true },
    ])
    expect([connections.length, requests]).toEqual([1, 2])
    // Never a second time by itself, and on a new connection it says nothing about kept ones.
    expect(await send(by, url())).toEqual({ kind: 'unknown' })
    expect(requests).toBe(3)
    by.close()
  })

  test('one that only answers too late is not blamed on the kept connection', async () => {
    const by = outbound({ ...settings, deadlineMs: 300 })
    answer = (response) => requests === 1 && OK(response, response.req)
    expect(await sendTwice(by, url())).toEqual([expect.objectContaining(SENT), { kind: 'unknown' }])
    by.close()
  })

  test.each<[string, Answer]>([
    ['asked to close', (response) => void response.writeHead(200, { connection: 'close' }).end('ok')],
    [
      'says that it will close within a second',
      (response) => void response.writeHead(200, { 'keep-alive': 'timeout=1' }).end(),
    ],
    ['answers with more than is read', (response) => void response.end(Buffer.alloc(100_000))],
    [
      'says more than it was asked, at once',
      (response) =>
        void response.socket!.write(
          'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n',
        ),
    ],
    [
      'says more than it was asked, later',
      (response) => {
        const { socket } = response
        response.end('ok', () =>
          setImmediate(() => socket!.write('HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n')),
        )
      },
    ],
  ])('one whose receiver %s is not used again', async (_what, first) => {
    const by = outbound(settings)
    answer = (response, request) => (requests === 1 ? first : OK)(response, request)
    expect(await sendTwice(by, url())).toMatchObject([SENT, SENT])
    expect([connections.length, requests]).toEqual([2, 2])
    by.close()
  })

  test('one whose receiver says that it keeps it for longer is used again', async () => {
    const by = outbound(settings)
    answer = (response) => void response.writeHead(200, { 'keep-alive': 'max=100, timeout=5' }).end()
    await sendTwice(by, url())
    expect(connections.length).toBe(1)
    by.close()
  })
})

test('a kept connection is not used for another name, whatever address that has', async () => {
  const by = outbound(settings)
  await send(by, urlOf('https'))
  await settle()
  expect(await send(by, urlOf('https', 'other.test'))).toEqual({
    kind: 'not_sent',
    because: 'certificate_name',
  })
  expect(requests).toBe(1)
  by.close()
})

test('a new connection of the same owner resumes the TLS session; another owner starts from nothing', async () => {
  const by = outbound(settings)
  const reused: boolean[] = []
  const note = (socket: TLSSocket) => void reused.push(socket.isSessionReused())
  secure.on('secureConnection', note)
  const isReused = async (keptFor: string | null) => {
    await send(by, urlOf('https'), keptFor)
    await settle()
    const socket = connections.at(-1) as TLSSocket
    socket.destroy()
    await settle()
    return reused.at(-1)
  }
  expect([
    await isReused('org_1 int_1'),
    await isReused('org_1 int_1'),
    await isReused('org_2 int_1'),
    await isReused(null),
  ]).toEqual([false, true, false, false])
  secure.off('secureConnection', note)
  by.close()
})

test('a session that is resumed again and again is over five minutes after its certificate was verified', async () => {
  const { pass, ...timers } = playedTimers()
  const kept = keptConnections({ ca: certificate.cert, timers })
  const key = { owner: 'org_1 int_1', origin: urlOf('https') }
  const reused: boolean[] = []
  for (const minutes of [0, 2, 2, 2, 2]) {
    pass(minutes * 60_000)
    const socket = kept.dial(new URL(urlOf('https')), [HERE], key).resume() as TLSSocket
    const given = new Promise((resolve) => socket.once('session', resolve))
    await once(socket, 'secureConnect')
    reused.push(socket.isSessionReused())
    if (!socket.isSessionReused()) await given
    // As from a receiver that sends a ticket also when a session is resumed; Node's own does not.
    socket.emit('session', socket.getSession()!)
    // A second ticket belongs to this minute, too.
    await once(socket.destroy(), 'close')
  }
  expect(reused).toEqual([false, true, true, false, true])
  kept.close()
})

test('when as many are idle as may be, the oldest gives way', async () => {
  const kept = keptConnections({ idleMax: 2 })
  const keyOf = (n: number) => ({ owner: `org_${n} int_1`, origin: urlOf('http') })
  const sockets = []
  for (const n of [1, 2, 3]) {
    const socket = kept.dial(new URL(urlOf('http')), [HERE], keyOf(n))
    await once(socket, 'connect')
    kept.keep(keyOf(n), socket, undefined)
    sockets.push(socket)
  }
  expect(await Promise.all([1, 2, 3].map((n) => kept.take(keyOf(n), [HERE])))).toEqual([
    undefined,
    sockets[1],
    sockets[2],
  ])
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, false, false])
  for (const socket of sockets) socket.destroy()
  kept.close()
})

test('where a receiver was seen to close one after a second, none is used again that was idle for half of it', async () => {
  const { pass, ...timers } = playedTimers()
  const kept = keptConnections({ timers })
  const key = { owner: 'org_1 int_1', origin: urlOf('http') }
  const isUsedAfter = async (ms: number) => {
    const socket = kept.dial(new URL(urlOf('http')), [HERE], key)
    await once(socket, 'connect')
    kept.keep(key, socket, undefined)
    pass(ms)
    const isUsed = (await kept.take(key, [HERE])) === socket
    socket.destroy()
    return isUsed
  }
  expect([await isUsedAfter(1_999), await isUsedAfter(2_000)]).toEqual([true, false])
  const closed = kept.dial(new URL(urlOf('http')), [HERE], key)
  await once(closed, 'connect')
  kept.keep(key, closed, undefined)
  pass(1_000)
  await expect.poll(() => connections.length).toBe(3)
  connections[2]!.end()
  await once(closed, 'close')
  expect([await isUsedAfter(499), await isUsedAfter(500)]).toEqual([true, false])
  kept.close()
})

test.runIf(inject('everyCase'))(
  'one that was idle for two seconds is ended unless the receiver says that it listens for longer; one that closes after a second leaves nothing unknown',
  async () => {
    const timers = new Map<Socket, NodeJS.Timeout>()
    // It does not say so, as many proxies do not.
    const closing = createHttpServer({ keepAliveTimeout: 0 }, (request, response) => {
      const { socket } = request
      clearTimeout(timers.get(socket))
      request.resume().once('end', () => response.end('ok'))
      timers.set(
        socket,
        setTimeout(() => socket.end(), 1_000),
      )
    })
    closing.listen(0, HERE)
    await once(closing, 'listening')
    const url = `http://receiver.test:${(closing.address() as AddressInfo).port}/`
    const by = outbound(settings)
    const answers: Posted[] = []
    // A message each, at every moment up to the second in which it closes and beyond.
    const around = async (owner: number) => {
      answers.push(await send(by, url, `owner ${owner}`))
      await wait(owner * 5)
      answers.push(await send(by, url, `owner ${owner}`))
    }
    // Node's own server says how long it listens, sixty seconds here, unless the header before it is given.
    answer = (response, request) => {
      if (request.url === '/silent') response.setHeader('connection', 'keep-alive')
      OK(response, request)
    }
    const idle = async (path: string) => {
      await send(by, `${urlOf('http')}${path}`, path)
      await wait(2_100)
      await send(by, `${urlOf('http')}${path}`, path)
    }
    // It closes one that nobody used. From then on it is known, for all owners.
    const closesOne = async () => {
      await send(by, url, 'first')
      await wait(1_050)
    }
    await Promise.all([
      idle('silent'),
      idle('announcing'),
      closesOne().then(() => Promise.all(Array.from({ length: 250 }, (_, n) => around(n)))),
    ])
    expect(connections.length).toBe(3)
    expect(answers.filter(({ kind }) => kind !== 'answered')).toEqual([])
    by.close()
    closing.close()
    closing.closeAllConnections()
  },
)
