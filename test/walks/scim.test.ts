/** SCIM: the directory of an organization says who its people are. Requests as Entra and Okta document them. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { and, eq, isNull, sql } from '../../db/drizzle.ts'
import {
  identities,
  invitations,
  memberships,
  provisionedPeople,
  provisionedPlaces,
  users,
} from '../../db/schema.ts'
import { endAccessSince } from '../../src/contracts/access.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import {
  addGroupMember,
  createGroup,
  listGroups,
  removeGroup,
  showGroup,
} from '../../src/contracts/groups.ts'
import {
  GROUP_MEMBERS_MAX,
  GROUPS_MAX,
  SCIM_BODY_MAX_BYTES,
  SCIM_CALLS,
  SCIM_PAGE_MEMBERS_MAX,
} from '../../src/contracts/limits.ts'
import {
  acceptInvitation,
  changeMemberRole,
  inviteMember,
  listInvitations,
  listMembers,
  removeMember,
} from '../../src/contracts/members.ts'
import { addOwnerAsOperator, setOrganizationDomains } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { endWithReceipt } from '../../src/contracts/receipts.ts'
import {
  createScimBearer,
  listProvisionedGroups,
  revokeScimBearer,
  rotateScimBearer,
  setGroupRole,
  showScim,
} from '../../src/contracts/scim.ts'
import { SCIM_TYPE, SCIM_URN } from '../../src/contracts/scim-resources.ts'
import { createApiToken, listApiTokens } from '../../src/contracts/tokens.ts'
import { signInWithProvider } from '../../src/cores/identity/sign-in-with-provider.ts'
import { issueSessionToken } from '../../src/cores/identity/issue-session-token.ts'
import { sweepInvitations } from '../../src/cores/organizations/index.ts'
import { makeMember, makeOrganization, makePerson, unique, type Org, type Person } from '../support/make.ts'
import {
  directoryOf,
  entraUser,
  makeScimOrg,
  oktaUser,
  patch,
  provision,
  type ScimOrg,
} from '../support/scim.ts'
import { statementsOf } from '../support/statements.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

const ISSUER = 'https://idp.test'
const TENANT = '11111111-2222-4333-8444-555555555555'

let system: TestSystem
beforeAll(async () => {
  system = await startSystem({
    SVC_SERVICES: 'api-gateway,auth-service',
    OIDC_ISSUER: ISSUER,
    OIDC_CLIENT_ID: 'client',
    OIDC_CLIENT_SECRET: 'secret',
    OIDC_TITLE: 'Acme',
    MICROSOFT_CLIENT_ID: 'client',
    MICROSOFT_CLIENT_SECRET: 'secret',
    MICROSOFT_TENANT_ID: 'organizations',
    PASSWORD_SIGN_IN: 'on',
  })
})
afterAll(() => system.stop())

type AtProvider = { email: string; subject?: string; issuer?: string; verified?: boolean; provider?: string }

/** Comes back from a provider that has proven who they are; their next call says where they belong. */
async function signIn({
  email,
  subject = unique('sub'),
  issuer = ISSUER,
  verified = true,
  provider = 'oidc',
}: AtProvider) {
  const auth = system.system.auth!
  const { sessionId } = await signInWithProvider(
    auth,
    { provider, issuer, subject, email, emailVerified: verified, name: 'Ada Lovelace' },
    { device: 'a browser', requestId: unique('req') },
  )
  const { token } = await issueSessionToken(system.db, auth, sessionId)
  const call = system.as({ token })
  const { user } = await call(whoAmI, {})
  return { token, call, userId: user.id, email }
}

const membersOf = async (org: Org) =>
  (await org.owner.call(listMembers, { org_id: org.id, limit: 200 })).members
const roleIn = async (org: Org, userId: string) =>
  (await membersOf(org)).find((member) => member.user_id === userId)?.role

const actionsIn = async (org: Org) =>
  (await org.owner.call(listAudit, { org_id: org.id, limit: 200 })).audit.map(({ action }) => action)

describe('setting it up', () => {
  test('an owner creates the bearer once, and its value is shown once', async () => {
    const org = await makeOrganization(system)
    await expect(org.owner.call(createScimBearer, { provider: 'oidc' })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    const domain = `${unique('corp')}.test`
    await system.as({ token: OPERATOR_TOKEN })(setOrganizationDomains, { org_id: org.id, domains: [domain] })
    for (const role of ['admin', 'viewer'] as const) {
      const { call } = await makeMember(system, org, role)
      await expect(call(createScimBearer, { provider: 'oidc' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    }
    for (const [provider, tenant] of [['google'], ['microsoft'], ['oidc', TENANT]] as const)
      await expect(org.owner.call(createScimBearer, { provider, tenant })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
      })
    const made = await org.owner.call(createScimBearer, { provider: 'oidc' })
    expect(made).toMatchObject({ provider: 'oidc', issuer: ISSUER, token: expect.stringMatching(/^svcs_/) })
    expect(made.base_url).toMatch(/\/scim\/v2$/)
    await expect(org.owner.call(createScimBearer, { provider: 'oidc' })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
    const shown = await org.owner.call(showScim, {})
    expect(shown).toMatchObject({
      domains: [domain],
      bearer: { starts_with: made.token.slice(0, 11) },
      providers: [
        { name: 'microsoft', issuer: null },
        { name: 'oidc', issuer: `${ISSUER}/` },
      ],
    })
    expect(JSON.stringify(shown)).not.toContain(made.token)
  })

  test('a rotated bearer works for the chosen time; an API token and an unknown bearer open nothing', async () => {
    const at = await makeScimOrg(system)
    const { token } = await at.org.owner.call(rotateScimBearer, { overlap_hours: 1 })
    expect((await at.directory('GET', '/Users')).status).toBe(200)
    expect((await directoryOf(system, token)('GET', '/Users')).status).toBe(200)
    const next = await at.org.owner.call(rotateScimBearer, { overlap_hours: 0 })
    expect((await directoryOf(system, token)('GET', '/Users')).status).toBe(401)
    expect((await directoryOf(system, next.token)('GET', '/Users')).status).toBe(200)
    const { token: apiToken } = await at.org.owner.call(createApiToken, { name: 'no way in' })
    for (const wrong of [apiToken, at.org.owner.token, `${next.token.slice(0, -1)}!`, 'x']) {
      const refused = await directoryOf(system, wrong)('GET', '/Users')
      expect(refused).toMatchObject({ status: 401, body: { schemas: [SCIM_URN.error], status: '401' } })
      expect(refused.headers.get('www-authenticate')).toBe('Bearer')
    }
    await expect(system.as({ token: next.token })(whoAmI, {})).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    })
  })

  test('removing it leaves people as they are, says so, and lets nobody in any more', async () => {
    const at = await makeScimOrg(system)
    const ada = await provision(at)
    const waiting = await provision(at)
    const { userId } = await signIn({ email: ada.email })
    const { body: group } = await at.directory('POST', '/Groups', {
      displayName: unique('Legal'),
      members: [{ value: ada.id }],
    })
    const other = await makeScimOrg(system)
    const grace = await provision(other)
    const { body: theirs } = await other.directory('POST', '/Groups', {
      displayName: unique('Legal'),
      members: [{ value: grace.id }],
    })
    const placesIn = ({ org }: ScimOrg) =>
      system.db.$count(provisionedPlaces, eq(provisionedPlaces.orgId, org.id))
    expect([await placesIn(at), await placesIn(other)]).toEqual([1, 1])
    expect(await at.org.owner.call(revokeScimBearer, {})).toEqual({ members: 1, waiting: 1 })
    expect((await at.directory('GET', '/Users')).status).toBe(401)
    // Of what the directory said nothing is left that another one would find.
    expect([await placesIn(at), await placesIn(other)]).toEqual([0, 1])
    // A group of the directory that gives no role is removed by hand like any other.
    await other.org.owner.call(removeGroup, { group_id: theirs.id })
    expect(await placesIn(other)).toBe(0)
    expect(await roleIn(at.org, userId)).toBe('viewer')
    expect(await at.org.owner.call(showGroup, { group_id: group.id })).toMatchObject({
      members: [{ id: userId }],
    })
    // By their email domain, as everybody; not as who was provisioned.
    const late = await signIn({ email: waiting.email, subject: waiting.externalId })
    expect(await roleIn(at.org, late.userId)).toBe('member')
    await expect(at.org.owner.call(revokeScimBearer, {})).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await actionsIn(at.org)).toContain('scim.revoked')
  })

  test('ending the access of whoever rotated the bearer ends it, whoever made it', async () => {
    const at = await makeScimOrg(system)
    const second = await makeMember(system, at.org, 'owner')
    system.clock.advance(60)
    const since = system.clock.now().toISOString()
    const { token } = await second.call(rotateScimBearer, { overlap_hours: 0 })
    const directory = directoryOf(system, token)
    const end = ({ userId }: { userId: string }) =>
      at.org.owner.call(endAccessSince, { since, user_id: userId })
    expect((await end(at.org.owner)).credentials).toBe(0)
    expect((await directory('GET', '/Users')).status).toBe(200)
    expect((await end(second)).credentials).toBe(1)
    expect((await directory('GET', '/Users')).status).toBe(401)
  })

  test('ending all access of the organization ends it, and no other', async () => {
    const [at, other] = [await makeScimOrg(system), await makeScimOrg(system)]
    await at.org.owner.call(endWithReceipt, { of: 'organization' })
    expect((await at.directory('GET', '/Users')).status).toBe(401)
    expect((await other.directory('GET', '/Users')).status).toBe(200)
  })

  test('what it can do is said, in the type of SCIM', async () => {
    const { directory } = await makeScimOrg(system)
    const config = await directory('GET', '/ServiceProviderConfig')
    expect(config.headers.get('content-type')).toContain(SCIM_TYPE)
    expect(config.body).toMatchObject({ patch: { supported: true }, bulk: { supported: false } })
    expect((await directory('GET', '/ResourceTypes')).body.Resources.map(({ id }) => id)).toEqual([
      'User',
      'Group',
    ])
    expect((await directory('GET', '/ResourceTypes/User')).body).toMatchObject({ endpoint: '/Users' })
    expect((await directory('GET', '/Schemas')).body.totalResults).toBe(2)
    expect((await directory('GET', `/Schemas/${SCIM_URN.group}`)).body).toMatchObject({ name: 'Group' })
    for (const path of ['/Schemas/urn:x', '/Bulk', '/Users/scp_x', '/Groups/grp_x', '/Me'])
      expect(await directory('GET', path)).toMatchObject({ status: 404, body: { schemas: [SCIM_URN.error] } })
  })
})

describe('as Entra does it', () => {
  test('looks for somebody, creates them, changes them, sets them inactive with a text, and deletes them', async () => {
    const { directory, domain, org } = await makeScimOrg(system, { provider: 'microsoft', tenant: TENANT })
    const userName = `Ada.${unique('L')}@${domain}`
    const filter = `/Users?filter=${encodeURIComponent(`userName eq "${userName.toUpperCase()}"`)}`
    expect((await directory('GET', filter)).body).toMatchObject({ totalResults: 0, Resources: [] })
    const oid = '0a0a0a0a-2222-4333-8444-555555555555'
    const made = await directory('POST', '/Users', entraUser(userName, oid))
    expect(made).toMatchObject({ status: 201, body: { userName, externalId: oid, active: true } })
    expect(made.headers.get('location')).toBe((made.body.meta as { location: string }).location)
    const path = `/Users/${made.body.id}`
    expect((await directory('GET', filter)).body.Resources.map(({ id }) => id)).toEqual([made.body.id])
    expect((await directory('GET', path)).body).toEqual(made.body)

    const changed = await directory(
      'PATCH',
      path,
      patch(
        { op: 'Replace', path: 'displayName', value: 'Ada King' },
        { op: 'Add', path: 'name.familyName', value: 'King' },
        { op: 'Replace', path: 'emails[type eq "work"].value', value: `ada.king@${domain}` },
        { op: 'Add', path: 'addresses[type eq "work"].country', value: 'UK' },
        {
          op: 'Add',
          path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department',
          value: 'Engines',
        },
      ),
    )
    expect(changed).toMatchObject({
      status: 200,
      body: {
        displayName: 'Ada King',
        name: { givenName: 'Ada', familyName: 'King' },
        emails: [{ value: `ada.king@${domain}` }],
      },
    })
    const person = await signIn({
      email: userName,
      subject: oid,
      issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`,
      verified: false,
      provider: 'microsoft',
    })
    expect(await roleIn(org, person.userId)).toBe('viewer')
    const off = await directory('PATCH', path, patch({ op: 'Replace', path: 'active', value: 'False' }))
    expect(off.body.active).toBe(false)
    expect(await roleIn(org, person.userId)).toBeUndefined()
    await directory('PATCH', path, patch({ op: 'Add', path: 'active', value: 'True' }))
    expect(await roleIn(org, person.userId)).toBe('viewer')
    expect((await directory('DELETE', path)).status).toBe(204)
    expect(await roleIn(org, person.userId)).toBeUndefined()
    for (const method of ['GET', 'DELETE'] as const) expect((await directory(method, path)).status).toBe(404)
    expect((await actionsIn(org)).filter((action) => action.startsWith('scim.'))).toEqual([
      'scim.person_deleted',
      'scim.person_activated',
      'scim.person_deactivated',
      'scim.person_bound',
      'scim.person_changed',
      'scim.person_created',
      'scim.created',
    ])
  })

  test('groups: added in a value, removed in a value, renamed, read without their members', async () => {
    const at = await makeScimOrg(system)
    const { directory, org } = at
    const people = [await provision(at), await provision(at), await provision(at)]
    const [a, b, c] = people.map(({ id }) => ({ value: id }))
    const name = unique('Sales')
    const { body: group } = await directory('POST', '/Groups', {
      schemas: [SCIM_URN.group],
      externalId: unique('gid'),
      displayName: name,
      members: [],
    })
    const path = `/Groups/${group.id}`
    const found = await directory(
      'GET',
      `/Groups?excludedAttributes=members&filter=${encodeURIComponent(`displayName eq "${name}"`)}`,
    )
    expect(found.body.Resources).toMatchObject([{ id: group.id, displayName: name }])
    expect(found.body.Resources[0]).not.toHaveProperty('members')
    const idsIn = async () =>
      ((await directory('GET', path)).body.members ?? []).map(({ value }) => value).toSorted()
    expect(
      (await directory('PATCH', path, patch({ op: 'Add', path: 'members', value: [a, b, c] }))).status,
    ).toBe(204)
    expect(await idsIn()).toEqual([a, b, c].map((one) => one!.value).toSorted())
    await directory('PATCH', path, patch({ op: 'Remove', path: 'members', value: [a] }))
    await directory('PATCH', path, patch({ op: 'Remove', path: `members[value eq "${b!.value}"]` }))
    expect(await idsIn()).toEqual([c!.value])
    const asked = `id eq "${group.id}" and members eq "${c!.value}"`
    expect((await directory('GET', `/Groups?filter=${encodeURIComponent(asked)}`)).body.totalResults).toBe(1)
    await directory('PATCH', path, patch({ op: 'Replace', path: 'displayName', value: `${name} EU` }))
    expect((await org.owner.call(listGroups, {})).groups.map((one) => one.name)).toEqual([`${name} EU`])
    await directory('PATCH', path, patch({ op: 'Remove', path: 'members' }))
    expect(await idsIn()).toEqual([])
    expect((await directory('DELETE', path)).status).toBe(204)
    expect((await org.owner.call(listGroups, {})).groups).toEqual([])
  })
})

describe('as Okta does it', () => {
  test('looks for somebody, creates them, replaces them, sets them inactive with a value, and active again', async () => {
    const { directory, domain, org } = await makeScimOrg(system)
    const userName = `${unique('grace')}@${domain}`
    const asked = `/Users?filter=${encodeURIComponent(`userName eq "${userName}"`)}&startIndex=1&count=100`
    expect((await directory('GET', asked)).body.totalResults).toBe(0)
    const sent = oktaUser(userName)
    const made = await directory('POST', '/Users', sent, {
      'content-type': 'application/scim+json; charset=utf-8',
    })
    expect(made).toMatchObject({ status: 201, body: { userName, name: sent.name } })
    expect(JSON.stringify(made.body)).not.toContain(sent.password)
    const path = `/Users/${made.body.id}`
    const person = await signIn({ email: userName, subject: sent.externalId })
    expect(await roleIn(org, person.userId)).toBe('viewer')
    const replaced = await directory('PUT', path, { ...sent, id: made.body.id, displayName: 'Rear Admiral' })
    expect(replaced).toMatchObject({ status: 200, body: { displayName: 'Rear Admiral', active: true } })
    await directory('PATCH', path, patch({ op: 'replace', value: { active: false } }))
    expect(await roleIn(org, person.userId)).toBeUndefined()
    await directory('PATCH', path, patch({ op: 'replace', value: { active: true } }))
    expect(await roleIn(org, person.userId)).toBe('viewer')
    await directory('PUT', path, { ...sent, active: false })
    expect(await roleIn(org, person.userId)).toBeUndefined()
    // A replacement that says nothing of it leaves it as it is; somebody new is active.
    for (const active of [undefined, null]) {
      const silent = await directory('PUT', path, { ...sent, active, displayName: unique('Grace') })
      expect(silent).toMatchObject({ status: 200, body: { active: false } })
    }
    expect(await roleIn(org, person.userId)).toBeUndefined()
    await directory('PUT', path, sent)
    expect((await directory('PUT', path, { ...sent, active: undefined })).body.active).toBe(true)
    expect(await roleIn(org, person.userId)).toBe('viewer')
    const another = { ...oktaUser(`${unique('new')}@${domain}`), active: undefined }
    expect((await directory('POST', '/Users', another)).body.active).toBe(true)
  })

  test('groups: pushed with members, replaced whole, changed by value and without a path', async () => {
    const at = await makeScimOrg(system)
    const [a, b] = [await provision(at), await provision(at)]
    const name = unique('Everyone')
    const { body: group, status } = await at.directory('POST', '/Groups', {
      schemas: [SCIM_URN.group],
      displayName: name,
      members: [{ value: a.id, display: a.email }],
    })
    expect(status).toBe(201)
    const path = `/Groups/${group.id}`
    const idsIn = async () => (await at.directory('GET', path)).body.members?.map(({ value }) => value)
    await at.directory(
      'PATCH',
      path,
      patch(
        { op: 'remove', path: `members[value eq "${a.id}"]` },
        { op: 'add', path: 'members', value: [{ value: b.id }] },
        { op: 'replace', value: { id: group.id, displayName: `${name} 2` } },
      ),
    )
    expect(await idsIn()).toEqual([b.id])
    const put = await at.directory('PUT', path, {
      schemas: [SCIM_URN.group],
      id: group.id,
      displayName: `${name} 2`,
      members: [{ value: a.id }],
    })
    expect(put).toMatchObject({ status: 200, body: { displayName: `${name} 2`, members: [{ value: a.id }] } })
    await at.directory('PATCH', path, patch({ op: 'replace', path: 'members', value: [{ value: b.id }] }))
    expect(await idsIn()).toEqual([b.id])
  })
})

describe('whose account it is', () => {
  test('by the subject, once, at the issuer that was named; at no other one, whatever address that answers for', async () => {
    const at = await makeScimOrg(system)
    const ada = await provision(at)
    const elsewhere = await signIn({
      email: ada.email,
      subject: ada.externalId,
      issuer: 'https://other.test',
    })
    // By their email domain, as everybody.
    expect(await roleIn(at.org, elsewhere.userId)).toBe('member')
    const here = await signIn({ email: ada.email, subject: ada.externalId })
    expect(here.userId).not.toBe(elsewhere.userId)
    expect(await roleIn(at.org, here.userId)).toBe('viewer')
    const another = await signIn({ email: ada.email })
    const bound = await system.db.select().from(provisionedPeople).where(eq(provisionedPeople.id, ada.id))
    expect(bound.map(({ userId }) => userId)).toEqual([here.userId])
    expect(await roleIn(at.org, another.userId)).toBe('member')
  })

  test('by the address only where the issuer answers for it', async () => {
    const at = await makeScimOrg(system)
    const ada = await provision(at)
    const unproven = await signIn({ email: ada.email, verified: false })
    expect(await membersOf(at.org)).toHaveLength(1)
    const proven = await signIn({ email: ada.email })
    expect(await roleIn(at.org, proven.userId)).toBe('viewer')
    expect(proven.userId).not.toBe(unproven.userId)
  })

  test('whoever signed in before is bound at once by their subject; an existing member stays so, with their role', async () => {
    const at = await makeScimOrg(system)
    const [email, subject] = [`${unique('ada')}@${at.domain}`, unique('sub')]
    const { userId } = await signIn({ email, subject })
    await at.org.owner.call(changeMemberRole, { org_id: at.org.id, user_id: userId, role: 'developer' })
    await provision(at, { email, externalId: subject })
    expect(await roleIn(at.org, userId)).toBe('developer')
    expect((await at.org.owner.call(showScim, {})).people).toEqual({ active: 1, inactive: 0, waiting: 0 })
  })

  test('naming the subject of somebody of another organization brings in nobody, and shows nothing of them', async () => {
    const [here, there] = [await makeScimOrg(system), await makeScimOrg(system)]
    const [email, subject] = [`${unique('bob')}@${there.domain}`, unique('sub')]
    const before = await signIn({ email, subject })
    const { body } = await here.directory('POST', '/Users', entraUser(`x@${here.domain}`, subject))
    expect(JSON.stringify(body)).not.toContain(email)
    const after = await signIn({ email, subject })
    expect(after.userId).toBe(before.userId)
    expect(await membersOf(here.org)).toHaveLength(1)
    expect((await here.org.owner.call(showScim, {})).people.waiting).toBe(1)
  })

  test('one account is one of them, whatever address it comes with; and one that was deleted is nobody', async () => {
    const at = await makeScimOrg(system)
    const [ada, bob, gone] = [await provision(at), await provision(at), await provision(at)]
    const { userId } = await signIn({ email: ada.email, subject: ada.externalId })
    const again = await signIn({ email: bob.email, subject: ada.externalId })
    expect(again.userId).toBe(userId)
    expect((await at.org.owner.call(showScim, {})).people).toEqual({ active: 3, inactive: 0, waiting: 2 })
    await at.directory('DELETE', `/Users/${gone.id}`)
    for (const members of [[{ value: gone.id }], [{ value: bob.id }, { value: gone.id }]])
      expect(await at.directory('POST', '/Groups', { displayName: unique('Group'), members })).toMatchObject({
        status: 400,
        body: { scimType: 'invalidValue' },
      })
  })

  test('a filter finds whoever lacks what is asked for, the address of work is taken, and nobody is counted alone', async () => {
    const at = await makeScimOrg(system)
    const [userName, work] = [`${unique('ada')}@${at.domain}`, `${unique('work')}@${at.domain}`]
    const emails = [
      { type: 'home', value: `${unique('home')}@${at.domain}` },
      { type: 'work', value: work },
    ]
    const { body } = await at.directory('POST', '/Users', { userName, emails })
    expect(body).toMatchObject({ emails: [{ value: work }] })
    const asked = encodeURIComponent('externalId ne "x"')
    expect((await at.directory('GET', `/Users?filter=${asked}`)).body.totalResults).toBe(1)
    const { body: none } = await at.directory('GET', '/Users?count=0')
    expect([none.totalResults, none.Resources]).toEqual([1, []])
    // Whoever is set inactive under another address loses what the one before brought in.
    const { userId } = await signIn({ email: work, issuer: 'https://other.test' })
    expect(await roleIn(at.org, userId)).toBe('member')
    const moved = [{ type: 'work', value: `${unique('moved')}@${at.domain}` }]
    await at.directory('PUT', `/Users/${body.id}`, { userName, emails: moved, active: false })
    expect(await roleIn(at.org, userId)).toBeUndefined()
  })

  test('whoever was removed by hand stays out until the directory says it anew', async () => {
    const at = await makeScimOrg(system)
    const ada = await provision(at)
    const { userId } = await signIn({ email: ada.email, subject: ada.externalId })
    await at.org.owner.call(removeMember, { org_id: at.org.id, user_id: userId })
    await signIn({ email: ada.email, subject: ada.externalId })
    const path = `/Users/${ada.id}`
    // Nor does a change of something else bring them back.
    await at.directory('PATCH', path, patch({ op: 'replace', value: { displayName: 'Ada L.' } }))
    expect(await roleIn(at.org, userId)).toBeUndefined()
    await at.directory('PATCH', path, patch({ op: 'replace', value: { active: false } }))
    await at.directory('PATCH', path, patch({ op: 'replace', value: { active: true } }))
    expect(await roleIn(at.org, userId)).toBe('viewer')
  })
})

describe('inactive', () => {
  test('ends tokens, places and sessions here, not elsewhere; active again revives nothing', async () => {
    const at = await makeScimOrg(system)
    const ada = await provision(at)
    const person = await signIn({ email: ada.email, subject: ada.externalId })
    const elsewhere = await makeOrganization(system)
    await system.db.insert(memberships).values({
      orgId: elsewhere.id,
      userId: person.userId,
      role: 'developer',
      joinedBy: 'invitation',
      joinedAt: system.clock.now(),
    })
    const inOrg = system.as({ token: person.token, organization: at.org.id })
    const inOther = system.as({ token: person.token, organization: elsewhere.id })
    const here = await inOrg(createApiToken, { name: 'here' })
    const there = await inOther(createApiToken, { name: 'there' })
    const { id: group_id } = await at.org.owner.call(createGroup, { name: unique('by hand') })
    await at.org.owner.call(addGroupMember, { group_id, member_id: person.userId })
    await at.org.owner.call(changeMemberRole, { org_id: at.org.id, user_id: person.userId, role: 'admin' })

    await at.directory('PATCH', `/Users/${ada.id}`, patch({ op: 'Replace', path: 'active', value: 'False' }))
    await expect(system.as({ token: here.token })(whoAmI, {})).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    })
    await expect(inOrg(listApiTokens, {})).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await system.as({ token: there.token })(whoAmI, {})).toMatchObject({
      organization: { id: elsewhere.id },
    })
    expect(await roleIn(elsewhere, person.userId)).toBe('developer')
    // Neither by the email domain, nor with another account at another issuer.
    await signIn({ email: ada.email, subject: ada.externalId })
    await signIn({ email: ada.email, issuer: 'https://other.test' })
    expect(await membersOf(at.org)).toHaveLength(1)

    await at.directory('PATCH', `/Users/${ada.id}`, patch({ op: 'Replace', path: 'active', value: 'True' }))
    expect(await roleIn(at.org, person.userId)).toBe('viewer')
    await expect(system.as({ token: here.token })(whoAmI, {})).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    })
    expect((await at.org.owner.call(showGroup, { group_id })).members).toEqual([])
    const trail = (await at.org.owner.call(listAudit, { org_id: at.org.id, action: 'member.removed' })).audit
    expect(trail).toMatchObject([
      {
        actor: { kind: 'scim_bearer', id: null, name: `SCIM bearer ${at.token.slice(0, 11)}…` },
        subject: ada.email,
      },
    ])
  })

  test('also whichever other account here has proven the address, and its open invitations', async () => {
    const at = await makeScimOrg(system)
    const ada = await provision(at)
    const invited = await at.org.owner.call(inviteMember, {
      org_id: at.org.id,
      email: ada.email,
      role: 'admin',
    })
    const other = await signIn({ email: ada.email, issuer: 'https://other.test' })
    expect(await roleIn(at.org, other.userId)).toBe('member')
    await at.directory('DELETE', `/Users/${ada.id}`)
    expect(await membersOf(at.org)).toHaveLength(1)
    const third = await signIn({ email: ada.email, issuer: 'https://third.test' })
    expect(await membersOf(at.org)).toHaveLength(1)
    const token = invited.invitation_url!.split('/').at(-1)!
    await expect(third.call(acceptInvitation, { token })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('also whoever accepted an invitation to the address with an account of another one, however long ago', async () => {
    const at = await makeScimOrg(system)
    const [ada, grace] = [await provision(at), await provision(at)]
    const [hers, gone] = [await makePerson(system), await makePerson(system)]
    const org_id = at.org.id
    const invite = (email: string) => at.org.owner.call(inviteMember, { org_id, email, role: 'admin' })
    const accept = async ({ call }: Person, email: string) =>
      call(acceptInvitation, { token: (await invite(email)).invitation_url!.split('/').at(-1)! })
    await accept(hers, ada.email)
    await accept(gone, grace.email)
    await at.org.owner.call(removeMember, { org_id, user_id: gone.userId })
    await invite(grace.email)
    const later = new Date(system.clock.now().getTime() + 60 * 24 * 60 * 60 * 1000)
    const sweptTo = async () => {
      await sweepInvitations({ db: system.db, clock: () => later })
      const kept = await system.db.select().from(invitations).where(eq(invitations.orgId, org_id))
      return kept.map(({ email }) => email)
    }
    // Only what tells who is here: neither that of somebody who left, nor one that nobody accepted.
    expect(await sweptTo()).toEqual([ada.email])
    await at.directory('PATCH', `/Users/${ada.id}`, patch({ op: 'Replace', path: 'active', value: 'False' }))
    expect((await membersOf(at.org)).map(({ user_id }) => user_id)).toEqual([at.org.owner.userId])
    expect(await sweptTo()).toEqual([])
  })

  test('also the open invitations of somebody who never signed in, and no others', async () => {
    const at = await makeScimOrg(system)
    const [ada, grace] = [await provision(at), await provision(at)]
    const [userName, mailbox] = [`${unique('joan')}@${at.domain}`, `${unique('mail')}@${at.domain}`]
    const sent = { ...entraUser(userName), emails: [{ value: mailbox, primary: true }] }
    const joan = (await at.directory('POST', '/Users', sent)).body
    for (const email of [ada.email, grace.email, userName, mailbox])
      await at.org.owner.call(inviteMember, { org_id: at.org.id, email, role: 'viewer' })
    for (const { id } of [ada, joan]) await at.directory('DELETE', `/Users/${id}`)
    const { invitations: open } = await at.org.owner.call(listInvitations, { org_id: at.org.id })
    expect(open.map(({ email }) => email)).toEqual([grace.email])
  })

  test.runIf(inject('everyCase'))(
    'deleted again and again: each address is kept once, and none of them comes back by its domain',
    async () => {
      const [at, other] = [await makeScimOrg(system), await makeScimOrg(system)]
      const [first, second, third] = ['a', 'b', 'c'].map((name) => `${unique(name)}@${at.domain}`)
      const once = async (directory: ScimOrg['directory'], userName: string, email: string) => {
        const sent = { ...entraUser(userName), emails: [{ value: email, primary: true }] }
        const { body } = await directory('POST', '/Users', sent)
        expect((await directory('DELETE', `/Users/${body.id}`)).status).toBe(204)
      }
      const kept = async ({ org }: ScimOrg) =>
        (await system.db.select().from(provisionedPeople).where(eq(provisionedPeople.orgId, org.id)))
          .map(({ userName, email }) => `${userName} ${email}`)
          .toSorted()
      const elsewhere = `${unique('d')}@${other.domain}`
      await once(other.directory, elsewhere, elsewhere)
      for (let n = 0; n < 3; n++) await once(at.directory, first!.toUpperCase(), second!)
      expect(await kept(at)).toEqual([`${first!.toUpperCase()} ${second}`])
      // One of its addresses is another one's now.
      await once(at.directory, third!, second!)
      expect(await kept(at)).toEqual([`${first!.toUpperCase()} ${first}`, `${third} ${second}`].toSorted())
      await once(at.directory, first!, third!)
      expect(await kept(at)).toEqual([`${second} ${second}`, `${first} ${third}`].toSorted())
      for (const email of [first!, second!, third!]) await signIn({ email })
      expect(await membersOf(at.org)).toHaveLength(1)
      expect(await kept(other)).toEqual([`${elsewhere} ${elsewhere}`])
      const { userId } = await signIn({ email: `${unique('new')}@${at.domain}` })
      expect(await roleIn(at.org, userId)).toBe('member')
    },
  )

  test('whoever signs in is looked for among the inactive by indexes, and not at all once they are a member', async () => {
    const at = await makeScimOrg(system)
    const [email, subject] = [`${unique('ada')}@${at.domain}`, unique('sub')]
    const looksFor = /select .*"active" from "provisioned_people" .* for share/
    const asked = (statements: readonly string[]) => statements.filter((text) => looksFor.test(text))
    const first = asked(await statementsOf(system.db, () => signIn({ email, subject })))
    expect(first).toHaveLength(2)
    expect(asked(await statementsOf(system.db, () => signIn({ email, subject })))).toEqual([])
    for (const [index, condition] of [
      ['provisioned_people_by_address', sql`email = ${email}`],
      ['provisioned_people_of_name', sql`lower(user_name) = ${email}`],
    ] as const) {
      const plan = await system.db.transaction(async (tx) => {
        await tx.execute(sql`set local enable_seqscan = off`)
        return tx.execute(sql`
          explain select active from provisioned_people
          where org_id = ${at.org.id} and ${condition} order by id desc limit 1 for share`)
      })
      // In the order of the index: however many were deleted with the address, one is read.
      expect(JSON.stringify(plan)).toContain(index)
      expect(JSON.stringify(plan)).not.toContain('Sort')
    }
  })

  test('the last owner too: the operator is told how to name another one', async () => {
    const at = await makeScimOrg(system)
    const ada = await provision(at)
    const { userId, call } = await signIn({ email: ada.email, subject: ada.externalId })
    await at.org.owner.call(changeMemberRole, { org_id: at.org.id, user_id: userId, role: 'owner' })
    await call(removeMember, { org_id: at.org.id, user_id: at.org.owner.userId })
    await at.directory('PATCH', `/Users/${ada.id}`, patch({ op: 'replace', value: { active: false } }))
    await expect(call(listAudit, { org_id: at.org.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const told = system.logLines.findLast((line) => line.includes('last owner'))
    expect(told).toContain(`POST /api/v1/admin/orgs/${at.org.id}/owners`)
    const next = await makePerson(system)
    await system.as({ token: OPERATOR_TOKEN })(addOwnerAsOperator, { org_id: at.org.id, email: next.email })
    const trail = await next.call(listAudit, { org_id: at.org.id, action: 'scim.owners_ended' })
    expect(trail.audit).toMatchObject([{ subject: ada.email, actor: { kind: 'scim_bearer' } }])
  })
})

describe('at the same moment', () => {
  const ROUNDS = [1, 2, 3, 4]
  const off = (at: ScimOrg, id: string) =>
    at.directory('PATCH', `/Users/${id}`, patch({ op: 'replace', value: { active: false } }))

  test.each(ROUNDS)('a first sign-in and being set inactive leave no member, round %i', async () => {
    const at = await makeScimOrg(system)
    const ada = await provision(at)
    const [signedIn] = await Promise.all([
      signIn({ email: ada.email, subject: ada.externalId }),
      off(at, ada.id),
    ])
    expect(await roleIn(at.org, signedIn.userId)).toBeUndefined()
    // Neither does the next one.
    await signIn({ email: ada.email, subject: ada.externalId })
    expect(await membersOf(at.org)).toHaveLength(1)
  })

  test.each(ROUNDS)(
    'joining by the domain at another issuer and being deleted leave no member, round %i',
    async () => {
      const at = await makeScimOrg(system)
      const ada = await provision(at)
      await Promise.all([
        signIn({ email: ada.email, issuer: 'https://other.test' }),
        at.directory('DELETE', `/Users/${ada.id}`),
      ])
      expect(await membersOf(at.org)).toHaveLength(1)
    },
  )

  test.each(ROUNDS)('accepting an invitation and being set inactive leave no member, round %i', async () => {
    const at = await makeScimOrg(system)
    const [ada, person] = [await provision(at), await makePerson(system)]
    const invited = await at.org.owner.call(inviteMember, {
      org_id: at.org.id,
      email: ada.email,
      role: 'admin',
    })
    const token = invited.invitation_url!.split('/').at(-1)!
    await Promise.allSettled([person.call(acceptInvitation, { token }), off(at, ada.id)])
    expect(await membersOf(at.org)).toHaveLength(1)
  })

  test.each(ROUNDS)('making a token and being set inactive leave no token that works, round %i', async () => {
    const at = await makeScimOrg(system)
    const ada = await provision(at)
    const { call } = await signIn({ email: ada.email, subject: ada.externalId })
    const [made] = await Promise.allSettled([call(createApiToken, { name: 'quick' }), off(at, ada.id)])
    const token = made.status === 'fulfilled' ? made.value.token : 'none'
    await expect(system.as({ token })(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test.each(ROUNDS)('two groups that somebody comes into give the higher role, round %i', async () => {
    const at = await makeScimOrg(system)
    const ada = await provision(at)
    const { userId } = await signIn({ email: ada.email })
    const join: string[] = []
    for (const role of ['admin', 'developer'] as const) {
      const { body } = await at.directory('POST', '/Groups', { displayName: unique(role) })
      await at.org.owner.call(setGroupRole, { group_id: body.id, role })
      join.push(`/Groups/${body.id}`)
    }
    const added = patch({ op: 'add', path: 'members', value: [{ value: ada.id }] })
    const answers = await Promise.all(join.map((path) => at.directory('PATCH', path, added)))
    expect(answers.map(({ status }) => status)).toEqual([204, 204])
    expect(await roleIn(at.org, userId)).toBe('admin')
  })

  test('four first sign-ins of one person make one account', async () => {
    const person = { email: `${unique('ada')}@people.test`, subject: unique('sub') }
    const signedIn = await Promise.all(Array.from({ length: 4 }, () => signIn(person)))
    expect(new Set(signedIn.map(({ userId }) => userId)).size).toBe(1)
    expect(await system.db.select().from(users).where(eq(users.email, person.email))).toHaveLength(1)
  })

  test('the same person twice is one, and one is told of the other', async () => {
    const at = await makeScimOrg(system)
    const sent = entraUser(`${unique('ada')}@${at.domain}`)
    const made = await Promise.all(Array.from({ length: 4 }, () => at.directory('POST', '/Users', sent)))
    expect(made.map(({ status }) => String(status)).toSorted()).toEqual(['201', '409', '409', '409'])
  })

  test('a change and removing SCIM: it is done before, or refused', async () => {
    const at = await makeScimOrg(system)
    const [made] = await Promise.all([
      at.directory('POST', '/Users', entraUser(`${unique('ada')}@${at.domain}`)),
      at.org.owner.call(revokeScimBearer, {}),
    ])
    expect([201, 401]).toContain(made.status)
    const left = await system.db
      .select()
      .from(provisionedPeople)
      .where(and(eq(provisionedPeople.orgId, at.org.id), isNull(provisionedPeople.deletedAt)))
    expect(left).toEqual([])
  })
})

describe('groups', () => {
  test('give places in rows, and roles that owners choose: the highest, never owner, and never of an owner', async () => {
    const at = await makeScimOrg(system)
    const { org, directory } = at
    const ada = await provision(at)
    const [low, high] = [unique('Developers'), unique('Admins')]
    const groupOf = async (displayName: string) =>
      (await directory('POST', '/Groups', { displayName, members: [{ value: ada.id }] })).body.id
    const [developers, admins] = [await groupOf(low), await groupOf(high)]
    await org.owner.call(setGroupRole, { group_id: developers, role: 'developer' })
    await org.owner.call(setGroupRole, { group_id: admins, role: 'admin' })
    expect((await org.owner.call(listProvisionedGroups, {})).groups).toMatchObject([
      { name: high, people: 1, role: 'admin' },
      { name: low, people: 1, role: 'developer' },
    ])
    await expect(
      org.owner.call(setGroupRole, { group_id: admins, role: 'owner' as 'admin' }),
    ).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    const admin = await makeMember(system, org, 'admin')
    await expect(admin.call(setGroupRole, { group_id: admins, role: 'none' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    // Waiting until now: places and roles come with the membership.
    const { userId } = await signIn({ email: ada.email, subject: ada.externalId })
    expect(await roleIn(org, userId)).toBe('admin')
    expect(await org.owner.call(showGroup, { group_id: admins })).toMatchObject({ members: [{ id: userId }] })
    await expect(org.owner.call(removeGroup, { group_id: admins })).rejects.toMatchObject({
      code: 'CONFLICT',
    })

    const leave = (group: string) =>
      directory('PATCH', `/Groups/${group}`, patch({ op: 'remove', path: `members[value eq "${ada.id}"]` }))
    await leave(admins)
    expect(await roleIn(org, userId)).toBe('developer')
    // What groups give is given again, whatever somebody here made of it.
    await org.owner.call(changeMemberRole, { org_id: org.id, user_id: userId, role: 'viewer' })
    const without = await groupOf(unique('No role'))
    expect(await roleIn(org, userId)).toBe('developer')
    await directory('DELETE', `/Groups/${without}`)
    await directory('DELETE', `/Groups/${developers}`)
    expect(await roleIn(org, userId)).toBe('viewer')
    await org.owner.call(changeMemberRole, { org_id: org.id, user_id: userId, role: 'owner' })
    await directory(
      'PATCH',
      `/Groups/${admins}`,
      patch({ op: 'add', path: 'members', value: [{ value: ada.id }] }),
    )
    expect(await roleIn(org, userId)).toBe('owner')
    await org.owner.call(setGroupRole, { group_id: admins, role: 'none' })
    expect(await roleIn(org, userId)).toBe('owner')
  })

  test.runIf(inject('everyCase'))(
    'a role is given to many and taken from them in as many statements as for one',
    async () => {
      const at = await makeScimOrg(system)
      const { org, directory } = at
      const people = [await provision(at), await provision(at), await provision(at), await provision(at)]
      const signedIn: Awaited<ReturnType<typeof signIn>>[] = []
      for (const { email } of people) signedIn.push(await signIn({ email }))
      const groupOf = async (members: readonly { readonly id: string }[]) =>
        (
          await directory('POST', '/Groups', {
            displayName: unique('Group'),
            members: members.map(({ id }) => ({ value: id })),
          })
        ).body.id
      const [one, all] = [await groupOf(people.slice(0, 1)), await groupOf(people)]
      const set = (group_id: string, role: 'admin' | 'none') =>
        statementsOf(system.db, () => org.owner.call(setGroupRole, { group_id, role }))
      const roles = () => Promise.all(signedIn.map(({ userId }) => roleIn(org, userId)))
      const raisingOne = await set(one, 'admin')
      expect(await roles()).toEqual(['admin', 'viewer', 'viewer', 'viewer'])
      const loweringOne = await set(one, 'none')
      expect(await roles()).toEqual(['viewer', 'viewer', 'viewer', 'viewer'])
      expect(await set(all, 'admin')).toHaveLength(raisingOne.length)
      expect(await roles()).toEqual(['admin', 'admin', 'admin', 'admin'])
      const email = `${unique('x')}@else.test`
      const invited = await org.owner.call(inviteMember, { org_id: org.id, email, role: 'viewer' })
      // As if they had been an owner then.
      await system.db
        .update(invitations)
        .set({ invitedBy: signedIn[1]!.userId })
        .where(eq(invitations.email, email))
      await org.owner.call(changeMemberRole, { org_id: org.id, user_id: signedIn[3]!.userId, role: 'owner' })
      expect(await set(all, 'none')).toHaveLength(loweringOne.length)
      expect(await roles()).toEqual(['viewer', 'viewer', 'viewer', 'owner'])
      // What only the higher role could do has ended, of each of them.
      const token = invited.invitation_url!.split('/').at(-1)!
      const somebody = await makePerson(system)
      await expect(somebody.call(acceptInvitation, { token })).rejects.toMatchObject({ code: 'NOT_FOUND' })
      const trail = await org.owner.call(listAudit, { org_id: org.id, action: 'member.role_changed' })
      expect(
        trail.audit.map(({ subject }) => subject).filter((text) => text!.endsWith('by SCIM')),
      ).toHaveLength(9)
    },
  )

  test('one that somebody here created is nothing to the directory: not found, filled, renamed or deleted', async () => {
    const at = await makeScimOrg(system)
    const name = unique('Legal')
    const { id: group_id } = await at.org.owner.call(createGroup, { name })
    const ada = await provision(at)
    const { userId } = await signIn({ email: ada.email })
    await at.org.owner.call(addGroupMember, { group_id, member_id: userId })
    const { body: own } = await at.directory('POST', '/Groups', { displayName: unique('Own') })
    for (const [method, path] of [
      ['POST', '/Groups'],
      ['PUT', `/Groups/${own.id}`],
    ] as const)
      expect(await at.directory(method, path, { displayName: name.toUpperCase() })).toMatchObject({
        status: 409,
        body: { scimType: 'uniqueness' },
      })
    const asked = encodeURIComponent(`displayName eq "${name}" or id eq "${group_id}"`)
    expect((await at.directory('GET', `/Groups?filter=${asked}`)).body.totalResults).toBe(0)
    expect((await at.directory('GET', '/Groups')).body.Resources.map(({ id }) => id)).toEqual([own.id])
    const path = `/Groups/${group_id}`
    const unknown = await at.directory('GET', `/Groups/grp_${'0'.repeat(25)}`)
    for (const [method, body] of [
      ['GET'],
      ['DELETE'],
      ['PUT', { displayName: 'Ours', members: [{ value: ada.id }] }],
      ['PATCH', patch({ op: 'replace', path: 'displayName', value: 'Ours' })],
      ['PATCH', patch({ op: 'add', path: 'members', value: [{ value: ada.id }] })],
      ['PATCH', patch({ op: 'remove', path: 'members' })],
    ] as const)
      expect(await at.directory(method, path, body)).toMatchObject({ status: 404, body: unknown.body })
    await expect(at.org.owner.call(setGroupRole, { group_id, role: 'admin' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    expect(await at.org.owner.call(showGroup, { group_id })).toMatchObject({
      name,
      members: [{ id: userId }],
    })
  })

  test('whom somebody here put into a group stays when the directory takes them out', async () => {
    const at = await makeScimOrg(system)
    const people = [await provision(at), await provision(at), await provision(at)]
    const ids: string[] = []
    for (const { email } of people) ids.push((await signIn({ email })).userId)
    const { body: group } = await at.directory('POST', '/Groups', { displayName: unique('Legal') })
    const [path, group_id] = [`/Groups/${group.id}`, group.id]
    const byHand = (n: number) => at.org.owner.call(addGroupMember, { group_id, member_id: ids[n]! })
    const inIt = async () =>
      (await at.org.owner.call(showGroup, { group_id })).members
        .map(({ id }) => ids.indexOf(id))
        .toSorted((a, b) => a - b)
    // One before the directory did, one after it.
    await byHand(0)
    const value = people.map(({ id }) => ({ value: id }))
    await at.directory('PATCH', path, patch({ op: 'add', path: 'members', value }))
    await byHand(1)
    expect(await inIt()).toEqual([0, 1, 2])
    await at.directory('PATCH', path, patch({ op: 'remove', path: 'members' }))
    expect(await inIt()).toEqual([0, 1])
  })
})

describe('two organizations', () => {
  test('neither reads, filters, changes or puts into groups the people of the other', async () => {
    const [here, there] = [await makeScimOrg(system), await makeScimOrg(system)]
    const bob = await provision(there)
    const { userId } = await signIn({ email: bob.email, subject: bob.externalId })
    const { body: group } = await there.directory('POST', '/Groups', { displayName: unique('Theirs') })
    expect((await here.directory('GET', '/Users')).body.totalResults).toBe(0)
    expect((await here.directory('GET', '/Groups')).body.totalResults).toBe(0)
    const asked = encodeURIComponent(`userName eq "${bob.email}" or userName pr or not (userName eq "x")`)
    expect((await here.directory('GET', `/Users?filter=${asked}`)).body.totalResults).toBe(0)
    const unknown = await here.directory('GET', `/Users/scp_${'0'.repeat(25)}`)
    for (const [method, path, body] of [
      ['GET', `/Users/${bob.id}`],
      ['DELETE', `/Users/${bob.id}`],
      ['PUT', `/Users/${bob.id}`, oktaUser(`x@${here.domain}`)],
      ['PATCH', `/Users/${bob.id}`, patch({ op: 'replace', value: { active: false } })],
      ['GET', `/Groups/${group.id}`],
      ['DELETE', `/Groups/${group.id}`],
      ['PATCH', `/Groups/${group.id}`, patch({ op: 'replace', value: { displayName: 'Ours' } })],
    ] as const) {
      const refused = await here.directory(method, path, body)
      expect(refused.status).toBe(404)
      expect(refused.body).toEqual(unknown.body)
    }
    expect(
      await here.directory('POST', '/Groups', { displayName: unique('Ours'), members: [{ value: bob.id }] }),
    ).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } })
    expect((await here.directory('GET', '/Groups')).body.totalResults).toBe(0)
    expect(await roleIn(there.org, userId)).toBe('viewer')
    expect((await there.directory('GET', `/Users/${bob.id}`)).body.active).toBe(true)
  })
})

describe('bad input', () => {
  let at: ScimOrg
  beforeAll(async () => {
    at = await makeScimOrg(system)
  })
  const usersWith = (filter: string) => at.directory('GET', `/Users?filter=${encodeURIComponent(filter)}`)

  test('a person of a foreign domain is refused, and nothing is created or changed', async () => {
    const ada = await provision(at)
    const foreign = 'ada@foreign.test'
    for (const sent of [
      entraUser(foreign),
      { ...entraUser(`ada2@${at.domain}`), emails: [{ value: foreign, primary: true }] },
      entraUser(`ada@sub.${at.domain}`),
      entraUser('no address'),
    ])
      expect(await at.directory('POST', '/Users', sent)).toMatchObject({
        status: 400,
        body: { schemas: [SCIM_URN.error], status: '400', scimType: 'invalidValue' },
      })
    for (const change of [
      { op: 'replace', path: 'userName', value: foreign },
      { op: 'replace', path: 'emails[type eq "work"].value', value: foreign },
    ])
      expect((await at.directory('PATCH', `/Users/${ada.id}`, patch(change))).status).toBe(400)
    expect((await usersWith('userName co "foreign"')).body.totalResults).toBe(0)
    const known = await system.db.select().from(users).where(eq(users.email, foreign))
    expect(known).toEqual([])
  })

  test('a name, an address or an externalId that somebody has is a conflict', async () => {
    const ada = await provision(at)
    for (const sent of [
      entraUser(ada.email.toUpperCase()),
      { ...entraUser(`${unique('x')}@${at.domain}`), emails: [{ value: ada.email }] },
      entraUser(`${unique('x')}@${at.domain}`, ada.externalId),
    ])
      expect(await at.directory('POST', '/Users', sent)).toMatchObject({
        status: 409,
        body: { scimType: 'uniqueness' },
      })
  })

  test.each([
    ['userName eq'],
    ['userName eq "a'],
    ['userName xx "a"'],
    ['nothing eq "a"'],
    ['constructor eq "a"'],
    ['constructor pr'],
    ['userName eq "a" and'],
    ['emails[type eq "work"'],
    ['emails[emails[type pr]]'],
    ['active eq "maybe"'],
    ['meta.created gt "yesterday"'],
    ['userName eq "a\\u0000"'],
    ['"a" eq "a"'],
    [`${'('.repeat(30)}userName pr${')'.repeat(30)}`],
    [`userName eq "${'a'.repeat(2_000)}"`],
  ])('the filter %.40s is refused in the shape of SCIM', async (filter) => {
    expect(await usersWith(filter)).toMatchObject({
      status: 400,
      body: { scimType: 'invalidFilter', status: '400' },
    })
  })

  test.each([
    ['invalidSyntax', {}],
    ['invalidSyntax', 'not json'],
    ['invalidSyntax', []],
    ['invalidSyntax', patch()],
    ['invalidSyntax', patch({ op: 'move', path: 'active' })],
    ['noTarget', patch({ op: 'remove' })],
    ['mutability', patch({ op: 'remove', path: 'userName' })],
    ['invalidValue', patch({ op: 'replace', path: 'active', value: 'perhaps' })],
    ['invalidPath', patch({ op: 'replace', path: 'emails[', value: 'x' })],
    ['invalidPath', patch({ op: 'replace', path: 'a b c', value: 'x' })],
    [
      'invalidPath',
      patch({ op: 'replace', path: `emails[${'('.repeat(20)}type pr${')'.repeat(20)}]`, value: 'x' }),
    ],
    ['invalidValue', patch({ op: 'replace', path: 'displayName', value: { a: 1 } })],
    [
      'tooMany',
      patch(...Array.from({ length: 1_001 }, () => ({ op: 'replace', path: 'title', value: 'x' }))),
    ],
  ])('a change that is wrong is refused: %#, %s', async (scimType, body) => {
    const ada = await provision(at)
    expect(await at.directory('PATCH', `/Users/${ada.id}`, body)).toMatchObject({
      status: 400,
      body: { scimType },
    })
    expect((await at.directory('GET', `/Users/${ada.id}`)).body.active).toBe(true)
  })

  test('other types, too much and too many members are refused', async () => {
    const plain = await at.directory('POST', '/Users', '{}', { 'content-type': 'text/plain' })
    expect(plain).toMatchObject({ status: 400, body: { scimType: 'invalidSyntax' } })
    const large = await at.directory('POST', '/Users', `"${'x'.repeat(SCIM_BODY_MAX_BYTES)}"`)
    expect(large).toMatchObject({ status: 413, body: { schemas: [SCIM_URN.error], status: '413' } })
    const members = Array.from({ length: GROUP_MEMBERS_MAX + 1 }, (_, n) => ({ value: `scp_${n}` }))
    expect(await at.directory('POST', '/Groups', { displayName: unique('all'), members })).toMatchObject({
      status: 400,
      body: { scimType: 'tooMany' },
    })
    for (const query of ['startIndex=x', 'count=1e9', 'count=99999999999'])
      expect((await at.directory('GET', `/Users?${query}`)).status).toBe(400)
  })

  test('a bearer that calls too often is told to wait, and another organization is not', async () => {
    const [busy, other] = [await makeScimOrg(system), await makeScimOrg(system)]
    const auth = system.system.auth!
    const { validateScimBearer } = await import('../../src/cores/scim/index.ts')
    const count = validateScimBearer(auth)
    const from = { requestId: 'r', address: '127.0.0.1' }
    // In one step: the bucket of a minute is full.
    const { scimBearers } = await import('../../db/schema.ts')
    const full = new Date(system.clock.now().getTime() + (SCIM_CALLS.seconds + 5) * 1000)
    await system.db.update(scimBearers).set({ fullUntil: full }).where(eq(scimBearers.orgId, busy.org.id))
    await expect(count(busy.token, from)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    const refused = await busy.directory('GET', '/Users')
    expect(refused).toMatchObject({ status: 429, body: { status: '429' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await other.directory('GET', '/Users')).status).toBe(200)
    system.clock.advance(10)
    expect((await busy.directory('GET', '/Users')).status).toBe(200)
  })
})

test('pages: from 1, as many as asked and at most 200, and the total in each', async () => {
  const at = await makeScimOrg(system)
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.push((await provision(at)).id)
  const page = async (query: string) => {
    const { body } = await at.directory('GET', `/Users?${query}`)
    return [body.totalResults, body.startIndex, body.Resources.map(({ id }) => ids.indexOf(id))]
  }
  expect(await page('startIndex=1&count=2')).toEqual([5, 1, [0, 1]])
  expect(await page('startIndex=3&count=2')).toEqual([5, 3, [2, 3]])
  expect(await page('startIndex=5&count=2')).toEqual([5, 5, [4]])
  expect(await page('startIndex=6&count=2')).toEqual([5, 6, []])
  expect(await page('startIndex=0&count=-1')).toEqual([5, 1, []])
  expect(await page('count=100000')).toEqual([5, 1, [0, 1, 2, 3, 4]])
  expect(await page(`count=1&filter=${encodeURIComponent('active eq true')}`)).toEqual([5, 1, [0]])

  const set = (n: number, change: object) => at.directory('PATCH', `/Users/${ids[n]}`, patch(change))
  for (const [n, name] of ['Ada', 'bob', 'Cleo', 'Dan', 'eve'].entries())
    await set(n, { op: 'replace', path: 'name.givenName', value: name })
  await set(4, { op: 'replace', path: 'active', value: false })
  const found = async (filter: string) => (await page(`filter=${encodeURIComponent(filter)}`))[2]
  const [earlier, later] = [-1, 1].map((days) =>
    new Date(system.clock.now().getTime() + days * 86_400_000).toISOString(),
  )
  for (const [filter, expected] of [
    ['name.givenName sw "CL"', [2]],
    ['name.givenName ew "E"', [4]],
    ['name.givenName co "a"', [0, 3]],
    ['name.givenName ne "ada"', [1, 2, 3, 4]],
    ['name.givenName gt "cleo"', [3, 4]],
    ['name.givenName ge "Cleo"', [2, 3, 4]],
    ['name.givenName lt "cleo"', [0, 1]],
    ['name.givenName le "cleo"', [0, 1, 2]],
    ['active ne true', [4]],
    ['active eq "False"', [4]],
    ['active eq true and not (name.givenName co "a")', [1, 2]],
    ['name.givenName eq "bob" or emails[value co "@" and type eq "home"]', [1]],
    [`meta.created gt "${earlier}"`, [0, 1, 2, 3, 4]],
    [`meta.created lt "${earlier}"`, []],
    [`meta.created ge "${later}"`, []],
  ] as const)
    expect([filter, await found(filter)]).toEqual([filter, expected])
  for (const filter of ['active gt true', 'members eq "x"', 'meta.created co "2026"', 'userName gt true'])
    expect((await at.directory('GET', `/Users?filter=${encodeURIComponent(filter)}`)).body.scimType).toBe(
      'invalidFilter',
    )
})

test('an organization has a thousand groups at most, by hand and by its directory, and a group five thousand members', async () => {
  const [at, other] = [await makeScimOrg(system), await makeScimOrg(system)]
  const { call } = at.org.owner
  const { id: group_id } = await call(createGroup, { name: 'First' })
  await system.db.execute(sql`
    insert into groups (org_id, id, name, created_at, created_by)
    select ${at.org.id}, 'grp_' || n, 'group ' || n, now(), 'x' from generate_series(2, ${GROUPS_MAX}::int) n`)
  await expect(call(createGroup, { name: 'One more' })).rejects.toMatchObject({ code: 'CONFLICT' })
  const create = ({ directory }: ScimOrg) => directory('POST', '/Groups', { displayName: 'One more' })
  expect([(await create(at)).status, (await create(other)).status]).toEqual([409, 201])
  await system.db.execute(sql`delete from groups where org_id = ${at.org.id} and id = 'grp_2'`)
  expect((await create(at)).status).toBe(201)

  await system.db.execute(sql`
    insert into group_members (org_id, group_id, user_id, membership_id, added_at)
    select ${at.org.id}, ${group_id}, 'usr_' || n, 'x', now() from generate_series(1, ${GROUP_MEMBERS_MAX}::int) n`)
  const [one, two] = [await makeMember(system, at.org, 'viewer'), await makeMember(system, at.org, 'viewer')]
  const join = ({ userId }: Person) => call(addGroupMember, { group_id, member_id: userId })
  await expect(join(one)).rejects.toMatchObject({ code: 'CONFLICT' })
  await system.db.execute(sql`delete from group_members where group_id = ${group_id} and user_id = 'usr_1'`)
  await join(one)
  await expect(join(two)).rejects.toMatchObject({ code: 'CONFLICT' })
})

test.runIf(inject('everyCase'))(
  'a page of groups ends before their members are more than 10,000; the next one goes on',
  async () => {
    const at = await makeScimOrg(system)
    const groups: string[] = []
    for (let n = 0; n < 4; n++)
      groups.push((await at.directory('POST', '/Groups', { displayName: unique('Many') })).body.id)
    const orgId = at.org.id
    const perGroup = SCIM_PAGE_MEMBERS_MAX / 2
    await system.db.execute(sql`
    insert into provisioned_people
      (org_id, id, bearer_id, user_name, email, active, active_since, created_at, updated_at)
    select ${orgId}, 'scp_' || lpad(n::text, 25, '0'), 'scb', n || '@many.test', n || '@many.test', true, now(), now(), now()
    from generate_series(1, ${perGroup}::int) n`)
    // Two fill a page to its end, the third has one too many, the last has none.
    for (const [id, count] of [
      [groups[0], perGroup],
      [groups[1], perGroup],
      [groups[2], 1],
    ] as const)
      await system.db.execute(sql`
      insert into provisioned_places (org_id, group_id, person_id)
      select org_id, ${id}, id from provisioned_people where org_id = ${orgId} order by id limit ${count}`)
    const page = async (query: string) => {
      const { body } = await at.directory('GET', `/Groups?${query}`)
      const sizes = body.Resources.map(({ id, members }) => [groups.indexOf(id), members?.length])
      return [body.totalResults, body.itemsPerPage, sizes]
    }
    expect(await page('count=200')).toEqual([
      4,
      2,
      [
        [0, perGroup],
        [1, perGroup],
      ],
    ])
    expect(await page('startIndex=2&count=200')).toEqual([
      4,
      3,
      [
        [1, perGroup],
        [2, 1],
        [3, 0],
      ],
    ])
    expect(await page('count=200&excludedAttributes=members')).toMatchObject([4, 4, {}])
  },
)

test('active again is another membership, by a replacement too', async () => {
  const at = await makeScimOrg(system)
  const ada = await provision(at)
  const { userId } = await signIn({ email: ada.email, subject: ada.externalId })
  const before = await system.db.select().from(memberships).where(isMember(at.org, userId))
  await at.directory('PUT', `/Users/${ada.id}`, { ...entraUser(ada.email, ada.externalId), active: 'False' })
  await at.directory('PUT', `/Users/${ada.id}`, entraUser(ada.email, ada.externalId))
  const after = await system.db.select().from(memberships).where(isMember(at.org, userId))
  expect(after[0]!.id).not.toBe(before[0]!.id)
  const known = await system.db.select().from(identities).where(eq(identities.userId, userId))
  expect(known).toHaveLength(1)
})

const isMember = (org: Org, userId: string) =>
  and(eq(memberships.orgId, org.id), eq(memberships.userId, userId))
