/** Whatever ends or narrows a grant acts on the very next call; and no organization sees or touches another's. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { platformAccessGrants, platformOauthClients } from '../../db/schema.ts'
import {
  blockOauthClient,
  listGrants,
  listOauthClients,
  narrowGrant,
  revokeGrant,
  setOauthClientActive,
} from '../../src/contracts/grants.ts'
import { changeMemberRole, removeMember } from '../../src/contracts/members.ts'
import { updateOrganization } from '../../src/contracts/organizations.ts'
import {
  arrive,
  boxes,
  decide,
  newAssistant,
  startListeningSystem,
  preRegistered,
  tokensIn,
  whoami,
  type Assistant,
  type ListeningSystem,
  type Tokens,
} from '../support/assistant.ts'
import { makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'
import { freePort } from '../support/free-port.ts'
import { freshSecrets, OPERATOR_TOKEN } from '../support/system.ts'
import { newWalker } from '../support/walker.ts'

let system: ListeningSystem
let org: Org
let admin: Person
let person: Person
let assistant: Assistant
let tokens: Tokens
beforeAll(async () => void (system = await startListeningSystem()))
beforeEach(async () => {
  org = await makeOrganization(system)
  ;[admin, person] = [await makeMember(system, org, 'admin'), await makeMember(system, org, 'developer')]
  assistant = newAssistant(system, await preRegistered(system))
  tokens = await assistant.connect(person, { scope: 'data:read maintenance:read' })
  // Otherwise a 401 below would prove nothing.
  if ((await call()).status !== 200) throw new Error('The agent was not let in')
})
afterAll(() => system.stop())

const operator = () => system.as({ token: OPERATOR_TOKEN })
const call = () => whoami(system, tokens.access)
const client_id = () => assistant.clientId
const setGrant = (set: Partial<typeof platformAccessGrants.$inferInsert>) =>
  system.db.update(platformAccessGrants).set(set).where(eq(platformAccessGrants.id, tokens.grantId))
const setClient = (set: Partial<typeof platformOauthClients.$inferInsert>) =>
  system.db.update(platformOauthClients).set(set).where(eq(platformOauthClients.clientId, client_id()))

/** Threat: a JWT that outlives what it stands for. */
describe('ends it for good, for calls and refreshes', () => {
  const ends: Record<string, () => Promise<unknown>> = {
    'the person disconnects': () => person.call(revokeGrant, { grant_id: tokens.grantId }),
    'an admin revokes': () => admin.call(revokeGrant, { grant_id: tokens.grantId }),
    'the owner revokes': () => org.owner.call(revokeGrant, { grant_id: tokens.grantId }),
    'the grant expires': () => setGrant({ expiresAt: new Date(system.clock.now().getTime() - 1) }),
    'the row is gone': () =>
      system.db.delete(platformAccessGrants).where(eq(platformAccessGrants.id, tokens.grantId)),
    'the client’s row is gone': () =>
      system.db.delete(platformOauthClients).where(eq(platformOauthClients.clientId, client_id())),
    'the client’s registration expires': () =>
      setClient({ expiresAt: new Date(system.clock.now().getTime() - 1) }),
    'the person is removed': () => admin.call(removeMember, { org_id: org.id, user_id: person.userId }),
    'the person leaves': () => person.call(removeMember, { org_id: org.id, user_id: person.userId }),
  }
  test.each(Object.keys(ends))('%s', async (how) => {
    await ends[how]!()
    expect(await call()).toMatchObject({
      status: 401,
      challenge: expect.stringContaining('error="invalid_token"'),
    })
    const { status, body } = await assistant.refresh(tokens.refresh)
    expect([400, 401]).toContain(status)
    expect(body.error).toMatch(/^invalid_(grant|client)$/)
    expect((await call()).status).toBe(401)
  })
})

describe('suspends it until it is undone', () => {
  const switches: Record<string, [off: () => Promise<unknown>, on: () => Promise<unknown>]> = {
    'agents are switched off': [
      () => admin.call(updateOrganization, { org_id: org.id, agents_enabled: false }),
      () => admin.call(updateOrganization, { org_id: org.id, agents_enabled: true }),
    ],
    'the organization blocks the client': [
      () => admin.call(blockOauthClient, { client_id: client_id(), blocked: true }),
      () => admin.call(blockOauthClient, { client_id: client_id(), blocked: false }),
    ],
    'the operator switches the client off': [
      () => operator()(setOauthClientActive, { client_id: client_id(), is_active: false }),
      () => operator()(setOauthClientActive, { client_id: client_id(), is_active: true }),
    ],
    'is_active=false in SQL': [() => setClient({ isActive: false }), () => setClient({ isActive: true })],
  }
  test.each(Object.keys(switches))('%s', async (how) => {
    const [off, on] = switches[how]!
    await off()
    expect((await call()).status).toBe(401)
    const refused = await assistant.refresh(tokens.refresh)
    expect(refused.body.error).toMatch(/^invalid_(grant|client)$/)
    await on()
    expect((await call()).status).toBe(200)
    expect((await whoami(system, tokensIn(await assistant.refresh(tokens.refresh)).access)).status).toBe(200)
  })
})

test('a lowered role is the role of the next call, and a raised one too', async () => {
  for (const role of ['viewer', 'admin', 'developer'] as const) {
    await org.owner.call(changeMemberRole, { org_id: org.id, user_id: person.userId, role })
    expect((await call()).who?.role).toBe(role)
  }
})

test('narrowed scopes are those of the next call and of every later refresh', async () => {
  await person.call(narrowGrant, { grant_id: tokens.grantId, scopes: ['data:read'] })
  expect((await call()).who?.scopes).toEqual(['data:read'])
  const next = tokensIn(await assistant.refresh(tokens.refresh))
  expect(next.scope).toBe('data:read')
  expect((await whoami(system, next.access)).who?.scopes).toEqual(['data:read'])
  await expect(
    person.call(narrowGrant, { grant_id: tokens.grantId, scopes: ['data:read', 'maintenance:read'] }),
  ).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
})

test.runIf(inject('everyCase'))(
  'rotating either secret ends it; the old ones bring it back, for nothing was lost',
  async () => {
    const [secrets, PORT] = [freshSecrets(), String(await freePort())]
    const start = (changed: Record<string, string> = {}) =>
      startListeningSystem({ PORT, ...secrets, ...changed })
    let own = await start()
    const owner = (await makeOrganization(own)).owner
    const client = await preRegistered(own)
    const connected = await newAssistant(own, client).connect(owner)
    await own.stop()
    const other = () => randomBytes(32).toString('hex')
    for (const [changed, status] of [
      [{}, 200],
      [{ JWT_SIGNING_KEY: other() }, 401],
      [{ JWT_SECRET: other() }, 401],
      [{}, 200],
    ] as const) {
      own = await start(changed)
      expect([changed, (await whoami(own, connected.access)).status]).toEqual([changed, status])
      if (status === 401) {
        expect((await newAssistant(own, client).refresh(connected.refresh)).body.error).toBe('invalid_grant')
      }
      await own.stop()
    }
  },
)

test('an organization that blocks the client or switched agents off cannot be chosen', async () => {
  const other = await makeOrganization(system)
  await makeMember(system, other, 'viewer', person)
  await admin.call(blockOauthClient, { client_id: client_id(), blocked: true })
  const walker = newWalker(system, { overSockets: true })
  const page = await arrive(system, walker, person, assistant.request().url)
  // Nor is the other one proposed: the person has not used it.
  expect(boxes(page, 'organization').ticked).toEqual([])
  expect(page.words).toContain('Client is blocked')
  const refused = await decide(system, walker, page, { organization: org.id })
  expect([refused.status, refused.location]).toEqual([400, undefined])
  await other.owner.call(updateOrganization, { org_id: other.id, agents_enabled: false })
  const again = await decide(system, walker, refused, { organization: other.id })
  expect([again.status, again.location]).toEqual([400, undefined])
  expect(boxes(again, 'organization').ticked).toEqual([])
})

test('a grant is for one organization, and another’s cannot be chosen by who does not belong', async () => {
  const foreign = await makeOrganization(system)
  const walker = newWalker(system, { overSockets: true })
  const page = await arrive(system, walker, person, assistant.request().url)
  const refused = await decide(system, walker, page, { organization: foreign.id })
  expect([refused.status, refused.location]).toEqual([400, undefined])
  expect(refused.text).not.toContain(foreign.name)
})

describe('two organizations', () => {
  let other: Org
  beforeEach(async () => void (other = await makeOrganization(system)))

  test('see their own grants and clients and none of the other’s', async () => {
    const theirs = await newAssistant(system, await preRegistered(system)).connect(other.owner)
    const ids = async (who: Person) =>
      (await who.call(listGrants, { all: 'true' })).grants.map(({ id }) => id)
    expect(await ids(admin)).toEqual([tokens.grantId])
    expect(await ids(other.owner)).toEqual([theirs.grantId])
    const clients = async (who: Person) =>
      (await who.call(listOauthClients, {})).oauth_clients.map((client) => client.client_id)
    expect(await clients(admin)).toEqual([client_id()])
    expect(await clients(other.owner)).not.toContain(client_id())
    const { grants } = await other.owner.call(listGrants, { all: 'true', client_id: client_id() })
    expect(grants).toEqual([])
  })

  test('cannot end or narrow the other’s grants: they are not found', async () => {
    const hidden = { code: 'NOT_FOUND' }
    const grant_id = tokens.grantId
    await expect(other.owner.call(revokeGrant, { grant_id })).rejects.toMatchObject(hidden)
    await expect(other.owner.call(narrowGrant, { grant_id, scopes: ['data:read'] })).rejects.toMatchObject(
      hidden,
    )
    expect((await call()).who?.scopes).toEqual(['data:read', 'maintenance:read'])
  })

  test('block for themselves alone', async () => {
    await other.owner.call(blockOauthClient, { client_id: client_id(), blocked: true })
    expect((await call()).status).toBe(200)
    expect((await assistant.refresh(tokens.refresh)).status).toBe(200)
  })
})

test('within one organization: everybody ends their own, admins anybody’s, and only admins list them all', async () => {
  const colleague = await makeMember(system, org, 'developer')
  const grant_id = tokens.grantId
  await expect(colleague.call(listGrants, { all: 'true' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(colleague.call(listOauthClients, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(
    colleague.call(blockOauthClient, { client_id: client_id(), blocked: true }),
  ).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(colleague.call(revokeGrant, { grant_id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect((await colleague.call(listGrants, {})).grants).toEqual([])
  expect((await person.call(listGrants, {})).grants).toMatchObject([
    {
      id: grant_id,
      client_id: client_id(),
      client_kind: 'pre_registered',
      client_name: 'An assistant',
      host: '127.0.0.1:8472',
      user: { id: person.userId },
      resource: 'platform',
      scopes: ['data:read', 'maintenance:read'],
      last_used_at: expect.any(String),
    },
  ])
  expect((await call()).status).toBe(200)
})
