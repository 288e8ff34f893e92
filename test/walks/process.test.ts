/** The real program as a process, on both engines: its first words, its refusals, its signals of life, its end. */
import { statSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { listAudit } from '../../src/contracts/audit.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import {
  expectSilence,
  firstWordsIn,
  migratedFolder,
  processes,
  secretsOf,
  wordsOf,
  type Env,
  type FirstWords,
  type ServerProcess,
} from '../support/process.ts'
import { freshSecrets } from '../support/system.ts'

const own = processes()
// The same process, whatever it stores in: once is enough.
const embedded = inject('engine') === 'pglite'

type Span = { name: string; traceId: string; spanId: string; parentSpanId?: string }
type Export = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }

/** What stands at the end of OTEL_EXPORTER_OTLP_ENDPOINT. */
async function startCollector(received: { path: string; body: Export }[]): Promise<Server> {
  const collector = createServer((request, response) => {
    void json(request).then((body) => {
      received.push({ path: request.url!, body: body as Export })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  }).listen(0, '127.0.0.1')
  await new Promise((listening) => collector.once('listening', listening))
  return collector
}

/** One installation, started twice; what the tests need of its first life is asked before its second begins. */
describe('an installation', () => {
  const received: { path: string; body: Export }[] = []
  let collector: Server
  let database: TestDatabase | undefined
  let installation: Env
  let server: ServerProcess
  let words: FirstWords

  beforeAll(async () => {
    collector = await startCollector(received)
    database = embedded ? undefined : await newDatabase()
    installation = {
      SVC_DATA_DIR: embedded ? await migratedFolder(own) : join(await own.newFolder(), 'data'),
      // The same at every start: tokens name the address at which they were given.
      PORT: String(await freePort()),
      LOG_LEVEL: 'debug',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}/otlp`,
      ...(database?.url ? { DATABASE_URL: database.url, ...freshSecrets() } : {}),
    }
    // What the sample costs and gives is shown in test/long/sample.test.ts.
    server = await own.start({ env: installation, args: ['--empty'] })
    words = await firstWordsIn(server)
  })
  afterAll(async () => {
    await own.cleanUp()
    await database?.close()
    collector.closeAllConnections()
    collector.close()
  })

  test('keeps what the first start has to say in a private file and names it', async () => {
    const file = join(server.dataFolder, 'first-run.txt')
    const lines = server.stdout().split('\n')
    // A program reads it: every line is JSON.
    expect(lines.filter((line) => line !== '' && !line.startsWith('{'))).toEqual([])
    expect(wordsOf(server)).toEqual([
      `First owner: owner@svc.localhost. The password and a token (valid for a day) are in ${file}. Read it, then delete it.`,
    ])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const names = await readdir(server.dataFolder)
    expect(names.filter((name) => name.startsWith('first-run'))).toEqual(['first-run.txt'])
  })

  test('gives the first owner a token for a day and a password', async () => {
    const me = await server.as({ token: words.token })(whoAmI, {})
    expect(me).toMatchObject({
      kind: 'api_token',
      role: 'owner',
      organization: { name: 'My organization' },
    })
    const hours = (Date.parse(me.expires_at!) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(23)
    expect(hours).toBeLessThanOrEqual(24)
    const { token } = await server.as()(signInWithPassword, { email: words.email, password: words.password })
    expect(await server.as({ token })(whoAmI, {})).toMatchObject({ kind: 'user', role: 'owner' })
  })

  test.runIf(embedded)(
    'has its folder to itself: a second process is told who has it and what to do',
    async () => {
      for (const args of [[], ['migrate']]) {
        const second = await own.run({ env: installation, args })
        expect(second).toMatchObject({ code: 1, stdout: '' })
        expect(second.stderr).toContain(
          `The data folder ${server.dataFolder} is in use by process ${server.pid} on `,
        )
        expect(second.stderr).toContain(
          'Stop that process, choose another folder with SVC_DATA_DIR, or set DATABASE_URL',
        )
      }
      expect((await server.fetch('/readyz')).status).toBe(200)
    },
  )

  const TRACE = '0af7651916cd43dd8448eb211c80319c'
  const PARENT = 'b7ad6b7169203331'

  test('knows one request by one id in answer, header and log, and counts it by its operation', async () => {
    const headers = { authorization: `Bearer ${words.token}`, traceparent: `00-${TRACE}-${PARENT}-01` }
    const profile = await server.fetch('/api/v1/me', { headers })
    const orgs = await server.fetch('/api/v1/orgs', {
      headers: { ...headers, 'x-request-id': 'given-by-the-caller' },
    })
    const refused = await server.fetch('/api/v1/orgs', { headers: { 'x-request-id': 'x"} forged' } })
    expect([profile.status, orgs.status, refused.status]).toEqual([200, 200, 401])
    const [made, given, instead] = [profile, orgs, refused].map((answer) =>
      answer.headers.get('x-request-id')!,
    )
    expect([made, given, instead]).toEqual([
      expect.stringMatching(/^req_/),
      'given-by-the-caller',
      expect.stringMatching(/^req_/),
    ])
    expect(await refused.json()).toMatchObject({ error: { request_id: instead } })

    const linesOf = (id: string | undefined) =>
      server
        .logLines()
        .filter((line) => line['request_id'] === id)
        .map((line) => [line['service'], line['route'], line['status']])
    expect(linesOf(made)).toEqual([
      ['auth-service', 'validateToken', 200],
      ['api-gateway', 'whoAmI', 200],
    ])
    expect(linesOf(given)).toEqual([
      ['auth-service', 'listOrganizations', 200],
      ['api-gateway', 'relay listOrganizations', 200],
    ])
    expect(linesOf(instead)).toEqual([
      ['auth-service', 'listOrganizations', 401],
      ['api-gateway', 'relay listOrganizations', 401],
    ])

    const metrics = await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)
    expect(metrics.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    const count = (route: string, status: number) =>
      `svc_http_request_duration_seconds_count{service="api-gateway",route="${route}",method="GET",status="${status}"} 1`
    expect((await metrics.text()).split('\n')).toEqual(
      expect.arrayContaining([count('relay listOrganizations', 200), count('relay listOrganizations', 401)]),
    )
  })

  test('shows its numbers on their own port only, and nothing else there', async () => {
    expect((await server.fetch('/metrics')).status).toBe(404)
    expect((await fetch(`http://127.0.0.1:${server.metricsPort}/api/v1/me`)).status).toBe(404)
  })

  test('gives the operator a link to a new password while it runs, in a private file', async () => {
    const { email } = words
    const session = await server.as()(signInWithPassword, { email, password: words.password })
    const before = server.as({ token: session.token })
    const run = await own.run({ env: installation, args: ['reset-password', email.toUpperCase()] })
    const file = join(server.dataFolder, 'reset-password.txt')
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(run.stdout).toContain(`The link for ${email} is in ${file}.`)
    expect(run.stdout).not.toContain('/auth/reset/')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const link = /http\S+/.exec(await readFile(file, 'utf8'))![0]
    expect(await before(whoAmI, {})).toMatchObject({ user: { email } })
    const password = 'chosen by the link of the operator'
    expect(await choosePassword(link, password)).toBe(200)
    expect(await choosePassword(link, 'chosen by the link once more')).toBe(404)
    await expect(before(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    words = { ...words, password }
    const again = await server.as()(signInWithPassword, { email, password })
    expect(again.user.email).toBe(email)
    const { audit } = await server.as({ token: again.token })(listAudit, {
      org_id: again.organization!.id,
      action: 'password.changed',
    })
    expect(audit).toMatchObject([{ subject: 'by a link of the operator', actor: { id: again.user.id } }])
    const nobody = await own.run({ env: installation, args: ['reset-password', 'nobody@people.test'] })
    expect([nobody.code, nobody.stderr]).toEqual([
      1,
      'No account signs in with nobody@people.test and a password.\n',
    ])
  })

  /** As a browser does it: the page, its cookie, its form. */
  async function choosePassword(link: string, password: string): Promise<number> {
    const page = await fetch(link)
    const form = /name="form" value="([^"]+)"/.exec(await page.text())![1]!
    const cookie = page.headers.getSetCookie().map((one) => one.split(';', 1)[0]!)
    const headers = { cookie: cookie.join('; '), origin: new URL(link).origin }
    const body = new URLSearchParams({ form, password })
    return (await fetch(link, { method: 'POST', headers, body })).status
  }

  test('stops when asked to, with everything said, and lives on in a second process without another word', async () => {
    const session = await server.as()(signInWithPassword, { email: words.email, password: words.password })
    expect(await server.stop()).toMatchObject({ code: 0 })
    const reset = await own.run({ env: installation, args: ['reset-password', words.email], terminal: true })
    const link = /http\S+/.exec(reset.stdout)![0]
    const second = await own.start({ env: installation })
    expect(wordsOf(second)).toEqual([])
    for (const token of [words.token, session.token]) {
      expect(await second.as({ token })(whoAmI, {})).toMatchObject({
        role: 'owner',
        user: { email: words.email },
      })
    }
    // Made at a terminal, with nothing running.
    expect(await choosePassword(link, 'chosen after the second start')).toBe(200)
    expect(await second.stop('SIGINT')).toMatchObject({ code: 0 })
    const secrets = [link, words.password, words.token, session.token, ...(await secretsOf(installation))]
    expectSilence(server, secrets)
    expectSilence(second, secrets)
  })

  test('has sent one trace over both services, which continues the caller’s and holds no secret', () => {
    expect(new Set(received.map(({ path }) => path))).toEqual(new Set(['/otlp/v1/traces']))
    expect(JSON.stringify(received)).not.toContain(words.token)
    const spans = received.flatMap(({ body }) =>
      body.resourceSpans.flatMap((r) => r.scopeSpans.flatMap((s) => s.spans)),
    )
    const inTrace = new Map(spans.filter(({ traceId }) => traceId === TRACE).map((span) => [span.name, span]))
    expect([...inTrace.keys()].toSorted()).toEqual([
      'api-gateway relay listOrganizations',
      'api-gateway whoAmI',
      'auth-service listOrganizations',
      'auth-service validateToken',
    ])
    for (const [gateway, auth] of [
      ['api-gateway whoAmI', 'auth-service validateToken'],
      ['api-gateway relay listOrganizations', 'auth-service listOrganizations'],
    ] as const) {
      expect(inTrace.get(gateway)?.parentSpanId).toBe(PARENT)
      expect(inTrace.get(auth)?.parentSpanId).toBe(inTrace.get(gateway)?.spanId)
    }
  })
})

// The command line knows nothing of engines, so once is enough.

const USAGE: [args: string[], code: number, stdout: RegExp, stderr: RegExp][] = [
  [['--version'], 0, /^\d+\.\d+\.\d+\n$/, /^$/],
  [['--help'], 0, /svc-server restore FILE/, /^$/],
  [['settings'], 0, /^SVC_SERVICES\n {4}Services to run[^]*\nARGON2_MEMORY_KIB\n/, /^$/],
  [['nonsense'], 5, /^$/, /^svc-server has no command "nonsense". Run: svc-server --help\n$/],
  [['bakup', 'file'], 5, /^$/, /^svc-server has no command "bakup". Did you mean svc-server backup\? Run: /],
  [['--nonsense'], 5, /^$/, /^svc-server has no option --nonsense. Run: svc-server --help\n$/],
  [['migrate', '--chek'], 5, /^$/, /^svc-server has no option --chek. Did you mean --check\? Run: /],
  [['migrate', '--check=no'], 5, /^$/, /^--check takes no value. Run: /],
  [['settings', 'something'], 5, /^$/, /^Unexpected argument "something". Usage: svc-server settings\n$/],
  [['backup'], 5, /^$/, /^FILE is missing. Usage: svc-server backup FILE\n$/],
  [['reset-password'], 5, /^$/, /svc-server reset-password EMAIL/],
  [['restore', 'one', 'two'], 5, /^$/, /svc-server restore FILE/],
  [['start', 'something'], 5, /^$/, /svc-server/],
  [['migrate', 'something'], 5, /^$/, /svc-server/],
]
test.runIf(embedded)('the command line answers, and leaves by 5 where it does not understand', async () => {
  const finished = await Promise.all(USAGE.map(([args]) => own.run({ args })))
  for (const [at, [args, code, stdout, stderr]] of USAGE.entries()) {
    expect(finished[at], `at ${args.join(' ')}`).toMatchObject({
      code,
      stdout: expect.stringMatching(stdout) as string,
      stderr: expect.stringMatching(stderr) as string,
    })
  }
  await own.cleanUp()
})

test.runIf(embedded)(
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
    await own.cleanUp()
  },
)
