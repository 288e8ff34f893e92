/** `svc api` against a server that remembers what it was asked. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import { run } from '../run.ts'

type Asked = { method: string; url: string; headers: IncomingHttpHeaders; body: string }
type Answer = { status?: number; type?: string; body?: string | Buffer; headers?: Record<string, string> }

let server: Server
let folder: string
let origin: string
const asked: Asked[] = []
let answer: (request: Asked) => Answer = () => ({})

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-api-'))
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const seen = { method, url, headers, body: Buffer.concat(chunks).toString() }
      asked.push(seen)
      const { status = 200, type = 'application/json', body = '{}', headers: more } = answer(seen)
      response.writeHead(status, { 'content-type': type, ...more }).end(status === 204 ? undefined : body)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => {
  asked.length = 0
  answer = () => ({})
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
})

async function svc(args: string[], { stdin = '', terminal = false } = {}) {
  const env = { SVC_API_URL: origin, SVC_API_KEY: 'svc_secret' }
  const environment = fakeEnvironment({ env, cwd: folder, stdin, terminal })
  return { exit: await run(['api', ...args], environment), out: environment.out(), err: environment.err() }
}

test('a GET has its fields in the URL, the token and the entry point', async () => {
  answer = () => ({ body: '{"a":"\u202e"}' })
  expect(await svc(['get', '/api/v1/me?x=1', '-F', 'limit=5', '-f', 'type=a b'])).toEqual({
    exit: 0,
    out: '{\n  "a": "\\u202e"\n}\n',
    err: '',
  })
  expect(asked).toMatchObject([
    {
      method: 'GET',
      url: '/api/v1/me?x=1&limit=5&type=a+b',
      headers: { authorization: 'Bearer svc_secret', accept: 'application/json', 'x-svc-client': 'cli' },
      body: '',
    },
  ])
})

test('a POST has them in its body: typed, as text, from a file', async () => {
  writeFileSync(join(folder, 'text.txt'), 'from a file\n')
  const typed = 'yes=true none=null count=-2.5 id=007 big=12345678901234567890 text=@text.txt in[a][]=1'
  const fields = typed.split(' ').flatMap((field) => ['-F', field])
  await svc(['POST', '/api/x', ...fields, '-f', 'raw=true'])
  expect(JSON.parse(asked[0]!.body)).toEqual({
    yes: true,
    none: null,
    count: -2.5,
    id: '007',
    big: '12345678901234567890',
    text: 'from a file\n',
    raw: 'true',
    in: { a: [1] },
  })
  expect(asked[0]!.headers['content-type']).toBe('application/json')
  await svc(['POST', '/api/x'])
  expect(asked[1]!.body).toBe('{}')
})

test('a body from a file or stdin is sent as it is, fields go into the URL, and a header says its type', async () => {
  writeFileSync(join(folder, 'body.json'), '{ "a": 1 }')
  await svc(['PUT', '/api/x', '--input', 'body.json', '-F', 'dry=true'])
  await svc(['POST', '/api/y', '--input', '-', '-H', 'Content-Type: application/x-ndjson'], {
    stdin: '{}\n{}\n',
  })
  expect(asked).toMatchObject([
    { method: 'PUT', url: '/api/x?dry=true', body: '{ "a": 1 }' },
    { url: '/api/y', body: '{}\n{}\n', headers: { 'content-type': 'application/x-ndjson' } },
  ])
})

test('--paginate is one answer with the rows of all pages', async () => {
  answer = ({ url }) => ({
    body: url.includes('cursor=2')
      ? '{"rows":[3],"total":3}'
      : url.includes('cursor=1')
        ? '{"rows":[2],"next_cursor":"2"}'
        : '{"rows":[1],"next_cursor":"1"}',
  })
  const { out } = await svc(['GET', '/api/rows', '--paginate', '-F', 'limit=1'])
  expect(JSON.parse(out)).toEqual({ rows: [1, 2, 3], total: 3 })
  expect(asked.map(({ url }) => url)).toEqual([
    '/api/rows?limit=1',
    '/api/rows?limit=1&cursor=1',
    '/api/rows?limit=1&cursor=2',
  ])
  answer = () => ({ body: '{"one":1}' })
  expect(await svc(['GET', '/api/one', '--paginate'])).toMatchObject({ exit: 5, out: '' })
})

test('a list that never ends is an error, not a list', async () => {
  answer = () => ({ body: '{"rows":[1],"next_cursor":"same"}' })
  expect(await svc(['GET', '/api/rows', '--paginate'])).toMatchObject({
    exit: 1,
    out: '',
    err: expect.stringContaining('/api/rows does not end: The server repeats a page') as string,
  })
  // Between two.
  answer = ({ url }) => ({ body: `{"rows":[1],"next_cursor":"${url.includes('cursor=a') ? 'b' : 'a'}"}` })
  expect(await svc(['GET', '/api/rows', '--paginate'])).toMatchObject({ exit: 1, out: '' })
  expect(asked.length).toBeLessThan(8)
})

test('words behind -- are not options, also for errors', async () => {
  const { exit, err } = await svc(['GET', '--', '--json'])
  expect([exit, err]).toEqual([5, expect.stringMatching(/^error: Not a path/)])
})

test('stdin is named only where it is read', async () => {
  const field = await svc(['POST', '/api/x', '-F', 'a=@nothing.txt'])
  expect([field.exit, field.err]).toEqual([5, expect.not.stringContaining('stdin')])
  const input = await svc(['POST', '/api/x', '--input', 'nothing.txt'])
  expect([input.exit, input.err]).toEqual([5, expect.stringContaining('- for stdin')])
})

test('an error has the exit code of its code, and leaves stdout alone', async () => {
  answer = () => ({ status: 409, body: '{"error":{"code":"CONFLICT","message":"Taken"}}' })
  expect(await svc(['POST', '/api/x'])).toEqual({ exit: 6, out: '', err: 'error: Taken\n' })
  answer = () => ({ status: 502, type: 'text/html', body: '<h1>Bad gateway</h1>' })
  expect(await svc(['GET', '/api/x'])).toMatchObject({ exit: 1, out: '' })
})

test('no content prints nothing; what is not JSON goes out as it is, and is harmless at a terminal', async () => {
  answer = () => ({ status: 204 })
  expect(await svc(['DELETE', '/api/x'])).toEqual({ exit: 0, out: '', err: '' })
  answer = () => ({ type: 'text/plain', body: 'a\u001b[2Jb\n' })
  expect((await svc(['GET', '/api/x'])).out).toBe('a\u001b[2Jb\n')
  expect((await svc(['GET', '/api/x'], { terminal: true })).out).toBe('a\\u001b[2Jb\n')
  answer = () => ({ body: '{"a":[1]}' })
  expect((await svc(['GET', '/api/x', '-o', 'yaml'])).out).toBe('a:\n  - 1\n')
})

test.each([
  '//evil.test/x',
  'https://evil.test/api',
  'http:evil.test',
  '/\\evil.test/x',
  '/\t/evil.test/x',
  '\\\\evil.test',
  'evil.test/api',
  'api/v1/me',
  'file:///etc/passwd',
  'javascript:alert(1)',
])('the token does not go to another server: %s', async (path) => {
  expect(await svc(['GET', path])).toMatchObject({ exit: 5, out: '' })
  expect(asked).toEqual([])
})

test('a whole URL of this server is a path too, without a user in it; a redirect is not followed', async () => {
  await svc(['GET', `${origin}/api/v1/me`])
  expect(asked[0]?.url).toBe('/api/v1/me')
  expect((await svc(['GET', origin.replace('//', '//a:b@')])).exit).toBe(5)
  answer = () => ({ status: 302, headers: { location: 'https://evil.test' } })
  expect(await svc(['GET', '/api/x'])).toMatchObject({ exit: 1 })
})

test.each([
  [['FETCH', '/x'], /Unknown method: FETCH/],
  [['/api/v1/me'], /requires <path>[^]*Example: svc api GET \/api\/v1\/me/],
  [['GET', '/x', '--input', '-'], /GET takes no --input/],
  [['POST', '/x', '--paginate'], /--paginate is for GET/],
  [['POST', '/x', '-F', 'novalue'], /Not a field: novalue/],
  [['GET', '/x', '-F', 'a[b]=1'], /A parameter has no parts/],
  [['POST', '/x', '--input', 'missing.json'], /missing.json cannot be read \(ENOENT\)/],
  [['GET', '/x', '-H', 'Authorization: Bearer other'], /--header cannot set Authorization/],
  [['GET', '/x', '-H', 'Host: evil.test'], /--header cannot set Host/],
  [['GET', '/x', '-H', 'a: b\r\nc: d'], /Not a header/],
])('%j is refused', async (args, says) => {
  const { exit, err } = await svc(args)
  expect(exit).toBe(5)
  expect(err).toMatch(says)
  expect(asked).toEqual([])
})
