/** What a collector receives, and what it does not have to fear. test/walks/process.test.ts has a trace over two services. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterEach, describe, expect, test } from 'vitest'
import { continueTrace, startTracing } from './tracing.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const parentOf = (traceparent: string) => continueTrace(new Map([['traceparent', traceparent]]))

describe('the trace of a caller', () => {
  test('is continued, also one of a later version', () => {
    for (const given of [`00-${TRACE}-${PARENT}-01`, `cc-${TRACE}-${PARENT}-01-more`]) {
      expect(parentOf(given)).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, isSampled: true })
    }
    expect(parentOf(`00-${TRACE}-${PARENT}-00`)).toMatchObject({ traceId: TRACE, isSampled: false })
  })

  test.each([
    ['none', ''],
    ['zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['no parent', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['version ff', `ff-${TRACE}-${PARENT}-01`],
    ['more than version 00 has', `00-${TRACE}-${PARENT}-01-more`],
    ['capitals', `00-${TRACE.toUpperCase()}-${PARENT}-01`],
  ])('%s begins a new one', (_, given) => {
    const { traceId, parentSpanId, isSampled } = parentOf(given)
    expect(traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(traceId).not.toBe(TRACE)
    expect([parentSpanId, isSampled]).toEqual([undefined, true])
  })
})

type Received = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: Export }
type Export = { resourceSpans: [{ resource: object; scopeSpans: [{ spans: Record<string, unknown>[] }] }] }

const open: Server[] = []
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** Answers with these, and with the last one from then on. */
async function startCollector(...statuses: number[]): Promise<{ received: Received[]; endpoint: URL }> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      received.push({ path: request.url!, headers: request.headers, body: body as Export })
      response.writeHead(statuses[received.length - 1] ?? statuses.at(-1)!).end('{}')
    })
  }).listen(0, '127.0.0.1')
  open.push(server)
  await new Promise((listening) => server.once('listening', listening))
  return { received, endpoint: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/base`) }
}

const answered = (status: number) => () => Promise.resolve({ route: 'whoAmI', status })
const request = (traceparent?: string) => ({
  method: 'GET',
  headers: traceparent === undefined ? [] : [['traceparent', traceparent] as [string, string]],
})
const spansOf = (received: readonly Received[]) =>
  received.flatMap(({ body }) => body.resourceSpans[0].scopeSpans[0].spans)

test('a request is a span of the caller’s trace, and what it calls continues it', async () => {
  const { received, endpoint } = await startCollector(200)
  const tracing = startTracing({ endpoint, headers: { authorization: 'Bearer key' }, version: '1.2.3' })
  const outgoing = new Headers()
  await tracing.request('api-gateway', request(`00-${TRACE}-${PARENT}-01`), async () => {
    tracing.inject(outgoing)
    return { route: 'whoAmI', status: 500 }
  })
  await tracing.stop()
  expect(received).toMatchObject([{ path: '/base/v1/traces', headers: { authorization: 'Bearer key' } }])
  const [span] = spansOf(received)
  expect(span).toEqual({
    traceId: TRACE,
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    parentSpanId: PARENT,
    name: 'api-gateway whoAmI',
    kind: 2,
    startTimeUnixNano: expect.stringMatching(/^\d{19}$/),
    endTimeUnixNano: expect.stringMatching(/^\d{19}$/),
    attributes: [
      { key: 'http.request.method', value: { stringValue: 'GET' } },
      { key: 'svc.service', value: { stringValue: 'api-gateway' } },
      { key: 'http.route', value: { stringValue: 'whoAmI' } },
      { key: 'http.response.status_code', value: { intValue: '500' } },
    ],
    status: { code: 2 },
  })
  expect(BigInt(span!['endTimeUnixNano'] as string) >= BigInt(span!['startTimeUnixNano'] as string)).toBe(
    true,
  )
  expect(outgoing.get('traceparent')).toBe(`00-${TRACE}-${String(span!['spanId'])}-01`)
})

test('what is called in the same process, without headers, is a span of the trace that it is called in', async () => {
  const { received, endpoint } = await startCollector(200)
  const tracing = startTracing({ endpoint, version: '1' })
  await tracing.request('api-gateway', request(`00-${TRACE}-${PARENT}-01`), async () => {
    await tracing.request('auth-service', { ...request(), isWithin: true }, answered(200))
    // Of somebody else, who came meanwhile.
    await tracing.request('api-gateway', request(), answered(200))
    return { route: 'whoAmI', status: 200 }
  })
  await tracing.stop()
  const [inner, other, outer] = spansOf(received)
  expect([inner, outer]).toMatchObject([
    { traceId: TRACE, parentSpanId: outer!['spanId'], name: 'auth-service whoAmI' },
    { traceId: TRACE, parentSpanId: PARENT, name: 'api-gateway whoAmI' },
  ])
  expect(other!['traceId']).not.toBe(TRACE)
  expect(other).not.toHaveProperty('parentSpanId')
})

test('a trace that its caller does not record is passed on, and not sent', async () => {
  const { received, endpoint } = await startCollector(200)
  const tracing = startTracing({ endpoint, version: '1' })
  const outgoing = new Headers()
  await tracing.request('console', request(`00-${TRACE}-${PARENT}-00`), async () => {
    tracing.inject(outgoing)
    return { route: 'home', status: 200 }
  })
  await tracing.stop()
  expect(received).toEqual([])
  expect(outgoing.get('traceparent')).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
})

test('a collector that is busy is asked again, and one that refuses is not', async () => {
  for (const [statuses, times] of [
    [[503, 200], 2],
    [[400], 1],
  ] as const) {
    const { received, endpoint } = await startCollector(...statuses)
    const tracing = startTracing({ endpoint, version: '1' })
    await tracing.request('site', request(), answered(200))
    await tracing.stop()
    expect(received).toHaveLength(times)
  }
})

test('a full batch is sent at once, and a stop sends the rest', async () => {
  const { received, endpoint } = await startCollector(200)
  const tracing = startTracing({ endpoint, version: '1' })
  await Promise.all(Array.from({ length: 1_300 }, () => tracing.request('site', request(), answered(200))))
  await expect.poll(() => received.length).toBeGreaterThan(0)
  await tracing.stop()
  expect(received.map(({ body }) => spansOf([{ body } as Received]).length)).toEqual([512, 512, 276])
  expect(new Set(spansOf(received).map(({ spanId }) => spanId)).size).toBe(1_300)
})
