import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { selfSigned } from '../../../test/support/self-signed.ts'
import type { HttpProbe } from '../../cores/checks/http-probe-port.ts'
import { FetchRefused } from './guard.ts'
import { httpProbes } from './http-probe.ts'

const ORG = 'org_one'
const LOOPBACK = new Map([[ORG, ['127.0.0.0/8']]])

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

type Asked = Partial<Parameters<HttpProbe>[0]>
const asked = (url: string, rest: Asked = {}) => ({
  orgId: ORG,
  method: 'GET' as const,
  url,
  headers: {},
  body: undefined,
  timeoutMs: 2_000,
  readsBody: true,
  ...rest,
})

type Answer = (request: IncomingMessage, response: ServerResponse) => void
const answers = new Map<string, Answer>()
const requests: {
  method: string | undefined
  url: string | undefined
  headers: IncomingMessage['headers']
}[] = []
let connections = 0
const server = createServer((request, response) => {
  requests.push({ method: request.method, url: request.url, headers: request.headers })
  answers.get(request.url ?? '')?.(request, response)
})
let origin: string
beforeAll(async () => {
  server.on('connection', () => connections++)
  origin = `http://127.0.0.1:${await listen(server)}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
function serve(answer: Answer): string {
  const path = `/${answers.size}`
  answers.set(path, answer)
  return origin + path
}

const { probe } = httpProbes({ allowNets: LOOPBACK, userAgent: 'svc/test' })

test('status, body and time of an answer, and what was sent', async () => {
  const url = serve((_, response) => response.writeHead(503).end('{"status":"DOWN"}'))
  expect(await probe(asked(url, { headers: { 'X-Key': 'secret' } }))).toEqual({
    kind: 'answered',
    status: 503,
    body: '{"status":"DOWN"}',
    timeMs: expect.any(Number) as number,
    isPrivate: true,
  })
  expect(requests.at(-1)).toMatchObject({
    method: 'GET',
    headers: { 'x-key': 'secret', 'user-agent': 'svc/test', 'accept-encoding': 'identity' },
  })
})

test('whatever a body says, it is no word of ours', async () => {
  const url = serve((_, response) => response.end('broken'))
  expect(await probe(asked(url))).toMatchObject({ kind: 'answered', body: 'broken' })
})

test('a POST carries its body; a HEAD reads none', async () => {
  let received = ''
  const url = serve((request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => (received += text))
    request.on('end', () => response.end('ok'))
  })
  expect(await probe(asked(url, { method: 'POST', body: '{"né":1}' }))).toMatchObject({
    status: 200,
    body: 'ok',
  })
  expect(received).toBe('{"né":1}')
  expect(await probe(asked(url, { method: 'HEAD' }))).toMatchObject({ kind: 'answered', body: '' })
})

test('a redirect is an answer, and is not followed: it would take the headers elsewhere', async () => {
  const elsewhere = serve((_, response) => response.end('elsewhere'))
  const url = serve((_, response) => response.writeHead(302, { location: elsewhere }).end())
  const before = requests.length
  expect(await probe(asked(url))).toMatchObject({ kind: 'answered', status: 302 })
  expect(requests.length).toBe(before + 1)
})

test('a body beyond the limit is not read', async () => {
  const url = serve((_, response) => {
    response.writeHead(200)
    const more = setInterval(() => response.write(Buffer.alloc(100_000)), 1)
    response.on('close', () => clearInterval(more))
  })
  expect(await probe(asked(url))).toMatchObject({ kind: 'answered', status: 200, body: null })
})

test('where no condition asks for the body, the status line suffices', async () => {
  const url = serve((_, response) => response.writeHead(200, { 'content-length': '10' }).flushHeaders())
  expect(await probe(asked(url, { readsBody: false, timeoutMs: 500 }))).toMatchObject({ status: 200 })
})

describe('no answer', () => {
  test('nobody listens', async () => {
    const closed = createTcpServer()
    const port = await listen(closed)
    closed.close()
    expect(await probe(asked(`http://127.0.0.1:${port}/`))).toMatchObject({
      kind: 'failed',
      reason: 'connection_failed',
    })
  })

  test('silence, before and within the answer', async () => {
    const silent = serve(() => {})
    expect(await probe(asked(silent, { timeoutMs: 100 }))).toMatchObject({
      kind: 'failed',
      reason: 'timed_out',
    })
    const half = serve((_, response) => void response.writeHead(200).write('half'))
    expect(await probe(asked(half, { timeoutMs: 100 }))).toMatchObject({
      kind: 'failed',
      reason: 'timed_out',
    })
  })

  test('a reset, and an answer that is none', async () => {
    const reset = serve((request) => request.socket.resetAndDestroy())
    expect(await probe(asked(reset))).toMatchObject({ kind: 'failed', reason: 'connection_failed' })
    const sockets: Socket[] = []
    const rude = createTcpServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => {}).write('220 smtp.example ESMTP\r\n')
    })
    const port = await listen(rude)
    expect(await probe(asked(`http://127.0.0.1:${port}/`))).toMatchObject({ kind: 'failed' })
    for (const socket of sockets) socket.destroy()
    rude.close()
  })

  test('a certificate that nobody signed', async () => {
    const secure = createHttpsServer(selfSigned('app.test'), (_, response) => response.end())
    const port = await listen(secure)
    expect(await probe(asked(`https://127.0.0.1:${port}/`))).toMatchObject({
      kind: 'failed',
      reason: 'tls_failed',
    })
    secure.closeAllConnections()
    secure.close()
  })

  test('a name without an address is the app’s; a name server that fails is ours', async () => {
    const nowhere = httpProbes({ userAgent: 'svc/test', resolve: async () => [] })
    expect(await nowhere.probe(asked('https://app.test/'))).toEqual({ kind: 'refused', reason: 'no_address' })
    const broken = httpProbes({
      userAgent: 'svc/test',
      resolve: () => Promise.reject(new FetchRefused('the name server did not answer')),
    })
    expect(await broken.probe(asked('https://app.test/'))).toEqual({ kind: 'refused', reason: 'dns_failed' })
    const slow = httpProbes({ userAgent: 'svc/test', resolve: () => new Promise(() => {}) })
    expect(await slow.probe(asked('https://app.test/', { timeoutMs: 50 }))).toEqual({
      kind: 'refused',
      reason: 'dns_failed',
    })
  })
})

describe('connections', () => {
  test('are kept for the next check of the same organization, and of no other', async () => {
    const kept = httpProbes({
      allowNets: new Map([...LOOPBACK, ['org_other', ['127.0.0.1']]]),
      userAgent: 'svc/test',
    })
    const url = serve((_, response) => response.end('ok'))
    const before = connections
    for (let n = 0; n < 5; n++) expect(await kept.probe(asked(url))).toMatchObject({ status: 200 })
    expect(connections).toBe(before + 1)
    expect(await kept.probe(asked(url, { orgId: 'org_other' }))).toMatchObject({ status: 200 })
    expect(connections).toBe(before + 2)
    // What was posted on one that breaks may have been done: each has its own.
    for (let n = 0; n < 2; n++)
      expect(await kept.probe(asked(url, { method: 'POST', body: '{}' }))).toMatchObject({ status: 200 })
    expect(connections).toBe(before + 4)
    kept.close()
  })

  test('one that ended under a request is no failure: it is asked again on a new one', async () => {
    const kept = httpProbes({ allowNets: LOOPBACK, userAgent: 'svc/test' })
    let count = 0
    const url = serve((request, response) => (++count === 2 ? request.socket.destroy() : response.end('ok')))
    expect(await kept.probe(asked(url))).toMatchObject({ status: 200 })
    expect(await kept.probe(asked(url))).toMatchObject({ status: 200 })
    expect(count).toBe(3)
    kept.close()
  })
})

describe('addresses', () => {
  type Vectors = { refuse: { address: string }[]; allow: { address: string }[] }
  const vectors = JSON.parse(
    readFileSync(new URL('../../../test/vectors/ssrf-addresses.json', import.meta.url), 'utf8'),
  ) as Vectors

  test('none that is not public, as such or behind a name', async () => {
    for (const { address } of vectors.refuse) {
      const named = httpProbes({ userAgent: 'svc/test', resolve: async () => ['8.8.8.8', address] })
      // As of a name that does not exist: otherwise checks would tell which names there are inside.
      expect([address, await named.probe(asked('http://app.test/'))]).toEqual([
        address,
        { kind: 'refused', reason: 'no_address' },
      ])
      const literal = address.includes(':') ? `[${address}]` : address
      const { probe: plain } = httpProbes({ userAgent: 'svc/test' })
      expect([address, await plain(asked(`http://${literal}/`))]).toEqual([
        address,
        { kind: 'refused', reason: 'address_refused' },
      ])
    }
  })

  test('a network belongs to the organization that the operator gave it', async () => {
    const url = serve((_, response) => response.end())
    expect(await probe(asked(url, { orgId: 'org_other' }))).toEqual({
      kind: 'refused',
      reason: 'address_refused',
    })
    expect(await probe(asked(url.replace('127.0.0.1', 'localhost')))).toMatchObject({ kind: 'answered' })
  })

  test.each([
    '169.254.169.254',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '[fd20:ce::254]',
    '168.63.129.16',
    '100.100.100.200',
    '[::ffff:169.254.169.254]',
  ])('%s is nobody’s, whatever the setting says', async (host) => {
    const everything = httpProbes({
      allowNets: new Map([[ORG, ['0.0.0.0/0', '::/0']]]),
      userAgent: 'svc/test',
      isPublic: () => false,
    })
    expect(await everything.probe(asked(`http://${host}/`, { timeoutMs: 200 }))).toEqual({
      kind: 'refused',
      reason: 'address_refused',
    })
  })

  test('ports where a request would be a command', async () => {
    expect(await probe(asked('http://127.0.0.1:25/'))).toEqual({ kind: 'refused', reason: 'address_refused' })
  })

  test('an address that changes after it was checked is not connected to', async () => {
    const url = serve((_, response) => response.end('checked'))
    const told = [['127.0.0.1'], ['10.0.0.1']]
    let count = 0
    const rebound = httpProbes({
      allowNets: LOOPBACK,
      userAgent: 'svc/test',
      resolve: async () => told[count++] ?? [],
    })
    const { port } = new URL(url)
    expect(await rebound.probe(asked(`http://app.test:${port}${new URL(url).pathname}`))).toMatchObject({
      body: 'checked',
    })
    expect(await rebound.probe(asked(`http://app.test:${port}/`))).toMatchObject({ kind: 'refused' })
    rebound.close()
  })
})
