/** The identity provider of an organization: who sets it up, what proves that it is theirs, and what ends with it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq, inArray } from '../../db/drizzle.ts'
import {
  oauthMetadataDocuments,
  organizationIdentityProviders,
  platformOauthClients,
  users,
} from '../../db/schema.ts'
import { refreshDocuments } from '../../oauth/refresh-documents.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import { listGrants, showGrant } from '../../src/contracts/grants.ts'
import {
  activateIdentityProvider,
  allowIdentityProviderClient,
  createIdentityProvider,
  deleteIdentityProvider,
  endEnterpriseGrants,
  forbidIdentityProviderClient,
  linkIdentity,
  listIdentityLinks,
  listIdentityProviderClients,
  listIdentityProviderRules,
  moveIdentityProvider,
  previewIdentityProviderRules,
  probeIdentityProvider,
  setIdentityProviderRules,
  showIdentityProvider,
  unlinkIdentity,
  updateIdentityProvider,
} from '../../src/contracts/identity-provider.ts'
import { changeMemberRole, removeMember } from '../../src/contracts/members.ts'
import { setOrganizationDomains } from '../../src/contracts/organizations.ts'
import { sweepOauth } from '../../src/cores/grants/index.ts'
import { findSharedIssuer } from '../../src/cores/identity-provider/shared-issuers.ts'
import { preRegistered } from '../support/assistant.ts'
import { insertSource } from '../support/data-sources.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import {
  addEnterpriseGrant,
  addProvider,
  allowClient,
  makeOrgWithDomain,
  makeProvidedOrg,
  type ProvidedOrg,
} from '../support/identity-providers.ts'
import { makeIssuer, type Issuer } from '../support/issuer.ts'
import { makeMember, makePerson, unique, type Person } from '../support/make.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

let host: DocumentHost
let system: TestSystem
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startSystem(
    { SVC_SERVICES: 'api-gateway,auth-service' },
    { guardedFetch: host.guardedFetch },
  )
})
afterAll(async () => {
  await system.stop()
  host.close()
})

const refused = (code: string, text?: RegExp) =>
  expect.objectContaining({ code, ...(text && { message: expect.stringMatching(text) as string }) })
const unproven = (problem: RegExp) =>
  expect.objectContaining({ code: 'INVALID_REQUEST', problems: [expect.stringMatching(problem)] })
const shown = async ({ call }: Person) => (await call(showIdentityProvider, {})).identity_provider
const operator = () => system.as({ token: OPERATOR_TOKEN })
const actionsOf = async (org: ProvidedOrg) =>
  (await org.owner.call(listAudit, { org_id: org.id })).audit.map(({ action }) => action)

describe('adding one', () => {
  let org: ProvidedOrg
  beforeEach(async () => {
    org = await makeOrgWithDomain(system)
  })
  const add = (issuer: string, changes: object = {}) =>
    org.owner.call(createIdentityProvider, { name: 'Corporate sign-in', issuer, ...changes })

  test('makes a draft with the keys that its metadata names; what to enter there is shown', async () => {
    const { issuer, keysPath } = await makeIssuer(system, host)
    const admin = await makeMember(system, org, 'admin')
    const made = await admin.call(createIdentityProvider, { name: 'Corporate sign-in', issuer })
    expect(made).toMatchObject({
      issuer,
      jwks_uri: host.origin + keysPath,
      state: 'draft',
      tenant: null,
      linking: 'admin',
      proven_at: null,
    })
    expect(made.default_scopes).not.toContain('maintenance:admin')
    expect(await admin.call(showIdentityProvider, {})).toEqual({
      is_enabled: true,
      audience: system.system.config.AUTH_URL.origin,
      resources: ['platform', 'notifications'].map((resource) => ({
        resource,
        url: `${system.system.config.MCP_URL.origin}/${resource}`,
      })),
      identity_provider: made,
      sign_in: { password: true, providers: [] },
    })
  })

  test('is for admins, and another organization has nothing of it', async () => {
    const { issuer } = await makeIssuer(system, host)
    const developer = await makeMember(system, org, 'developer')
    await expect(developer.call(createIdentityProvider, { name: 'No', issuer })).rejects.toEqual(
      refused('FORBIDDEN'),
    )
    await expect(developer.call(showIdentityProvider, {})).rejects.toEqual(refused('FORBIDDEN'))
    await add(issuer)
    const other = await makeOrgWithDomain(system)
    expect(await shown(other.owner)).toBeNull()
    await expect(other.owner.call(probeIdentityProvider, {})).rejects.toEqual(refused('NOT_FOUND'))
  })

  test('a second one is a conflict', async () => {
    await add((await makeIssuer(system, host)).issuer)
    await expect(add((await makeIssuer(system, host)).issuer)).rejects.toEqual(refused('CONFLICT'))
  })

  test.each([
    ['a slash more', (issuer: string) => `${issuer}/`],
    ['capitals', (issuer: string) => issuer.replace('idp', 'IDP')],
    ['another name', (issuer: string) => `${issuer}-other`],
  ])('the issuer is compared letter by letter: %s', async (_what, spell) => {
    const { issuer } = await makeIssuer(system, host)
    await expect(add(spell(issuer))).rejects.toEqual(refused('INVALID_REQUEST'))
    expect(await shown(org.owner)).toBeNull()
  })

  test.each([
    ['http', 'http://idp.test/one'],
    ['a query', 'https://idp.test/one?tenant=1'],
    ['a fragment', 'https://idp.test/one#1'],
    ['a password', 'https://me:secret@idp.test/one'],
    ['a blank', 'https://idp.test/o ne'],
    ['no address', 'idp.test'],
  ])('an issuer with %s is none', async (_what, issuer) => {
    await expect(add(issuer)).rejects.toEqual(refused('INVALID_REQUEST'))
  })

  test('metadata of another issuer, without keys, too large or elsewhere is refused', async () => {
    const provider = await makeIssuer(system, host)
    provider.putMetadata({ issuer: 'https://other.test' })
    await expect(add(provider.issuer)).rejects.toEqual(unproven(/of the issuer https:\/\/other\.test/))
    provider.putMetadata({ jwks_uri: 'http://client.test/jwks' })
    await expect(add(provider.issuer)).rejects.toEqual(unproven(/no https jwks_uri/))
    provider.putMetadata({ padding: 'x'.repeat(100_000) })
    await expect(add(provider.issuer)).rejects.toEqual(unproven(/could not be fetched/))
    await expect(add('https://169.254.169.254/latest')).rejects.toEqual(unproven(/could not be fetched/))
    expect(await shown(org.owner)).toBeNull()
  })

  test('metadata of RFC 8414 is taken too', async () => {
    const path = `/${unique('idp')}`
    const issuer = host.origin + path
    host.put(`/.well-known/oauth-authorization-server${path}`, { issuer, jwks_uri: `${issuer}/jwks` })
    expect(await add(issuer)).toMatchObject({ issuer, jwks_uri: `${issuer}/jwks` })
  })

  test('claim and value of a tenant come together, and the claim is one that tells organizations apart', async () => {
    const { issuer } = await makeIssuer(system, host)
    for (const tenant of [
      { tenant_claim: 'tid' },
      { tenant_value: 'one' },
      { tenant_claim: 'iss', tenant_value: issuer },
      { tenant_claim: 'aud', tenant_value: 'one' },
    ]) {
      await expect(add(issuer, tenant)).rejects.toEqual(refused('INVALID_REQUEST'))
    }
    expect(await add(issuer, { tenant_claim: 'tid', tenant_value: 'one' })).toMatchObject({
      tenant: { claim: 'tid', value: 'one' },
    })
  })

  test('an issuer that everybody shares is not fetched without the rule for its tenant', async () => {
    await expect(add('https://accounts.google.com')).rejects.toEqual(refused('CONFLICT', /share this issuer/))
    await expect(
      add('https://accounts.google.com', { tenant_claim: 'tid', tenant_value: org.domain }),
    ).rejects.toEqual(refused('CONFLICT', /share this issuer/))
    const microsoft = 'https://login.microsoftonline.com'
    for (const path of [
      '/common/v2.0',
      '/organizations/v2.0',
      '/Consumers/v2.0',
      '/',
      '/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
    ])
      expect(findSharedIssuer(microsoft + path), path).toBeDefined()
    expect(findSharedIssuer(`${microsoft}/c0ffee00-2222-4333-8444-555555555555/v2.0`)).toBeUndefined()
  })

  test('with ENTERPRISE_AUTH=off there is none to add', async () => {
    const off = await startSystem(
      { SVC_SERVICES: 'api-gateway,auth-service', ENTERPRISE_AUTH: 'off' },
      { guardedFetch: host.guardedFetch },
    )
    try {
      const there = await makeOrgWithDomain(off)
      const { issuer } = await makeIssuer(off, host)
      expect(await there.owner.call(showIdentityProvider, {})).toMatchObject({ is_enabled: false })
      await expect(there.owner.call(createIdentityProvider, { name: 'One', issuer })).rejects.toEqual(
        refused('CONFLICT', /turned off on this installation/),
      )
    } finally {
      await off.stop()
    }
  })
})

describe('attack 18: turning one on takes a proof', () => {
  let org: ProvidedOrg
  let provider: Issuer
  beforeEach(async () => {
    org = await makeOrgWithDomain(system)
    provider = await addProvider(system, host, org)
  })
  const activate = (assertion: string, who: Person = org.owner) =>
    who.call(activateIdentityProvider, { assertion })

  test('an assertion for the owner who does it, in a domain of the organization; it links them', async () => {
    const on = await activate(await provider.assertionFor(org.owner))
    expect(on).toMatchObject({ state: 'on', proven_by: { id: org.owner.userId, name: org.owner.name } })
    expect((await org.owner.call(listIdentityLinks, {})).links).toMatchObject([
      { subject: provider.subjectOf(org.owner), user: { id: org.owner.userId }, linked_by: 'proof' },
    ])
    expect((await actionsOf(org)).slice(0, 3)).toEqual([
      'identity_link.created',
      'identity_provider.activated',
      'identity_provider.created',
    ])
  })

  test('the assertion is good once, also after the provider was removed and added again', async () => {
    const assertion = await provider.assertionFor(org.owner)
    await activate(assertion)
    await expect(activate(assertion)).rejects.toEqual(unproven(/used before/))
    await org.owner.call(deleteIdentityProvider, {})
    await addProvider(system, host, org, { issuer: provider })
    await expect(activate(assertion)).rejects.toEqual(unproven(/used before/))
    expect(await shown(org.owner)).toMatchObject({ state: 'draft' })
    await activate(await provider.assertionFor(org.owner))
  })

  test('admins cannot: whoever runs a provider could act as an owner', async () => {
    // They join by the domain of their address.
    const admin = await makePerson(system, { email: `${unique('admin')}@${org.domain}` })
    await org.owner.call(changeMemberRole, { org_id: org.id, user_id: admin.userId, role: 'admin' })
    await expect(activate(await provider.assertionFor(admin), admin)).rejects.toEqual(refused('FORBIDDEN'))
    expect(await shown(org.owner)).toMatchObject({ state: 'draft' })
  })

  test('nor does it go on by a change', async () => {
    for (const state of ['on', 'paused'] as const)
      await expect(org.owner.call(updateIdentityProvider, { state })).rejects.toEqual(refused('CONFLICT'))
  })

  test('nor can it be required before: nobody could connect at all', async () => {
    const demand = (is_required: boolean) => org.owner.call(updateIdentityProvider, { is_required })
    await expect(demand(true)).rejects.toEqual(refused('CONFLICT', /proven/))
    expect(await shown(org.owner)).toMatchObject({ is_required: false })
    expect(await demand(false)).toMatchObject({ is_required: false })
    await activate(await provider.assertionFor(org.owner))
    expect(await demand(true)).toMatchObject({ is_required: true })
    // Taken away by the operator: what was demanded stays demanded, and can be lifted, but not be demanded anew.
    await operator()(moveIdentityProvider, { issuer: provider.issuer })
    expect(await shown(org.owner)).toMatchObject({ is_required: true, proven_at: null })
    expect(await demand(true)).toMatchObject({ is_required: true })
    expect(await demand(false)).toMatchObject({ is_required: false })
    await expect(demand(true)).rejects.toEqual(refused('CONFLICT', /proven/))
  })

  test.each<[string, RegExp, (person: Person) => Promise<string>]>([
    ['for somebody else', /not yours/, async () => provider.assertionFor({ email: `else@${org.domain}` })],
    [
      'with an unverified address',
      /no verified address/,
      (p) => provider.assertionFor(p, { email_verified: false }),
    ],
    ...[null, 'true', 1].map((email_verified): [string, RegExp, (person: Person) => Promise<string>] => [
      `with an address verified: ${JSON.stringify(email_verified)}`,
      /no verified address/,
      (p) => provider.assertionFor(p, { email_verified }),
    ]),
    ['without an address', /no verified address/, (p) => provider.assertionFor(p, { email: undefined })],
    ['for another server', /audience/, (p) => provider.assertionFor(p, { aud: 'https://other.test' })],
    [
      'for two servers',
      /audience/,
      (p) => provider.assertionFor(p, { aud: [system.system.config.AUTH_URL.origin, 'https://other.test'] }),
    ],
    ['that is an id token', /type/, (p) => provider.assertionFor(p, {}, { typ: 'JWT' })],
    ['of another issuer', /issuer/, async (p) => (await makeIssuer(system, host)).assertionFor(p)],
    [
      'signed by another',
      /signature|key/i,
      async (p) => (await makeIssuer(system, host)).assertionFor(p, { iss: provider.issuer }),
    ],
    ['that has expired', /expired/, (p) => provider.assertionFor(p, { exp: 1_000_000, iat: 999_900 })],
    ['that is bound to a key', /bound to a key/, (p) => provider.assertionFor(p, { cnf: { jkt: 'x' } })],
    ['that is none', /signed JWT/, async () => 'three.parts.no'],
  ])('an assertion %s proves nothing', async (_what, problem, make) => {
    await expect(activate(await make(org.owner))).rejects.toEqual(unproven(problem))
    expect(await shown(org.owner)).toMatchObject({ state: 'draft', proven_at: null })
    expect((await org.owner.call(listIdentityLinks, {})).links).toEqual([])
  })

  test.each([true, undefined])(
    'an address outside the domains of the organization proves nothing (email_verified: %s)',
    async (email_verified) => {
      await operator()(setOrganizationDomains, { org_id: org.id, domains: [] })
      const assertion = await provider.assertionFor(org.owner, { email_verified })
      await expect(activate(assertion)).rejects.toEqual(unproven(/outside the email domains/))
    },
  )

  test('inside them the provider need not say that it verified the address', async () => {
    const assertion = await provider.assertionFor(org.owner, { email_verified: undefined })
    expect(await activate(assertion)).toMatchObject({ state: 'on' })
  })

  test('an address that the owner has not verified here proves nothing', async () => {
    await system.db.update(users).set({ emailVerifiedAt: null }).where(eq(users.id, org.owner.userId))
    await expect(activate(await provider.assertionFor(org.owner))).rejects.toEqual(unproven(/not yours/))
  })

  test('another organization cannot turn on the same issuer, neither before nor after', async () => {
    const other = await makeOrgWithDomain(system)
    await addProvider(system, host, other, { issuer: provider })
    // Before: the people of this issuer are not theirs.
    const theirs = await provider.assertionFor(org.owner)
    await expect(activate(theirs, other.owner)).rejects.toEqual(unproven(/not yours/))
    // Their draft keeps nobody out.
    await activate(await provider.assertionFor(org.owner))
    // After, and although the issuer vouches for one of them, as for a guest.
    await expect(activate(await provider.assertionFor(other.owner), other.owner)).rejects.toEqual(
      refused('CONFLICT', /share this issuer/),
    )
    expect(await shown(other.owner)).toMatchObject({ state: 'draft' })
    expect(await shown(org.owner)).toMatchObject({ state: 'on' })
  })

  test('the operator can move it, and then it needs another proof here', async () => {
    await activate(await provider.assertionFor(org.owner))
    const other = await makeOrgWithDomain(system)
    const { id } = (await shown(org.owner))!
    const grant = await addEnterpriseGrant(system, org, { id }, org.owner)
    await addProvider(system, host, other, { issuer: provider })
    await expect(org.owner.call(moveIdentityProvider, { issuer: provider.issuer })).rejects.toEqual(
      refused('FORBIDDEN'),
    )
    expect(await operator()(moveIdentityProvider, { issuer: provider.issuer })).toEqual({
      org_id: org.id,
      issuer: provider.issuer,
      tenant_value: null,
      ended_grants: 1,
    })
    expect((await org.owner.call(showGrant, { grant_id: grant })).ended).toMatchObject({
      reason: 'provider_paused',
    })
    expect(await shown(org.owner)).toMatchObject({ state: 'draft', proven_at: null })
    await expect(org.owner.call(updateIdentityProvider, { state: 'on' })).rejects.toEqual(refused('CONFLICT'))
    await activate(await provider.assertionFor(other.owner), other.owner)
    expect(await shown(other.owner)).toMatchObject({ state: 'on' })
    await expect(activate(await provider.assertionFor(org.owner))).rejects.toEqual(refused('CONFLICT'))
    await expect(operator()(moveIdentityProvider, { issuer: 'https://none.test/' })).rejects.toEqual(
      refused('NOT_FOUND'),
    )
  })

  test('the proof ends with the domain that gave it, and not with another', async () => {
    await activate(await provider.assertionFor(org.owner))
    const { id } = (await shown(org.owner))!
    const grant = await addEnterpriseGrant(system, org, { id }, org.owner)
    const setDomains = (...domains: string[]) =>
      operator()(setOrganizationDomains, { org_id: org.id, domains })
    const another = `${unique('other')}.test`
    await setDomains(org.domain, another)
    await setDomains(org.domain)
    expect(await shown(org.owner)).toMatchObject({ state: 'on' })
    expect((await org.owner.call(showGrant, { grant_id: grant })).ended).toBeNull()
    await setDomains(another)
    expect(await shown(org.owner)).toMatchObject({ state: 'draft', proven_at: null, proven_by: null })
    expect((await org.owner.call(showGrant, { grant_id: grant })).ended).toMatchObject({
      reason: 'provider_paused',
    })
    const { audit } = await org.owner.call(listAudit, { org_id: org.id })
    const paused = audit.find(({ action }) => action === 'identity_provider.paused')
    expect(paused?.subject).toContain(`${org.domain} is no longer a domain of yours; 1 agent disconnected`)
    await setDomains(org.domain)
    // Having it again is no proof.
    await expect(org.owner.call(updateIdentityProvider, { state: 'on' })).rejects.toEqual(refused('CONFLICT'))
    expect(await activate(await provider.assertionFor(org.owner))).toMatchObject({ state: 'on' })
  })

  test('two tenants of one issuer are two organizations; the same tenant is one', async () => {
    const shared = await makeIssuer(system, host)
    const { org: first } = await makeProvidedOrg(system, host, { issuer: shared, tenant: 'one' })
    const { org: second } = await makeProvidedOrg(system, host, { issuer: shared, tenant: 'two' })
    for (const { owner } of [first, second]) expect(await shown(owner)).toMatchObject({ state: 'on' })
    const third = await makeOrgWithDomain(system)
    await addProvider(system, host, third, { issuer: shared, tenant: 'two' })
    const assertion = await shared.assertionFor(third.owner, { tenant: 'two' })
    await expect(activate(assertion, third.owner)).rejects.toEqual(
      refused('CONFLICT', /Another organization uses/),
    )
    const ofOther = await shared.assertionFor(third.owner, { tenant: 'three' })
    await expect(activate(ofOther, third.owner)).rejects.toEqual(unproven(/tenant/))
  })

  test('two at the same moment: one of them', async () => {
    const shared = await makeIssuer(system, host)
    const orgs = [await makeOrgWithDomain(system), await makeOrgWithDomain(system)]
    for (const one of orgs) await addProvider(system, host, one, { issuer: shared })
    const outcomes = await Promise.allSettled(
      orgs.map(async ({ owner }) => activate(await shared.assertionFor(owner), owner)),
    )
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  test('keys that moved are pinned by another proof alone', async () => {
    await activate(await provider.assertionFor(org.owner))
    const elsewhere = await makeIssuer(system, host)
    provider.putMetadata({ jwks_uri: host.origin + elsewhere.keysPath })
    const probed = await org.owner.call(probeIdentityProvider, {})
    expect(probed.metadata).toMatchObject({ jwks_uri: host.origin + elsewhere.keysPath, is_pinned: false })
    expect(await shown(org.owner)).toMatchObject({ jwks_uri: host.origin + provider.keysPath })
    const moved = await elsewhere.assertionFor(org.owner, {
      iss: provider.issuer,
      sub: provider.subjectOf(org.owner),
    })
    expect(await activate(moved)).toMatchObject({ jwks_uri: host.origin + elsewhere.keysPath })
  })
})

describe('a dry run', () => {
  test('names the check that fails, and those before and after it; nothing is stored', async () => {
    const { org, provider } = await makeProvidedOrg(system, host)
    const probe = async (changes: object, header = {}) =>
      (
        await org.owner.call(probeIdentityProvider, {
          assertion: await provider.assertionFor(org.owner, { ...changes }, header),
        })
      ).assertion!
    const results = ({ checks }: Awaited<ReturnType<typeof probe>>) =>
      Object.fromEntries(checks.map(({ check, result }) => [check, result]))
    const wrong = await probe({ aud: 'https://other.test' })
    expect(wrong).toMatchObject({ refusal: 'audience', user: null })
    expect(results(wrong)).toMatchObject({ signature: 'passed', audience: 'failed', expired: 'not_reached' })
    expect(results(await probe({}, { typ: 'JWT' }))).toMatchObject({
      malformed: 'passed',
      type: 'failed',
      signature: 'not_reached',
    })
    // A claim that is missing before the signature was verified.
    expect(results(await probe({ sub: undefined }))).toMatchObject({
      claims: 'failed',
      signature: 'not_reached',
    })
    expect(await probe({})).toMatchObject({
      refusal: 'client_not_allowed',
      subject: provider.subjectOf(org.owner),
    })
    const { clientId } = await preRegistered(system)
    await allowClient(org, clientId)
    expect(await probe({ client_id: clientId })).toMatchObject({ refusal: 'client_public' })
    await allowClient(org, clientId, { may_be_public: true })
    const good = await probe({ client_id: clientId })
    expect(good).toMatchObject({ refusal: null, client_id: clientId, user: { id: org.owner.userId } })
    expect(new Set(good.checks.map(({ result }) => result))).toEqual(new Set(['passed']))
    expect(await probe({ client_id: clientId, scope: 'proposals:decide' })).toMatchObject({
      refusal: 'scope',
    })
    expect(await probe({ client_id: clientId, resource: 'https://other.test/platform' })).toMatchObject({
      refusal: 'resource',
    })
    expect(await probe({ client_id: clientId, sub: 'unknown' })).toMatchObject({ refusal: 'not_linked' })
    expect((await org.owner.call(listGrants, { all: 'true' })).grants).toEqual([])
    expect((await org.owner.call(listIdentityLinks, {})).links).toHaveLength(1)
  })

  test('of somebody who is not linked it says what an exchange would', async () => {
    const { org, provider } = await makeProvidedOrg(system, host)
    const { clientId } = await preRegistered(system)
    await allowClient(org, clientId, { may_be_public: true })
    await org.owner.call(updateIdentityProvider, { linking: 'domain' })
    const refusal = async (email: string, changes: object = {}) => {
      const assertion = await provider.assertionFor({ email }, { client_id: clientId, ...changes })
      return (await org.owner.call(probeIdentityProvider, { assertion })).assertion!.refusal
    }
    const email = `${unique('new')}@${org.domain}`
    expect(await refusal(email)).toBeNull()
    expect(await refusal(email, { aud_sub: org.owner.userId })).toBe('claims')
    expect(await refusal(` ${email}`)).toBe('email_unverified')
    // They joined by the domain of their address, were removed, and have another address by now.
    const left = await makePerson(system, { email: `${unique('left')}@${org.domain}` })
    expect(await refusal(left.email, { aud_sub: org.owner.userId })).toBe('claims')
    expect(await refusal(left.email, { aud_sub: left.userId })).toBeNull()
    await org.owner.call(removeMember, { org_id: org.id, user_id: left.userId })
    expect(await refusal(left.email)).toBe('email_unknown')
    const renamed = { email: `${unique('left')}@elsewhere.test` }
    await system.db.update(users).set(renamed).where(eq(users.id, left.userId))
    expect(await refusal(left.email)).toBe('not_a_member')
  })

  test('keys are listed, and what cannot be read is told', async () => {
    const { org, provider } = await makeProvidedOrg(system, host)
    expect(await org.owner.call(probeIdentityProvider, {})).toMatchObject({
      metadata: { problem: null, is_pinned: true },
      keys: [{ kty: 'ec', alg: 'ES256' }],
      keys_problem: null,
      assertion: null,
    })
    host.put(provider.keysPath, (answer) => answer.writeHead(500).end())
    provider.putMetadata({ issuer: 'https://other.test' })
    expect(await org.owner.call(probeIdentityProvider, {})).toMatchObject({
      metadata: { jwks_uri: null, is_pinned: false },
      keys: [],
      keys_problem: 'They could not be read',
    })
  })

  test('is limited for each organization', async () => {
    const org = await makeOrgWithDomain(system)
    await addProvider(system, host, org)
    const probes = Array.from({ length: 70 }, () => org.owner.call(probeIdentityProvider, {}))
    const codes = (await Promise.allSettled(probes)).map((one) =>
      one.status === 'fulfilled' ? 'OK' : (one.reason as { code: string }).code,
    )
    expect(new Set(codes)).toEqual(new Set(['OK', 'RATE_LIMITED']))
  })
})

describe('clients', () => {
  let org: ProvidedOrg
  let provider: Issuer & { id?: string }
  beforeEach(async () => {
    org = await makeOrgWithDomain(system)
    provider = await addProvider(system, host, org)
  })

  test('a registered one, and one that is a document, which is fetched once and kept', async () => {
    const { clientId } = await preRegistered(system, { token_endpoint_auth_method: 'private_key_jwt' })
    expect(await allowClient(org, clientId)).toMatchObject({ kind: 'pre_registered', is_public: false })
    const path = `/${unique('client')}.json`
    const url = host.putClient(path)
    expect(await allowClient(org, url)).toMatchObject({
      client_id: url,
      kind: 'metadata_document',
      name: 'A document',
      is_public: true,
      may_be_public: false,
    })
    expect(host.hits(path)).toBe(1)
    const { clients } = await org.owner.call(listIdentityProviderClients, {})
    expect(clients.map(({ client_id }) => client_id).toSorted()).toEqual([clientId, url].toSorted())
  })

  test('its document is kept as long as it is allowed', async () => {
    const [kept, gone] = [0, 1].map(() => host.putClient(`/${unique('client')}.json`)) as [string, string]
    for (const url of [kept, gone]) await allowClient(org, url)
    await org.owner.call(forbidIdentityProviderClient, { client_id: gone })
    const long = new Date(system.clock.now().getTime() - 400 * 24 * 60 * 60 * 1000)
    for (const url of [kept, gone])
      await system.db
        .update(oauthMetadataDocuments)
        .set({ fetchedAt: long })
        .where(eq(oauthMetadataDocuments.url, url))
    await sweepOauth({ db: system.db, clock: () => system.clock.now() })
    const left = await system.db
      .select({ url: oauthMetadataDocuments.url })
      .from(oauthMetadataDocuments)
      .where(inArray(oauthMetadataDocuments.url, [kept, gone]))
    expect(left).toEqual([{ url: kept }])
  })

  test('its document is read again every day; one that is gone is kept as it was', async () => {
    const path = `/${unique('client')}.json`
    const [gonePath, forbiddenPath] = [`/${unique('client')}.json`, `/${unique('client')}.json`]
    const urls = [path, gonePath, forbiddenPath].map((one) => host.putClient(one))
    for (const url of urls) await allowClient(org, url)
    await org.owner.call(forbidIdentityProviderClient, { client_id: urls[2]! })
    const deps = {
      db: system.db,
      clock: () => system.clock.now(),
      guardedFetch: host.guardedFetch,
      log: system.system.log,
    }
    const stored = async (url: string) =>
      (await system.db.select().from(oauthMetadataDocuments).where(eq(oauthMetadataDocuments.url, url)))[0]!
    await refreshDocuments(deps)
    expect(host.hits(path)).toBe(1)
    host.putClient(path, { client_name: 'Another name' })
    host.put(gonePath, (answer) => answer.writeHead(404).end())
    system.clock.advance(24 * 60 * 60)
    await refreshDocuments(deps)
    expect([path, gonePath, forbiddenPath].map(host.hits)).toEqual([2, 2, 1])
    expect((await stored(urls[0]!)).document).toMatchObject({ client_name: 'Another name' })
    await refreshDocuments(deps)
    expect([path, gonePath].map(host.hits)).toEqual([2, 3])
    expect((await stored(urls[1]!)).document).toMatchObject({ client_name: 'A document' })
  })

  test('one that registered itself, one that is off, an unknown one and a document that is none are not', async () => {
    const insert = async (values: Partial<typeof platformOauthClients.$inferInsert>) => {
      const clientId = unique('dcr')
      await system.db
        .insert(platformOauthClients)
        .values({ clientId, kind: 'dynamic', createdAt: system.clock.now(), ...values })
      return clientId
    }
    await expect(allowClient(org, await insert({}))).rejects.toEqual(refused('CONFLICT', /registered itself/))
    const off = await insert({ kind: 'pre_registered', isActive: false })
    await expect(allowClient(org, off)).rejects.toEqual(refused('CONFLICT', /turned this client off/))
    await expect(allowClient(org, unique('nobody'))).rejects.toEqual(refused('NOT_FOUND'))
    await expect(allowClient(org, `${host.origin}/${unique('none')}.json`)).rejects.toEqual(
      refused('INVALID_REQUEST'),
    )
    expect((await org.owner.call(listIdentityProviderClients, {})).clients).toEqual([])
  })

  test('only an owner gives the sensitive scopes', async () => {
    const admin = await makeMember(system, org, 'admin')
    const { clientId } = await preRegistered(system)
    const asked = { client_id: clientId, resources: ['platform' as const] }
    for (const scope of ['maintenance:admin', 'proposals:decide'] as const) {
      const max_scopes = ['data:read' as const, scope]
      await expect(admin.call(allowIdentityProviderClient, { ...asked, max_scopes })).rejects.toEqual(
        refused('FORBIDDEN', /Only an owner/),
      )
      expect(await org.owner.call(allowIdentityProviderClient, { ...asked, max_scopes })).toMatchObject({
        max_scopes,
      })
    }
    expect(
      await admin.call(allowIdentityProviderClient, { ...asked, max_scopes: ['data:read'] }),
    ).toMatchObject({ max_scopes: ['data:read'] })
  })

  test('forbidding one ends its agents, and those of others stay', async () => {
    const [one, two] = [await preRegistered(system), await preRegistered(system)]
    for (const { clientId } of [one, two]) await allowClient(org, clientId)
    const grants = await Promise.all(
      [one, two].map(({ clientId }) =>
        addEnterpriseGrant(system, org, { id: provider.id! }, org.owner, { clientId }),
      ),
    )
    expect((await org.owner.call(listIdentityProviderClients, {})).clients.map((c) => c.live_grants)).toEqual(
      [1, 1],
    )
    await org.owner.call(forbidIdentityProviderClient, { client_id: one.clientId })
    const ended = async (id: string) => (await org.owner.call(showGrant, { grant_id: id })).ended?.reason
    expect(await Promise.all(grants.map(ended))).toEqual(['client_forbidden', undefined])
    await expect(org.owner.call(forbidIdentityProviderClient, { client_id: one.clientId })).rejects.toEqual(
      refused('NOT_FOUND'),
    )
  })
})

describe('what gives less ends what was given', () => {
  let org: ProvidedOrg
  let id: string
  let clientId: string
  beforeEach(async () => {
    const made = await makeProvidedOrg(system, host)
    org = made.org
    id = made.provider.id
    clientId = (await preRegistered(system)).clientId
    await allowClient(org, clientId, { resources: ['platform', 'notifications'], may_be_public: true })
  })
  const terms = () => ({
    client_id: clientId,
    max_scopes: ['data:read' as const, 'maintenance:read' as const],
    resources: ['platform' as const, 'notifications' as const],
    may_be_public: true,
  })
  const update = (changes: object) => () => org.owner.call(updateIdentityProvider, changes)

  test.each<[string, string, () => () => Promise<unknown>]>([
    ['pausing', 'provider_paused', () => update({ state: 'paused' })],
    ['fewer default scopes', 'rules_changed', () => update({ default_scopes: ['data:read'] })],
    ['shorter tokens', 'rules_changed', () => update({ token_minutes: 5 })],
    [
      'other rules',
      'rules_changed',
      () => () =>
        org.owner.call(setIdentityProviderRules, {
          rules: [{ claim: null, value: null, scopes: ['data:read'] }],
        }),
    ],
    [
      'a smaller maximum',
      'rules_changed',
      () => () => org.owner.call(allowIdentityProviderClient, { ...terms(), max_scopes: ['data:read'] }),
    ],
    [
      'fewer endpoints',
      'rules_changed',
      () => () => org.owner.call(allowIdentityProviderClient, { ...terms(), resources: ['platform'] }),
    ],
    [
      'no public client any more',
      'rules_changed',
      () => () => org.owner.call(allowIdentityProviderClient, { ...terms(), may_be_public: false }),
    ],
    ['ending all', 'revoked', () => () => org.owner.call(endEnterpriseGrants, {})],
    ['removing it', 'provider_removed', () => () => org.owner.call(deleteIdentityProvider, {})],
  ])('%s', async (_what, reason, act) => {
    const grant = await addEnterpriseGrant(system, org, { id }, org.owner, { clientId })
    const [before] = await system.db
      .select()
      .from(organizationIdentityProviders)
      .where(eq(organizationIdentityProviders.id, id))
    await act()()
    expect((await org.owner.call(showGrant, { grant_id: grant })).ended).toMatchObject({ reason })
    const [after] = await system.db
      .select()
      .from(organizationIdentityProviders)
      .where(eq(organizationIdentityProviders.id, id))
    // An exchange that began before is not stored after.
    if (after) expect(after.edition).toBeGreaterThan(before!.edition)
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, limit: 1 })
    expect(audit[0]!.subject).toContain('1 agent disconnected')
  })

  test('who is linked by whom: less of it ends them, more does not', async () => {
    await org.owner.call(updateIdentityProvider, { linking: 'domain' })
    const grant = await addEnterpriseGrant(system, org, { id }, org.owner, { clientId })
    const endOf = async () => (await org.owner.call(showGrant, { grant_id: grant })).ended?.reason
    expect(await endOf()).toBeUndefined()
    await org.owner.call(updateIdentityProvider, { linking: 'member' })
    expect(await endOf()).toBe('rules_changed')
  })

  test('only an owner lets the provider link more people; an admin may take that back', async () => {
    const admin = await makeMember(system, org, 'admin')
    const set = (who: Person, linking: 'admin' | 'member' | 'domain') =>
      who.call(updateIdentityProvider, { linking })
    for (const linking of ['member', 'domain'] as const) {
      await expect(set(admin, linking)).rejects.toEqual(refused('FORBIDDEN', /Only an owner/))
    }
    expect(await shown(org.owner)).toMatchObject({ linking: 'admin' })
    await set(org.owner, 'member')
    await expect(set(admin, 'domain')).rejects.toEqual(refused('FORBIDDEN', /Only an owner/))
    expect(await set(admin, 'member')).toMatchObject({ linking: 'member' })
    expect(await set(admin, 'admin')).toMatchObject({ linking: 'admin' })
  })

  test('what gives as much or more, and saving the same again, ends nothing and tells nothing', async () => {
    const rules = [{ claim: 'groups', value: 'eng', scopes: ['data:read' as const] }]
    await org.owner.call(setIdentityProviderRules, { rules })
    const grant = await addEnterpriseGrant(system, org, { id }, org.owner, { clientId })
    await org.owner.call(setIdentityProviderRules, { rules })
    await org.owner.call(allowIdentityProviderClient, terms())
    const before = await actionsOf(org)
    await org.owner.call(allowIdentityProviderClient, {
      ...terms(),
      max_scopes: ['data:read', 'maintenance:read', 'maintenance:run'],
    })
    await org.owner.call(updateIdentityProvider, { name: 'Renamed', token_minutes: 60, is_required: true })
    expect((await org.owner.call(showGrant, { grant_id: grant })).ended).toBeNull()
    expect((await actionsOf(org)).slice(0, -before.length || undefined)).toEqual([
      'identity_provider.changed',
      'identity_provider.client_allowed',
    ])
  })

  test('pausing and resuming are told as such, and a grant of a person is not touched', async () => {
    await org.owner.call(updateIdentityProvider, { state: 'paused' })
    expect(await shown(org.owner)).toMatchObject({ state: 'paused' })
    expect(await org.owner.call(updateIdentityProvider, { state: 'on' })).toMatchObject({ state: 'on' })
    expect((await actionsOf(org)).slice(0, 2)).toEqual([
      'identity_provider.resumed',
      'identity_provider.paused',
    ])
  })

  test('agents of another organization stay', async () => {
    const other = await makeProvidedOrg(system, host)
    const theirs = await addEnterpriseGrant(system, other.org, other.provider, other.org.owner)
    await addEnterpriseGrant(system, org, { id }, org.owner, { clientId })
    expect(await org.owner.call(endEnterpriseGrants, {})).toEqual({ ended: 1 })
    await org.owner.call(deleteIdentityProvider, {})
    expect((await other.org.owner.call(showGrant, { grant_id: theirs })).ended).toBeNull()
  })
})

describe('rules', () => {
  let org: ProvidedOrg
  let clientId: string
  beforeEach(async () => {
    org = await makeOrgWithDomain(system)
    await addProvider(system, host, org)
    clientId = (await preRegistered(system)).clientId
    await allowClient(org, clientId, { max_scopes: ['data:read', 'maintenance:read', 'maintenance:run'] })
  })
  const set = (
    rules: Parameters<
      typeof org.owner.call<typeof setIdentityProviderRules.input, typeof setIdentityProviderRules.output>
    >[1]['rules'],
    who = org.owner,
  ) => who.call(setIdentityProviderRules, { rules })

  test('are a whole list in its order, and the sources are named by either id', async () => {
    const source = await insertSource(system, org, { name: unique('s').replace('-', '_') })
    const saved = await set([
      { claim: 'groups', value: 'contractors', scopes: [] },
      { claim: null, value: null, scopes: ['data:read'], sources: [source.id] },
    ])
    expect(saved.rules).toMatchObject([
      { position: 1, claim: 'groups', value: 'contractors', scopes: [], sources: null },
      { position: 2, claim: null, value: null, scopes: ['data:read'], sources: [{ id: source.id }] },
    ])
    expect((await org.owner.call(listIdentityProviderRules, {})).rules).toEqual(saved.rules)
    await expect(
      set([{ claim: null, value: null, scopes: ['data:read'], sources: ['db_nowhere'] }]),
    ).rejects.toEqual(refused('INVALID_REQUEST'))
    await expect(set([{ claim: 'groups', value: null, scopes: [] }])).rejects.toEqual(
      refused('INVALID_REQUEST'),
    )
    await expect(
      set(Array.from({ length: 101 }, () => ({ claim: null, value: null, scopes: [] }))),
    ).rejects.toEqual(refused('INVALID_REQUEST'))
    expect((await org.owner.call(listIdentityProviderRules, {})).rules).toEqual(saved.rules)
  })

  test('sources of another organization are none', async () => {
    const other = await makeOrgWithDomain(system)
    const theirs = await insertSource(system, other, { name: unique('s').replace('-', '_') })
    await expect(
      set([{ claim: null, value: null, scopes: ['data:read'], sources: [theirs.id] }]),
    ).rejects.toEqual(refused('INVALID_REQUEST'))
  })

  test('only an owner gives the sensitive scopes, and saves a list that has them', async () => {
    const admin = await makeMember(system, org, 'admin')
    const rule = { claim: 'groups', value: 'leads', scopes: ['proposals:decide' as const] }
    await expect(set([rule], admin)).rejects.toEqual(refused('FORBIDDEN', /Only an owner/))
    await set([rule])
    await expect(set([{ claim: null, value: null, scopes: ['data:read'] }, rule], admin)).rejects.toEqual(
      refused('FORBIDDEN', /Only an owner/),
    )
    await set([{ claim: null, value: null, scopes: ['data:read'] }], admin)
    await expect(
      org.owner.call(updateIdentityProvider, { default_scopes: ['proposals:decide'] }),
    ).rejects.toEqual(refused('INVALID_REQUEST'))
  })

  test('a preview says what a member gets and by which rule, also of rules that are not saved', async () => {
    const viewer = await makeMember(system, org, 'viewer')
    await set([
      { claim: 'groups', value: 'contractors', scopes: [] },
      { claim: 'groups', value: 'eng', scopes: ['data:read', 'maintenance:run'] },
    ])
    const preview = (changes: object) =>
      org.owner.call(previewIdentityProviderRules, {
        user_id: org.owner.userId,
        client_id: clientId,
        ...changes,
      })
    expect(await preview({ claims: { groups: ['eng'] } })).toEqual({
      role: 'owner',
      refusal: null,
      position: 2,
      scopes: ['data:read', 'maintenance:run'],
      sources: null,
    })
    expect(await preview({ user_id: viewer.userId, claims: { groups: 'eng' } })).toMatchObject({
      role: 'viewer',
      position: 2,
      scopes: ['data:read'],
    })
    expect(await preview({ claims: { groups: ['eng', 'contractors'] } })).toMatchObject({
      refusal: 'rule',
      position: 1,
      scopes: [],
    })
    expect(await preview({})).toMatchObject({ position: null, scopes: ['data:read', 'maintenance:read'] })
    expect(await preview({ scopes: ['maintenance:run'] })).toMatchObject({ refusal: 'scope', scopes: [] })
    expect(
      await preview({ rules: [{ claim: null, value: null, scopes: ['maintenance:read'] }] }),
    ).toMatchObject({
      position: 1,
      scopes: ['maintenance:read'],
    })
    expect(await preview({ client_id: 'another' })).toMatchObject({ refusal: 'client_not_allowed' })
    expect(await preview({ resource: 'notifications' })).toMatchObject({ refusal: 'resource' })
    const elsewhere = await makePerson(system)
    await expect(preview({ user_id: elsewhere.userId })).rejects.toEqual(refused('NOT_FOUND'))
  })
})

describe('links', () => {
  test('are made for members up to the own role, once for a subject, and never move', async () => {
    const { org } = await makeProvidedOrg(system, host)
    const admin = await makeMember(system, org, 'admin')
    const viewer = await makeMember(system, org, 'viewer')
    const link = (subject: string, { userId }: Person, who = admin) =>
      who.call(linkIdentity, { subject, user_id: userId })
    const subject = unique('sub')
    const made = await link(subject, viewer)
    expect(made).toMatchObject({ subject, user: { id: viewer.userId }, linked_by: 'admin' })
    expect(await link(subject, viewer)).toEqual(made)
    await expect(link(subject, admin)).rejects.toEqual(refused('CONFLICT'))
    await expect(link(unique('sub'), org.owner)).rejects.toEqual(refused('FORBIDDEN', /above yours/))
    await expect(link(unique('sub'), await makePerson(system))).rejects.toEqual(refused('NOT_FOUND'))
    await expect(link('a\u0000b', viewer)).rejects.toEqual(refused('INVALID_REQUEST'))
    expect((await admin.call(listIdentityLinks, { search: viewer.email })).links).toEqual([made])
  })

  test('removing one ends what its person has by the provider, and no agent that they approved', async () => {
    const { org, provider } = await makeProvidedOrg(system, host)
    const admin = await makeMember(system, org, 'admin')
    const viewer = await makeMember(system, org, 'viewer')
    const { id } = await admin.call(linkIdentity, { subject: unique('sub'), user_id: viewer.userId })
    const grant = await addEnterpriseGrant(system, org, provider, viewer)
    const owners = await addEnterpriseGrant(system, org, provider, org.owner)
    const [own] = (await org.owner.call(listIdentityLinks, { search: org.owner.email })).links
    await expect(admin.call(unlinkIdentity, { link_id: own!.id })).rejects.toEqual(refused('FORBIDDEN'))
    await admin.call(unlinkIdentity, { link_id: id })
    const endOf = async (grant_id: string) => (await org.owner.call(showGrant, { grant_id })).ended?.reason
    expect([await endOf(grant), await endOf(owners)]).toEqual(['unlinked', undefined])
    await expect(admin.call(unlinkIdentity, { link_id: id })).rejects.toEqual(refused('NOT_FOUND'))
  })

  test('those of another organization are not there', async () => {
    const [one, two] = [await makeProvidedOrg(system, host), await makeProvidedOrg(system, host)]
    const [link] = (await one.org.owner.call(listIdentityLinks, {})).links
    await expect(two.org.owner.call(unlinkIdentity, { link_id: link!.id })).rejects.toEqual(
      refused('NOT_FOUND'),
    )
    await expect(
      two.org.owner.call(linkIdentity, { subject: unique('sub'), user_id: one.org.owner.userId }),
    ).rejects.toEqual(refused('NOT_FOUND'))
  })
})

test('grants say how they came about', async () => {
  const { org, provider } = await makeProvidedOrg(system, host)
  await addEnterpriseGrant(system, org, provider, org.owner)
  expect((await org.owner.call(listGrants, {})).grants).toMatchObject([{ via: 'enterprise' }])
})
