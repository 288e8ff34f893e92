/** Clients that register themselves: what is taken, the three limits, how long it lasts, and secrets. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../db/schema.ts'
import { revokeGrant, setOauthClientActive } from '../../src/contracts/grants.ts'
import { DYNAMIC_CLIENTS, DYNAMIC_CLIENT_UNUSED_SECONDS } from '../../src/contracts/limits.ts'
import {
  newAddress,
  newAssistant,
  startListeningSystem,
  register,
  tokensIn,
  whoami,
  type Authenticate,
  type ListeningSystem,
} from '../support/assistant.ts'
import { sweepOauth } from '../../src/cores/grants/index.ts'
import { makeOrganization, unique, type Org } from '../support/make.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'
import { newWalker } from '../support/walker.ts'

const DAY = 24 * 60 * 60
const LOCAL = 'http://127.0.0.1/callback'

let system: ListeningSystem
let org: Org
beforeAll(async () => {
  // Its own: the limits count every row.
  system = await startListeningSystem({}, { ownDatabase: true })
  org = await makeOrganization(system)
})
beforeEach(async () => void (await system.db.delete(platformOauthClients)))
/** Cookies of the library follow the machine's own clock, so every test begins at that time again. */
let later = 0
const wait = (seconds: number) => {
  later += seconds
  system.clock.advance(seconds)
}
afterEach(() => wait(-later))
afterAll(() => system.stop())

const rows = () => system.db.select().from(platformOauthClients)
const rowOf = async (clientId: string) =>
  (await system.db.select().from(platformOauthClients).where(eq(platformOauthClients.clientId, clientId)))[0]
/** A registration by a web application; each path makes another one of the same origin. */
const fromWeb = (origin: string, path = '/callback', address?: string) =>
  register(system, { redirect_uris: [origin + path] }, address)
const idIn = ({ body }: { body: Record<string, unknown> }) => String(body.client_id)

describe('what real clients send is accepted', () => {
  const taken: [string, Record<string, unknown>, Record<string, unknown>][] = [
    [
      'VS Code',
      {
        client_name: 'Visual Studio Code',
        redirect_uris: ['https://vscode.dev/redirect', 'http://127.0.0.1/', 'http://127.0.0.1:33418/'],
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
      },
      { grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'none' },
    ],
    [
      'scopes nobody here knows',
      { redirect_uris: [LOCAL], scope: 'openid profile data:read mcp:all' },
      { redirect_uris: [LOCAL] },
    ],
    [
      'nothing but a redirect',
      { redirect_uris: [LOCAL] },
      { token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'] },
    ],
    [
      'loopback as a web application',
      { redirect_uris: ['http://localhost:3000/cb'], application_type: 'web' },
      { redirect_uris: ['http://localhost:3000/cb'] },
    ],
    [
      'Cursor, without saying native',
      { redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'] },
      { redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'] },
    ],
    [
      'a logo, contacts and members of later drafts',
      {
        redirect_uris: ['https://app.example/cb'],
        logo_uri: 'https://app.example/logo.png',
        contacts: ['a@app.example'],
        software_id: 'x',
        software_version: '1',
        client_uri: 'https://app.example',
        something_new: { a: 1 },
      },
      { redirect_uris: ['https://app.example/cb'] },
    ],
    [
      'only the code grant',
      { redirect_uris: [LOCAL], grant_types: ['authorization_code'] },
      { grant_types: ['authorization_code'] },
    ],
    ['a client id of its own choice', { redirect_uris: [LOCAL], client_id: 'mine' }, { client_id: /^dcr_/ }],
    [
      'a kind of its own choice',
      { redirect_uris: [LOCAL], svc_kind: 'pre_registered' },
      { client_id: /^dcr_/ },
    ],
  ]
  test.each(taken)('%s', async (_who, metadata, expected) => {
    const answer = await register(system, metadata)
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)])
    const { client_id, ...rest } = expected
    expect(answer.body).toMatchObject(rest)
    expect(idIn(answer)).toMatch(client_id instanceof RegExp ? client_id : /^dcr_/)
    expect(answer.body).not.toHaveProperty('client_secret')
    expect(answer.body).not.toHaveProperty('registration_access_token')
    expect(answer.text).not.toContain('svc_')
    expect(await rowOf(idIn(answer))).toMatchObject({ kind: 'dynamic', isActive: true })
  })

  test.each([
    ['no redirect', {}],
    ['an empty list', { redirect_uris: [] }],
    ['a text', { redirect_uris: LOCAL }],
    ['eleven', { redirect_uris: Array.from({ length: 11 }, (_, i) => `http://127.0.0.1/${i}`) }],
    ['a number', { redirect_uris: [1] }],
    ['http on another host', { redirect_uris: ['http://evil.example/cb'] }],
    ['one bad among good ones', { redirect_uris: [LOCAL, 'http://evil.example/cb'] }],
    ['a script', { redirect_uris: ['javascript:alert(1)'] }],
    ['data', { redirect_uris: ['data:text/html,x'] }],
    ['a private scheme that is not on the list', { redirect_uris: ['com.example.app:/cb'] }],
    ['another address of a known private scheme', { redirect_uris: ['cursor://evil/cb'] }],
    ['a fragment', { redirect_uris: ['https://app.example/cb#x'] }],
    ['a wildcard', { redirect_uris: ['https://*.app.example/cb'] }],
    ['a user name', { redirect_uris: ['https://app.example@evil.example/cb'] }],
    ['a name that is no text', { redirect_uris: [LOCAL], client_name: { a: 1 } }],
    ['a method nobody has', { redirect_uris: [LOCAL], token_endpoint_auth_method: 'tls_client_auth' }],
  ])('%s is refused, and nothing is kept', async (_what, metadata: Record<string, unknown>) => {
    const answer = await register(system, metadata)
    expect([answer.status, answer.body.error]).toEqual([
      400,
      expect.stringMatching(/^invalid_(client_metadata|redirect_uri)$/),
    ])
    expect(answer.text).not.toMatch(/\bat .*\.[jt]s:/)
    expect(await rows()).toEqual([])
  })

  test.each(['{', '[]', '"x"', 'null', ''])('a body that is %s gets a clear error', async (body) => {
    const answer = await fetch(`${system.origin}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: expect.stringMatching(/^invalid_/) })
  })
})

/** mcporter and the SDKs register anew at each login, with whichever port is free. */
describe('registrations that differ only in the port of a loopback redirect', () => {
  const onPort = (port: number, more: Record<string, unknown> = {}) => ({
    client_name: 'mcporter',
    redirect_uris: [`http://127.0.0.1:${port}/callback`],
    ...more,
  })

  test('are one client, each answer echoes what was asked, and any port connects', async () => {
    const answers = []
    for (const port of [50_001, 50_002, 50_003]) answers.push(await register(system, onPort(port)))
    expect(new Set(answers.map(idIn)).size).toBe(1)
    expect(answers.map(({ status, body }) => [status, body.redirect_uris])).toEqual([
      [201, ['http://127.0.0.1:50001/callback']],
      [201, ['http://127.0.0.1:50002/callback']],
      [201, ['http://127.0.0.1:50003/callback']],
    ])
    const [row] = await rows()
    expect(row!.metadata).toMatchObject({ redirect_uris: [LOCAL] })
    const clientId = idIn(answers[0]!)
    for (const port of [50_002, 61_234]) {
      const redirectUri = `http://127.0.0.1:${port}/callback`
      const tokens = await newAssistant(system, { clientId, redirectUri }).connect(org.owner)
      expect((await whoami(system, tokens.access)).status).toBe(200)
    }
    expect(await rows()).toHaveLength(1)
  })

  test.each([
    ['another name', onPort(50_002, { client_name: 'mcporter 2' })],
    ['no name', onPort(50_002, { client_name: undefined })],
    ['another path', onPort(50_002, { redirect_uris: ['http://127.0.0.1:50002/cb'] })],
    ['another host', onPort(50_002, { redirect_uris: ['http://localhost:50002/callback'] })],
    ['a web redirect beside it', onPort(50_002, { redirect_uris: [LOCAL, 'https://app.example/cb'] })],
    ['another home page', onPort(50_002, { client_uri: 'https://app.example' })],
    ['a secret', onPort(50_002, { token_endpoint_auth_method: 'client_secret_post' })],
  ])('and in %s are two', async (_what, metadata) => {
    const first = await register(system, onPort(50_001))
    const second = await register(system, metadata)
    expect([second.status, idIn(second) === idIn(first)]).toEqual([201, false])
    expect(await rows()).toHaveLength(2)
  })

  test('a client with a secret keeps its port', async () => {
    const made = await register(system, onPort(50_001, { token_endpoint_auth_method: 'client_secret_post' }))
    expect((await rowOf(idIn(made)))!.metadata).toMatchObject({
      redirect_uris: ['http://127.0.0.1:50001/callback'],
    })
  })

  test('a port stays part of every other redirect', async () => {
    const at = (port: string) => ({ redirect_uris: [`https://app.example${port}/cb`] })
    const ids = [await register(system, at('')), await register(system, at(':8443'))].map(idIn)
    expect(new Set(ids).size).toBe(2)
  })

  test('OAUTH_LOOPBACK_PORTS=exact: they are two, and only the registered port connects', async () => {
    const exact = await startListeningSystem({ OAUTH_LOOPBACK_PORTS: 'exact' })
    try {
      const name = { client_name: unique('exact') }
      const [one, two] = [50_001, 50_002].map((port) => onPort(port, name))
      const ids = [await register(exact, one!), await register(exact, two!)].map(idIn)
      expect(new Set(ids).size).toBe(2)
      const open = (port: number) =>
        newWalker(exact, { overSockets: true }).open(
          newAssistant(exact, {
            clientId: ids[0]!,
            redirectUri: `http://127.0.0.1:${port}/callback`,
          }).request().url,
        )
      expect([(await open(50_001)).status, (await open(50_002)).status]).toEqual([303, 400])
    } finally {
      await exact.stop()
    }
  })
})

describe('a registration that the operator switched off', () => {
  const metadata = (port = 50_001) => ({
    client_name: 'Blocked',
    redirect_uris: [`http://127.0.0.1:${port}/callback`],
  })
  const setActive = (clientId: string, is_active: boolean) =>
    system.as({ token: OPERATOR_TOKEN })(setOauthClientActive, { client_id: clientId, is_active })

  test('cannot be made again, on whichever port, until it is switched on', async () => {
    const id = idIn(await register(system, metadata()))
    await setActive(id, false)
    for (const port of [50_001, 50_002]) {
      const again = await register(system, metadata(port))
      expect([again.status, again.body.error]).toEqual([403, 'access_denied'])
    }
    expect(await rows()).toHaveLength(1)
    expect((await register(system, { ...metadata(), client_name: 'Another' })).status).toBe(201)
    await setActive(id, true)
    expect(idIn(await register(system, metadata()))).toBe(id)
  })

  test('stays refused after it expired, and the sweep keeps it', async () => {
    const id = idIn(await register(system, metadata()))
    await setActive(id, false)
    wait(61 * DAY)
    await sweepOauth({ db: system.db, clock: () => system.clock.now() })
    expect((await register(system, metadata())).status).toBe(403)
    await setActive(id, true)
    await sweepOauth({ db: system.db, clock: () => system.clock.now() })
    expect(await rows()).toEqual([])
  })
})

describe('the same registration again', () => {
  test('gets the same client id, however its members are ordered', async () => {
    const first = await register(system, { redirect_uris: [LOCAL], client_name: 'One' })
    const again = await register(system, { client_name: 'One', redirect_uris: [LOCAL] })
    expect([again.status, idIn(again)]).toEqual([201, idIn(first)])
    expect(await rows()).toHaveLength(1)
  })

  test('with anything different is another client, and one with a secret always is', async () => {
    const one = { redirect_uris: [LOCAL], client_name: 'One' }
    const secret = { ...one, token_endpoint_auth_method: 'client_secret_post' }
    const ids = []
    for (const metadata of [one, { ...one, client_name: 'Two' }, secret, secret]) {
      ids.push(idIn(await register(system, metadata)))
    }
    expect(new Set(ids).size).toBe(4)
  })

  test('has no more time for its approval than the first one', async () => {
    const ids = []
    for (let i = 0; i < DYNAMIC_CLIENTS.perOrigin; i++) {
      ids.push(idIn(await fromWeb('https://app.example', `/${i}`)))
      wait(1)
    }
    const before = await rowOf(ids[0]!)
    wait(DYNAMIC_CLIENT_UNUSED_SECONDS - DYNAMIC_CLIENTS.perOrigin)
    expect(idIn(await fromWeb('https://app.example', '/0'))).toBe(ids[0])
    expect(await rowOf(ids[0]!)).toEqual(before)
    expect((await fromWeb('https://app.example', '/6')).status).toBe(201)
    expect(await rowOf(ids[0]!)).toBeUndefined()
    expect(await rowOf(ids[1]!)).toBeDefined()
  })

  test('fifty times at once is one client', async () => {
    const metadata = { redirect_uris: [LOCAL], client_name: 'Crowd' }
    const answers = await Promise.all(Array.from({ length: 50 }, () => register(system, metadata)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]))
    expect(new Set(answers.map(idIn)).size).toBe(1)
    expect(await rows()).toHaveLength(1)
  })
})

/** Threat: registration flood. */
describe('limits', () => {
  test('120 registrations at once leave exactly 100, and tell the others when to come back', async () => {
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, i) => fromWeb(`https://client-${i}.example`)),
    )
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses).toEqual([...Array(100).fill(201), ...Array(20).fill(429)])
    expect(await rows()).toHaveLength(DYNAMIC_CLIENTS.active)
    for (const { status, headers, body } of answers) {
      if (status !== 429) continue
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect(body).toMatchObject({ error: 'temporarily_unavailable' })
    }
    // An unused one is replaced after ten minutes.
    wait(DYNAMIC_CLIENT_UNUSED_SECONDS + 1)
    expect((await fromWeb('https://late.example')).status).toBe(201)
    expect(await rows()).toHaveLength(DYNAMIC_CLIENTS.active)
  })

  test('an origin has five, wherever it registers from; another origin is not concerned', async () => {
    for (let i = 0; i < DYNAMIC_CLIENTS.perOrigin; i++) {
      expect((await fromWeb('https://app.example', `/${i}`)).status).toBe(201)
    }
    const sixth = await fromWeb('https://app.example', '/6')
    expect([sixth.status, Number(sixth.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect((await fromWeb('https://app.example:8443', '/6')).status).toBe(201)
    expect((await fromWeb('https://other.example', '/6')).status).toBe(201)
  })

  test('twenty at once from one origin leave five', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => fromWeb('https://app.example', `/${i}`)),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(DYNAMIC_CLIENTS.perOrigin)
    expect(await rows()).toHaveLength(DYNAMIC_CLIENTS.perOrigin)
  })

  test('programs on a computer count by the address they register from', async () => {
    const address = newAddress()
    const local = (i: number, from: string) =>
      register(system, { client_name: `Program ${i}`, redirect_uris: [LOCAL] }, from)
    for (let i = 0; i < DYNAMIC_CLIENTS.perOrigin; i++) {
      expect((await local(i, address)).status).toBe(201)
    }
    expect((await local(9, address)).status).toBe(429)
    // The rest of an IPv6 network belongs to the same customer.
    expect((await local(9, address.replace(/1$/, 'beef'))).status).toBe(429)
    expect((await local(9, newAddress())).status).toBe(201)
  })

  test('an address has twenty, whatever the origins; another address is not concerned', async () => {
    const address = newAddress()
    for (let i = 0; i < DYNAMIC_CLIENTS.perAddress; i++) {
      expect((await fromWeb(`https://client-${i}.example`, '/cb', address)).status).toBe(201)
    }
    const late = await fromWeb('https://late.example', '/cb', address)
    expect([late.status, late.body.error_description]).toEqual([
      429,
      'this address has 20 active registrations',
    ])
    expect((await fromWeb('https://late.example', '/cb', newAddress())).status).toBe(201)
    expect(await rows()).toHaveLength(DYNAMIC_CLIENTS.perAddress + 1)
  })

  test('a flood from the networks of one /48 leaves room for others, and one of many addresses gives way at once', async () => {
    const floods = [(i: number) => `2001:db8:1:${i.toString(16)}::1`, (i: number) => `192.0.2.${i % 10}`]
    for (const addressOf of floods) {
      await system.db.delete(platformOauthClients)
      for (let i = 0; i < 128; i++) await fromWeb(`https://client-${i}.example`, '/cb', addressOf(i))
      const made = await fromWeb('https://app.example', '/cb', newAddress())
      expect(made.status).toBe(201)
      // Nor does the flood take it back.
      for (let i = 0; i < 32; i++) await fromWeb(`https://more-${i}.example`, '/cb', addressOf(i))
      const client = { clientId: idIn(made), redirectUri: 'https://app.example/cb' }
      await newAssistant(system, client).connect(org.owner)
    }
  })

  test('five logins, all revoked: the sixth registration takes the place of the oldest', async () => {
    const address = newAddress()
    const login = async (i: number) => {
      const made = await register(
        system,
        { client_name: `Login ${i}`, redirect_uris: ['http://127.0.0.1:50001/callback'] },
        address,
      )
      wait(1)
      return made
    }
    const ids = []
    for (let i = 0; i < DYNAMIC_CLIENTS.perOrigin; i++) {
      const clientId = idIn(await login(i))
      ids.push(clientId)
      const tokens = await newAssistant(system, { clientId, redirectUri: LOCAL }).connect(org.owner)
      // The last one stays connected.
      if (i < 4) await org.owner.call(revokeGrant, { grant_id: tokens.grantId })
    }
    const early = await login(5)
    // The oldest is ten minutes old in ten minutes less what has passed since.
    const oldest = (await rowOf(ids[0]!))!.createdAt.getTime()
    const left = Math.ceil(
      (oldest + DYNAMIC_CLIENT_UNUSED_SECONDS * 1000 - system.clock.now().getTime()) / 1000,
    )
    expect(early.status).toBe(429)
    const told = Number(early.headers.get('retry-after'))
    expect(told - left).toBeOneOf([1, 2])
    wait(told - 1)
    expect((await login(5)).status).toBe(201)
    expect((await login(6)).status).toBe(201)
    const kept = (await rows()).map(({ clientId }) => clientId)
    expect(ids.map((id) => kept.includes(id))).toEqual([false, false, true, true, true])
    for (let i = 7; i < 12; i++) await login(i)
    expect((await rowOf(ids[4]!))!.isActive).toBe(true)
  })

  test('the oldest unused one gives way after ten minutes; one that led to a grant does not', async () => {
    const ids = []
    for (let i = 0; i < DYNAMIC_CLIENTS.perOrigin; i++) {
      ids.push(idIn(await fromWeb('https://app.example', `/${i}`)))
      wait(1)
    }
    const used = newAssistant(system, { clientId: ids[0]!, redirectUri: 'https://app.example/0' })
    await used.connect(org.owner)
    expect((await fromWeb('https://app.example', '/new')).status).toBe(429)
    wait(DYNAMIC_CLIENT_UNUSED_SECONDS)
    expect((await fromWeb('https://app.example', '/new')).status).toBe(201)
    const left = (await rows()).map(({ clientId }) => clientId)
    expect([left.length, left.includes(ids[0]!), left.includes(ids[1]!)]).toEqual([5, true, false])
  })

  test('deleting an expired one does not allow a sixth', async () => {
    const gone = idIn(await fromWeb('https://app.example', '/expired'))
    await system.db
      .update(platformOauthClients)
      .set({ expiresAt: new Date(system.clock.now().getTime() - 1000) })
      .where(eq(platformOauthClients.clientId, gone))
    for (let i = 0; i < DYNAMIC_CLIENTS.perOrigin; i++) await fromWeb('https://app.example', `/${i}`)
    wait(DYNAMIC_CLIENT_UNUSED_SECONDS + 1)
    expect((await fromWeb('https://app.example', '/new')).status).toBe(201)
    const live = (await rows()).filter(({ expiresAt }) => expiresAt! > system.clock.now())
    expect(live).toHaveLength(DYNAMIC_CLIENTS.perOrigin)
  })

  test('an address that asks too often is told to wait, before anything is looked at', async () => {
    const address = newAddress()
    const [first] = await Promise.all(Array.from({ length: 30 }, () => register(system, {}, address)))
    expect(first!.status).toBe(400)
    let late = first!
    // One try is won back every two seconds.
    for (let i = 0; i < 30 && late.status !== 429; i++) late = await register(system, {}, address)
    expect([late.status, Number(late.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect(late.body).toMatchObject({ error: 'temporarily_unavailable' })
    expect((await register(system, {}, newAddress())).status).toBe(400)
  })
})

describe('how long it lasts', () => {
  const app = { redirect_uris: ['https://app.example/cb'], client_name: 'App' }
  const open = (clientId: string) =>
    newWalker(system, { overSockets: true }).open(
      newAssistant(system, { clientId, redirectUri: app.redirect_uris[0]! }).request().url,
    )

  test('thirty days, and use makes it thirty days more while somebody approves of it', async () => {
    const id = idIn(await register(system, app))
    const until = async () => (await rowOf(id))!.expiresAt!.getTime() - system.clock.now().getTime()
    expect(Math.abs((await until()) / 1000 - 30 * DAY)).toBeLessThan(60)
    wait(2 * DAY)
    // Anybody can open this page.
    expect((await open(id)).status).toBe(303)
    expect(Math.abs((await until()) / 1000 - 28 * DAY)).toBeLessThan(60)
    const { grantId } = await newAssistant(system, {
      clientId: id,
      redirectUri: app.redirect_uris[0]!,
    }).connect(org.owner)
    wait(2 * DAY)
    expect((await open(id)).status).toBe(303)
    expect(Math.abs((await until()) / 1000 - 30 * DAY)).toBeLessThan(60)
    await system.db
      .update(platformAccessGrants)
      .set({ revokedAt: system.clock.now() })
      .where(eq(platformAccessGrants.id, grantId))
    wait(2 * DAY)
    expect((await open(id)).status).toBe(303)
    expect(Math.abs((await until()) / 1000 - 28 * DAY)).toBeLessThan(60)
  })

  test('then the page says so to the person, and the token endpoint to the client', async () => {
    const id = idIn(await register(system, app))
    const assistant = newAssistant(system, { clientId: id, redirectUri: app.redirect_uris[0]! })
    const { refresh } = await assistant.connect(org.owner)
    await system.db
      .update(platformOauthClients)
      .set({ expiresAt: new Date(system.clock.now().getTime() - 1000) })
      .where(eq(platformOauthClients.clientId, id))
    const page = await open(id)
    expect([page.status, page.location]).toEqual([400, undefined])
    expect(page.headers.get('content-type')).toContain('text/html')
    expect(page.words).toContain('Its registration has expired')
    expect(page.words).toContain(id)
    expect(await assistant.refresh(refresh)).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    // The client registers again and is a new one.
    expect(idIn(await register(system, app))).not.toBe(id)
  })
})

test('OAUTH_DCR=off: nobody registers, and discovery does not offer it', async () => {
  const closed = await startListeningSystem({ OAUTH_DCR: 'off' })
  try {
    expect((await register(closed, { redirect_uris: [LOCAL] })).status).toBe(404)
    const metadata = await (await fetch(`${closed.origin}/.well-known/oauth-authorization-server`)).json()
    expect(metadata).toMatchObject({ issuer: closed.origin })
    expect(metadata).not.toHaveProperty('registration_endpoint')
  } finally {
    await closed.stop()
  }
})

/** Threat: secrets at rest. */
describe('a client with a secret', () => {
  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  })
  const ways: Record<string, (id: string, secret: string) => ReturnType<Authenticate>> = {
    client_secret_basic: (id, secret) => ({ headers: basic(id, secret) }),
    client_secret_post: (id, secret) => ({ fields: { client_id: id, client_secret: secret } }),
  }

  test.each(Object.keys(ways))(
    '%s: sees it once, uses it, and the database does not know it',
    async (method) => {
      const made = await register(system, { redirect_uris: [LOCAL], token_endpoint_auth_method: method })
      const [id, secret] = [idIn(made), String(made.body.client_secret)]
      expect([made.status, secret.length >= 32]).toEqual([201, true])
      expect(JSON.stringify(await rowOf(id))).not.toContain(secret)
      const client = { clientId: id, redirectUri: LOCAL }
      const honest = newAssistant(system, client, () => ways[method]!(id, secret))
      const tokens = await honest.connect(org.owner)
      const again = tokensIn(await honest.refresh(tokens.refresh))
      expect((await whoami(system, again.access)).status).toBe(200)

      const stored = String(((await rowOf(id))!.metadata as { client_secret?: string }).client_secret)
      const impostors: Authenticate[] = [
        () => ways[method]!(id, `${secret}x`),
        () => ways[method]!(id, stored),
        () => ({ fields: { client_id: id } }),
        () => ({}),
      ]
      for (const authenticate of impostors) {
        const { status, body } = await newAssistant(system, client, authenticate).refresh(again.refresh)
        expect([status, body.error]).toEqual([
          expect.toBeOneOf([400, 401]),
          expect.stringMatching(/^invalid_(client|request)$/),
        ])
      }
      expect((await honest.refresh(again.refresh)).status).toBe(200)
    },
  )
})
