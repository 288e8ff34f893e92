/** Against real sockets on loopback, which is refused in earnest: tests say which network is their own. */
import { once } from 'node:events'
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { selfSigned } from '../../../test/support/self-signed.ts'
import vectors from '../../../test/vectors/ssrf-addresses.json' with { type: 'json' }
import type { NotReachedReason } from '../../contracts/deliveries.ts'
import { outbound, type Posted } from './guarded-post.ts'

const HERE = '127.0.0.1'
const NOT_ALLOWED = { kind: 'not_sent', because: 'address' }
const UNKNOWN = { kind: 'unknown' }
const MESSAGE = { headers: { 'content-type': 'application/json' }, body: '[{"id":"dlv_1"}]' }

async function listen(server: Server, host = HERE): Promise<number> {
  server.listen(0, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Speaks TCP and no more; whatever it does is done to the message. */
async function startSocketServer(take: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    take(socket)
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return listen(server)
}

describe('an address that is not public', () => {
  const trap = createServer((socket) => socket.destroy())
  let connectionCount = 0
  let port: number
  beforeAll(async () => {
    trap.on('connection', () => connectionCount++)
    port = await listen(trap)
  })
  afterAll(() => void trap.close())

  test.each(vectors.refuse)('$address gets nothing when a name leads to it: $why', async ({ address }) => {
    const { post, isAllowed } = outbound({ resolve: async () => [address] })
    const url = `https://receiver.test:${port}/`
    expect([await post({ ...MESSAGE, url }), await isAllowed(url)]).toEqual([NOT_ALLOWED, false])
  })

  test.each(vectors.refuse)('$address gets nothing as it stands: $why', async ({ address }) => {
    const host = address.includes(':') ? `[${address}]` : address
    const { post, isAllowed } = outbound()
    for (const url of [`https://${host}:${port}/`, `http://${host}:${port}/`]) {
      expect([await post({ ...MESSAGE, url }), await isAllowed(url)]).toEqual([NOT_ALLOWED, false])
    }
  })

  test.each([
    '2130706433',
    '0x7f000001',
    '0x7F.1',
    '017700000001',
    '0177.0.0.1',
    '127.1',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '１２７.0.0.1',
    '127。0。0。1',
    '[0:0:0:0:0:0:0:1]',
    '[::FFFF:7F00:1]',
    'localhost',
    'svc.localhost',
    'LOCALHOST',
    '0',
  ])('this machine is recognised when it is spelled %s', async (host) => {
    const { post } = outbound()
    expect(await post({ ...MESSAGE, url: `https://${host}:${port}/` })).toEqual(NOT_ALLOWED)
  })

  test('one of them among public ones spoils the name', async () => {
    const { post } = outbound({ resolve: async () => ['8.8.8.8', HERE] })
    expect(await post({ ...MESSAGE, url: `https://receiver.test:${port}/` })).toEqual(NOT_ALLOWED)
  })

  test('is reached only within the operator’s own networks, and these are no others', async () => {
    const { isAllowed } = outbound({
      allowNets: ['10.1.0.0/16', 'fd00:1::/32', '192.168.7.7'],
      resolve: async () => ['8.8.8.8'],
    })
    const judged = async (...urls: string[]) => Promise.all(urls.map((url) => isAllowed(url)))
    expect(await judged('https://10.1.2.3/', 'http://10.1.2.3/', 'http://[fd00:1::5]/x')).not.toContain(false)
    expect(
      await judged('http://192.168.7.7', 'https://receiver.test', 'http://[::ffff:10.1.2.3]'),
    ).not.toContain(false)
    expect(
      await judged(
        'http://10.2.0.1/',
        'https://192.168.7.8',
        'https://169.254.169.254',
        'http://[fd00:2::5]',
      ),
    ).not.toContain(true)
    // In the clear to a public host: everybody on the way could read the address, which is the key.
    expect(await judged('http://receiver.test/')).toEqual([false])
  })

  test('was never connected to', async () => {
    await wait(50)
    expect(connectionCount).toBe(0)
  })
})

test.each([
  '',
  'receiver.test/hook',
  'ftp://receiver.test/',
  'file:///etc/passwd',
  'https://me@receiver.test/',
  'https://@receiver.test/',
  'https://receiver.test\\@elsewhere.test/',
  ' https://receiver.test/',
  'https://receiver.test:25/',
  'https://receiver.test:6667/',
  `https://receiver.test/${'x'.repeat(2048)}`,
])('%j is not even resolved', async (url) => {
  let asked = 0
  const { post, isAllowed } = outbound({
    resolve: async () => {
      asked++
      return ['8.8.8.8']
    },
  })
  expect([await post({ ...MESSAGE, url }), await isAllowed(url), asked]).toEqual([NOT_ALLOWED, false, 0])
})

describe('a receiver', () => {
  type Answer = (response: ServerResponse, request: IncomingMessage) => void
  type Got = {
    method: string | undefined
    url: string | undefined
    headers: IncomingHttpHeaders
    body: string
  }
  const answers = new Map<string, Answer>()
  const got: Got[] = []
  const certificate = selfSigned('receiver.test')
  const take = (request: IncomingMessage, response: ServerResponse) => {
    void text(request).then((body) => {
      got.push({ method: request.method, url: request.url, headers: request.headers, body })
      answers.get(request.url ?? '')?.(response, request)
    })
  }
  const [secure, plain] = [createHttpsServer(certificate, take), createHttpServer(take)]
  let securePort: number
  let plainPort: number
  beforeAll(async () => {
    ;[securePort, plainPort] = [await listen(secure), await listen(plain)]
  })
  afterAll(() => {
    for (const server of [secure, plain]) {
      server.close()
      server.closeAllConnections()
    }
  })

  const settings = { resolve: async () => [HERE], allowNets: [HERE], ca: certificate.cert }
  const { post } = outbound(settings)
  const impatient = outbound({ ...settings, deadlineMs: 600 })
  const serve = (answer: Answer, scheme: 'https' | 'http' = 'https') => {
    const path = `/${answers.size}`
    answers.set(path, answer)
    return scheme === 'https'
      ? `https://receiver.test:${securePort}${path}`
      : `http://${HERE}:${plainPort}${path}`
  }
  const ends = (status: number, headers: Record<string, string> = {}) =>
    serve((response) => response.writeHead(status, headers).end('said'))

  test.each(['https', 'http'] as const)('gets the message byte for byte, by %s', async (scheme) => {
    const url = serve((response) => response.writeHead(202).end('thanks'), scheme)
    const body = '[ {"näme": "✓"} ]\n'
    const headers = { 'Content-Type': 'application/json', 'X-Svc-Timestamp': '1', host: 'evil.test' }
    expect(await post({ url, headers, body })).toEqual({
      kind: 'answered',
      status: 202,
      retryAfterSeconds: undefined,
      text: 'thanks',
      responseWithheld: true,
    })
    expect(got.at(-1)).toMatchObject({
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'x-svc-timestamp': '1',
        host: new URL(url).host,
      },
    })
    expect(got.at(-1)!.headers['transfer-encoding']).toBeUndefined()
    expect(got.at(-1)!.headers.referer).toBeUndefined()
  })

  test('shows how its answer begins, unless only the operator’s own networks lead there', async () => {
    const large = `begin ${'x'.repeat(100_000)}`
    const urls = [ends(200), ends(500), serve((response) => response.writeHead(200).end(large))]
    const isPublic = outbound({ ...settings, allowNets: [], isPublic: (address) => address === HERE })
    const shown = await Promise.all(urls.map((url) => isPublic.post({ ...MESSAGE, url })))
    expect(shown.map((one) => one.kind === 'answered' && one.response?.slice(0, 5))).toEqual([
      'said',
      'said',
      'begin',
    ])
    // Also of what was too long to be read as a whole.
    expect(shown.map((one) => one.kind === 'answered' && (one.response?.length ?? 0) <= 4096)).toEqual(
      Array(3).fill(true),
    )
    for (const url of urls) {
      const hidden = await post({ ...MESSAGE, url })
      expect(hidden.kind === 'answered' && hidden.response).toBeUndefined()
      expect(hidden).toMatchObject({ responseWithheld: true })
    }
    const nothing = serve((response) => response.writeHead(204).end())
    expect(await post({ ...MESSAGE, url: nothing })).not.toHaveProperty('responseWithheld')
    // One private address among public ones is enough.
    const both = { ...settings, resolve: async () => [HERE, '127.0.0.2'], allowNets: ['127.0.0.2'] }
    const mixed = outbound({ ...both, isPublic: (address) => address === HERE })
    expect(await mixed.post({ ...MESSAGE, url: ends(200) })).toMatchObject({
      status: 200,
      response: undefined,
    })
  })

  test('in a network that is one organization’s alone shows its answer to that one, and takes nothing of others', async () => {
    const url = ends(200)
    const answerTo = async (
      orgId: string | undefined,
      nets: Record<string, string[]>,
      allowNets: string[] = [],
    ) => {
      const by = outbound({ ...settings, allowNets, organizationNets: new Map(Object.entries(nets)) })
      const posted = await by.post({ ...MESSAGE, url, orgId })
      expect(await by.isAllowed(url, orgId)).toBe(posted.kind === 'answered')
      return posted.kind === 'answered' ? (posted.response ?? 'withheld') : posted.kind
    }
    const own = { org_1: ['127.0.0.0/8'] }
    expect(await answerTo('org_1', own)).toBe('said')
    expect(await answerTo('org_2', own)).toBe('not_sent')
    expect(await answerTo(undefined, own)).toBe('not_sent')
    // Of two, or of everybody.
    expect(await answerTo('org_1', { ...own, org_2: [HERE] })).toBe('withheld')
    expect(await answerTo('org_1', own, [HERE])).toBe('withheld')
  })

  test('is resolved once for a hop: an answer that changes afterwards changes nothing', async () => {
    const url = ends(200)
    const told = [[HERE], ['169.254.169.254']]
    let asked = 0
    const rebound = outbound({ ...settings, resolve: async () => told[asked++] ?? [] })
    expect(await rebound.post({ ...MESSAGE, url })).toMatchObject({ kind: 'answered', status: 200 })
    expect(asked).toBe(1)
    // The next message resolves and checks anew, on a connection of its own.
    expect(await rebound.post({ ...MESSAGE, url })).toEqual(NOT_ALLOWED)
  })

  test.each([
    ['7', 7],
    ['0', undefined],
    ['-5', undefined],
    ['soon', undefined],
    ['999999999', 86_400],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 10],
    ['Sun, 06 Nov 1994 08:49:00 GMT', undefined],
  ])('asks to wait: %s', async (header, seconds) => {
    const { post } = outbound({ ...settings, now: () => Date.UTC(1994, 10, 6, 8, 49, 27) })
    expect(await post({ ...MESSAGE, url: ends(503, { 'retry-after': header }) })).toMatchObject({
      status: 503,
      retryAfterSeconds: seconds,
    })
  })

  describe('that answers from elsewhere', () => {
    test.each([301, 302, 307, 308])('is followed with the same message after %i', async (status) => {
      const there = ends(200)
      expect(await post({ ...MESSAGE, url: ends(status, { location: there }) })).toMatchObject({
        status: 200,
      })
      expect(got.at(-1)).toMatchObject({ method: 'POST', url: new URL(there).pathname, body: MESSAGE.body })
    })

    test.each([300, 303, 304, 305])('is not followed after %i', async (status) => {
      const url = ends(status, { location: ends(200) })
      expect(await post({ ...MESSAGE, url })).toMatchObject({ kind: 'answered', status })
    })

    test('is followed three times and not a fourth', async () => {
      const chain = (hops: number): string =>
        hops === 0 ? ends(200) : ends(307, { location: new URL(chain(hops - 1)).pathname })
      expect(await post({ ...MESSAGE, url: chain(3) })).toMatchObject({ status: 200 })
      expect(await post({ ...MESSAGE, url: chain(4) })).toMatchObject({ status: 307 })
      expect(await post({ ...MESSAGE, url: chain(1), redirects: 0 })).toMatchObject({ status: 307 })
    })

    test.each([
      'https://169.254.169.254/latest/meta-data/',
      'https://[fd00:ec2::254]/',
      'https://[::ffff:169.254.169.254]/',
      'https://0xa9fea9fe/',
      'https://2852039166/',
      'https://100.100.100.200/',
      'https://127.0.0.2/',
      'https://me@receiver.test/',
      'https://receiver.test:22/',
      'ftp://receiver.test/',
      'file:///etc/passwd',
    ])('is not followed to %s', async (location) => {
      expect(await post({ ...MESSAGE, url: ends(307, { location }) })).toEqual(NOT_ALLOWED)
    })

    test('is not followed from https to http, even within the operator’s networks', async () => {
      const there = serve((response) => response.end(), 'http')
      const before = got.length
      expect(await post({ ...MESSAGE, url: ends(308, { location: there }) })).toEqual(NOT_ALLOWED)
      expect(got.length).toBe(before + 1)
    })

    test('a hop whose name leads inside since the last one is not followed', async () => {
      const url = ends(307, { location: ends(200) })
      const told = [[HERE], ['10.0.0.1']]
      const rebound = outbound({ ...settings, resolve: async () => told.shift() ?? [] })
      expect(await rebound.post({ ...MESSAGE, url })).toEqual(NOT_ALLOWED)
    })
  })

  describe('that said its status line has answered, whatever comes after', () => {
    test.each<[string, boolean, Answer]>([
      ['a body without end', true, (response) => void response.writeHead(200).write(Buffer.alloc(70_000))],
      [
        'a body that breaks off',
        true,
        (response) =>
          response.writeHead(200, { 'content-length': '9' }).write('half', () => response.destroy()),
      ],
      [
        'a body that never comes',
        false,
        (response) => response.writeHead(200, { 'content-length': '9' }).flushHeaders(),
      ],
    ])('%s', async (_what, isBegun, answer) => {
      expect(await impatient.post({ ...MESSAGE, url: serve(answer) })).toEqual({
        kind: 'answered',
        status: 200,
        retryAfterSeconds: undefined,
        text: undefined,
        ...(isBegun && { responseWithheld: true }),
      })
    })
  })

  describe('nothing left, so it may be sent again', () => {
    const attempts: [string, NotReachedReason, () => Promise<Posted>][] = [
      ['nobody listens', 'connection_refused', () => post({ ...MESSAGE, url: 'https://receiver.test:2/' })],
      [
        'the name has no address',
        'name_not_found',
        () => outbound({ resolve: async () => [] }).post({ ...MESSAGE, url: 'https://x.test' }),
      ],
      [
        'the name server fails',
        'name_not_found',
        () =>
          outbound({ resolve: () => Promise.reject(new Error('ESERVFAIL')) }).post({
            ...MESSAGE,
            url: 'https://x.test',
          }),
      ],
      [
        'the name server is silent',
        'timed_out',
        () =>
          outbound({ resolve: () => new Promise(() => {}), deadlineMs: 100 }).post({
            ...MESSAGE,
            url: 'https://x.test',
          }),
      ],
      [
        'the handshake is reset',
        'reset',
        async () => {
          const port = await startSocketServer((socket) =>
            socket.once('data', () => socket.resetAndDestroy()),
          )
          return post({ ...MESSAGE, url: `https://receiver.test:${port}/` })
        },
      ],
      [
        'the handshake never ends',
        'timed_out',
        async () => {
          const port = await startSocketServer(() => {})
          return outbound({ ...settings, connectMs: 100 }).post({
            ...MESSAGE,
            url: `https://receiver.test:${port}/`,
          })
        },
      ],
      [
        'the certificate names another',
        'certificate_name',
        () => post({ ...MESSAGE, url: `https://other.test:${securePort}/` }),
      ],
      [
        'nobody vouches for the certificate',
        'certificate_untrusted',
        () =>
          outbound({ resolve: async () => [HERE], allowNets: [HERE] }).post({ ...MESSAGE, url: ends(200) }),
      ],
      [
        'it speaks no TLS',
        'tls_failed',
        async () => {
          const port = await startSocketServer((socket) =>
            socket.once('data', () => socket.end('HTTP/1.1 400 No')),
          )
          return post({ ...MESSAGE, url: `https://receiver.test:${port}/` })
        },
      ],
    ]

    test.each(attempts)('%s: %s', async (_why, because, attempt) => {
      const before = got.length
      expect(await attempt()).toEqual({ kind: 'not_sent', because })
      await wait(20)
      expect(got.length).toBe(before)
    })
  })

  describe('the connection stood, so nobody knows', () => {
    test.each<[string, Answer]>([
      ['it hangs up', (response) => response.destroy()],
      ['it resets', (response) => response.socket?.destroy()],
      ['it never answers', () => {}],
      ['it speaks something else', (response) => response.socket?.write('220 mail ESMTP\r\n')],
      [
        'it answers without end',
        (response) => response.socket?.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`),
      ],
      [
        'it switches protocols',
        (response) =>
          response.socket?.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      ],
    ])('%s', async (_why, answer) => {
      const before = got.length
      expect(await impatient.post({ ...MESSAGE, url: serve(answer) })).toEqual(UNKNOWN)
      expect(got.length).toBe(before + 1)
    })

    test('by http as well', async () => {
      const port = await startSocketServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
      expect(await post({ ...MESSAGE, url: `http://${HERE}:${port}/` })).toEqual(UNKNOWN)
    })
  })
})
