/** Bodies and answers that are not JSON: over HTTP and within the process alike, and never more of them than allowed. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { getRequestListener } from '@hono/node-server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { playedTimers } from '../../test/support/played-timers.ts'
import * as z from 'zod'
import { sendRequest } from '../cli/http-request.ts'
import { httpClient } from '../client/http-client.ts'
import type { Service } from '../client/service.ts'
import type { ServiceError } from '../contracts/errors.ts'
import { creating, reading } from '../contracts/operation.ts'
import { noTracing } from '../observe/tracing-port.ts'
import { heldBodies } from './held-bodies.ts'
import { mountOperation } from './mount.ts'
import { openapi } from './openapi.ts'
import { PART_BYTES, sentInParts, STALLED_MS } from './send-bytes.ts'
import { createServiceApp } from './service-app.ts'

const about = { service: 'deploy-api', access: 'anyone', summary: 'For this test.' } as const
const Bytes = z.instanceof(Uint8Array)
const MAX = 1000

const takeOne = creating({
  ...about,
  name: 'takeOne',
  input: z.object({ alias: z.string(), note: z.string().optional(), body: Bytes }),
  output: z.object({ size: z.int(), note: z.string().optional() }),
  http: { method: 'post', path: '/api/{alias}/one', takes: { type: 'application/gzip', maxBytes: MAX } },
})
const TYPES = ['application/json', 'application/x-protobuf'] as const
const takeTwo = creating({
  ...about,
  name: 'takeTwo',
  input: z.object({ content_type: z.enum(TYPES), body: Bytes }),
  output: z.object({ content_type: z.enum(TYPES), body: Bytes }),
  http: { method: 'post', path: '/v1/two', takes: { type: TYPES, maxBytes: MAX }, gives: TYPES },
})
const give = reading({
  ...about,
  name: 'give',
  input: z.object({ alias: z.string() }),
  output: z.object({ body: Bytes }),
  http: { method: 'get', path: '/api/{alias}/give', gives: 'application/gzip', filename: '{alias}.tar.gz' },
})

function started(deadlineMs = 30_000) {
  const app = createServiceApp('deploy-api', {
    deadlineMs,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    metrics: undefined,
    tracing: noTracing,
    clock: () => new Date('2026-11-15T12:00:00Z'),
  })
  const options = { operatorToken: undefined, validate: () => Promise.reject(new Error('not asked')) }
  const given = { bytes: new Uint8Array([1, 2, 3]) }
  const one =
    () =>
    async (_: unknown, { body, note }: z.output<typeof takeOne.input>) => ({
      size: body.length,
      note,
    })
  const two = () => async (_: unknown, input: z.output<typeof takeTwo.input>) => input
  mountOperation(app, takeOne, one as never, {}, options)
  mountOperation(app, takeTwo, two as never, {}, options)
  mountOperation(app, give, () => async () => ({ body: given.bytes }), {}, options)
  const wire: Service = async (request) => app.fetch(request)
  return { given, wire, direct: Object.assign(wire.bind(null), { callInProcess: app.inProcess.call }) }
}

describe.each(['wire', 'direct'] as const)('%s', (way) => {
  const service = started()[way]
  const call = httpClient(service)
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: unknown) => (error as ServiceError).code,
    )

  test('bytes arrive as they are, with what stands in the path and the query', async () => {
    const body = new Uint8Array([0, 255, 0, 13, 10])
    expect(await call(takeOne, { alias: 'a', note: 'é ?&', body })).toStrictEqual({ size: 5, note: 'é ?&' })
    expect(await call(takeOne, { alias: 'a', body: new Uint8Array() })).toStrictEqual({ size: 0 })
  })

  test('one of several types is named, and answered with', async () => {
    const input = { content_type: TYPES[1], body: new Uint8Array([0, 1]) }
    expect(await call(takeTwo, input)).toStrictEqual(input)
    expect(await codeOf(call(takeTwo, { ...input, content_type: 'text/html' as never }))).toBe(
      'INVALID_REQUEST',
    )
  })

  test('as much as is allowed, and not a byte more', async () => {
    expect(await codeOf(call(takeOne, { alias: 'a', body: new Uint8Array(MAX) }))).toBe('done')
    expect(await codeOf(call(takeOne, { alias: 'a', body: new Uint8Array(MAX + 1) }))).toBe('TOO_LARGE')
  })

  test('bytes are given as a copy', async () => {
    const { given, ...services } = started()
    const answer = await httpClient(services[way])(give, { alias: 'a' })
    expect(answer).toStrictEqual({ body: new Uint8Array([1, 2, 3]) })
    answer.body[0] = 9
    expect(given.bytes[0]).toBe(1)
  })
})

describe('a request', () => {
  const { wire } = started()
  const post = (path: string, body: BodyInit, headers: Record<string, string>) =>
    wire(new Request(`http://x${path}`, { method: 'POST', body, headers, duplex: 'half' } as RequestInit))

  test('of another type is refused with the right one', async () => {
    const response = await post('/api/a/one', '{}', { 'content-type': 'application/json' })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('application/gzip')
  })

  test('that announces too much is refused before it is read', async () => {
    let read = 0
    const body = new ReadableStream({
      pull(controller) {
        read++
        controller.enqueue(new Uint8Array(100))
      },
    })
    const headers = { 'content-type': 'application/gzip', 'content-length': String(MAX + 1) }
    expect((await post('/api/a/one', body, headers)).status).toBe(413)
    expect(read).toBeLessThan(3)
  })

  test('that never ends is refused once it is too much', async () => {
    let read = 0
    const body = new ReadableStream({
      pull(controller) {
        read += 100
        controller.enqueue(new Uint8Array(100))
      },
    })
    expect((await post('/api/a/one', body, { 'content-type': 'application/gzip' })).status).toBe(413)
    expect(read).toBeLessThan(2 * MAX)
  })

  test('that is sent as gzip is inflated, up to the same size', async () => {
    const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' }
    const response = await post('/v1/two', gzipSync('hello'), headers)
    expect(await response.text()).toBe('hello')
    expect(response.headers.get('content-type')).toBe('application/x-protobuf')
    expect((await post('/v1/two', gzipSync(Buffer.alloc(100_000)), headers)).status).toBe(413)
    expect((await post('/v1/two', 'no gzip', headers)).status).toBe(400)
    expect((await post('/v1/two', 'x', { ...headers, 'content-encoding': 'br' })).status).toBe(400)
  })

  test('for bytes gets a download that no browser opens as a page', async () => {
    const response = await wire(new Request('http://x/api/no%22te%0d/give'))
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/gzip',
      'content-disposition': 'attachment; filename="no_te_.tar.gz"',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
  })
})

async function listening(wire: Service) {
  const listener = getRequestListener(wire, { overrideGlobalObjects: false })
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

test('over a socket the client hears that it was too much, however much it goes on sending', async () => {
  const url = new URL(`http://127.0.0.1:${await listening(started().wire)}/api/a/one`)
  const headers = { 'content-type': 'application/gzip' }
  const body = new Uint8Array(20 * 1024 * 1024)
  const refused = await sendRequest(url, { method: 'POST', headers, body, timeoutMs: 10_000 })
  expect([refused.status, refused.body]).toEqual([413, expect.stringContaining('TOO_LARGE')])
  const taken = await sendRequest(url, {
    method: 'POST',
    headers,
    body: body.subarray(0, 9),
    timeoutMs: 10_000,
  })
  expect(JSON.parse(taken.body)).toEqual({ size: 9 })
})

describe('a large answer', () => {
  const MiB = 1024 * 1024

  test('arrives as it is', async () => {
    const { given, wire } = started()
    given.bytes = new Uint8Array(randomBytes(3 * MiB + 5))
    const port = await listening(wire)
    const answer = await fetch(`http://127.0.0.1:${port}/api/a/give`)
    expect(answer.headers.get('content-length')).toBe(String(given.bytes.length))
    expect(Buffer.from(await answer.arrayBuffer()).equals(given.bytes)).toBe(true)
  })

  test('is held until the client has taken it, or is gone', async () => {
    const { given, wire } = started()
    given.bytes = new Uint8Array(50 * MiB)
    const port = await listening(wire)
    /** Asks, reads the first bytes, and no more. */
    const ask = async () => {
      const socket = connect(port, '127.0.0.1')
      socket.write('GET /api/a/give HTTP/1.1\r\nhost: x\r\n\r\n')
      const [first] = (await once(socket, 'data')) as [Buffer]
      socket.pause()
      onTestFinished(() => void socket.destroy())
      return { socket, status: first.toString('latin1').slice(9, 12) }
    }
    const [first, second, third] = [await ask(), await ask(), await ask()]
    expect([first, second, third].map(({ status }) => status)).toEqual(['200', '200', '429'])
    // What waits to be taken keeps nobody from sending.
    const headers = { 'content-type': 'application/gzip' }
    const sent = await fetch(`http://127.0.0.1:${port}/api/a/one`, { method: 'POST', headers, body: 'x' })
    expect(sent.status).toBe(200)
    first.socket.destroy()
    await expect.poll(async () => (await ask()).status).toBe('200')
    expect((await ask()).status).toBe('429')
    // Whoever reads on gets all of it, and leaves the room to the next.
    second.socket.resume()
    await expect.poll(async () => (await ask()).status).toBe('200')
  })

  test('is given up when the client takes nothing of it, and what was held is free', async () => {
    const hold = heldBodies({ perOrganization: 2 * MiB, all: 4 * MiB })
    const { start, pass } = playedTimers()
    const stalled = sentInParts(new Uint8Array(2 * MiB), hold('org_a'), start).getReader()
    expect((await stalled.read()).value?.length).toBe(PART_BYTES)
    expect(() => hold('org_a').add(1)).toThrow('Too many large requests')
    pass(STALLED_MS - 1)
    expect(() => hold('org_a').add(1)).toThrow('Too many large requests')
    pass(1)
    await expect(stalled.read()).rejects.toThrow('too long')
    hold('org_a').add(2 * MiB)
  })

  test('is given up when the client takes too long for all of it, however regularly it takes a part', async () => {
    const hold = heldBodies({ perOrganization: 2 * MiB, all: 4 * MiB })
    const { start, pass } = playedTimers()
    const slow = sentInParts(new Uint8Array(2 * MiB), hold('org_a'), start).getReader()
    const readAll = async () => {
      for (let parts = 0; parts < 8; parts++) {
        await slow.read()
        pass(STALLED_MS - 1)
      }
    }
    await expect(readAll()).rejects.toThrow('too long')
    hold('org_a').add(2 * MiB)
  })

  test('that nobody will read is not held', async () => {
    const { given, wire } = started()
    given.bytes = new Uint8Array(50 * MiB)
    for (let times = 0; times < 3; times++) {
      const head = await wire(new Request('http://x/api/a/give', { method: 'HEAD' }))
      expect([head.status, head.headers.get('content-length')]).toEqual([200, String(50 * MiB)])
    }
  })
})

test('a request that does not end is answered at the deadline, and its body is not read on', async () => {
  let cancelled = false
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array(100)),
    cancel: () => void (cancelled = true),
  })
  const response = await started(20).wire(
    new Request('http://x/api/a/one', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/gzip' },
      duplex: 'half',
    } as RequestInit),
  )
  expect(response.status).toBe(504)
  await expect.poll(() => cancelled).toBe(true)
})

test('OpenAPI describes bytes by their type', () => {
  const { paths } = openapi([takeOne, takeTwo, give], { version: '1', apiUrl: new URL('http://x') })
  const one = paths['/api/{alias}/one']!['post']!
  expect(one.parameters?.map(({ name, in: where }) => [name, where])).toEqual([
    ['alias', 'path'],
    ['note', 'query'],
  ])
  expect(Object.keys(one.requestBody!.content)).toEqual(['application/gzip'])
  expect(one.responses['413']?.description).toContain('TOO_LARGE')
  const two = paths['/v1/two']!['post']!
  expect(two.parameters).toEqual([])
  expect(Object.keys(two.responses['200']!.content!)).toEqual([...TYPES])
})
