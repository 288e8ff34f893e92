/** The client signs in like gh: in the browser or with a code, as a credential of its own that is never a session. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { cliLogins, sessions } from '../../db/schema.ts'
import { endAccessSince } from '../../src/contracts/access.ts'
import { listApps } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { CLI_PATH } from '../../src/contracts/cli-login.ts'
import {
  CLI_ACCESS_TOKEN_SECONDS,
  CLI_CODE_TRIES_PER_PERSON,
  CLI_FAILURES_PER_NETWORK,
  CLI_LOGIN,
  CLI_LOGINS_PER_NETWORK,
  CLI_SESSION_SECONDS,
  SESSION_ROTATION_GRACE_SECONDS,
} from '../../src/contracts/limits.ts'
import { updateMaintenanceSettings } from '../../src/contracts/maintenance.ts'
import { changeMemberRole, removeMember } from '../../src/contracts/members.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { listOrganizations } from '../../src/contracts/organizations.ts'
import { changePassword, whoAmI } from '../../src/contracts/people.ts'
import { listSessions, signOut, signOutEverywhere } from '../../src/contracts/sessions.ts'
import { validateToken } from '../../src/contracts/tokens.ts'
import { sweepSignIns } from '../../src/cores/identity/index.ts'
import { lockAuthor } from '../../src/cores/lock-author.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { newAddress, startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import {
  askCli,
  decideOn,
  decidingBrowser,
  poll,
  readSaved,
  renew,
  signedInWalker,
  signInCli,
  startDevice,
  svcIn,
  tokensOf,
  typeCode,
  type Browse,
} from '../support/cli-login.ts'
import { makeMember, makeOrganization, PASSWORD, signedIn, type Org, type Person } from '../support/make.ts'
import { newWalker, type Walker } from '../support/walker.ts'

const UNAUTHENTICATED = { code: 'UNAUTHENTICATED' }

let system: ListeningSystem
let home: string
/** Somebody in two organizations. */
let [org, other]: Org[] = []
let owner: Person
beforeAll(async () => {
  system = await startListeningSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api,console' })
  home = mkdtempSync(join(tmpdir(), 'svc-cli-login-'))
  org = await makeOrganization(system)
  owner = org.owner
  other = await makeOrganization(system, owner)
})
afterAll(async () => {
  rmSync(home, { recursive: true, force: true })
  await system.stop()
})

const configFolder = (name: string) => join(home, name)
const credentialsIn = (name: string) => join(configFolder(name), 'credentials.json')
const readCredentials = (name: string) => readSaved(configFolder(name))

/** The client in this process, at a terminal with a browser that does what `browse` does. */
const svc = (folder: string, argv: string[], browse?: Browse) => svcIn(configFolder(folder), argv, browse)

const browser = (person: Person, decision: string, orgId: string, seen?: { words?: string }): Browse =>
  decidingBrowser(system, person, { decision, orgId, seen })

describe('svc login', () => {
  const login = () => ['login', '--api-url', system.origin]

  test('signs in by the browser of this machine, as its person in the organization they chose', async () => {
    const seen: { words?: string } = {}
    const { exit, err } = await svc('browser', login(), browser(owner, 'approve', org!.id, seen))
    expect(err).toContain(`as ${owner.email}, owner of ${org!.name}.`)
    expect(exit).toBe(0)
    expect(seen.words).toContain('Asked from 127.0.0.1 Not the address of this browser.')
    expect(seen.words).toMatch(/Program “svc \d[^”]*” unverified/)
    expect(statSync(credentialsIn('browser')).mode & 0o777).toBe(0o600)

    const status = await svc('browser', ['status', '--json'])
    expect(JSON.parse(status.out)).toMatchObject({
      kind: 'cli_session',
      organization: { id: org!.id },
      role: 'owner',
    })
    expect((await svc('browser', ['apps', 'list'])).exit).toBe(0)
  })

  test('a second login of the same account takes the place of the first, which ends', async () => {
    const before = readCredentials('browser').tokens['localhost']!
    expect((await svc('browser', login(), browser(owner, 'approve', org!.id))).exit).toBe(0)
    await expect(system.as({ token: before })(whoAmI, {})).rejects.toMatchObject(UNAUTHENTICATED)
    // Another organization is another context.
    expect((await svc('browser', login(), browser(owner, 'approve', other!.id))).exit).toBe(0)
    expect(Object.keys(readCredentials('browser').logins)).toEqual(['localhost', 'localhost-2'])
  })

  test('one that cannot be saved ends at once', async () => {
    const person = await makeMember(system, org!, 'viewer')
    const { exit } = await svc(
      'browser',
      [...login(), '--context', 'localhost'],
      browser(person, 'approve', org!.id),
    )
    expect(exit).toBe(6)
    expect((await person.call(listSessions, {})).sessions.map(({ kind }) => kind)).not.toContain('cli')
  })

  test('a denied one saves nothing', async () => {
    const { exit, err } = await svc('denied', login(), browser(owner, 'deny', org!.id))
    expect([exit, err]).toEqual([3, expect.stringContaining('The login was denied')])
    expect(() => statSync(credentialsIn('denied'))).toThrow(/ENOENT/)
  })

  test('commands that run at once renew once, and none is refused', async () => {
    await svc('together', login(), browser(owner, 'approve', org!.id))
    const before = readCredentials('together')
    before.logins['localhost']!.expires_at = new Date(0).toISOString()
    writeFileSync(credentialsIn('together'), JSON.stringify(before))
    const done = await Promise.all(Array.from({ length: 5 }, () => svc('together', ['status', '--json'])))
    expect(done.map(({ exit }) => exit)).toEqual([0, 0, 0, 0, 0])
    const after = readCredentials('together')
    expect(after.tokens['localhost']).not.toBe(before.tokens['localhost'])
    const { cli_session_id: id } = await system.as({ token: after.tokens['localhost']! })(whoAmI, {})
    const [row] = await system.db.select().from(sessions).where(eq(sessions.id, id!))
    expect(row!.generation).toBe(2)
    expect(statSync(credentialsIn('together')).mode & 0o777).toBe(0o600)
  })

  test('one that was ended says so, and how to go on', async () => {
    await svc('ended', login(), browser(owner, 'approve', org!.id))
    const saved = readCredentials('ended')
    await askCli(system, 'revoke', { token: saved.logins['localhost']!.refresh_token })
    saved.logins['localhost']!.expires_at = new Date(0).toISOString()
    writeFileSync(credentialsIn('ended'), JSON.stringify(saved))
    const { exit, err } = await svc('ended', ['apps', 'list'])
    expect([exit, err]).toEqual([3, expect.stringMatching(/Your login has ended[^]*svc login --api-url/)])
  })
})

describe('what it may do', () => {
  test('everything of its person in one organization, and nothing in another', async () => {
    const { call, access } = await signInCli(system, org!, owner)
    expect(await call(whoAmI, {})).toMatchObject({
      kind: 'cli_session',
      organization: { id: org!.id },
      scopes: null,
    })
    expect((await call(whoAmI, {})).session_id).toBeUndefined()
    expect((await call(listOrganizations, {})).organizations.map(({ id }) => id)).toEqual([org!.id])
    await expect(system.as({ token: access, organization: other!.id })(listApps, {})).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    for (const audience of ['platform', 'notifications'] as const)
      await expect(system.as()(validateToken, { token: access, audience })).rejects.toMatchObject(
        UNAUTHENTICATED,
      )
  })

  /** From the table: whatever is for a session alone, gives out a secret, or opens another way in. */
  const CLOSED = OPERATIONS.filter(
    ({ access, closedToCliSessions }) => access === 'session' || closedToCliSessions === true,
  )

  test('nothing that is for a session, or gives out a secret', async () => {
    const { access } = await signInCli(system, org!, owner)
    expect(CLOSED.length).toBeGreaterThan(15)
    const answers = await Promise.all(
      CLOSED.map(async ({ name, http: { method, path } }) => {
        const filled = path.replaceAll(/\{(\w+)\}/g, (_, part: string) => (part === 'org_id' ? org!.id : 'x'))
        const hasBody = method !== 'get' && method !== 'delete'
        const { status } = await system.fetch(filled, {
          method: method.toUpperCase(),
          headers: {
            authorization: `Bearer ${access}`,
            // What a client says of itself changes nothing.
            'x-svc-client': 'console',
            ...(hasBody && { 'content-type': 'application/json' }),
          },
          ...(hasBody && { body: '{}' }),
        })
        return [name, status]
      }),
    )
    expect(answers).toEqual(CLOSED.map(({ name }) => [name, 403]))
  })

  test('nothing that lets in a key or a provider of somebody’s choice, which would outlive it', () => {
    const names = CLOSED.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining([
        'activateIdentityProvider',
        'allowIdentityProviderClient',
        'bindServiceAccount',
        'linkIdentity',
      ]),
    )
  })

  test('whatever answers with a secret is marked so', () => {
    const SECRET = /^(token|secret|password|connection_string|url|invitation_url)$/
    const isSecret = (op: (typeof OPERATIONS)[number]) =>
      op.access !== 'anyone' &&
      op.access !== 'operator' &&
      op.access !== 'session' &&
      Object.keys(op.output.shape).some((key) => SECRET.test(key))
    const unmarked = OPERATIONS.filter((op) => isSecret(op) && op.closedToCliSessions !== true).map(
      ({ name }) => name,
    )
    // The first leads to the page of the chat service, where somebody decides who may install it there; the second answers
    // with the address of a repository.
    expect(unmarked).toEqual(['beginChatInstall', 'setAppRemote'])
  })

  test('nothing that is for the console only', async () => {
    const { access } = await signInCli(system, org!, owner)
    const as = system.as({ token: access, entryPoint: 'console' })
    await expect(
      as(updateMaintenanceSettings, { org_id: org!.id, mcp_decisions: 'direct' }),
    ).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const member = await makeMember(system, org!, 'developer')
    const own = await signInCli(system, org!, member)
    // Leaving is its person's own.
    await expect(own.call(removeMember, { org_id: org!.id, user_id: member.userId })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  })
})

describe('what ends it', () => {
  const isLive = async ({ call, refresh }: Awaited<ReturnType<typeof signInCli>>) => {
    const works = await call(whoAmI, {}).then(
      () => true,
      () => false,
    )
    return [works, (await renew(system, refresh)).status === 200]
  }

  test('it is on the page of devices, and ends there', async () => {
    const person = await makeMember(system, org!, 'developer')
    const cli = await signInCli(system, org!, person)
    const { sessions: listed } = await person.call(listSessions, {})
    const [row] = listed.filter(({ kind }) => kind === 'cli')
    expect(row).toMatchObject({
      device: 'svc 9.9.9 on build-machine',
      signed_in_by: 'svc login',
      current: false,
    })
    const walker = await signedInWalker(system, person)
    const page = await walker.follow(await walker.open('/console/profile'))
    expect(page.words).toContain('svc 9.9.9 on build-machine by svc login')
    // Not somebody else's.
    await expect(owner.call(signOut, { session_id: row!.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await person.call(signOut, { session_id: row!.id })
    expect(await isLive(cli)).toEqual([false, false])
  })

  test('leaving its organization ends it, and coming back does not revive it', async () => {
    const person = await makeMember(system, org!, 'developer')
    await makeMember(system, other!, 'developer', person)
    const [here, there] = [await signInCli(system, org!, person), await signInCli(system, other!, person)]
    await owner.call(removeMember, { org_id: org!.id, user_id: person.userId })
    expect([await isLive(here), await isLive(there)]).toEqual([
      [false, false],
      [true, true],
    ])
    await makeMember(system, org!, 'developer', person)
    expect(await isLive(here)).toEqual([false, false])
  })

  test('a write that began with it and comes after its end is refused', async () => {
    const { call, refresh } = await signInCli(system, org!, owner)
    const { cli_session_id: cliSessionId } = await call(whoAmI, {})
    const author = { orgId: org!.id, userId: owner.userId, role: 'owner' as const, cliSessionId }
    const lock = () =>
      withTransaction(system.db, (tx) => lockAuthor(tx, () => system.clock.now(), author, 'viewer'))
    expect(await lock()).toMatchObject({ role: 'owner' })
    await askCli(system, 'revoke', { token: refresh })
    await expect(lock()).rejects.toMatchObject(UNAUTHENTICATED)
  })

  test('a lowered role acts on the next call', async () => {
    const person = await makeMember(system, org!, 'admin')
    const { call } = await signInCli(system, org!, person)
    await owner.call(changeMemberRole, { org_id: org!.id, user_id: person.userId, role: 'viewer' })
    expect((await call(whoAmI, {})).role).toBe('viewer')
  })

  test.each([
    [
      'a new password',
      ({ call }: Person) =>
        call(changePassword, { current_password: PASSWORD, new_password: `${PASSWORD} again` }),
    ],
    ['signing out everywhere', ({ call }: Person) => call(signOutEverywhere, {})],
    ['ending access since', ({ call }: Person) => call(endAccessSince, { since: '2026-01-01T00:00:00Z' })],
    [
      'an owner who ends access in the organization',
      ({ userId }: Person) =>
        system.as({ token: owner.token, organization: org!.id })(endAccessSince, {
          since: '2026-01-01T00:00:00Z',
          user_id: userId,
        }),
    ],
  ])('%s', async (_name, end) => {
    const person = await makeMember(system, org!, 'developer')
    const cli = await signInCli(system, org!, person)
    const waiting = await startDevice(system)
    const walker = await signedInWalker(system, person)
    await decideOn(walker, await typeCode(walker, waiting.userCode), 'approve', org!.id)
    await end(person)
    expect(await isLive(cli)).toEqual([false, false])
    // Approved, and not yet fetched.
    expect((await poll(system, waiting.deviceCode)).body['error']).toBe('access_denied')
  })

  test('time: an access token for an hour, the login for ninety days whatever is renewed', async () => {
    const cli = await signInCli(system, org!, owner)
    system.clock.advance(CLI_ACCESS_TOKEN_SECONDS)
    expect(await isLive(cli)).toEqual([false, true])
    system.clock.advance(CLI_SESSION_SECONDS - 2 * CLI_ACCESS_TOKEN_SECONDS)
    const fresh = await signedIn(system, owner.email)
    owner = { ...owner, ...fresh }
    const again = tokensOf(system, (await renew(system, cli.refresh)).body)
    expect(await isLive(again)).toEqual([true, true])
    system.clock.advance(2 * CLI_ACCESS_TOKEN_SECONDS)
    expect(await isLive(again)).toEqual([false, false])
  })

  test('what was approved and never fetched is swept', async () => {
    const person = await makeMember(system, org!, 'viewer')
    const { userCode } = await startDevice(system)
    const walker = await signedInWalker(system, person)
    await decideOn(walker, await typeCode(walker, userCode), 'approve', org!.id)
    const fetched = await signInCli(system, org!, owner)
    system.clock.advance(CLI_LOGIN.seconds)
    await sweepSignIns({ db: system.db, clock: () => system.clock.now() })
    expect((await person.call(listSessions, {})).sessions.map(({ kind }) => kind)).not.toContain('cli')
    expect(await isLive(fetched)).toEqual([true, true])
  })
})

describe('renewing', () => {
  test('an answer that got lost is given again, for as long as nobody has used it', async () => {
    const cli = await signInCli(system, org!, owner)
    await cli.call(whoAmI, {})
    const lost = await renew(system, cli.refresh)
    system.clock.advance(CLI_ACCESS_TOKEN_SECONDS)
    const again = tokensOf(system, (await renew(system, cli.refresh)).body)
    expect(lost.status).toBe(200)
    await again.call(whoAmI, {})
    // Two commands at once: the other one has just the old one.
    expect((await renew(system, again.refresh)).status).toBe(200)
    expect((await renew(system, again.refresh)).status).toBe(200)
  })

  test('of two commands at once the slower one may come with the old one for a minute, though the new one was used', async () => {
    const cli = await signInCli(system, org!, owner)
    const next = tokensOf(system, (await renew(system, cli.refresh)).body)
    system.clock.advance(1)
    await next.call(whoAmI, {})
    system.clock.advance(SESSION_ROTATION_GRACE_SECONDS - 10)
    const slower = tokensOf(system, (await renew(system, cli.refresh)).body)
    for (const { call } of [next, slower])
      expect(await call(whoAmI, {})).toMatchObject({ organization: { id: org!.id } })
  })

  test('an old one after that is held by two: both lose it, and the organization is told', async () => {
    const cli = await signInCli(system, org!, owner)
    const next = tokensOf(system, (await renew(system, cli.refresh)).body)
    await next.call(whoAmI, {})
    system.clock.advance(SESSION_ROTATION_GRACE_SECONDS + 1)
    expect((await renew(system, cli.refresh)).body).toMatchObject({ error: 'invalid_grant' })
    await expect(next.call(whoAmI, {})).rejects.toMatchObject(UNAUTHENTICATED)
    expect((await renew(system, next.refresh)).status).toBe(400)
    const { audit } = await owner.call(listAudit, { org_id: org!.id, action: 'session.reused' })
    expect(audit[0]).toMatchObject({ actor: { kind: 'cli_session', id: owner.userId } })
  })

  test('neither of its tokens is taken for the other, or for that of a session', async () => {
    const cli = await signInCli(system, org!, owner)
    await expect(system.as({ token: cli.refresh })(whoAmI, {})).rejects.toMatchObject(UNAUTHENTICATED)
    for (const token of [cli.access, owner.token, 'svc_x', ''])
      expect((await renew(system, token)).status).toBe(400)
  })
})

describe('a device code', () => {
  test('is asked for again until it is decided, works once, and not too often', async () => {
    const { deviceCode, userCode } = await startDevice(system)
    const ask = async (seconds: number) => {
      system.clock.advance(seconds)
      const { status, body } = await poll(system, deviceCode)
      return [status, body['error']]
    }
    expect(userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    expect(await ask(0)).toEqual([400, 'authorization_pending'])
    expect(await ask(0)).toEqual([400, 'slow_down'])
    expect(await ask(CLI_LOGIN.pollSeconds)).toEqual([400, 'slow_down'])
    expect(await ask(CLI_LOGIN.pollSeconds + 15)).toEqual([400, 'authorization_pending'])
    const walker = await signedInWalker(system, owner)
    await decideOn(walker, await typeCode(walker, userCode), 'approve', org!.id)
    expect(await ask(60)).toEqual([200, undefined])
    expect(await ask(60)).toEqual([400, 'invalid_grant'])
    const [row] = await system.db.select().from(cliLogins).orderBy(cliLogins.createdAt).limit(1)
    expect(JSON.stringify(row)).not.toMatch(
      new RegExp(`${deviceCode}|${userCode}|${userCode.replace('-', '')}`),
    )
  })

  test('that was denied, is late, or was made up', async () => {
    const [denied, late] = [await startDevice(system), await startDevice(system)]
    const walker = await signedInWalker(system, owner)
    await decideOn(walker, await typeCode(walker, denied.userCode), 'deny')
    expect((await poll(system, denied.deviceCode)).body['error']).toBe('access_denied')
    system.clock.advance(CLI_LOGIN.seconds)
    expect((await poll(system, late.deviceCode)).body['error']).toBe('expired_token')
    expect((await poll(system, 'made up')).body['error']).toBe('invalid_grant')
    expect((await poll(system, late.userCode)).body['error']).toBe('invalid_grant')
  })

  test('tells nobody anything before they are signed in', async () => {
    const [open, used, late] = [
      await startDevice(system),
      await startDevice(system),
      await startDevice(system),
    ]
    const signedInOne = await signedInWalker(system, owner)
    await decideOn(signedInOne, await typeCode(signedInOne, used.userCode), 'approve', org!.id)
    await system.db
      .update(cliLogins)
      .set({ expiresAt: new Date(system.clock.now().getTime() - 1000) })
      .where(eq(cliLogins.address, late.address))
    const anybody = newWalker(system)
    // A page of ours that anybody may see, with the token of its forms.
    const [form] = (await anybody.open('/auth/sign-in')).forms
    const answers = []
    for (const user_code of [open.userCode, used.userCode, late.userCode, 'BBBB-BBBB', 'x']) {
      const page = await anybody.postFrom(`${system.origin}/auth/sign-in`, '/auth/device', {
        form: form!.fields['form']!,
        user_code,
      })
      answers.push([page.status, page.location?.href, page.words])
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]![0]).toBe(303)

    const saysOf = async (code: string) => (await typeCode(signedInOne, code)).words
    expect(await saysOf('BBBB-BBBB')).toContain('This code is not valid')
    expect(await saysOf(used.userCode)).toContain('This code was already used')
    expect(await saysOf(late.userCode)).toContain('This code has expired: it works for 10 minutes')
    expect(await saysOf(open.userCode)).toContain('svc asks to sign in')
  })

  test('cannot be guessed: after ten that are wrong, so long that it says', async () => {
    const person = await makeMember(system, org!, 'viewer')
    const walker = await signedInWalker(system, person)
    const [{ userCode }, used] = [await startDevice(system), await startDevice(system)]
    const decider = await signedInWalker(system, owner)
    await decideOn(decider, await typeCode(decider, used.userCode), 'deny')
    // One that is over counts like one that never was.
    for (let tried = 0; tried < CLI_CODE_TRIES_PER_PERSON.count; tried++)
      expect((await typeCode(walker, tried % 2 === 0 ? 'BBBB-BBBB' : used.userCode)).status).toBe(400)
    const refused = await typeCode(walker, userCode)
    expect(refused.status).toBe(429)
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(1)
    // In another browser, too.
    expect((await typeCode(await signedInWalker(system, person), userCode)).status).toBe(429)
    system.clock.advance(seconds)
    expect((await typeCode(walker, userCode)).status).toBe(200)
  })

  test('a flood is refused by network, and others are not', async () => {
    const network = newAddress().replace(/::1$/, '')
    const start = (host: string) =>
      askCli(system, 'device_authorization', {}, { address: `${network}::${host}` })
    for (let asked = 0; asked < CLI_LOGINS_PER_NETWORK.network; asked++)
      expect((await start(String(asked + 1))).status).toBe(200)
    const { status, headers } = await start('99')
    expect(status).toBe(429)
    expect((await askCli(system, 'device_authorization', {})).status).toBe(200)
    system.clock.advance(Number(headers.get('retry-after')) - 1)
    expect((await start('99')).status).toBe(429)
    system.clock.advance(1)
    expect((await start('99')).status).toBe(200)
  })

  test.runIf(inject('everyCase'))('many networks of one /48 are refused together', async () => {
    const start = (site: string, network: number) =>
      askCli(system, 'device_authorization', {}, { address: `2001:db8:${site}:${network.toString(16)}00::1` })
    for (let asked = 0; asked < CLI_LOGINS_PER_NETWORK.site; asked++)
      expect((await start('c11', asked)).status).toBe(200)
    expect((await start('c11', 99)).status).toBe(429)
    expect((await start('c12', 99)).status).toBe(200)
  })
})

describe('the browser of this machine', () => {
  const REDIRECT = 'http://127.0.0.1:8472/callback'
  const CHALLENGE = { response_type: 'code', state: 'of the client', code_challenge_method: 'S256' }
  /** RFC 7636, appendix B. */
  const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const push = (fields: Record<string, string> = {}) =>
    askCli(system, 'par', {
      ...CHALLENGE,
      redirect_uri: REDIRECT,
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      ...fields,
    })
  const exchange = (code: string, fields: Record<string, string> = {}) =>
    askCli(system, 'token', {
      grant_type: 'authorization_code',
      code,
      code_verifier: VERIFIER,
      redirect_uri: REDIRECT,
      ...fields,
    })
  const approved = async (walker: Walker) => {
    const { body } = await push()
    const page = await walker.open(String(body['authorization_uri']))
    const back = await decideOn(walker, page, 'approve', org!.id)
    expect(back.location!.href).toMatch(
      /^http:\/\/127\.0\.0\.1:8472\/callback\?code=[\w-]{43}&state=of\+the\+client$/,
    )
    return { code: back.location!.searchParams.get('code')!, page }
  }

  test('brings a code that works once, with its verifier, for a minute', async () => {
    const walker = await signedInWalker(system, owner)
    const { code, page } = await approved(walker)
    expect((await exchange(code)).status).toBe(200)
    expect((await exchange(code)).body['error']).toBe('invalid_grant')
    expect((await walker.open(page.url)).words).toContain('This request was already used')

    const stolen = (await approved(walker)).code
    const wrong = { code_verifier: 'a'.repeat(43) }
    expect((await exchange(stolen, wrong)).body['error']).toBe('invalid_grant')
    expect((await exchange(stolen)).body['error']).toBe('invalid_grant')

    const late = (await approved(walker)).code
    system.clock.advance(CLI_LOGIN.codeSeconds)
    expect((await exchange(late)).body['error']).toBe('invalid_grant')
  })

  test('goes back to this machine only, and only with S256', async () => {
    for (const redirect_uri of [
      'https://evil.test/callback',
      'http://evil.test:80/callback',
      'http://localhost:1/callback',
      'http://127.0.0.1:1/other',
      'http://127.0.0.1:1/callback?x',
      'http://127.0.0.1:1@evil.test/callback',
    ])
      expect((await push({ redirect_uri })).status).toBe(400)
    expect((await push({ code_challenge_method: 'plain' })).status).toBe(400)
    expect((await push({ code_challenge: '' })).status).toBe(400)
    expect((await push()).status).toBe(201)
  })

  test('nothing is approved by another page, without being seen, or by somebody else', async () => {
    const walker = await signedInWalker(system, owner)
    const url = new URL(String((await push()).body['authorization_uri']))
    const page = await walker.open(url)
    const fields = { ...page.forms[0]!.fields, organization: org!.id, decision: 'approve' }
    const forged = await walker.postFrom('https://evil.test/', url, fields)
    expect([forged.status, forged.location]).toEqual([403, undefined])
    const again = await walker.postFrom(page, url, { ...fields, person: other!.id })
    expect([again.status, again.location]).toEqual([200, undefined])
    const elsewhere = await walker.postFrom(page, url, { ...fields, organization: 'org_x' })
    expect([elsewhere.status, elsewhere.words]).toEqual([
      400,
      expect.stringContaining('Choose an organization.'),
    ])
    // Of several, none is chosen for them.
    expect(page.forms[0]!.fields['organization']).toBeUndefined()
    expect((await newWalker(system).open(url)).location!.pathname).toBe('/auth/sign-in')
    const asked = await decideOn(walker, page, 'sign_in')
    expect(asked.location!.searchParams.get('prompt')).toBe('login')
    expect((await walker.open(url)).status).toBe(200)
    // Nor is another machine, by a link to its login: whoever approves that types the code which it shows.
    const { deviceCode } = await startDevice(system)
    expect((await walker.open(new URL(deviceCode, url))).words).toContain('This request is not valid')
  })

  test('what a client says of itself is only text', async () => {
    const walker = await signedInWalker(system, owner)
    const { body } = await push({
      client_name: '<script>x</script>',
      host_name: '\u202e"><b>' + 'w'.repeat(300),
    })
    const page = await walker.open(String(body['authorization_uri']))
    expect(page.text).not.toContain('<script>')
    expect(page.text).not.toContain('<b>')
    expect(page.words).toContain('“<script>x</script>” unverified')
    expect(page.text).not.toContain('w'.repeat(61))
  })
})

describe('the endpoints', () => {
  test('are for one client, and not for browsers', async () => {
    expect((await askCli(system, 'device_authorization', { client_id: 'other' })).body['error']).toBe(
      'invalid_client',
    )
    const headers = { origin: 'https://evil.test' }
    expect((await askCli(system, 'device_authorization', {}, { headers })).status).toBe(403)
    for (const [grant_type, error] of [
      ['password', 'unsupported_grant_type'],
      ['refresh_token', 'invalid_request'],
    ])
      expect((await askCli(system, 'token', { grant_type: grant_type! })).body['error']).toBe(error)
    const json = await system.fetch(`${CLI_PATH}/token`, { method: 'POST', body: '{}' })
    expect(json.status).toBe(400)
  })

  test('refuse whoever guesses at tokens, by network, and nobody else', async () => {
    const network = newAddress().replace(/::1$/, '')
    const guess = async (host: string) => (await poll(system, 'made up', `${network}::${host}`)).status
    for (let tried = 0; tried < CLI_FAILURES_PER_NETWORK.count; tried++) expect(await guess('1')).toBe(400)
    expect(await guess('2')).toBe(429)
    expect((await poll(system, 'made up')).status).toBe(400)
  })

  test('stand in no discovery document', async () => {
    for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) {
      const text = await (await fetch(`${system.origin}${path}`)).text()
      expect(text).toContain('authorization_endpoint')
      expect(text).not.toMatch(/device|\/cli\b/)
    }
    expect(await (await system.fetch('/api/openapi.json')).text()).not.toContain(CLI_PATH)
  })
})
