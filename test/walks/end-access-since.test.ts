/** Somebody else was in: what was made since then ends, of a person or of a whole organization, and is counted. */
import { eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { invitations } from '../../db/schema.ts'
import { endAccessSince } from '../../src/contracts/access.ts'
import { createAppToken, rotateAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { listGrants } from '../../src/contracts/grants.ts'
import { createMachineAgent, listMachineAgents } from '../../src/contracts/machine-agents.ts'
import { inviteMember, listInvitations, removeMember } from '../../src/contracts/members.ts'
import { changePassword, whoAmI } from '../../src/contracts/people.ts'
import { claimPipelineRun } from '../../src/contracts/pipelines.ts'
import { ROLES } from '../../src/contracts/roles.ts'
import { elevateSupportSession, startSupportSession } from '../../src/contracts/support.ts'
import { createApiToken, listApiTokens } from '../../src/contracts/tokens.ts'
import {
  bindServiceAccount,
  listServiceAccounts,
  unbindServiceAccount,
} from '../../src/contracts/workloads.ts'
import { agentOf } from '../support/data-sources.ts'
import { fakeCluster } from '../support/fake-cluster.ts'
import { hasOneConnection } from '../support/left-out.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  makePerson,
  PASSWORD,
  signedIn,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { freshSecrets, OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

const SERVICES = { SVC_SERVICES: 'api-gateway,auth-service,deploy-api' }
const SECRETS = freshSecrets()
const cluster = fakeCluster()

let system: TestSystem
let org: Org
let other: Org
/** In both organizations, an owner here and there. */
let person: Person
let since: string

beforeAll(async () => void (system = await startSystem({ ...SERVICES, ...SECRETS }, cluster.overrides)))
afterAll(() => system.stop())

beforeEach(async () => {
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  person = await makePerson(system)
  for (const where of [org, other]) await makeMember(system, where, 'owner', person)
  system.clock.advance(60)
  since = system.clock.now().toISOString()
})

/** A session, a token, a grant and an invitation, each with the question whether it still works. */
async function holdings(who: Person, where: Org) {
  const session = await signedIn(system, who.email)
  const token = await makeApiToken(system, where, who)
  const agent = await agentOf(system, where, who)
  const email = `${unique('new')}@people.test`
  const { id } = await system.as({ token: who.token, organization: where.id })(inviteMember, {
    org_id: where.id,
    email,
  })
  const works = (attempt: Promise<unknown>) =>
    attempt.then(
      () => true,
      () => false,
    )
  return async () => ({
    session: await works(session.call(whoAmI, {})),
    token: await works(token.call(whoAmI, {})),
    grant: await works(system.as(await agent())(whoAmI, {})),
    invitation:
      (await system.db.select().from(invitations).where(eq(invitations.id, id)))[0]!.revokedAt === null,
  })
}
const ALL = { session: true, token: true, grant: true, invitation: true }
const NONE = { session: false, token: false, grant: false, invitation: false }

const audited = async (where: Org) => {
  const { audit } = await where.owner.call(listAudit, { org_id: where.id, action: 'access.ended' })
  return audit.map(({ actor, subject }) => [actor.id, subject])
}

test('one’s own, in every organization, since a time; the session in use stays', async () => {
  const earlier = await holdings(person, org)
  system.clock.advance(60)
  const from = system.clock.now().toISOString()
  const [here, there] = [await holdings(person, org), await holdings(person, other)]
  const colleague = await holdings(org.owner, org)
  const counts = { sessions: 2, tokens: 2, grants: 2, credentials: 0, invitations: 2 }
  expect(await person.call(endAccessSince, { since: from })).toEqual(counts)
  expect([await here(), await there()]).toEqual([NONE, NONE])
  expect([await earlier(), await colleague()]).toEqual([ALL, ALL])
  expect((await person.call(whoAmI, {})).kind).toBe('user')
  const whose = `their own since ${from}:`
  expect(await audited(org)).toEqual([
    [person.userId, `${whose} 2 sessions, 1 API token, 1 grant, 1 invitation`],
  ])
  expect(await audited(other)).toEqual([[person.userId, `${whose} 1 API token, 1 grant, 1 invitation`]])
  // Nothing is left to end, and nothing is told.
  expect(await person.call(endAccessSince, { since: from })).toEqual({
    sessions: 0,
    tokens: 0,
    grants: 0,
    credentials: 0,
    invitations: 0,
  })
  expect(await audited(org)).toHaveLength(1)
})

test('of a member: what they have in this organization, and their sessions', async () => {
  const [here, there] = [await holdings(person, org), await holdings(person, other)]
  const colleague = await holdings(org.owner, org)
  const asked = { since, user_id: person.userId }
  expect(await org.owner.call(endAccessSince, asked)).toEqual({
    sessions: 2,
    tokens: 1,
    grants: 1,
    credentials: 0,
    invitations: 1,
  })
  expect(await here()).toEqual(NONE)
  expect(await there()).toEqual({ ...ALL, session: false })
  expect(await colleague()).toEqual(ALL)
  expect(await audited(org)).toEqual([
    [org.owner.userId, `${person.email} since ${since}: 2 sessions, 1 API token, 1 grant, 1 invitation`],
  ])
  expect(await audited(other)).toEqual([])
})

test('of a member: the machine agent that they answer for, also where somebody else made it', async () => {
  const made = () => org.owner.call(createMachineAgent, { name: unique('nightly'), owner_id: person.userId })
  const [theirs, owners] = [
    await made(),
    await org.owner.call(createMachineAgent, { name: unique('nightly') }),
  ]
  const ended = await org.owner.call(endAccessSince, { since, user_id: person.userId })
  expect(ended).toMatchObject({ grants: 1, credentials: 0 })
  const states = (await org.owner.call(listMachineAgents, {})).machine_agents.map(({ id, state }) => [
    id,
    state,
  ])
  expect(Object.fromEntries(states)).toEqual({ [theirs.id]: 'disconnected', [owners.id]: 'active' })
})

test('of a whole organization, and of no other', async () => {
  const admin = await makeMember(system, org, 'admin')
  const [owners, theirs, elsewhere] = [
    await holdings(person, org),
    await holdings(org.owner, org),
    await holdings(other.owner, other),
  ]
  const token = await makeApiToken(system, org, admin)
  // As the operator makes one.
  const { id } = await org.owner.call(inviteMember, { org_id: org.id, email: `${unique('new')}@people.test` })
  await system.db.update(invitations).set({ invitedBy: null }).where(eq(invitations.id, id))
  // An admin does not reach owners, nor the operator.
  expect(await admin.call(endAccessSince, { since, all: true })).toMatchObject({
    tokens: 1,
    grants: 0,
    credentials: 0,
    invitations: 0,
  })
  await expect(token.call(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  expect([await owners(), await theirs()]).toEqual([ALL, ALL])
  await org.owner.call(endAccessSince, { since, all: true })
  expect([await owners(), await theirs()]).toEqual([NONE, NONE])
  expect(await elsewhere()).toEqual(ALL)
  expect((await org.owner.call(listApiTokens, { all: 'true' })).tokens).toEqual([])
  expect((await org.owner.call(listGrants, { all: 'true' })).grants).toEqual([])
  expect((await org.owner.call(listInvitations, { org_id: org.id })).invitations).toEqual([])
})

describe('what an app has of its own', () => {
  /** The same app in both organizations. */
  let alias: string
  beforeEach(async () => {
    alias = unique('shop')
    for (const { owner } of [org, other]) await owner.call(createApp, { alias, name: 'Shop' })
  })

  const callsAs = (who: Person, where: Org) => system.as({ token: who.token, organization: where.id })
  const makeToken = (who: Person, where: Org = org) =>
    callsAs(who, where)(createAppToken, { alias, name: 'collector', scope: 'apps:report' })
  const rotate = (who: Person, { id }: { id: string }) =>
    callsAs(who, org)(rotateAppToken, { alias, token_id: id, overlap_hours: 24 })
  const works = ({ token }: { token: string }) =>
    system
      .as({ token })(claimPipelineRun, { alias, worker: 'w', pipelines: ['nightly'] })
      .then(
        () => true,
        (error: { code: string }) => (error.code === 'UNAUTHENTICATED' ? false : Promise.reject(error)),
      )
  const bind = async (who: Person, where: Org = org) => {
    const account = cluster.addAccount(where.id, unique('worker'))
    return (await callsAs(who, where)(bindServiceAccount, { alias, ...account })).id
  }
  const boundIn = async ({ owner }: Org) =>
    (await owner.call(listServiceAccounts, { alias })).service_accounts.map(({ id }) => id)
  const later = (): string => {
    system.clock.advance(60)
    return system.clock.now().toISOString()
  }

  test('a service account opens the app that it is bound to, until it is unbound; no other token of it does', async () => {
    const account = cluster.addAccount(org.id, unique('worker'))
    const owner = callsAs(person, org)
    const at = (minutes: number) => new Date(system.clock.now().getTime() + minutes * 60_000)
    const mint = (more = {}, expires = at(60)) => cluster.mint(account, expires, more)
    const answer = (token: string, on = alias, organization?: string) =>
      system
        .as({ token, organization })(claimPipelineRun, { alias: on, worker: 'w', pipelines: ['nightly'] })
        .then(
          () => 'done',
          ({ code }: { code: string }) => code,
        )
    expect(await answer(mint())).toBe('UNAUTHENTICATED')
    const bound = await owner(bindServiceAccount, { alias, ...account })
    const token = mint()
    expect(await answer(token)).toBe('done')
    expect(await answer(token, alias, other.id)).toBe('NOT_FOUND')
    const second = unique('second')
    await owner(createApp, { alias: second, name: 'Second' })
    expect(await answer(token, second)).toBe('NOT_FOUND')
    await expect(owner(bindServiceAccount, { alias: second, ...account })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: `This service account is bound to the app ${alias}`,
    })
    expect(await owner(bindServiceAccount, { alias, ...account })).toMatchObject({ id: bound.id })
    await expect(system.as({ token })(listServiceAccounts, { alias })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    const unbound = { ...account, service_account: unique('unbound') }
    for (const strange of [
      mint({ isGenuine: false }),
      mint({ audience: 'https://kubernetes.default.svc' }),
      mint({ uid: 'uid-of-another' }),
      mint({}, at(-1)),
      cluster.mint(unbound, at(60)),
      cluster.mint(unbound, at(60), { uid: bound.uid }),
    ])
      expect(await answer(strange)).toBe('UNAUTHENTICATED')
    await owner(unbindServiceAccount, { alias, binding_id: bound.id })
    expect(await answer(token)).toBe('UNAUTHENTICATED')
  })

  test('ends where they made it since; from before, of others and elsewhere it stays', async () => {
    const [before, boundBefore] = [await makeToken(person), await bind(person)]
    const from = later()
    const [since, others, there] = [
      await makeToken(person),
      await makeToken(org.owner),
      await makeToken(person, other),
    ]
    const bound = { since: await bind(person), others: await bind(org.owner) }
    const boundThere = await bind(person, other)
    expect(await org.owner.call(endAccessSince, { since: from, user_id: person.userId })).toMatchObject({
      tokens: 0,
      credentials: 2,
    })
    const left = [before, since, others, there].map(works)
    expect(await Promise.all(left)).toEqual([true, false, true, true])
    expect((await boundIn(org)).toSorted()).toEqual([boundBefore, bound.others].toSorted())
    expect(await boundIn(other)).toEqual([boundThere])
    expect(await audited(org)).toEqual([[org.owner.userId, `${person.email} since ${from}: 2 credentials`]])
    expect(await audited(other)).toEqual([])
  })

  test('ends where they rotated it since, whoever made it, with its old value', async () => {
    const [theirs, owners] = [await makeToken(org.owner), await makeToken(org.owner)]
    const from = later()
    const rotated = [await rotate(person, theirs), await rotate(org.owner, owners)]
    expect(await Promise.all([theirs, owners, ...rotated].map(works))).toEqual([true, true, true, true])
    const asked = { since: from, user_id: person.userId }
    expect((await org.owner.call(endAccessSince, asked)).credentials).toBe(1)
    const left = [theirs, owners, ...rotated].map(works)
    expect(await Promise.all(left)).toEqual([false, true, false, true])
  })

  test('ends in every organization, of whoever ends their own', async () => {
    const made = [await makeToken(person), await makeToken(person, other), await makeToken(org.owner)]
    const here = await bind(org.owner)
    await bind(person, other)
    expect((await person.call(endAccessSince, { since })).credentials).toBe(3)
    expect(await Promise.all(made.map(works))).toEqual([false, false, true])
    expect([await boundIn(org), await boundIn(other)]).toEqual([[here], []])
  })

  test('ends in a whole organization, as far as roles are not above', async () => {
    const admin = await makeMember(system, org, 'admin')
    await bind(person)
    const made = [await makeToken(admin), await makeToken(person), await makeToken(person, other)]
    const boundThere = await bind(person, other)
    expect((await admin.call(endAccessSince, { since, all: true })).credentials).toBe(1)
    expect(await Promise.all(made.map(works))).toEqual([false, true, true])
    expect((await org.owner.call(endAccessSince, { since, all: true })).credentials).toBe(2)
    expect(await Promise.all(made.map(works))).toEqual([false, false, true])
    expect([await boundIn(org), await boundIn(other)]).toEqual([[], [boundThere]])
  })

  test('is the organization’s: whoever was removed ends nothing of it, and it ends with everybody’s', async () => {
    const [made, bound] = [await makeToken(person), await bind(person)]
    const colleague = await makeMember(system, org, 'viewer')
    await org.owner.call(removeMember, { org_id: org.id, user_id: person.userId })
    expect((await person.call(endAccessSince, { since })).credentials).toBe(0)
    expect([await works(made), await boundIn(org)]).toEqual([true, [bound]])
    expect((await colleague.call(endAccessSince, { since })).credentials).toBe(0)
    expect((await org.owner.call(endAccessSince, { since, all: true })).credentials).toBe(2)
    expect([await works(made), await boundIn(org)]).toEqual([false, []])
  })
})

test.each(['0000-01-01T00:00:00Z', '1969-07-20T22:56:00+02:00'])(
  'a time long ago (%s) is all there is',
  async (long) => {
    const held = await holdings(person, org)
    await person.call(endAccessSince, { since: long })
    expect(await held()).toEqual(NONE)
  },
)

describe('who may', () => {
  test.each(ROLES)('a %s for everybody, and for others', async (role) => {
    const { call } = await makeMember(system, org, role)
    const colleague = await makeMember(system, org, 'viewer')
    const isAllowed = role === 'owner' || role === 'admin'
    for (const whose of [{ all: true }, { user_id: colleague.userId }]) {
      const attempt = call(endAccessSince, { since, ...whose })
      if (isAllowed) await attempt
      else await expect(attempt).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
    await call(endAccessSince, { since })
  })

  test('an admin not for an owner, and nobody for somebody of another organization', async () => {
    const admin = await makeMember(system, org, 'admin')
    await expect(admin.call(endAccessSince, { since, user_id: person.userId })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await expect(
      org.owner.call(endAccessSince, { since, user_id: other.owner.userId }),
    ).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  test('no API token, and no support session', async () => {
    const { call } = await makeApiToken(system, org, org.owner)
    for (const whose of [{}, { all: true }]) {
      await expect(call(endAccessSince, { since, ...whose })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
    const staff = await makePerson(system)
    const asked = { org: org.id, staff_email: staff.email, reason: 'They asked for help' }
    const { id } = await system.as({ token: OPERATOR_TOKEN })(startSupportSession, asked)
    const inside = system.as({ token: staff.token, organization: org.id })
    await inside(elevateSupportSession, { support_session_id: id, reason: 'To repair it' })
    await expect(inside(endAccessSince, { since, all: true })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})

test.skipIf(hasOneConnection)('what is made at the same moment does not survive', async () => {
  for (let round = 0; round < 5; round++) {
    const intruder = await signedIn(system, person.email)
    const second = await signedIn(system, person.email)
    const make = (n: number) => [
      intruder.call(createApiToken, { name: `intruder ${n}` }),
      second.call(inviteMember, { org_id: org.id, email: `${unique('intruder')}@people.test` }),
      second.call(createApiToken, { name: `intruder ${n}` }),
    ]
    await Promise.allSettled([...make(1), org.owner.call(endAccessSince, { since, all: true }), ...make(2)])
    const { tokens } = await org.owner.call(listApiTokens, { all: 'true', search: 'intruder' })
    expect(tokens).toEqual([])
    const { invitations: open } = await org.owner.call(listInvitations, { org_id: org.id })
    expect(open).toEqual([])
  }
})

describe('a changed password', () => {
  const change = (end_api_tokens?: boolean) =>
    person.call(changePassword, {
      current_password: PASSWORD,
      new_password: 'another few words here',
      end_api_tokens,
    })

  test('leaves API tokens alone unless asked', async () => {
    const { call } = await makeApiToken(system, org, person)
    await change()
    expect((await call(whoAmI, {})).kind).toBe('api_token')
    expect(await audited(org)).toEqual([])
  })

  test('ends them in every organization where asked, and nobody else’s', async () => {
    const mine = [await makeApiToken(system, org, person), await makeApiToken(system, other, person)]
    const colleague = await makeApiToken(system, org, org.owner)
    await change(true)
    for (const { call } of mine)
      await expect(call(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect((await colleague.call(whoAmI, {})).kind).toBe('api_token')
    for (const where of [org, other]) {
      expect(await audited(where)).toEqual([[person.userId, 'with the password: 1 API token']])
    }
  })
})

test.each(['JWT_SECRET', 'JWT_SIGNING_KEY'] as const)(
  'tokens from before a rotation of %s are gone from lists',
  async (name) => {
    const { id } = await makeApiToken(system, org, person)
    const after = await startSystem({ ...SERVICES, ...SECRETS, [name]: freshSecrets()[name] })
    const { token } = await signedIn(after, person.email)
    const [before, now] = [
      system.as({ token: person.token, organization: org.id }),
      after.as({ token, organization: org.id }),
    ]
    const made = await now(createApiToken, { name: 'after' })
    const idsOf = async (call: typeof now) => (await call(listApiTokens, {})).tokens.map((one) => one.id)
    expect([await idsOf(before), await idsOf(now)]).toEqual([[id], [made.id]])
    await after.stop()
  },
)
