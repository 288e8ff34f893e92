/** Who may change whom: the role ladder, the last owner, leaving, and that every change acts on the very next call. */
import { and, eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memberships } from '../../db/schema.ts'
import { AUDIT_ACTIONS, listAudit } from '../../src/contracts/audit.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { changeMemberRole, inviteMember, listMembers, removeMember } from '../../src/contracts/members.ts'
import { showOrganization, updateOrganization } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { GRANTABLE_ROLES, ROLES, type Role } from '../../src/contracts/roles.ts'
import { actorOf, signActor } from '../support/actor.ts'
import { answerTo } from '../support/answers.ts'
import { hasOneConnection } from '../support/left-out.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  makePerson,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const PRINCIPALS = [...ROLES, 'outsider'] as const
type PrincipalRole = (typeof PRINCIPALS)[number]

/** On whom each caller may act, and up to what. Whoever is not here may do nothing to others. */
const MAY: Partial<Record<PrincipalRole, { actOn: readonly Role[]; grant: readonly Role[] }>> = {
  owner: {
    actOn: ['member', 'viewer', 'developer', 'admin', 'owner'],
    grant: ['viewer', 'developer', 'admin', 'owner'],
  },
  admin: { actOn: ['member', 'viewer', 'developer', 'admin'], grant: ['viewer', 'developer', 'admin'] },
}

let system: TestSystem
let org: Org
let principals: Record<PrincipalRole, Person>
let targets: Record<Role, Person>

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service' })
  org = await makeOrganization(system)
  const each = async () =>
    Object.fromEntries(
      await Promise.all(ROLES.map(async (role) => [role, await makeMember(system, org, role)])),
    )
  principals = { ...(await each()), outsider: (await makeOrganization(system)).owner } as typeof principals
  targets = (await each()) as typeof targets
})

afterAll(() => system.stop())

const membership = (of: Org, { userId }: Person) =>
  and(eq(memberships.orgId, of.id), eq(memberships.userId, userId))
const roleOf = async (of: Org, person: Person) =>
  (await system.db.select().from(memberships).where(membership(of, person)))[0]?.role
const restore = async (of: Org, person: Person, role: Role) => {
  await system.db.delete(memberships).where(membership(of, person))
  await makeMember(system, of, role, person)
}
const outcome = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )
const refusalFor = (principal: PrincipalRole) => (principal === 'outsider' ? 'NOT_FOUND' : 'FORBIDDEN')

describe.each(PRINCIPALS)('as %s', (principal) => {
  const may = MAY[principal]

  test('changing roles', async () => {
    for (const before of ROLES) {
      for (const after of GRANTABLE_ROLES) {
        const allowed = may?.actOn.includes(before) && may.grant.includes(after)
        const attempt = principals[principal].call(changeMemberRole, {
          org_id: org.id,
          user_id: targets[before].userId,
          role: after,
        })
        expect([before, after, await outcome(attempt)]).toEqual([
          before,
          after,
          allowed ? 'done' : refusalFor(principal),
        ])
        expect(await roleOf(org, targets[before])).toBe(allowed ? after : before)
        if (allowed) await restore(org, targets[before], before)
      }
    }
  })

  test('removing others', async () => {
    for (const role of ROLES) {
      const allowed = may?.actOn.includes(role)
      const attempt = principals[principal].call(removeMember, {
        org_id: org.id,
        user_id: targets[role].userId,
      })
      expect([role, await outcome(attempt)]).toEqual([role, allowed ? 'done' : refusalFor(principal)])
      expect(await roleOf(org, targets[role])).toBe(allowed ? undefined : role)
      if (allowed) await restore(org, targets[role], role)
    }
  })

  test.each([
    ['may', true],
    ['may not', false],
  ])('inviting where admins %s invite', async (_word, admins_may_invite) => {
    await org.owner.call(updateOrganization, { org_id: org.id, admins_may_invite })
    for (const role of GRANTABLE_ROLES) {
      const allowed = may?.grant.includes(role) && (principal === 'owner' || admins_may_invite)
      const attempt = principals[principal].call(inviteMember, {
        org_id: org.id,
        email: `${unique('new')}@people.test`,
        role,
      })
      expect([role, await outcome(attempt)]).toEqual([role, allowed ? 'done' : refusalFor(principal)])
    }
  })

  test('deciding whether admins invite', async () => {
    const attempt = principals[principal].call(updateOrganization, {
      org_id: org.id,
      admins_may_invite: true,
    })
    expect(await outcome(attempt)).toBe(principal === 'owner' ? 'done' : refusalFor(principal))
  })

  test('seeing who is here', async () => {
    const attempt = principals[principal].call(listMembers, { org_id: org.id, limit: 1 })
    expect(await outcome(attempt)).toBe(principal === 'outsider' ? 'NOT_FOUND' : 'done')
  })
})

test('somebody of another organization is as unknown as somebody who does not exist', async () => {
  const as = { token: principals.owner.token }
  const change = (user_id: string) =>
    answerTo(system, as, changeMemberRole, { org_id: org.id, user_id, role: 'viewer' })
  const remove = (user_id: string) => answerTo(system, as, removeMember, { org_id: org.id, user_id })
  for (const ask of [change, remove]) {
    const [foreign, unknown] = [await ask(principals.outsider.userId), await ask(makeId('usr', 0))]
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
  }
})

test('a foreign organization answers like one that does not exist', async () => {
  const ask = (org_id: string) =>
    answerTo(system, { token: principals.outsider.token }, showOrganization, { org_id })
  const [foreign, unknown] = [await ask(org.id), await ask(makeId('org', 0))]
  expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
})

test('a token’s cap binds like a role', async () => {
  const capped = await makeApiToken(system, org, principals.owner, { role_cap: 'admin' })
  const give = (person: Person, role: 'owner' | 'viewer') =>
    capped.call(changeMemberRole, { org_id: org.id, user_id: person.userId, role })
  await expect(give(targets.owner, 'viewer')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(give(targets.viewer, 'owner')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(
    capped.call(updateOrganization, { org_id: org.id, admins_may_invite: true }),
  ).rejects.toMatchObject({
    code: 'FORBIDDEN',
  })
})

describe('the last owner', () => {
  test('cannot leave, nor be lowered by anybody, also not by a token of their own', async () => {
    const own = await makeOrganization(system)
    await makeMember(system, own, 'admin')
    const { owner } = own
    const input = { org_id: own.id, user_id: owner.userId }
    const token = await makeApiToken(system, own, owner)
    await expect(owner.call(removeMember, input)).rejects.toMatchObject({ code: 'CONFLICT' })
    for (const { call } of [owner, token]) {
      await expect(call(changeMemberRole, { ...input, role: 'admin' })).rejects.toMatchObject({
        code: 'CONFLICT',
      })
    }
    expect(await roleOf(own, owner)).toBe('owner')
  })

  test('may go once there is another', async () => {
    const own = await makeOrganization(system)
    const next = await makeMember(system, own, 'viewer')
    await own.owner.call(changeMemberRole, { org_id: own.id, user_id: next.userId, role: 'owner' })
    await own.owner.call(removeMember, { org_id: own.id, user_id: own.owner.userId })
    expect(await roleOf(own, own.owner)).toBeUndefined()
  })

  const lower = (of: Org, by: Person, whom: Person) =>
    by.call(changeMemberRole, { org_id: of.id, user_id: whom.userId, role: 'viewer' })
  const leave = (of: Org, who: Person) => who.call(removeMember, { org_id: of.id, user_id: who.userId })

  test.skipIf(hasOneConnection).each([
    ['lower each other', (of: Org, a: Person, b: Person) => [lower(of, a, b), lower(of, b, a)]],
    ['leave', (of: Org, a: Person, b: Person) => [leave(of, a), leave(of, b)]],
    [
      'go: one leaves, the other lowers themselves',
      (of: Org, a: Person, b: Person) => [leave(of, a), lower(of, b, b)],
    ],
  ])('is not lost when two owners at the same moment %s', async (_what, both) => {
    for (let round = 0; round < 5; round++) {
      const own = await makeOrganization(system)
      const second = await makeMember(system, own, 'owner')
      const outcomes = await Promise.all(both(own, own.owner, second).map(outcome))
      expect(outcomes.filter((word) => word === 'done')).toHaveLength(1)
      const owners = await system.db
        .select()
        .from(memberships)
        .where(and(eq(memberships.orgId, own.id), eq(memberships.role, 'owner')))
      expect(owners).toHaveLength(1)
    }
  })
})

test.each(ROLES)('a %s may leave', async (role) => {
  const own = await makeOrganization(system)
  const person = await makeMember(system, own, role)
  await person.call(removeMember, { org_id: own.id, user_id: person.userId })
  await expect(person.call(showOrganization, { org_id: own.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

describe('acts on the very next call', () => {
  /** Everything a member may hold: two sessions, a token, and an agent that came with that token. */
  const holdings = async (own: Org, person: Person) => {
    const token = await makeApiToken(system, own, person)
    const assertion = await signActor(system, actorOf(own, person, token.id))
    return { session: person.token, token: token.token, assertion }
  }
  const me = (token: string, own: Org) => system.as({ token, organization: own.id })(whoAmI, {})

  test('a changed role, up and down', async () => {
    const own = await makeOrganization(system)
    const person = await makeMember(system, own, 'admin')
    const held = await holdings(own, person)
    // The token is not capped: it rises and falls with its person.
    for (const role of ['developer', 'owner', 'viewer', 'admin'] as const) {
      await own.owner.call(changeMemberRole, { org_id: own.id, user_id: person.userId, role })
      expect((await me(held.session, own)).role).toBe(role)
      expect((await me(held.token, own)).role).toBe(role)
      expect((await me(held.assertion, own)).role).toBe(role)
    }
  })

  test('a removal, and coming back wakes no token', async () => {
    const own = await makeOrganization(system)
    const person = await makeMember(system, own, 'admin')
    const held = await holdings(own, person)
    await own.owner.call(removeMember, { org_id: own.id, user_id: person.userId })
    const dead = async () => {
      for (const token of [held.token, held.assertion]) {
        await expect(me(token, own)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
      }
    }
    await dead()
    await expect(person.call(showOrganization, { org_id: own.id })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    expect(await me(held.session, own)).toMatchObject({ organization: null, role: null })
    await makeMember(system, own, 'admin', person)
    await dead()
  })

  test('a removal, in this organization and in no other', async () => {
    const [left, kept] = [await makeOrganization(system), await makeOrganization(system)]
    const person = await makePerson(system)
    for (const own of [left, kept]) await makeMember(system, own, 'developer', person)
    const token = await makeApiToken(system, kept, person)
    await left.owner.call(removeMember, { org_id: left.id, user_id: person.userId })
    expect((await token.call(whoAmI, {})).organization?.id).toBe(kept.id)
    expect((await person.call(whoAmI, {})).organization?.id).toBe(kept.id)
  })
})

test('a search counts what it finds, on every page, and what was done is found by words, name and request', async () => {
  const [here, there] = [await makeOrganization(system), await makeOrganization(system)]
  const word = unique('Findable')
  for (const where of [here, here, here, there]) {
    const person = await makePerson(system, { name: `${word} Lee`, email: `${unique('lee')}@people.test` })
    await makeMember(system, where, 'viewer', person)
  }
  const asked = { org_id: here.id, search: word.toLowerCase(), limit: 2, count: 'true' }
  const first = await here.owner.call(listMembers, asked)
  const rest = await here.owner.call(listMembers, { ...asked, cursor: first.next_cursor })
  expect([first, rest].map(({ members, total }) => [members.length, total])).toEqual([
    [2, 3],
    [1, 3],
  ])

  const { userId } = principals.viewer
  for (const { id, owner } of [here, there]) await owner.call(updateOrganization, { org_id: id, name: word })
  const found = async (filter: { search?: string; user_id?: string }) =>
    (await here.owner.call(listAudit, { org_id: here.id, ...filter })).audit.map(({ action }) => action)
  const [row] = (await here.owner.call(listAudit, { org_id: here.id, limit: 1 })).audit
  expect(row!.action).toBe('organization.updated')
  for (const search of [row!.request_id!, AUDIT_ACTIONS['organization.updated'].toUpperCase()])
    expect([search, await found({ search })]).toEqual([search, ['organization.updated']])
  expect(await found({ search: row!.actor.name, user_id: here.owner.userId })).toContain(
    'organization.updated',
  )
  expect(await found({ user_id: userId })).toEqual([])
})
