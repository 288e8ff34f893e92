/** Links of subjects to members: who is never linked by an address, and what a link does not outlive. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import {
  identityLinks,
  memberships,
  oauthMetadataDocuments,
  organizationDomains,
  platformOauthClients,
  provisionedPeople,
  users,
} from '../../db/schema.ts'
import { endAccessSince } from '../../src/contracts/access.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import {
  activateIdentityProvider,
  allowIdentityProviderClient,
  createIdentityProvider,
  linkIdentity,
  listIdentityLinks,
  listIdentityProviderRules,
  moveIdentityProvider,
  previewIdentityProviderRules,
  probeIdentityProvider,
  setIdentityProviderRules,
  showIdentityProvider,
  unlinkIdentity,
  updateIdentityProvider,
} from '../../src/contracts/identity-provider.ts'
import {
  acceptInvitation,
  changeMemberRole,
  inviteMember,
  removeMember,
} from '../../src/contracts/members.ts'
import {
  addOwnerAsOperator,
  createOrganizationAsOperator,
  listOrganizations,
  setOrganizationDomains,
  updateOrganization,
} from '../../src/contracts/organizations.ts'
import { setGroupRole } from '../../src/contracts/scim.ts'
import { newAssistant, startListeningSystem, whoami, type ListeningSystem } from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import {
  allow,
  company,
  exchange,
  grantsBy,
  JWT_BEARER,
  link,
  linksOf,
  postToken,
  refusalsOf,
  setProvider,
  setRules,
  tokenIn,
  type Company,
} from '../support/enterprise.ts'
import { addProvider, makeOrgWithDomain } from '../support/identity-providers.ts'
import { makeMember, PASSWORD, signedIn, unique, type Person } from '../support/make.ts'
import { makeIssuer } from '../support/issuer.ts'
import { insertScimBearer, patch, provision } from '../support/scim.ts'
import { OPERATOR_TOKEN } from '../support/system.ts'
import { newWalker } from '../support/walker.ts'

let host: DocumentHost
let system: ListeningSystem
let ours: Company
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startListeningSystem({}, { guardedFetch: host.guardedFetch })
})
beforeEach(async () => {
  ours = await company(system, await makeIssuer(system, host))
})
afterAll(async () => {
  await system.stop()
  host.close()
})

const swap = (claims = {}) => ours.assertion(claims).then((one) => exchange(system, ours.client, one))
const owner = () => ours.org.owner
const status = async (token: string) => (await whoami(system, token)).status
const lastReason = async () => (await refusalsOf(system, ours.providerId)).at(-1)?.reason
const change = (role: 'owner' | 'admin' | 'viewer', { userId }: Person = ours.person) =>
  owner().call(changeMemberRole, { org_id: ours.org.id, user_id: userId, role })

test('an owner sees the provider, its rules and who is linked by it; another organization sees its own', async () => {
  const theirs = await company(system, await makeIssuer(system, host))
  for (const one of [ours, theirs]) {
    const { call } = one.org.owner
    const { identity_provider } = await call(showIdentityProvider, {})
    expect(identity_provider?.issuer).toBe(one.provider.issuer)
    const rule = { claim: 'department', value: unique('sales'), scopes: ['data:read' as const] }
    await call(setIdentityProviderRules, { rules: [rule] })
    expect((await call(listIdentityProviderRules, {})).rules).toMatchObject([rule])
    expect((await call(listIdentityLinks, {})).links.map(({ id }) => id)).toEqual([one.linkId])
  }
})

test('an owner who links themselves eight times at once is answered each time', async () => {
  const user_id = owner().userId
  const calls = Array.from({ length: 8 }, () => owner().call(linkIdentity, { subject: 'me', user_id }))
  const ids = (await Promise.all(calls)).map(({ id }) => id)
  expect(new Set(ids)).toHaveLength(1)
})

describe('setting it up', () => {
  const operator = () => system.as({ token: OPERATOR_TOKEN })
  const refused = (code: string, message: RegExp) =>
    expect.objectContaining({ code, message: expect.stringMatching(message) as string })
  const unproven = (problem: RegExp) =>
    expect.objectContaining({ code: 'INVALID_REQUEST', problems: [expect.stringMatching(problem)] })
  const stateOf = async (person: Person) =>
    (await person.call(showIdentityProvider, {})).identity_provider?.state
  const activate = (assertion: string, { call }: Person) => call(activateIdentityProvider, { assertion })

  test('takes metadata of exactly this issuer, with keys and a rule for what many share; one of an organization', async () => {
    const { owner: adding } = await makeOrgWithDomain(system)
    const provider = await makeIssuer(system, host)
    const add = (issuer: string) => adding.call(createIdentityProvider, { name: 'Corporate sign-in', issuer })
    await expect(add(`${provider.issuer}/`)).rejects.toEqual(unproven(/of the issuer https:/))
    provider.putMetadata({ issuer: 'https://other.test' })
    await expect(add(provider.issuer)).rejects.toEqual(unproven(/of the issuer https:\/\/other\.test/))
    provider.putMetadata({ jwks_uri: 'http://client.test/keys' })
    await expect(add(provider.issuer)).rejects.toEqual(unproven(/no https jwks_uri/))
    await expect(add(`${host.origin}/nothing`)).rejects.toEqual(unproven(/could not be fetched.*404/))
    await expect(add('https://accounts.google.com')).rejects.toEqual(refused('CONFLICT', /share this issuer/))
    expect(await stateOf(adding)).toBeUndefined()
    provider.putMetadata()
    expect(await add(provider.issuer)).toMatchObject({ state: 'draft', linking: 'admin', proven_at: null })
    await expect(add((await makeIssuer(system, host)).issuer)).rejects.toEqual(refused('CONFLICT', /already/))
  })

  test('turning it on takes an assertion for the owner who does it, in a domain of the organization, once', async () => {
    const org = await makeOrgWithDomain(system)
    const provider = await addProvider(system, host, org)
    const admin = await makeMember(system, org, 'admin')
    const forOwner = (changes: Record<string, unknown>) => provider.assertionFor(org.owner, changes)
    for (const [assertion, problem] of [
      [await forOwner({ email_verified: false }), /no verified address/],
      [await forOwner({ email: undefined }), /no verified address/],
      [await provider.assertionFor({ email: `else@${org.domain}` }), /not yours/],
      [await forOwner({ aud: 'https://other.test' }), /audience/],
      [await ours.provider.assertionFor(org.owner), /issuer/],
      ['three.parts.no', /signed JWT/],
    ] as const)
      await expect(activate(assertion, org.owner)).rejects.toEqual(unproven(problem))
    await expect(activate(await forOwner({}), admin)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await operator()(setOrganizationDomains, { org_id: org.id, domains: [] })
    await expect(activate(await forOwner({}), org.owner)).rejects.toEqual(
      unproven(/outside the email domains/),
    )
    await operator()(setOrganizationDomains, { org_id: org.id, domains: [org.domain] })
    const demand = { is_required: true }
    for (const changes of [{ state: 'on' as const }, demand])
      await expect(org.owner.call(updateIdentityProvider, changes)).rejects.toEqual(
        refused('CONFLICT', /Nobody has proven/),
      )
    const { id: linked } = await org.owner.call(linkIdentity, {
      subject: provider.subjectOf(org.owner),
      user_id: admin.userId,
    })
    await expect(activate(await forOwner({}), org.owner)).rejects.toEqual(
      refused('CONFLICT', /linked to somebody else/),
    )
    expect(await stateOf(org.owner)).toBe('draft')
    await org.owner.call(unlinkIdentity, { link_id: linked })
    const assertion = await forOwner({})
    expect(await activate(assertion, org.owner)).toMatchObject({
      state: 'on',
      proven_by: { id: org.owner.userId },
    })
    await expect(activate(assertion, org.owner)).rejects.toEqual(unproven(/used before/))
    expect(await org.owner.call(updateIdentityProvider, demand)).toMatchObject(demand)
  })

  test('an issuer is on for one organization, or for one of each tenant, until the operator moves it', async () => {
    const [first, second] = [await makeOrgWithDomain(system), await makeOrgWithDomain(system)]
    const provider = await addProvider(system, host, first)
    await addProvider(system, host, second, { issuer: provider })
    const prove = async ({ owner }: Pick<typeof first, 'owner'>, changes = {}) =>
      activate(await provider.assertionFor(owner, changes), owner)
    // The draft of the other keeps nobody out.
    await prove(first)
    await expect(prove(second)).rejects.toEqual(refused('CONFLICT', /share this issuer/))
    const move = { issuer: provider.issuer }
    await expect(first.owner.call(moveIdentityProvider, move)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await operator()(moveIdentityProvider, move)).toMatchObject({ org_id: first.id, ended_grants: 0 })
    expect([await stateOf(first.owner), (await prove(second)).state]).toEqual(['draft', 'on'])
    await expect(prove(first)).rejects.toEqual(refused('CONFLICT', /share this issuer/))
    await expect(operator()(moveIdentityProvider, { issuer: 'https://none.test' })).rejects.toEqual(
      refused('NOT_FOUND', /No organization has/),
    )

    const shared = await makeIssuer(system, host)
    const orgs = await Promise.all(['one', 'two', 'two'].map(() => makeOrgWithDomain(system)))
    const outcomes: unknown[] = []
    for (const [at, tenant] of ['one', 'two', 'two'].entries()) {
      const { owner } = orgs[at]!
      await addProvider(system, host, orgs[at]!, { issuer: shared, tenant })
      const attempt = activate(await shared.assertionFor(owner, { tenant }), owner)
      outcomes.push(
        await attempt.then(
          ({ state }) => state,
          ({ message }: Error) => message,
        ),
      )
    }
    expect(outcomes).toEqual(['on', 'on', 'Another organization uses this issuer'])
  })

  test('the proof ends with the domain that gave it, and so do the agents; not with another domain', async () => {
    const { org, providerId } = ours
    const [domain, another] = [`${unique('corp')}.test`, `${unique('corp')}.test`]
    const setDomains = (...domains: string[]) =>
      operator()(setOrganizationDomains, { org_id: org.id, domains })
    await setDomains(domain, another)
    await setProvider(system, providerId, { provenDomain: domain })
    const token = tokenIn(await swap())
    await setDomains(domain)
    expect([await stateOf(owner()), await status(token)]).toEqual(['on', 200])
    await setDomains(another)
    expect([await stateOf(owner()), await status(token)]).toEqual(['draft', 401])
    expect((await grantsBy(system, providerId)).map((row) => row.revokedReason)).toEqual(['provider_paused'])
    const { audit } = await owner().call(listAudit, { org_id: org.id, action: 'identity_provider.paused' })
    expect(audit[0]?.subject).toContain(`${domain} is no longer a domain of yours; 1 agent disconnected`)
  })
})

test('of two that an assertion could be of, the one that is on counts, and of those the one with a tenant', async () => {
  const { provider, subject, client } = ours
  await setProvider(system, ours.providerId, { state: 'paused' })
  const theirs = await company(system, provider, { tenantClaim: 'tid', tenantValue: 'theirs' })
  await allow(system, theirs.providerId, client.clientId)
  await link(system, theirs.providerId, subject, theirs.person)
  const comesTo = async () =>
    (await whoami(system, tokenIn(await swap({ tid: 'theirs' })))).who?.organization?.id
  expect(await comesTo()).toBe(theirs.org.id)
  await setProvider(system, ours.providerId, { state: 'on' })
  expect(await comesTo()).toBe(theirs.org.id)
  await setProvider(system, theirs.providerId, { state: 'paused' })
  expect(await comesTo()).toBe(ours.org.id)
})

test('a preview says what a member gets and by which rule, also of rules that are not saved', async () => {
  const viewer = await makeMember(system, ours.org, 'viewer')
  await setRules(system, ours.providerId, [
    { claim: 'groups', value: 'contractors', scopes: [] },
    { claim: 'groups', value: 'eng', scopes: ['data:read', 'notifications:write'] },
  ])
  const asked = { user_id: owner().userId, client_id: ours.client.clientId }
  const preview = (changes: object) => owner().call(previewIdentityProviderRules, { ...asked, ...changes })
  const byEng = { position: 2, scopes: ['data:read'], sources: null, refusal: null }
  const groups = (...names: string[]) => ({ claims: { groups: names } })
  expect(await preview(groups('eng'))).toEqual({ role: 'owner', ...byEng })
  expect(await preview({ user_id: viewer.userId, ...groups('eng') })).toEqual({ role: 'viewer', ...byEng })
  const none = { scopes: [], sources: null }
  expect(await preview(groups('eng', 'contractors'))).toMatchObject({ position: 1, refusal: 'rule', ...none })
  expect(await preview({})).toMatchObject({ position: null, scopes: ['data:read', 'maintenance:read'] })
  expect(await preview({ scopes: ['maintenance:run'] })).toMatchObject({ refusal: 'scope', ...none })
  const rules = [{ claim: null, value: null, scopes: ['maintenance:read' as const] }]
  expect(await preview({ rules })).toMatchObject({ position: 1, scopes: ['maintenance:read'] })
  expect(await preview({ client_id: 'another' })).toMatchObject({ refusal: 'client_not_allowed', ...none })
  const theirs = await company(system, await makeIssuer(system, host))
  await expect(preview({ user_id: theirs.person.userId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a dry run names the check that fails, and says whom it is about; nothing is stored', async () => {
  const probe = async (changes: Record<string, unknown> = {}) => {
    const { assertion } = await owner().call(probeIdentityProvider, {
      assertion: await ours.assertion(changes),
    })
    return assertion!
  }
  const ofOwn = { subject: ours.subject, client_id: ours.client.clientId }
  expect(await probe()).toMatchObject({ refusal: null, user: { id: ours.person.userId }, ...ofOwn })
  for (const [refusal, changes] of [
    ['audience', { aud: 'https://other.test' }],
    ['expired', { iat: 999_900, exp: 1_000_000 }],
    ['client_not_allowed', { client_id: 'another' }],
    ['not_linked', { sub: 'unknown' }],
    ['resource', { resource: 'https://other.test/platform' }],
    ['scope', { scope: 'maintenance:run' }],
  ] as const) {
    const { refusal: told, checks } = await probe(changes)
    expect([told, checks.find(({ result }) => result === 'failed')?.check]).toEqual([refusal, refusal])
  }
  await setRules(system, ours.providerId, [{ scopes: [] }])
  expect(await probe()).toMatchObject({ refusal: 'rule' })
  await owner().call(updateOrganization, { org_id: ours.org.id, agents_enabled: false })
  expect(await probe()).toMatchObject({ refusal: 'agents_off' })
  expect(await grantsBy(system, ours.providerId)).toEqual([])
  expect(await refusalsOf(system, ours.providerId)).toEqual([])
  // Keys that moved are told, and those of before stay.
  ours.provider.putMetadata({ jwks_uri: `${host.origin}/elsewhere` })
  expect(await owner().call(probeIdentityProvider, {})).toMatchObject({
    metadata: { jwks_uri: `${host.origin}/elsewhere`, is_pinned: false, problem: null },
    keys: [{ kty: 'ec', alg: 'ES256' }],
    assertion: null,
  })
})

test('a client that registered itself, one that is off, an unknown one and a document that is none cannot be allowed', async () => {
  const insert = async (values: Partial<typeof platformOauthClients.$inferInsert>) => {
    const clientId = unique('client')
    const row = { clientId, kind: 'dynamic' as const, createdAt: system.clock.now() }
    await system.db.insert(platformOauthClients).values({ ...row, ...values })
    return clientId
  }
  const put = (changes: Record<string, unknown>) => host.putClient(`/${unique('client')}.json`, changes)
  const outcome = (client_id: string, { call } = owner()) =>
    call(allowIdentityProviderClient, { client_id, max_scopes: ['data:read'], resources: ['platform'] }).then(
      ({ kind, name }) => [kind, name],
      ({ code, message, problems }: { code: string; message: string; problems?: string[] }) => [
        code,
        problems?.[0] ?? message,
      ],
    )
  const off = await insert({ kind: 'pre_registered', isActive: false })
  for (const [client, expected] of [
    [await insert({}), ['CONFLICT', /registered itself/]],
    [off, ['CONFLICT', /operator turned this client off/]],
    [unique('nobody'), ['NOT_FOUND', /no such client/]],
    [`${host.origin}/${unique('none')}.json`, ['INVALID_REQUEST', /answered with the status 404/]],
    [put({ client_id: `${host.origin}/other.json` }), ['INVALID_REQUEST', /its own address/]],
    [put({ client_name: '' }), ['INVALID_REQUEST', /no client_name/]],
    [put({ redirect_uris: [] }), ['INVALID_REQUEST', /no redirect_uris/]],
    [put({ client_name: 'a\0b' }), ['INVALID_REQUEST', /cannot be stored/]],
  ] as const) {
    const [code, message] = await outcome(client)
    expect([code, message]).toEqual([expected[0], expect.stringMatching(expected[1])])
  }
  expect(await outcome(put({ client_name: 'Good' }))).toEqual(['metadata_document', 'Good'])
})

describe('an owner', () => {
  test.each(['member', 'domain'] as const)('is not linked by their address: %s', async (linking) => {
    await setProvider(system, ours.providerId, { linking })
    const colleague = await makeMember(system, ours.org, 'admin')
    const of = (person: Person) => ({ sub: unique('evil'), email: person.email, email_verified: true })
    tokenIn(await swap(of(colleague)))
    expect((await swap(of(owner()))).body.error).toBe('invalid_grant')
    expect(await lastReason()).toBe('not_linked')
    expect(await linksOf(system, ours.providerId, owner())).toEqual([])
  })

  test('who was linked by hand comes in', async () => {
    await link(system, ours.providerId, 'the-owner', owner())
    const { who } = await whoami(system, tokenIn(await swap({ sub: 'the-owner' })))
    expect(who?.role).toBe('owner')
  })
})

describe('a link ends', () => {
  test('with the membership: whoever comes back is linked anew', async () => {
    const user_id = ours.person.userId
    tokenIn(await swap())
    await owner().call(removeMember, { org_id: ours.org.id, user_id })
    expect(await linksOf(system, ours.providerId)).toEqual([])
    await system.db.insert(memberships).values({
      orgId: ours.org.id,
      userId: user_id,
      role: 'admin',
      joinedBy: 'invitation',
      joinedAt: system.clock.now(),
    })
    expect((await swap()).body.error).toBe('invalid_grant')
    expect(await lastReason()).toBe('not_linked')
  })

  test('of that organization alone', async () => {
    const other = await company(system, await makeIssuer(system, host))
    await link(system, other.providerId, 'the-same', ours.person)
    await owner().call(removeMember, { org_id: ours.org.id, user_id: ours.person.userId })
    expect(await linksOf(system, other.providerId, ours.person)).toHaveLength(1)
  })

  const PROMOTIONS: Record<string, () => Promise<unknown>> = {
    'by an owner': () => change('owner'),
    'by an invitation': async () => {
      const invited = await owner().call(inviteMember, {
        org_id: ours.org.id,
        email: `${unique('another')}@elsewhere.test`,
        role: 'owner',
      })
      const token = invited.invitation_url!.split('/').at(-1)!
      await ours.person.call(acceptInvitation, { token })
    },
    'by the operator': async () => {
      await system.db.delete(memberships).where(eq(memberships.userId, owner().userId))
      await system.as({ token: OPERATOR_TOKEN })(addOwnerAsOperator, {
        org_id: ours.org.id,
        email: ours.person.email,
      })
    },
  }

  test.each(Object.keys(PROMOTIONS))('when its member is made owner %s', async (how) => {
    await system.db
      .update(users)
      .set({ emailVerifiedAt: system.clock.now() })
      .where(eq(users.id, ours.person.userId))
    const token = tokenIn(await swap())
    await PROMOTIONS[how]!()
    expect(await status(token)).toBe(401)
    expect((await swap()).body.error).toBe('invalid_grant')
    expect(await linksOf(system, ours.providerId)).toEqual([])
    const { audit } = await ours.person.call(listAudit, { org_id: ours.org.id })
    expect(audit.find(({ action }) => action === 'identity_link.removed')?.subject).toContain(ours.subject)
  })

  test('not with a smaller promotion, nor when they proved it themselves', async () => {
    const token = tokenIn(await swap())
    await change('admin')
    expect(await status(token)).toBe(200)
    await system.db.update(identityLinks).set({ linkedBy: 'proof' }).where(eq(identityLinks.id, ours.linkId))
    await change('owner')
    expect((await whoami(system, token)).who?.role).toBe('owner')
  })

  describe('with the right of whoever made it', () => {
    let maker: Person
    beforeEach(async () => void (maker = await makeMember(system, ours.org, 'owner')))

    /** A subject of the maker's own, perhaps: whoever it is linked to, they can come in by it. */
    async function linkTo({ userId }: Person, by = maker) {
      const subject = unique('of-the-maker')
      await by.call(linkIdentity, { subject, user_id: userId })
      const token = tokenIn(await swap({ sub: subject }))
      return { subject, status: () => status(token), again: () => swap({ sub: subject }) }
    }
    type Linked = Awaited<ReturnType<typeof linkTo>>

    async function expectEnded({ subject, status, again }: Linked, to: Person): Promise<void> {
      expect(await status()).toBe(401)
      expect((await again()).body.error).toBe('invalid_grant')
      expect(await lastReason()).toBe('not_linked')
      const removed = { org_id: ours.org.id, action: 'identity_link.removed' } as const
      const { audit } = await owner().call(listAudit, removed)
      expect(audit.map((row) => row.subject)).toEqual([
        `${subject}: ${to.email}; whoever linked it may not any more; 1 agent disconnected`,
      ])
    }

    async function expectAlive({ status, again }: Linked): Promise<void> {
      expect(await status()).toBe(200)
      tokenIn(await again())
    }

    const remove = (by = owner()) => by.call(removeMember, { org_id: ours.org.id, user_id: maker.userId })

    /** As a directory does it, for an admin by its groups. */
    async function lowerByDirectory(): Promise<void> {
      const at = await insertScimBearer(system, ours.org)
      const { id } = await provision(at)
      await system.db
        .update(provisionedPeople)
        .set({ userId: maker.userId })
        .where(eq(provisionedPeople.id, id))
      const { body: group } = await at.directory('POST', '/Groups', {
        displayName: unique('Admins'),
        members: [{ value: id }],
      })
      await owner().call(setGroupRole, { group_id: group.id, role: 'admin' })
      const leave = { op: 'remove', path: `members[value eq "${id}"]` }
      expect((await at.directory('PATCH', `/Groups/${group.id}`, patch(leave))).status).toBe(204)
    }

    test.each(['removed', 'gone', 'lowered'] as const)('who is %s: to an owner', async (how) => {
      const [toOwner, toThemselves] = [await linkTo(owner()), await linkTo(maker)]
      if (how === 'lowered') await change('admin', maker)
      else await remove(how === 'removed' ? owner() : maker)
      await expectEnded(toOwner, owner())
      // Their own lives and ends with their membership.
      expect(await toThemselves.status()).toBe(how === 'lowered' ? 200 : 401)
    })

    test('who is lowered by a directory: to another admin', async () => {
      await change('admin', maker)
      const colleague = await makeMember(system, ours.org, 'admin')
      const linked = await linkTo(colleague)
      await lowerByDirectory()
      await expectEnded(linked, colleague)
    })

    test('not to an admin as long as they are one, nor to anybody below', async () => {
      const admin = await makeMember(system, ours.org, 'admin')
      const [toAdmin, toDeveloper] = [await linkTo(admin), await linkTo(ours.person)]
      await change('admin', maker)
      for (const linked of [toAdmin, toDeveloper]) await expectAlive(linked)
      await change('viewer', maker)
      await expectEnded(toAdmin, admin)
      await remove()
      await expectAlive(toDeveloper)
    })

    test('who was removed, once its member rises to admin', async () => {
      const linked = await linkTo(ours.person)
      await remove()
      await expectAlive(linked)
      await change('admin')
      await expectEnded(linked, ours.person)
    })

    test('who was removed, once its member accepts to be admin', async () => {
      const linked = await linkTo(ours.person)
      await remove()
      const { invitation_url } = await owner().call(inviteMember, {
        org_id: ours.org.id,
        email: `${unique('another')}@elsewhere.test`,
        role: 'admin',
      })
      await ours.person.call(acceptInvitation, { token: invitation_url!.split('/').at(-1)! })
      await expectEnded(linked, ours.person)
    })

    test('not one that somebody else made, nor in another organization', async () => {
      const other = await company(system, await makeIssuer(system, host))
      await makeMember(system, other.org, 'owner', maker)
      const there = system.as({ token: maker.token, organization: other.org.id })
      await there(linkIdentity, { subject: 'there', user_id: other.org.owner.userId })
      const linked = await linkTo(owner(), await makeMember(system, ours.org, 'owner'))
      await link(system, ours.providerId, 'from-before', owner())
      await remove()
      await expectAlive(linked)
      tokenIn(await swap({ sub: 'from-before' }))
      expect(await linksOf(system, other.providerId, other.org.owner)).toHaveLength(1)
    })

    test('with all that was made since somebody else was in, for whomever; older ones, of others and elsewhere stay', async () => {
      const other = await company(system, await makeIssuer(system, host))
      await makeMember(system, other.org, 'owner', maker)
      const [before, ofAnother] = [await linkTo(ours.person), await linkTo(ours.person, owner())]
      system.clock.advance(60)
      const since = system.clock.now().toISOString()
      const there = system.as({ token: maker.token, organization: other.org.id })
      await there(linkIdentity, { subject: 'there', user_id: other.org.owner.userId })
      const [toOwner, toThemselves] = [await linkTo(owner()), await linkTo(maker)]
      const { grants } = await owner().call(endAccessSince, { since, user_id: maker.userId })
      expect(grants).toBe(2)
      for (const ended of [toOwner, toThemselves]) {
        expect(await ended.status()).toBe(401)
        expect((await ended.again()).body.error).toBe('invalid_grant')
      }
      for (const linked of [before, ofAnother]) await expectAlive(linked)
      expect(await linksOf(system, other.providerId, other.org.owner)).toHaveLength(1)
      const removed = { org_id: ours.org.id, action: 'identity_link.removed' } as const
      const { audit } = await owner().call(listAudit, removed)
      expect(audit.map((row) => row.subject!.split(':')[0]!).toSorted()).toEqual(
        [toOwner.subject, toThemselves.subject].toSorted(),
      )
    })

    test('with everybody’s since then, though its maker was removed; not by that person themselves', async () => {
      const since = new Date(system.clock.now().getTime() - 1_000).toISOString()
      const [linked, byAddress] = [await linkTo(ours.person), await makeMember(system, ours.org, 'viewer')]
      await link(system, ours.providerId, 'by-address', byAddress)
      await remove()
      await maker.call(endAccessSince, { since })
      await expectAlive(linked)
      await owner().call(endAccessSince, { since, all: true })
      expect((await linked.again()).body.error).toBe('invalid_grant')
      tokenIn(await swap({ sub: 'by-address' }))
    })

    test('for good: whoever comes back finds it gone', async () => {
      const linked = await linkTo(owner())
      await change('admin', maker)
      await change('owner', maker)
      await expectEnded(linked, owner())
    })
  })
})

describe('attack 18: one that nobody has proven, or no longer', () => {
  test.each(['draft', 'paused'] as const)('is told nothing of what was refused: %s', async (state) => {
    const { provider, subject } = ours
    await swap({ aud: 'https://other.test' })
    expect(await refusalsOf(system, ours.providerId)).toHaveLength(1)
    await setProvider(system, ours.providerId, { state, provenAt: null, provenBy: null })
    expect((await swap()).status).toBe(400)
    expect(await refusalsOf(system, ours.providerId)).toHaveLength(1)
    // Of the two that have it, the one that has proven it is told.
    const theirs = await company(system, provider, {
      tenantClaim: 'tid',
      tenantValue: 'theirs',
      state: 'paused',
    })
    const assertion = await theirs.assertion({ sub: subject, tid: 'theirs' })
    expect((await exchange(system, theirs.client, assertion)).status).toBe(400)
    expect((await refusalsOf(system, theirs.providerId)).map(({ reason }) => reason)).toEqual(['paused'])
    expect(await refusalsOf(system, ours.providerId)).toHaveLength(1)
  })
})

test('a client whose document could not be read for a week is refused until it can be', async () => {
  const clientId = host.putClient(`/${unique('assistant')}.json`)
  await newAssistant(system, { clientId, redirectUri: `${host.origin}/callback` }).connect(ours.person)
  await allow(system, ours.providerId, clientId, { kind: 'metadata_document', mayBePublic: true })
  const come = async () => {
    const assertion = await ours.assertion({ client_id: clientId })
    return postToken(system, { grant_type: JWT_BEARER, assertion, client_id: clientId })
  }
  const readAgo = (seconds: number) =>
    system.db
      .update(oauthMetadataDocuments)
      .set({ fetchedAt: new Date(system.clock.now().getTime() - seconds * 1000) })
      .where(eq(oauthMetadataDocuments.url, clientId))
  await readAgo(7 * 24 * 60 * 60 - 60)
  tokenIn(await come())
  await readAgo(7 * 24 * 60 * 60 + 60)
  expect((await come()).body.error).toBe('unauthorized_client')
  await readAgo(0)
  tokenIn(await come())
})

describe('an account that a provider made, with which nobody can sign in', () => {
  test('owns nothing that the operator gives to its address, and stays: its person is invited', async () => {
    const domain = `${unique('company')}.test`
    const email = `new@${domain}`
    await system.db.insert(organizationDomains).values({ domain, orgId: ours.org.id })
    await setProvider(system, ours.providerId, { linking: 'domain' })
    const token = tokenIn(await swap({ sub: unique('new'), email, email_verified: true }))
    const [made] = await system.db.select().from(users).where(eq(users.email, email))
    const operator = system.as({ token: OPERATOR_TOKEN })
    const { id: org_id, owner: named } = await operator(createOrganizationAsOperator, {
      name: unique('Second'),
      admin_email: email,
    })
    expect(named).toMatchObject({ created: true, invitation_url: expect.any(String) })
    expect(named!.id).not.toBe(made!.id)
    // As an earlier build has named it: whoever is named next must not cost it its other organizations.
    await system.db.insert(memberships).values({
      orgId: org_id,
      userId: made!.id,
      role: 'owner',
      joinedBy: 'operator',
      joinedAt: system.clock.now(),
    })
    const { invitation_url } = await operator(addOwnerAsOperator, { org_id, email })
    expect(await status(token)).toBe(200)
    const walker = newWalker(system)
    const page = await walker.open(invitation_url!)
    await walker.submit(page, 'Create account and join', { name: 'Ada Lovelace', password: PASSWORD })
    const { call } = await signedIn(system, email)
    expect((await call(listOrganizations, {})).organizations).toMatchObject([{ id: org_id, role: 'owner' }])
    expect(await status(token)).toBe(200)
  })
})
