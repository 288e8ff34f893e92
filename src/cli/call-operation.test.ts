/** Responses of a server, or of a proxy in its place, and the exit code of each. */
import { once } from 'node:events'
import { createServer, type Server as HttpServer } from 'node:http'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ServiceError } from '../contracts/errors.ts'
import { httpClient } from './call-operation.ts'
import { exitCodeOf, formatError } from './format-error.ts'

type Answer = { status: number; body?: string | Buffer; headers?: Record<string, string> }

let server: HttpServer
let answer: Answer | 'hang' | 'reset' | 'half' = { status: 200, body: '{}' }
const seen: { method: string; url: string; headers: Record<string, unknown>; body: string }[] = []

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      seen.push({ method: request.method!, url: request.url!, headers: request.headers, body })
      if (answer === 'reset') request.socket.destroy()
      else if (answer === 'half') {
        response.writeHead(200, { 'content-length': '100' }).write('{"a":')
        setTimeout(() => request.socket.destroy(), 20)
      } else if (answer !== 'hang') response.writeHead(answer.status, answer.headers).end(answer.body)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const callOperation = (at = origin(), timeoutMs = 2_000) =>
  httpClient({ apiUrl: new URL(at), token: 'svc_secret', timeoutMs, userAgent: 'svc/test' })

async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  return work.then(
    () => {
      throw new Error('it was answered')
    },
    (error: ServiceError) => error,
  )
}

test('an operation is called as its contract says, with the token and the entry point', async () => {
  answer = { status: 200, body: '{"count":0,"results":[]}' }
  await callOperation()('queryDataSource', { source_id: 'db_a/../b', query: 'why?', top_k: undefined })
  expect(seen.at(-1)).toMatchObject({
    method: 'POST',
    url: '/api/wf/slim/data-sources/db_a%2F..%2Fb/query',
    headers: { authorization: 'Bearer svc_secret', 'x-svc-client': 'cli', accept: 'application/json' },
    body: '{"query":"why?"}',
  })
  await callOperation()('removeDatabase', { name: '..', confirm: 'a&b' })
  expect(seen.at(-1)).toMatchObject({
    method: 'DELETE',
    url: '/api/wf/databases/%252E%252E?confirm=a%26b',
    body: '',
  })
})

test('bytes are sent and received as they are', async () => {
  answer = { status: 200, body: '{"accepted":1,"rejected":0,"dropped":0}' }
  const body = new Uint8Array([104, 105, 10])
  expect(await callOperation()('pushLogs', { alias: 'shop', body })).toMatchObject({ accepted: 1 })
  expect(seen.at(-1)).toMatchObject({
    method: 'POST',
    url: '/api/deploy/apps/shop/logs',
    headers: { 'content-type': 'application/x-ndjson', 'content-length': '3' },
    body: 'hi\n',
  })
  answer = { status: 200, body: Buffer.from([0, 255, 31, 139]) }
  const archive = { alias: 'shop', revision_id: 'rev_1' }
  const given = await callOperation()('downloadRevision', archive)
  expect([...given.body]).toEqual([0, 255, 31, 139])
  answer = { status: 404, body: '{"error":{"code":"NOT_FOUND","message":"Not found"}}' }
  expect((await failureOf(callOperation()('downloadRevision', archive))).code).toBe('NOT_FOUND')
  answer = { status: 413, body: '<html>too large for this proxy</html>' }
  expect((await failureOf(callOperation()('pushLogs', { alias: 'shop', body }))).code).toBe('TOO_LARGE')
})

describe('what is not an answer', () => {
  const ours = (code: string) =>
    JSON.stringify({ error: { code, message: 'Said so', hint: 'Do this', request_id: 'r' } })
  test.each<[name: string, Answer, exit: number, expected: string]>([
    ['401', { status: 401, body: ours('UNAUTHENTICATED') }, 3, 'Said so'],
    ['403', { status: 403, body: ours('FORBIDDEN') }, 3, 'Said so'],
    ['404', { status: 404, body: ours('NOT_FOUND') }, 4, 'Said so'],
    ['400', { status: 400, body: ours('FILTER_NOT_ALLOWED') }, 5, 'Said so'],
    ['409', { status: 409, body: ours('EXPOSURE_LIMIT') }, 6, 'Said so'],
    [
      '429',
      { status: 429, body: ours('QUOTA_EXCEEDED'), headers: { 'retry-after': '17' } },
      1,
      'Try again in 17 s',
    ],
    ['502', { status: 502, body: ours('EMBEDDING_UNAVAILABLE') }, 1, 'Said so'],
    ['504', { status: 504, body: ours('TIMEOUT') }, 7, 'Said so'],
    ['500', { status: 500, body: ours('UNEXPECTED') }, 1, 'Said so'],
    ['a code of a later server', { status: 409, body: ours('TOO_MODERN') }, 6, 'Said so'],
    ['a code that every object has', { status: 404, body: ours('toString') }, 4, 'Said so'],
    ['a proxy, 401', { status: 401, body: '<h1>no' }, 3, 'with a body that is not from svc'],
    ['a proxy, 404', { status: 404, body: '' }, 4, 'with a body that is not from svc'],
    ['a proxy, 408', { status: 408, body: '' }, 7, 'with a body that is not from svc'],
    ['a proxy, 413', { status: 413, body: '' }, 5, 'with a body that is not from svc'],
    ['a proxy, 412', { status: 412, body: '[]' }, 6, 'with a body that is not from svc'],
    ['a proxy, 502', { status: 502, body: 'Bad Gateway' }, 1, 'with a body that is not from svc'],
    ['a page with 200', { status: 200, body: '<html>' }, 1, 'with a body that is not from svc'],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 1, 'not followed'],
  ])('%s', async (_, given, exit, expected) => {
    answer = given
    const failure = await failureOf(callOperation()('whoAmI', {}))
    expect(exitCodeOf(failure)).toBe(exit)
    expect(formatError(failure, { json: false, color: false })).toContain(expected)
    const printed = JSON.parse(formatError(failure, { json: true, color: false })) as { error: object }
    expect(printed.error).toMatchObject({ exit_code: exit, status: given.status })
    expect(JSON.stringify(printed)).not.toContain('svc_secret')
  })

  test('a redirect is not followed with the token', async () => {
    const before = seen.length
    answer = { status: 307, headers: { location: `${origin()}/elsewhere` } }
    await failureOf(callOperation()('whoAmI', {}))
    expect(seen.length).toBe(before + 1)
  })

  test('a server that does not answer: 7, within the time', async () => {
    answer = 'hang'
    expect(exitCodeOf(await failureOf(callOperation(origin(), 150)('whoAmI', {})))).toBe(7)
  })

  test.each(['reset', 'half'] as const)('a connection that breaks (%s): 1', async (how) => {
    answer = how
    const failure = await failureOf(callOperation()('whoAmI', {}))
    expect([exitCodeOf(failure), failure.message]).toEqual([1, `${origin()} closed the connection`])
  })

  test('nobody there, an unknown name, no TLS: 8; no HTTP: 1', async () => {
    const odd = createTcpServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n')).listen(0, '127.0.0.1')
    await once(odd, 'listening')
    const { port } = odd.address() as AddressInfo
    const messageFrom = async (at: string) => {
      const failure = await failureOf(callOperation(at)('whoAmI', {}))
      return `${exitCodeOf(failure)} ${failure.message}`
    }
    expect(await messageFrom('http://127.0.0.1:1')).toMatch(/^8 .*connection refused/)
    expect(await messageFrom('http://nowhere.invalid')).toMatch(/^8 .*unknown host nowhere.invalid/)
    expect(await messageFrom(`http://127.0.0.1:${port}`)).toMatch(/^1 .*does not speak HTTP/)
    expect(await messageFrom(`https://127.0.0.1:${port}`)).toMatch(
      /^8 .*does not support TLS|^1 .*closed the connection/,
    )
    odd.close()
  })
})

test('what a server says cannot command the terminal', async () => {
  answer = {
    status: 400,
    body: JSON.stringify({ error: { code: 'INVALID_REQUEST', message: 'a\u001b[2J', problems: ['\u0007'] } }),
  }
  const failure = await failureOf(callOperation()('whoAmI', {}))
  expect(formatError(failure, { json: false, color: false })).toBe('error: a\\u001b[2J\n  - \\u0007\n')
})
