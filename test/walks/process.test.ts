/** The real program as a process, on both engines: its first words, its commands, its refusals, its signals of life. */
import { statSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterEach, expect, inject, onTestFinished, test } from 'vitest'
import { listOrganizations } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { copySnapshot, newDatabase } from '../support/database.ts'
import { firstWordsIn, freePort, processes, type Env, type ServerProcess } from '../support/process.ts'
import { freshSecrets } from '../support/system.ts'

const own = processes()
afterEach(own.cleanUp)

const embedded = inject('engine') === 'pglite'

/** A database as the migrations leave it, with nobody in it: the first start of a new one would take seconds more. */
async function newInstallation(): Promise<Env & { SVC_DATA_DIR: string }> {
  const SVC_DATA_DIR = join(await own.newFolder(), 'data')
  // The same at every start: tokens name the address at which they were given.
  const PORT = String(await freePort())
  if (embedded) {
    await copySnapshot(SVC_DATA_DIR)
    return { SVC_DATA_DIR, PORT }
  }
  const { url, close } = await newDatabase()
  onTestFinished(close)
  return { SVC_DATA_DIR, PORT, DATABASE_URL: url!, ...freshSecrets() }
}

/** What it said to people, without its log. */
const wordsOf = ({ stdout }: ServerProcess): string[] =>
  stdout()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('{'))

const secretsOf = async (installation: Env): Promise<string[]> =>
  Object.values(
    embedded
      ? (JSON.parse(await readFile(join(installation['SVC_DATA_DIR']!, 'secrets.json'), 'utf8')) as Env)
      : Object.fromEntries(Object.entries(installation).filter(([key]) => /SECRET|KEY/.test(key))),
  )

function expectSilence({ stdout, stderr }: ServerProcess, secrets: readonly string[]): void {
  expect(secrets.length).toBeGreaterThan(4)
  for (const secret of secrets) expect((stdout() + stderr()).includes(secret)).toBe(false)
}

test('the first start keeps what it has to say in a private file; later ones say only the address; what it gave stays good', async () => {
  const installation = await newInstallation()
  const first = await own.start({ env: { ...installation, LOG_LEVEL: 'debug' } })
  const file = join(first.dataFolder, 'first-run.txt')
  expect(wordsOf(first)).toEqual([
    `First owner: owner@svc.localhost. Password and a token (good for a day) are in ${file}: read it, then delete it.`,
  ])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect((await readdir(first.dataFolder)).filter((name) => name.startsWith('first-run'))).toEqual([
    'first-run.txt',
  ])

  const { email, password, token } = await firstWordsIn(first)
  const me = await first.as({ token })(whoAmI, {})
  expect(me).toMatchObject({
    kind: 'api_token',
    user: { email },
    role: 'owner',
    organization: { name: 'My organization' },
  })
  const hours = (Date.parse(me.expires_at!) - Date.now()) / 3_600_000
  expect(hours).toBeGreaterThan(23.9)
  expect(hours).toBeLessThanOrEqual(24)
  const session = await first.as()(signInWithPassword, { email, password })
  expect(await first.as({ token: session.token })(whoAmI, {})).toMatchObject({ kind: 'user', role: 'owner' })
  expect(await first.stop()).toMatchObject({ code: 0 })

  const second = await own.start({ env: { ...installation, LOG_LEVEL: 'debug' } })
  expect(wordsOf(second)).toEqual([`Console ${second.origin}/console`])
  for (const bearer of [token, session.token]) {
    expect(await second.as({ token: bearer })(whoAmI, {})).toMatchObject({ user: { email }, role: 'owner' })
  }
  expect(await second.stop('SIGINT')).toMatchObject({ code: 0 })

  const secrets = [password, token, session.token, ...(await secretsOf(installation))]
  expectSilence(first, secrets)
  expectSilence(second, secrets)
})

test('an owner named beforehand gets no file, and a later start with another name or password changes nothing', async () => {
  const installation = await newInstallation()
  const owner = {
    SVC_ADMIN_EMAIL: 'Ada@Example.com',
    SVC_ADMIN_PASSWORD: 'a password of her own',
    SVC_ORG: 'Ada & Söhne',
  }
  const first = await own.start({ env: { ...installation, ...owner } })
  expect(wordsOf(first).join('\n')).toContain('ada@example.com')
  const credentials = { email: 'ada@example.com', password: owner.SVC_ADMIN_PASSWORD }
  const { token } = await first.as()(signInWithPassword, credentials)
  expect(await first.as({ token })(whoAmI, {})).toMatchObject({
    role: 'owner',
    organization: { name: 'Ada & Söhne' },
  })
  await first.stop()
  const names = await readdir(first.dataFolder).catch(() => [])
  expect(names.filter((name) => name.startsWith('first-run'))).toEqual([])

  const other = { SVC_ADMIN_EMAIL: 'eve@example.com', SVC_ADMIN_PASSWORD: 'another password', SVC_ORG: 'Eve' }
  const second = await own.start({ env: { ...installation, ...other } })
  expect(wordsOf(second)).toEqual([`Console ${second.origin}/console`])
  const again = await second.as()(signInWithPassword, credentials)
  const { organizations } = await second.as({ token: again.token })(listOrganizations, {})
  expect(organizations.map(({ name }) => name)).toEqual(['Ada & Söhne'])
  await expect(
    second.as()(signInWithPassword, { email: 'eve@example.com', password: other.SVC_ADMIN_PASSWORD }),
  ).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  expectSilence(first, [owner.SVC_ADMIN_PASSWORD, token, again.token, ...(await secretsOf(installation))])
})

/** A first start that cannot open its port must not have used up the only moment at which it says the password. */
test('a first start that ends before it said anything is made up for by the next', async () => {
  const installation = await newInstallation()
  const neighbour = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void neighbour.close())
  await new Promise((listening) => neighbour.once('listening', listening))
  const PORT = String((neighbour.address() as AddressInfo).port)
  const refused = await own.run({ env: { ...installation, PORT } })
  expect(refused).toMatchObject({
    code: 1,
    stderr: `Port ${PORT} is in use. Stop the other program, or set PORT.\n`,
  })

  const next = await own.start({ env: installation })
  expect(wordsOf(next)[0]).toMatch(/^First owner: /)
  const { email, password } = await firstWordsIn(next)
  expect(await next.as()(signInWithPassword, { email, password })).toMatchObject({ user: { email } })
})

test.skipIf(!embedded)(
  'a second process on the same folder is refused, and the first does not notice',
  async () => {
    const installation = await newInstallation()
    const first = await own.start({ env: installation })
    for (const args of [[], ['migrate'], ['backup', join(first.dataFolder, 'copy')]]) {
      const second = await own.run({ env: installation, args })
      expect(second).toMatchObject({ code: 1, stdout: '' })
      expect(second.stderr).toContain(
        `The data folder ${first.dataFolder} is in use by process ${first.pid} on `,
      )
      expect(second.stderr).toContain(
        'Stop that process, choose another folder with SVC_DATA_DIR, or set DATABASE_URL',
      )
    }
    expect((await first.fetch('/readyz')).status).toBe(200)
  },
)

// The command line knows nothing of engines, so once is enough.

const USAGE: [args: string[], code: number, stdout: RegExp, stderr: RegExp][] = [
  [['--version'], 0, /^\d+\.\d+\.\d+\n$/, /^$/],
  [['--help'], 0, /svc-server restore FILE/, /^$/],
  [['settings'], 0, /^SVC_SERVICES\n {4}Services that run[^]*\nARGON2_MEMORY_KIB\n/, /^$/],
  [['nonsense'], 5, /^$/, /svc-server restore FILE/],
  [['--nonsense'], 5, /^$/, /--nonsense/],
  [['backup'], 5, /^$/, /svc-server backup FILE/],
  [['restore'], 5, /^$/, /svc-server restore FILE/],
  [['backup', 'one', 'two'], 5, /^$/, /svc-server backup FILE/],
  [['start', 'something'], 5, /^$/, /svc-server/],
  [['migrate', 'something'], 5, /^$/, /svc-server/],
]
test.skipIf(!embedded)('the command line answers, and leaves by 5 where it does not understand', async () => {
  const finished = await Promise.all(USAGE.map(([args]) => own.run({ args })))
  for (const [at, [args, code, stdout, stderr]] of USAGE.entries()) {
    expect(finished[at], `at ${args.join(' ')}`).toMatchObject({
      code,
      stdout: expect.stringMatching(stdout) as string,
      stderr: expect.stringMatching(stderr) as string,
    })
  }
})

test.skipIf(!embedded)(
  'a wrong configuration leaves by 5 with every problem, and touches nothing',
  async () => {
    const folder = join(await own.newFolder(), 'data')
    const env = {
      SVC_DATA_DIR: folder,
      LOG_LEVEL: 'loud',
      API_URL: 'http://api.example.com',
      SVC_OPERATOR_TOKEN: 'geheim',
    }
    const { code, stdout, stderr } = await own.run({ env })
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
    expect(stderr.split('\n').slice(0, 4)).toEqual([
      'The configuration has 3 problems:',
      '  SVC_OPERATOR_TOKEN: must have at least 32 characters',
      expect.stringMatching(/^ {2}LOG_LEVEL: /),
      '  API_URL: a public address must be https',
    ])
    expect(stderr).not.toContain('geheim')
    await expect(readdir(folder)).rejects.toThrow('ENOENT')
  },
)

test.skipIf(!embedded)(
  'damaged secrets end the start with a sentence, not with a hanging process',
  async () => {
    const installation = await newInstallation()
      await writeFile(join(installation.SVC_DATA_DIR, 'secrets.json'), '{}')
    const { code, stderr } = await own.run({ env: installation })
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Restore it from a copy') as string,
    })
  },
)

test.skipIf(embedded)('over Postgres a process that lacks a secret names every one it needs', async () => {
  const { DATABASE_URL } = (await newInstallation()) as Env
  const { code, stderr } = await own.run({ env: { DATABASE_URL: DATABASE_URL! } })
  expect({ code, stderr }).toEqual({
    code: 5,
    stderr: [
      'The configuration has 3 problems:',
      '  JWT_SECRET: needed by auth-service, console',
      '  JWT_SIGNING_KEY: needed by auth-service, console',
      '  ACTOR_ASSERTION_SECRET: needed by auth-service',
      '',
    ].join('\n'),
  })
})

// Signals of life

type Span = { name: string; traceId: string; spanId: string; parentSpanId?: string }
type Export = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }

/** What stands at the end of OTEL_EXPORTER_OTLP_ENDPOINT. */
async function startCollector() {
  const exports: { path: string; body: Export }[] = []
  const collector = createServer((request, response) => {
    void json(request).then((body) => {
      exports.push({ path: request.url!, body: body as Export })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  }).listen(0, '127.0.0.1')
  await new Promise((listening) => collector.once('listening', listening))
  onTestFinished(() => {
    collector.closeAllConnections()
    collector.close()
  })
  const spans = () =>
    exports.flatMap(({ body }) => body.resourceSpans.flatMap((r) => r.scopeSpans.flatMap((s) => s.spans)))
  return { url: `http://127.0.0.1:${(collector.address() as AddressInfo).port}/otlp`, exports, spans }
}

test('one request is one id in answer, header and log, one trace over both services, and one count by operation', async () => {
  const collector = await startCollector()
  const installation = await newInstallation()
  const server = await own.start({
    env: { ...installation, LOG_LEVEL: 'debug', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  })
  const { token } = await firstWordsIn(server)
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const parent = 'b7ad6b7169203331'
  const headers = { authorization: `Bearer ${token}`, traceparent: `00-${traceId}-${parent}-01` }

  const me = await server.fetch('/api/v1/me', { headers })
  expect(me.status).toBe(200)
  const requestId = me.headers.get('x-request-id')!
  const orgs = await server.fetch('/api/v1/orgs', {
    headers: { ...headers, 'x-request-id': 'given-by-the-caller' },
  })
  expect([orgs.status, orgs.headers.get('x-request-id')]).toEqual([200, 'given-by-the-caller'])
  const refused = await server.fetch('/api/v1/me', { headers: { 'x-request-id': 'x"} forged' } })
  const refusal = (await refused.json()) as { error: { request_id: string } }
  expect([refused.status, refusal.error.request_id]).toEqual([401, refused.headers.get('x-request-id')])
  expect(refusal.error.request_id).toMatch(/^req_/)

  const linesOf = (id: string) =>
    server
      .logLines()
      .filter((line) => line['request_id'] === id)
      .map((line) => [line['service'], line['route'], line['status']])
  expect(linesOf(requestId)).toEqual([
    ['auth-service', 'tokens.validate', 200],
    ['api-gateway', 'me.show', 200],
  ])
  expect(linesOf('given-by-the-caller')).toEqual([
    ['auth-service', 'organizations.list', 200],
    ['api-gateway', 'relay organizations.list', 200],
  ])
  expect(linesOf(refusal.error.request_id)).toEqual([['api-gateway', 'me.show', 401]])

  expect((await server.fetch('/metrics')).status).toBe(404)
  const metrics = await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)
  expect(metrics.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const counted = (await metrics.text())
    .split('\n')
    .filter(
      (line) => line.startsWith('svc_http_request_duration_seconds_count') && line.includes('api-gateway'),
    )
  const count = (route: string, status: number) =>
    `svc_http_request_duration_seconds_count{service="api-gateway",route="${route}",method="GET",status="${status}"} 1`
  expect(counted).toEqual([
    count('me.show', 200),
    count('relay organizations.list', 200),
    count('me.show', 401),
  ])
  expect((await fetch(`http://127.0.0.1:${server.metricsPort}/api/v1/me`)).status).toBe(404)

  // What is not sent yet goes out before the process does.
  expect(await server.stop()).toMatchObject({ code: 0 })
  expect(new Set(collector.exports.map(({ path }) => path))).toEqual(new Set(['/otlp/v1/traces']))
  expect(JSON.stringify(collector.exports)).not.toContain(token)
  const inTrace = collector.spans().filter((span) => span.traceId === traceId)
  const named = (name: string) => inTrace.find((span) => span.name === name)!
  expect(inTrace.map(({ name }) => name).toSorted()).toEqual([
    'api-gateway me.show',
    'api-gateway relay organizations.list',
    'auth-service organizations.list',
    'auth-service tokens.validate',
  ])
  for (const [gateway, auth] of [
    ['api-gateway me.show', 'auth-service tokens.validate'],
    ['api-gateway relay organizations.list', 'auth-service organizations.list'],
  ] as const) {
    expect(named(gateway).parentSpanId).toBe(parent)
    expect(named(auth).parentSpanId).toBe(named(gateway).spanId)
  }
})

test.skipIf(!embedded)('a collector that is away costs neither answers nor a quick stop', async () => {
  const env = { ...(await newInstallation()), OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }
  const server = await own.start({ env })
  const { token } = await firstWordsIn(server)
  expect(await server.as({ token })(whoAmI, {})).toMatchObject({ role: 'owner' })
  const { code, ms } = await server.stop()
  expect(code).toBe(0)
  expect(ms).toBeLessThan(5_000)
})
