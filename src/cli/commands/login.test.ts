/** `svc login`, `svc status` and the contexts: what is saved, what is refused, and signing in with a code. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { svcWith } from '../../../test/support/fake-api.ts'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import { run } from '../run.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'svc-login-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const ADA = {
  user: { id: 'usr_1', name: 'Ada', email: 'ada@acme.example' },
  organization: { id: 'org_1', name: 'Acme' },
  role: 'admin',
  kind: 'api_token',
  scopes: null,
  audiences: ['wf'],
  expires_at: null,
}

const svc = (argv: string[], who: object = ADA, stdin = '') =>
  svcWith({ whoAmI: who }, argv, { cwd: '/', stdin, more: { SVC_CONFIG_DIR: folder } })
const saved = (file: string) =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, unknown>

describe('with an API token', () => {
  test('it is saved for its account, after the server has taken it', async () => {
    const { exit, err, out } = await svc(['login', '--context', 'work', '--api-key', '-'], ADA, 'svc_piped\n')
    expect([exit, out]).toEqual([0, ''])
    expect(err).toMatch(
      /as ada@acme\.example, admin of Acme\.[^]*Saved the token to[^]*Current context: work/,
    )
    expect(saved('config.json')).toMatchObject({
      current: 'work',
      contexts: { work: { user: { id: 'usr_1' } } },
    })
    expect(saved('credentials.json')).toMatchObject({ tokens: { work: 'svc_piped' } })
    expect(JSON.stringify(saved('config.json'))).not.toContain('svc_piped')
    const second = await svc(['login', '--context', 'home', '--json'], {
      ...ADA,
      organization: null,
      role: null,
    })
    expect(JSON.parse(second.out)).toMatchObject({ context: 'home', current: false, organization: null })
    expect(second.err).toContain('Switch to it with: svc context use home')
    const listed = await svc(['context', 'list'])
    expect(listed.out).toMatch(/^CURRENT +NAME[^]*\n- +home[^]*\n\* +work/)
    expect(listed.err).toContain('override these contexts')
    const used = await svc(['context', 'use', 'home'])
    expect([used.err, saved('config.json')['current']]).toEqual(['Switched to context home.\n', 'home'])
    const taken = await svc(['login', '--context', 'work'], { ...ADA, user: { ...ADA.user, id: 'usr_2' } })
    expect([taken.exit, taken.err]).toEqual([6, expect.stringContaining('belongs to another account')])
    const removed = await svc(['context', 'remove', 'work', '--yes'])
    expect(removed.err).toContain('Its token is still valid')
    expect(saved('credentials.json')).toMatchObject({ tokens: { home: 'svc_secret' } })
  })

  test.each([
    [['--context', 'env'], 'This name is reserved'],
    [['--context', 'a b'], 'Use up to 63 letters, digits, dots'],
    [['--api-key', 'svc_a', '--device'], '--api-key conflicts with --device'],
    [['--api-key', 'two words'], '--api-key is not an API token'],
    [['--api-url', 'http://svc.example'], 'The token would be sent unencrypted to http://svc.example'],
    [['--api-url', 'nothing'], '--api-url'],
  ])('%j is refused: %s', async (more, says) => {
    const { exit, err, sent } = await svc(['login', ...more])
    expect([exit, err, sent]).toEqual([5, expect.stringContaining(says), {}])
  })

  test('a server that answers anything is no svc server, and nothing is saved', async () => {
    const { exit, err } = await svc(['login'], { hello: 'world' })
    expect([exit, err]).toEqual([1, expect.stringContaining('is not an svc server')])
    expect(() => saved('config.json')).toThrow('ENOENT')
  })
})

describe('status', () => {
  test('tells the login, and that a token may do everything the role allows', async () => {
    const { exit, out } = await svc(['status'])
    expect([exit, out]).toEqual([
      0,
      expect.stringMatching(/everything the role allows[^]*never[^]*SVC_API_KEY/),
    ])
    const session = { ...ADA, kind: 'cli_session', scopes: ['data:read', 'apps:read'] }
    expect((await svc(['status'], session)).out).toMatch(/data:read apps:read[^]*renewed by itself/)
  })

  test('without a login exits with 3; as JSON that is a result, too', async () => {
    const environment = fakeEnvironment({ env: { SVC_CONFIG_DIR: folder } })
    expect(await run(['status', '--json'], environment)).toBe(3)
    expect(JSON.parse(environment.out())).toMatchObject({
      logged_in: false,
      context: null,
      error: { code: 'UNAUTHENTICATED', message: 'You are not logged in' },
    })
    const table = fakeEnvironment({ env: { SVC_CONFIG_DIR: folder } })
    expect(await run(['status'], table)).toBe(3)
    expect([table.out(), table.err()]).toEqual(['', expect.stringContaining('Log in: svc login --api-url')])
  })
})

/** RFC 8628, of a server that answers the polls with these, in turn. */
async function signIn(polls: readonly { readonly status: number; readonly body: object }[], expires_in = 60) {
  const asked: string[] = []
  const left = [...polls]
  const server = createServer((request, response) => {
    const path = request.url!
    asked.push(path.split('/').at(-1)!)
    const device = {
      device_code: 'dev',
      user_code: 'WDJB-MJHT',
      verification_uri: 'https://svc.example/device',
      expires_in,
      interval: 0.001,
    }
    const { status, body } = path.endsWith('/device_authorization')
      ? { status: 200, body: device }
      : path.endsWith('/token')
        ? left.shift()!
        : { status: 200, body: ADA }
    request.resume().on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const environment = fakeEnvironment({ env: { SVC_CONFIG_DIR: folder } })
  try {
    const exit = await run(['login', '--device', '--api-url', url, '--context', 'work'], environment)
    return { exit, err: environment.err(), asked }
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe('with a code', () => {
  const PENDING = { status: 400, body: { error: 'authorization_pending' } }
  const TOKENS = { access_token: 'svc_access', refresh_token: 'svc_refresh', expires_in: 3_600 }

  test('the code is shown, and the tokens are saved once it was allowed', async () => {
    const { exit, err, asked } = await signIn([PENDING, { status: 200, body: TOKENS }])
    expect(exit).toBe(0)
    expect(err).toContain('Open   https://svc.example/device\nCode   WDJB-MJHT\n')
    expect(err).toContain('Saved the login to')
    expect(asked).toEqual(['device_authorization', 'token', 'token', 'me'])
    expect(saved('credentials.json')).toMatchObject({
      tokens: { work: 'svc_access' },
      logins: { work: { refresh_token: 'svc_refresh' } },
    })
  })

  test.each([
    ['access_denied', 3, 'The login was denied'],
    ['expired_token', 7, 'The login was not allowed in time'],
    ['invalid_client', 1, 'refused the login (invalid_client)'],
  ])('%s ends it with exit code %i, and nothing is saved', async (error, exit, says) => {
    const ended = await signIn([{ status: 400, body: { error } }])
    expect([ended.exit, ended.err]).toEqual([exit, expect.stringContaining(says)])
    expect(() => saved('credentials.json')).toThrow('ENOENT')
  })

  test('an instance that signs nobody in says how to use a token', async () => {
    const { exit, err } = await signIn([{ status: 404, body: {} }])
    expect([exit, err]).toEqual([4, expect.stringContaining('Create an API token in the console')])
    const busy = await signIn([
      { status: 429, body: {} },
      { status: 200, body: TOKENS },
    ])
    expect(busy.exit).toBe(0)
  })
})
