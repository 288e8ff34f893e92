/** The auth service somewhere else: at a vendor's, or in another process of one's own. Wired by function here. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADDRESS_HEADER, type Service } from '../../src/client/service.ts'
import { ConfigProblems } from '../../src/boot/config.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { createGroup } from '../../src/contracts/groups.ts'
import { ACTOR_ASSERTION_SECONDS } from '../../src/contracts/limits.ts'
import { listMembers } from '../../src/contracts/members.ts'
import {
  createOrganization,
  createOrganizationAsOperator,
  listOrganizations,
} from '../../src/contracts/organizations.ts'
import { showProfile, whoAmI } from '../../src/contracts/people.ts'
import { signInWithPassword, signOut } from '../../src/contracts/sessions.ts'
import { createApiToken, listApiTokens, revokeApiToken, validateToken } from '../../src/contracts/tokens.ts'
import { actorOf, signActor } from '../support/actor.ts'
import { answerTo } from '../support/answers.ts'
import { askCli } from '../support/cli-login.ts'
import { testDatabase } from '../support/database.ts'
import { makeApiToken, makeMember, makeOrganization, PASSWORD, unique, type Org } from '../support/make.ts'
import { freshSecrets, OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'
import { newWalker, signInOnPage } from '../support/walker.ts'

/** What a process without an auth service is started with: none of its secrets. The one that seals is the gateway's own. */
const NO_JWT_SECRETS = { JWT_SECRET: '', JWT_SIGNING_KEY: '' }

/** The other system behind an address: what a socket and its listener would make of the request. */
const reaching =
  (other: () => TestSystem) =>
  (base: URL): Service =>
  (request) => {
    const { pathname, search } = new URL(request.url)
    const relayed = new Request(new URL(pathname + search, base), request)
    relayed.headers.delete(ADDRESS_HEADER)
    return other().service(relayed)
  }

/** The console of one system sends the browser to the pages of the other, which sends it back with a code. */
async function signInAtConsole(at: TestSystem, pagesOf: TestSystem, email: string) {
  const [here, there] = [newWalker(at), newWalker(pagesOf)]
  const leaving = await here.open('/console/sign-in')
  const back = await signInOnPage(there, email, leaving.location!.href)
  const console = await here.follow(await here.open(back.location!))
  return { leaving, console }
}

describe('hosted by a vendor', () => {
  let vendor: TestSystem
  let customer: TestSystem
  /** Headers and bodies that reached the vendor. */
  const sent: string[] = []
  /** The one organization of the vendor that is served. */
  let org: Org
  const HOSTED = {
    AUTH_MODE: 'hosted',
    AUTH_SERVICE_URL: 'https://auth.vendor.test',
    AUTH_LOGIN_URL: 'https://app.vendor.test/auth/sign-in',
    BASE_DOMAIN: 'customer.test',
    ...NO_JWT_SECRETS,
  }

  beforeAll(async () => {
    vendor = await startSystem(
      {
        SVC_SERVICES: 'api-gateway,auth-service,console',
        BASE_DOMAIN: 'vendor.test',
        ALLOWED_REDIRECT_BASE_URLS: 'https://app.customer.test',
      },
      { connection: await testDatabase('vendor') },
    )
    org = await makeOrganization(vendor)
    customer = await startSystem(
      {
        ...HOSTED,
        HOSTED_ORGS: org.id,
        SVC_SERVICES: 'api-gateway,console',
        SVC_OPERATOR_TOKEN: unique('the operator of the customer'),
      },
      {
        network: (base) => async (request) => {
          sent.push(JSON.stringify([...request.headers]), await request.clone().text())
          return reaching(() => vendor)(base)(request)
        },
      },
    )
  })

  afterAll(async () => {
    await customer.stop()
    await vendor.stop()
  })

  test('tokens of the vendor open the customer’s gateway, and what ends there ends here', async () => {
    const owner = await makeMember(vendor, org, 'owner')
    const token = await makeApiToken(vendor, org, owner)
    const here = (bearer: string) => customer.as({ token: bearer })(whoAmI, {})
    expect(await here(owner.token)).toMatchObject({
      kind: 'user',
      organization: { id: org.id },
      role: 'owner',
    })
    expect(await here(token.token)).toMatchObject({ kind: 'api_token', token_id: token.id })
    await owner.call(revokeApiToken, { token_id: token.id })
    await owner.call(signOut, { session_id: 'current' })
    for (const bearer of [token.token, owner.token]) {
      await expect(here(bearer)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    }
  })

  test('there is no SCIM', async () => {
    for (const path of ['/scim/v2/Users', '/scim/v2/ServiceProviderConfig', '/scim/v2/Groups/x'])
      for (const method of ['GET', 'POST']) expect((await customer.fetch(path, { method })).status).toBe(404)
  })

  test('the client signs in with an API token only', async () => {
    expect((await askCli(customer, 'device_authorization', {})).status).toBe(404)
    expect((await askCli(vendor, 'device_authorization', {})).status).toBe(200)
  })

  test('what belongs to the auth service is relayed: people sign in, found, make tokens', async () => {
    const person = await makeMember(vendor, org, 'admin')
    const { token } = await customer.as()(signInWithPassword, { email: person.email, password: PASSWORD })
    const call = customer.as({ token })
    const made = await call(createApiToken, { name: 'made at the customer’s' })
    expect(await customer.as({ token: made.token })(whoAmI, {})).toMatchObject({
      organization: { id: org.id },
    })
    const members = (await call(listMembers, { org_id: org.id })).members.map(({ user_id }) => user_id)
    expect(members).toContain(person.userId)
    const founded = await call(createOrganization, { name: unique('Relayed') })
    const theirs = (await person.call(listOrganizations, {})).organizations.map(({ id }) => id)
    expect(theirs.toSorted()).toEqual([org.id, founded.id].toSorted())
    // It is the vendor's, and not served here.
    await expect(customer.as({ token, organization: founded.id })(whoAmI, {})).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  })

  test('refusals arrive as the vendor words them', async () => {
    const token = (await makeApiToken(vendor, org, org.owner, { scopes: ['data:read'] })).token
    for (const bearer of [token, 'nonsense', undefined]) {
      const [direct, relayed] = [
        await answerTo(vendor, { token: bearer }, listApiTokens, {}),
        await answerTo(customer, { token: bearer }, listApiTokens, {}),
      ]
      expect([relayed.status, relayed.text]).toEqual([direct.status, direct.text])
    }
  })

  test('both audit trails are read as one, newest first, page by page, with what they have together', async () => {
    const [owner, other] = [await makeMember(vendor, org, 'owner'), await makeOrganization(vendor)]
    const here = customer.as({ token: owner.token })
    const made: string[] = []
    for (const act of [
      () => here(createGroup, { name: unique('group') }),
      () => owner.call(createApiToken, { name: 'One' }),
      () => here(createGroup, { name: unique('group') }),
      () => owner.call(createApiToken, { name: 'Two' }),
    ]) {
      vendor.clock.advance(1)
      customer.clock.advance(1)
      await act()
    }
    await other.owner.call(createApiToken, { name: 'Elsewhere' })
    const read = (more: object) =>
      here(listAudit, { org_id: org.id, user_id: owner.userId, count: 'true', ...more })
    const whole = await read({})
    expect(whole.audit.map(({ action }) => action)).toEqual([
      'token.created',
      'group.created',
      'token.created',
      'group.created',
    ])
    expect([whole.total, whole.next_cursor]).toEqual([4, undefined])
    let cursor: string | undefined
    do {
      const page = await read({ limit: 1, cursor })
      made.push(...page.audit.map(({ id }) => id))
      cursor = page.next_cursor
    } while (cursor !== undefined && made.length < 10)
    expect(made).toEqual(whole.audit.map(({ id }) => id))
    await expect(here(listAudit, { org_id: other.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('the customer’s operator is nobody at the vendor’s', async () => {
    const own = customer.system.config.SVC_OPERATOR_TOKEN!
    const open = (token: string) =>
      customer.as({ token })(createOrganizationAsOperator, { name: unique('Opened') })
    const start = sent.length
    await expect(open(own)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    // Nor does the vendor see the token, wherever it is shown.
    const asOperator = customer.as({ token: own })
    for (const attempt of [
      () => asOperator(whoAmI, {}),
      () => asOperator(listApiTokens, {}),
      () => asOperator(listOrganizations, {}),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect((await answerTo(customer, { token: own }, listApiTokens, {})).status).toBe(401)
    expect(sent.slice(start).join()).not.toContain(own)
    expect(await open(OPERATOR_TOKEN)).toHaveProperty('id')
    expect(sent.slice(start).join()).toContain(OPERATOR_TOKEN)
  })

  test('the customer’s gateway checks its own assertions, for their minute; the vendor knows nothing of them', async () => {
    const { id } = await makeApiToken(vendor, org, org.owner)
    const { known, ...about } = actorOf(org, org.owner, id)
    const actor = {
      ...about,
      known: { ...known!, role: 'developer' as const },
      clientId: 'https://agent.test',
    }
    const token = await signActor(customer, actor)
    expect(await customer.as({ token })(whoAmI, {})).toMatchObject({
      kind: 'actor',
      user: { id: org.owner.userId },
      organization: { id: org.id },
      role: 'developer',
      scopes: ['data:read'],
      client_id: 'https://agent.test',
    })
    const elsewhere = customer.as({ token, organization: 'another-organization' })
    expect(await elsewhere(whoAmI, {})).toMatchObject({ organization: null, role: null })

    const unknown = { code: 'UNAUTHENTICATED' }
    await expect(vendor.as({ token })(whoAmI, {})).rejects.toMatchObject(unknown)
    await expect(vendor.as()(validateToken, { token })).rejects.toMatchObject(unknown)
    await expect(customer.as({ token })(showProfile, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const foreign = await signActor(vendor, actor)
    await expect(customer.as({ token: foreign })(whoAmI, {})).rejects.toMatchObject(unknown)
    customer.clock.advance(ACTOR_ASSERTION_SECONDS)
    await expect(customer.as({ token })(whoAmI, {})).rejects.toMatchObject(unknown)
  })

  test('there is no auth service here, and none can be started', async () => {
    expect([...customer.system.services.keys()]).toEqual(['api-gateway', 'console'])
    expect(customer.system.auth).toBeUndefined()
    expect((await newWalker(customer).open('/auth/sign-in')).status).toBe(404)
    await expect(
      startSystem({ ...HOSTED, HOSTED_ORGS: org.id, SVC_SERVICES: 'auth-service' }),
    ).rejects.toThrow(ConfigProblems)
  })

  test('the console sends people to the vendor’s sign-in and takes them back', async () => {
    const { leaving, console } = await signInAtConsole(customer, vendor, org.owner.email)
    expect(leaving.location?.href).toMatch(/^https:\/\/app\.vendor\.test\/auth\/sign-in\?/)
    expect(console.url.host).toBe('app.customer.test')
    expect([console.status, console.words]).toEqual([200, expect.stringContaining(org.name)])
  })

  test('somebody of another organization is told so on the console’s page, and can sign in as somebody else', async () => {
    const { console } = await signInAtConsole(customer, vendor, (await makeOrganization(vendor)).owner.email)
    expect(console.status).toBe(403)
    expect(console.words).toContain('This installation does not serve your organization')
    expect(console.words).toContain('Sign in again')
  })

  test('a vendor who cannot be reached is our failure, without a word about where', async () => {
    const alone = await startSystem(
      { ...HOSTED, HOSTED_ORGS: org.id, SVC_SERVICES: 'api-gateway' },
      { network: (base) => () => Promise.reject(new TypeError(`fetch failed: ${base.href}`)) },
    )
    const who = { token: 'svc_0' }
    for (const answered of [
      await answerTo(alone, who, whoAmI, {}),
      await answerTo(alone, who, showProfile, {}),
    ]) {
      expect(answered.status).toBeGreaterThanOrEqual(500)
      expect(answered.text).not.toMatch(/vendor|fetch/)
    }
    await alone.stop()
  })
})

describe('self-hosted in two processes', () => {
  let front: TestSystem
  let auth: TestSystem
  /** Everything in one process, over the same database and with the same secrets. */
  let whole: TestSystem

  beforeAll(async () => {
    const secrets = freshSecrets()
    const settings = { BASE_DOMAIN: 'split.test' }
    auth = await startSystem({ ...settings, ...secrets, SVC_SERVICES: 'auth-service,worker' })
    front = await startSystem(
      { ...settings, ...NO_JWT_SECRETS, ACTOR_ASSERTION_SECRET: '', SVC_SERVICES: 'api-gateway,console' },
      { network: reaching(() => auth) },
    )
    whole = await startSystem({ ...settings, ...secrets, SVC_SERVICES: 'api-gateway,auth-service,console' })
  })

  afterAll(async () => {
    await whole.stop()
    await front.stop()
    await auth.stop()
  })

  test('people and agents use the gateway as if it were one process', async () => {
    const org = await makeOrganization(front)
    const token = await makeApiToken(front, org, org.owner)
    expect((await token.call(whoAmI, {})).organization?.id).toBe(org.id)
    const assertion = await signActor(auth, actorOf(org, org.owner, token.id))
    const agent = front.as({ token: assertion })
    expect(await agent(whoAmI, {})).toMatchObject({ kind: 'actor', organization: { id: org.id } })
    await org.owner.call(revokeApiToken, { token_id: token.id })
    await expect(agent(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('answers are the same bytes as of one process', async () => {
    const org = await makeOrganization(whole)
    const questions = [
      (system: TestSystem) => answerTo(system, { token: org.owner.token }, whoAmI, {}),
      (system: TestSystem) => answerTo(system, { token: org.owner.token }, listMembers, { org_id: org.id }),
      (system: TestSystem) => answerTo(system, { token: org.owner.token }, listMembers, { org_id: 'org_0' }),
      (system: TestSystem) => answerTo(system, { token: org.owner.token }, createOrganization, { name: '' }),
      (system: TestSystem) => answerTo(system, { token: 'nonsense' }, whoAmI, {}),
      (system: TestSystem) => answerTo(system, {}, listOrganizations, {}),
    ]
    for (const ask of questions) {
      const [one, two] = [await ask(whole), await ask(front)]
      expect([two.status, two.text]).toEqual([one.status, one.text])
    }
  })

  test('a request keeps its id across services', async () => {
    const requestId = unique('request')
    await front
      .as({ requestId, token: 'nonsense' })(listOrganizations, {})
      .catch(() => undefined)
    for (const { logLines } of [front, auth])
      expect(logLines.some((line) => line.includes(requestId))).toBe(true)
  })

  test('each answers what is its own, and the front holds none of the secrets that make tokens', async () => {
    expect([...front.system.services.keys()]).toEqual(['api-gateway', 'console'])
    expect([...auth.system.services.keys()]).toEqual(['auth-service'])
    expect(front.system.auth).toBeUndefined()
    expect((await newWalker(front).open('/auth/sign-in')).status).toBe(404)
    expect((await newWalker(auth).open('/console')).status).toBe(404)
  })

  test('the console and the sign-in pages find each other', async () => {
    const org = await makeOrganization(front)
    const { console } = await signInAtConsole(front, auth, org.owner.email)
    expect([console.status, console.words]).toEqual([200, expect.stringContaining(org.name)])
  })
})
