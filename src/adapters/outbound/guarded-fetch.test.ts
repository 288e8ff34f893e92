/** Against real sockets on loopback, which the guard refuses in earnest: tests say which address they may use. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import vectors from '../../../test/vectors/ssrf-addresses.json' with { type: 'json' }
import { FetchRefused } from './guard.ts'
import { guardedFetch } from './guarded-fetch.ts'

const LIMITS = { maxBytes: 1000, deadlineMs: 5000 }
const IMPATIENT = { maxBytes: 1000, deadlineMs: 300 }
const HERE = '127.0.0.1'

/** Why a fetch was refused; any other end of it is a failure. */
async function reasonOf(fetched: Promise<unknown>): Promise<string> {
  const error = await fetched.then(
    () => new Error('It was fetched'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof FetchRefused)) throw error
  return error.reason
}

async function listen(server: Server, host = HERE): Promise<number> {
  server.listen(0, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

describe('an address that is not public', () => {
  /** Counts connections: there must be none. */
  const trap = createServer((socket) => socket.destroy())
  let connectionCount = 0
  let port: number
  beforeAll(async () => {
    trap.on('connection', () => connectionCount++)
    port = await listen(trap)
  })
  afterAll(() => void trap.close())

  /** Long enough for a connection over loopback to arrive. */
  async function expectNobodyKnocked() {
    await wait(50)
    expect(connectionCount).toBe(0)
  }

  test.each(vectors.refuse)('$address is refused when a name resolves to it: $why', async ({ address }) => {
    const fetch = guardedFetch({ resolve: async () => [address] })
    expect(await reasonOf(fetch(`https://client.test:${port}/`, LIMITS))).toBe('address not public')
  })

  test.each(vectors.refuse)('$address is refused as it stands: $why', async ({ address }) => {
    const host = address.includes(':') ? `[${address}]` : address
    expect(await reasonOf(guardedFetch()(`https://${host}:${port}/`, LIMITS))).toBe('address not public')
  })

  test.each([
    '2130706433',
    '0x7f000001',
    '0x7F.1',
    '017700000001',
    '0177.0.0.1',
    '127.1',
    '127.0.1',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '１２７.0.0.1',
    '127。0。0。1',
    '①②⑦.0.0.1',
    '[0:0:0:0:0:0:0:1]',
    '[0000::0001]',
    '[::ffff:127.0.0.1]',
    '[::FFFF:7F00:1]',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '0',
  ])('loopback is recognised when it is spelled %s', async (host) => {
    expect(await reasonOf(guardedFetch()(`https://${host}:${port}/`, LIMITS))).toBe('address not public')
  })

  test('one of them among public ones spoils the name, wherever it stands', async () => {
    for (const addresses of [
      [HERE, '8.8.8.8'],
      ['8.8.8.8', HERE],
      ['2606:4700:4700::1111', '8.8.8.8', '::1'],
    ]) {
      const fetch = guardedFetch({ resolve: async () => addresses })
      expect(await reasonOf(fetch(`https://client.test:${port}/`, LIMITS))).toBe('address not public')
    }
  })

  test('what a name server says that is no address is refused too', async () => {
    const fetch = guardedFetch({ resolve: async () => ['localhost'] })
    expect(await reasonOf(fetch(`https://client.test:${port}/`, LIMITS))).toBe('address not public')
  })

  test('is never connected to', expectNobodyKnocked)
})

test.each([
  ['', 'not a URL'],
  ['client.test/doc', 'not a URL'],
  ['https://', 'not a URL'],
  ['https://[::1', 'not a URL'],
  ['https://[fe80::1%25lo]/', 'not a URL'],
  ['https://client.test:99999/', 'not a URL'],
  ['http://client.test/', 'not https'],
  ['ftp://client.test/', 'not https'],
  ['file:///etc/passwd', 'not https'],
  ['data:application/json,{}', 'not https'],
  ['https://me@client.test/', 'unusual authority'],
  ['https://me:secret@client.test/', 'unusual authority'],
  ['https://@client.test/', 'unusual authority'],
  ['https://:@client.test/', 'unusual authority'],
  ['https://client.test\\@elsewhere.test/', 'unusual authority'],
  ['https:\\\\client.test/', 'unusual authority'],
  ['https:client.test', 'unusual authority'],
  ['https:///client.test', 'unusual authority'],
  [' https://client.test/', 'unusual authority'],
  ['https://clie\nnt.test/', 'unusual authority'],
])('%j is not even resolved', async (url, reason) => {
  let asked = 0
  const fetch = guardedFetch({
    resolve: async () => {
      asked++
      return [HERE]
    },
  })
  expect(await reasonOf(fetch(url, LIMITS))).toBe(reason)
  expect(asked).toBe(0)
})

test('a name without an address is refused, as is one that cannot be resolved', async () => {
  const nowhere = guardedFetch({ resolve: async () => [] })
  expect(await reasonOf(nowhere('https://client.test/', LIMITS))).toBe('the name has no address')
  const broken = guardedFetch({
    resolve: async () => {
      throw Object.assign(new Error('queryA ESERVFAIL client.test'), { code: 'ESERVFAIL' })
    },
  })
  expect(await reasonOf(broken('https://client.test/', LIMITS))).toBe('connection failed: ESERVFAIL')
})

describe('a host that is allowed', () => {
  type Answer = (response: ServerResponse) => void
  const answers = new Map<string, Answer>()
  const requests: { method: string | undefined; headers: IncomingHttpHeaders; at: string | undefined }[] = []
  const certificate = selfSigned()
  const server = createHttpsServer(certificate, (request, response) => {
    const { method, headers, socket } = request
    requests.push({ method, headers, at: socket.localAddress })
    answers.get(request.url ?? '')?.(response)
  })
  let port: number
  beforeAll(async () => {
    port = await listen(server)
  })
  afterAll(() => {
    server.close()
    server.closeAllConnections()
  })

  const fetch = guardedFetch({
    resolve: async () => [HERE],
    allowAddress: (address) => address === HERE,
    ca: certificate.cert,
  })
  /** Serves an answer under a path of its own. */
  function serve(answer: Answer): string {
    const path = `/${answers.size}`
    answers.set(path, answer)
    return `https://client.test:${port}${path}`
  }
  const lastRequest = () => requests.at(-1)!

  test('is fetched: status, headers and body as they were sent', async () => {
    const url = serve((response) => {
      response.writeHead(404, {
        'content-type': 'application/json',
        etag: '"7"',
        'set-cookie': ['a=1', 'b=2'],
      })
      response.end('{"näme":1}')
    })
    const { status, headers, body } = await fetch(url, LIMITS)
    expect([status, headers.get('content-type'), headers.get('etag')]).toEqual([
      404,
      'application/json',
      '"7"',
    ])
    expect(headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(new TextDecoder().decode(body)).toBe('{"näme":1}')
  })

  test('is fetched by its address as well, when the certificate names that', async () => {
    const url = serve((response) => response.end('here'))
    const { body } = await fetch(url.replace('client.test', HERE), LIMITS)
    expect(new TextDecoder().decode(body)).toBe('here')
  })

  test('sees the headers we chose, and may not be asked under another name or for compressed bytes', async () => {
    const url = serve((response) => response.end())
    const headers = { Accept: 'application/json', Host: 'other.test', 'Accept-Encoding': 'gzip' }
    await fetch(url, { ...LIMITS, headers })
    expect(lastRequest().method).toBe('GET')
    expect(lastRequest().headers).toEqual({
      accept: 'application/json',
      'accept-encoding': 'identity',
      host: `client.test:${port}`,
      connection: 'close',
    })
  })

  test('may answer a conditional request with 304', async () => {
    const url = serve((response) => response.writeHead(304).end())
    const { status, body } = await fetch(url, { ...LIMITS, headers: { 'if-none-match': '"7"' } })
    expect([status, body.length, lastRequest().headers['if-none-match']]).toEqual([304, 0, '"7"'])
  })

  test.each([300, 301, 302, 303, 305, 307, 308, 399])('may not send us elsewhere with %i', async (status) => {
    const before = requests.length
    const elsewhere = serve((response) => response.end('elsewhere'))
    const url = serve((response) => response.writeHead(status, { location: elsewhere }).end())
    expect(await reasonOf(fetch(url, LIMITS))).toBe('redirect')
    expect(requests.length).toBe(before + 1)
  })

  test('is resolved once: an answer that changes afterwards changes nothing', async () => {
    const url = serve((response) => response.end('the checked host'))
    const told = [[HERE], ['127.0.0.2'], ['169.254.169.254']]
    let asked = 0
    const rebound = guardedFetch({
      resolve: async () => told[asked++] ?? [],
      allowAddress: (address) => address === HERE,
      ca: certificate.cert,
    })
    expect(new TextDecoder().decode((await rebound(url, LIMITS)).body)).toBe('the checked host')
    expect([asked, lastRequest().at]).toEqual([1, HERE])
    // The next fetch resolves and checks anew, on a connection of its own.
    expect(await reasonOf(rebound(url, LIMITS))).toBe('address not public')
  })

  test('is reached at its second address when the first does not answer', async () => {
    const url = serve((response) => response.end('second'))
    const both = guardedFetch({
      resolve: async () => ['127.0.0.3', HERE],
      allowAddress: () => true,
      ca: certificate.cert,
    })
    expect(new TextDecoder().decode((await both(url, LIMITS)).body)).toBe('second')
  })

  describe('sends at most what was asked for', () => {
    test.each([
      ['with', 'its length', { 'content-length': '1000' }],
      ['without', 'a length', {}],
    ])('the limit itself is fine, %s %s', async (_, __, headers) => {
      const url = serve((response) => response.writeHead(200, headers).end(Buffer.alloc(1000)))
      expect((await fetch(url, LIMITS)).body.length).toBe(1000)
    })

    test('one byte more is refused by the length it announces, and the connection closed', async () => {
      let cut: Promise<unknown> | undefined
      const url = serve((response) => {
        cut = once(response, 'close')
        response.writeHead(200, { 'content-length': '1001' }).flushHeaders()
      })
      // A deadline beyond that of the test: it is not what closes.
      expect(await reasonOf(fetch(url, { ...LIMITS, deadlineMs: 60_000 }))).toBe('too large')
      await cut
    })

    test('one byte more is refused while reading, when no length was announced', async () => {
      const url = serve((response) => {
        response.write(Buffer.alloc(1000))
        response.end('x')
      })
      expect(await reasonOf(fetch(url, LIMITS))).toBe('too large')
    })

    test('one that never ends is cut, and its connection with it', async () => {
      let cut: Promise<unknown> | undefined
      const url = serve((response) => {
        const more = setInterval(() => response.write(Buffer.alloc(300)), 5)
        cut = once(response, 'close').finally(() => clearInterval(more))
      })
      expect(await reasonOf(fetch(url, LIMITS))).toBe('too large')
      await cut
    })

    test('compressed bytes that nobody asked for stay as they are', async () => {
      const bomb = gzipSync(Buffer.alloc(200_000))
      const url = serve((response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb))
      expect((await fetch(url, LIMITS)).body.length).toBe(bomb.length)
    })
  })

  describe('is waited for no longer than the deadline', () => {
    /** Nothing else ends it. Timers of the same length end in the order in which they began: it is not cut sooner. */
    async function expectCut(fetching: () => Promise<unknown>) {
      const deadline = AbortSignal.timeout(IMPATIENT.deadlineMs)
      expect(await reasonOf(fetching())).toBe('deadline')
      expect(deadline.aborted).toBe(true)
    }

    test('when the name server is silent', async () => {
      const silent = guardedFetch({ resolve: () => new Promise(() => {}) })
      await expectCut(() => silent('https://client.test/', IMPATIENT))
    })

    test('when the connection is accepted and nothing said', async () => {
      const sockets: Socket[] = []
      const mute = createServer((socket) => void sockets.push(socket))
      const mutePort = await listen(mute)
      await expectCut(() => fetch(`https://client.test:${mutePort}/`, IMPATIENT))
      mute.close()
      for (const socket of sockets) socket.destroy()
    })

    test('when no answer begins', async () => {
      const url = serve(() => {})
      await expectCut(() => fetch(url, IMPATIENT))
    })

    test('when the headers drip', async () => {
      const url = serve((response) => {
        const { socket } = response
        socket?.write('HTTP/1.1 200 OK\r\n')
        const more = setInterval(() => socket?.write('x: y\r\n'), 20)
        socket?.once('close', () => clearInterval(more))
      })
      await expectCut(() => fetch(url, IMPATIENT))
    })

    test('when the body drips, and its connection is closed', async () => {
      let cut: Promise<unknown> | undefined
      const url = serve((response) => {
        const more = setInterval(() => response.write('.'), 20)
        cut = once(response, 'close').finally(() => clearInterval(more))
      })
      await expectCut(() => fetch(url, IMPATIENT))
      await cut
    })
  })

  describe('proves who it is, and speaks HTTP', () => {
    test('a certificate nobody vouches for is refused', async () => {
      const untrusting = guardedFetch({ resolve: async () => [HERE], allowAddress: () => true })
      const url = serve((response) => response.end('secret'))
      expect(await reasonOf(untrusting(url, LIMITS))).toBe('connection failed: DEPTH_ZERO_SELF_SIGNED_CERT')
    })

    test('a certificate for another name is refused, whatever Host says', async () => {
      const url = serve((response) => response.end('secret')).replace('client.test', 'other.test')
      const headers = { host: 'client.test' }
      expect(await reasonOf(fetch(url, { ...LIMITS, headers }))).toBe(
        'connection failed: ERR_TLS_CERT_ALTNAME_INVALID',
      )
    })

    test('a closed port is refused', async () => {
      const closed = createServer()
      const closedPort = await listen(closed)
      closed.close()
      expect(await reasonOf(fetch(`https://client.test:${closedPort}/`, LIMITS))).toBe(
        'connection failed: ECONNREFUSED',
      )
    })

    /** The kernel refuses to connect to it before a packet leaves. */
    const broadcast = '255.255.255.255'
    test.each([[[broadcast]], [[broadcast, broadcast]]])(
      'addresses that fail in the very moment are refused, and nothing else breaks: %j',
      async (addresses) => {
        const atOnce = guardedFetch({ resolve: async () => addresses, allowAddress: () => true })
        expect(await reasonOf(atOnce('https://client.test/', LIMITS))).toMatch(/^connection failed: E[A-Z]+$/)
      },
    )

    test('half an answer is none', async () => {
      const url = serve((response) => {
        response.writeHead(200, { 'content-length': '10' })
        response.write('12345', () => response.destroy())
      })
      expect(await reasonOf(fetch(url, LIMITS))).toBe('connection failed: ECONNRESET')
    })

    test('headers without end are refused', async () => {
      const url = serve((response) => response.socket?.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`))
      expect(await reasonOf(fetch(url, LIMITS))).toBe('connection failed: HPE_HEADER_OVERFLOW')
    })

    test('something else than HTTP is refused, and not quoted', async () => {
      const url = serve((response) => response.socket?.write('220 mail.internal ESMTP\r\n'))
      expect(await reasonOf(fetch(url, LIMITS))).toMatch(/^connection failed: HPE_[A-Z_]+$/)
    })

    test('another protocol is not switched to', async () => {
      const url = serve((response) =>
        response.socket?.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      )
      expect(await reasonOf(fetch(url, LIMITS))).toBe('connection failed: closed')
    })
  })
})

function selfSigned(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-certificate-'))
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
    const what = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=client.test'
    const names = ['-addext', `subjectAltName=DNS:client.test,IP:${HERE}`]
    execFileSync('openssl', [...what.split(' '), ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
