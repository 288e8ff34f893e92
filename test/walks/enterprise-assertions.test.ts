/** An assertion of an organization's identity provider becomes an access token: what the token can do, and what is kept. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { auditLog, memberships, organizationDomains, users } from '../../db/schema.ts'
import { listGrants, showGrant } from '../../src/contracts/grants.ts'
import {
  newAssistant,
  preRegistered,
  startListeningSystem,
  whoami,
  type ListeningSystem,
} from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import {
  allow,
  claimsIn,
  company,
  exchange,
  grantsBy,
  linksOf,
  postToken,
  refusalsOf,
  setProvider,
  setRules,
  tokenIn,
  JWT_BEARER,
  type Company,
} from '../support/enterprise.ts'
import { makeMember, unique } from '../support/make.ts'
import { newKey, makeIssuer, type Issuer } from '../support/issuer.ts'

let host: DocumentHost
let system: ListeningSystem
let provider: Issuer
let ours: Company
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startListeningSystem({}, { guardedFetch: host.guardedFetch })
})
beforeEach(async () => {
  provider = await makeIssuer(system, host)
  ours = await company(system, provider)
})
afterAll(async () => {
  await system.stop()
  host.close()
})

const swap = (claims = {}, fields = {}) =>
  ours.assertion(claims).then((assertion) => exchange(system, ours.client, assertion, fields))

test('a token for its member, organization and endpoint, for fifteen minutes and without a refresh token', async () => {
  const answer = await swap()
  expect(answer.body).toEqual({
    access_token: expect.any(String),
    token_type: 'Bearer',
    expires_in: 900,
    scope: 'data:read maintenance:read',
  })
  expect(answer.headers.get('cache-control')).toContain('no-store')
  const claims = claimsIn(tokenIn(answer))
  expect(claims).toMatchObject({
    sub: ours.person.userId,
    org_id: ours.org.id,
    client_id: ours.client.clientId,
    aud: `${system.origin}/platform`,
    scope: 'data:read maintenance:read',
  })
  expect(Number(claims.exp) - Number(claims.iat)).toBe(900)
  expect((await whoami(system, tokenIn(answer))).who).toMatchObject({
    user: { id: ours.person.userId },
    organization: { id: ours.org.id },
    role: 'developer',
    scopes: ['data:read', 'maintenance:read'],
  })
})

test('the grant is listed as the organization’s, once, and the audit trail names it once', async () => {
  tokenIn(await swap())
  system.clock.advance(600)
  tokenIn(await swap({ scope: 'data:read' }))
  const { grants } = await ours.person.call(listGrants, {})
  expect(grants).toMatchObject([
    {
      via: 'enterprise',
      client_id: ours.client.clientId,
      client_name: 'Company assistant',
      scopes: ['data:read'],
      host: new URL(provider.issuer).host,
    },
  ])
  expect(await ours.org.owner.call(showGrant, { grant_id: grants[0]!.id })).toMatchObject({
    via: 'enterprise',
    ended: null,
  })
  const days = (Date.parse(grants[0]!.expires_at) - system.clock.now().getTime()) / 86_400_000
  expect(days).toBeCloseTo(30, 2)
  const made = await system.db
    .select()
    .from(auditLog)
    .where(and(eq(auditLog.orgId, ours.org.id), eq(auditLog.action, 'grant.created')))
  expect(made).toMatchObject([
    {
      actorId: ours.person.userId,
      subject: 'Company assistant: data:read maintenance:read; through Company sign-in',
    },
  ])
})

test('every algorithm that is offered', async () => {
  for (const alg of ['ES256', 'EdDSA', 'RS256', 'PS256']) {
    const key = await newKey(alg)
    provider.publish(key)
    system.clock.advance(61)
    const assertion = await ours.assertion({}, { by: key })
    expect([alg, (await exchange(system, ours.client, assertion)).status]).toEqual([alg, 200])
  }
})

test('without a key id, where it is clear which key is meant', async () => {
  expect(
    (await exchange(system, ours.client, await ours.assertion({}, { header: { kid: undefined } }))).status,
  ).toBe(200)
})

test('a key that it publishes anew is taken at once, and one that it took back not any more', async () => {
  tokenIn(await swap())
  const old = provider.key
  system.clock.advance(61)
  await provider.rotate()
  tokenIn(await swap())
  const stale = await ours.assertion({}, { by: old })
  expect((await exchange(system, ours.client, stale)).body.error).toBe('invalid_grant')
  expect((await refusalsOf(system, ours.providerId)).at(-1)).toMatchObject({ reason: 'key', keyId: old.kid })
})

test('the endpoint: by the claim, by the parameter, else the first one', async () => {
  const audienceOf = async (claims: object, fields: object = {}) =>
    claimsIn(tokenIn(await swap({ scope: undefined, ...claims }, fields))).aud
  const [platform, notifications] = [`${system.origin}/platform`, `${system.origin}/notifications`]
  expect(await audienceOf({})).toBe(platform)
  expect(await audienceOf({ resource: notifications })).toBe(notifications)
  expect(await audienceOf({ resource: [notifications] })).toBe(notifications)
  expect(await audienceOf({}, { resource: notifications })).toBe(notifications)
  expect(await audienceOf({ resource: notifications }, { resource: `${notifications}/` })).toBe(notifications)
  expect((await grantsBy(system, ours.providerId)).map(({ resource }) => resource).toSorted()).toEqual([
    'notifications',
    'platform',
  ])
})

describe('scopes', () => {
  const scopesBy = async (claims: object, fields: object = {}) => (await swap(claims, fields)).body.scope

  test('claim, parameter and list of the client have in common', async () => {
    expect(await scopesBy({})).toBe('data:read maintenance:read')
    expect(await scopesBy({}, { scope: 'data:read offline_access' })).toBe('data:read')
    expect(await scopesBy({ scope: 'data:read maintenance:run unknown' })).toBe('data:read')
    // Nothing claimed: the defaults of the organization.
    expect(await scopesBy({ scope: undefined })).toBe('data:read maintenance:read')
    expect(await scopesBy({ scope: undefined }, { scope: 'maintenance:run' })).toBeUndefined()
  })

  test('the first rule that matches decides, by text or by list; whoever matches none gets the defaults', async () => {
    await setRules(system, ours.providerId, [
      { claim: 'groups', value: 'readers', scopes: ['maintenance:read'], sources: ['ds_one'] },
      { claim: 'groups', value: 'everything', scopes: ['data:read', 'maintenance:read'] },
      { claim: 'department', value: 'blocked', scopes: [] },
    ])
    expect(await scopesBy({ groups: ['x', 'everything', 'readers'] })).toBe('maintenance:read')
    expect((await grantsBy(system, ours.providerId))[0]).toMatchObject({ sources: ['ds_one'] })
    expect(await scopesBy({ groups: 'everything' })).toBe('data:read maintenance:read')
    expect(
      (await grantsBy(system, ours.providerId)).filter(({ revokedAt }) => revokedAt === null),
    ).toMatchObject([{ sources: null }])
    expect(await scopesBy({ groups: { everything: true } })).toBe('data:read maintenance:read')
    expect(await scopesBy({ scope: 'notifications:write data:read' })).toBe('data:read')
    expect((await swap({ department: 'blocked' })).body.error).toBe('invalid_scope')
    expect((await refusalsOf(system, ours.providerId)).at(-1)?.reason).toBe('rule')
  })
})

test('more data sources are another grant: a token never reaches those that it was not given', async () => {
  const theirs = await company(system, await makeIssuer(system, host))
  tokenIn(await exchange(system, theirs.client, await theirs.assertion()))
  const sources = { few: ['ds_one'], more: ['ds_one', 'ds_two'], all: undefined }
  await setRules(
    system,
    ours.providerId,
    Object.entries(sources).map(([value, chosen]) => ({
      claim: 'groups',
      value,
      scopes: ['data:read'],
      ...(chosen && { sources: chosen }),
    })),
  )
  const come = async (groups: keyof typeof sources) => tokenIn(await swap({ scope: 'data:read', groups }))
  const grants = async () => {
    const rows = await grantsBy(system, ours.providerId)
    return rows
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map((row) => [row.sources?.toSorted() ?? 'all', row.revokedReason])
  }
  const few = await come('few')
  expect(await grants()).toEqual([[['ds_one'], null]])
  const more = await come('more')
  expect(await grants()).toEqual([
    [['ds_one'], 'replaced'],
    [['ds_one', 'ds_two'], null],
  ])
  expect((await whoami(system, few)).status).toBe(401)
  const all = await come('all')
  expect((await grants()).at(-1)).toEqual(['all', null])
  expect([(await whoami(system, more)).status, (await whoami(system, all)).status]).toEqual([401, 200])
  // Fewer narrow the grant that is there, and the tokens on it.
  const again = await come('few')
  expect((await grants()).slice(2)).toEqual([[['ds_one'], null]])
  expect([(await whoami(system, all)).status, (await whoami(system, again)).status]).toEqual([200, 200])
  // Several at once: of that grant none makes more.
  await Promise.all([come('few'), come('more'), come('few'), come('more')])
  const after = await grants()
  expect(after[2]![0]).toEqual(['ds_one'])
  expect(after.filter(([, reason]) => reason === null)).toHaveLength(1)
  // Nothing of another organization is touched.
  expect(await grantsBy(system, theirs.providerId)).toMatchObject([{ sources: null, revokedAt: null }])
})

describe('linking', () => {
  const newcomer = (claims: object = {}) => ({ sub: unique('new'), email_verified: true, ...claims })

  test('by an admin alone, unless the organization lets its provider do it', async () => {
    const colleague = await makeMember(system, ours.org, 'viewer')
    const claims = newcomer({ email: colleague.email })
    expect((await swap(claims)).body.error).toBe('invalid_grant')
    expect((await refusalsOf(system, ours.providerId)).at(-1)?.reason).toBe('not_linked')
    await setProvider(system, ours.providerId, { linking: 'member' })
    const token = tokenIn(await swap(claims))
    expect((await whoami(system, token)).who).toMatchObject({
      user: { id: colleague.userId },
      role: 'viewer',
    })
    expect(await linksOf(system, ours.providerId, colleague)).toMatchObject([{ linkedBy: 'email' }])
    const linked = await system.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.orgId, ours.org.id), eq(auditLog.action, 'identity_link.created')))
    expect(linked).toHaveLength(1)
  })

  test('an account of its own, in the domains of the organization', async () => {
    const domain = `${unique('company')}.test`
    await setProvider(system, ours.providerId, { linking: 'domain' })
    const email = `new@${domain}`
    const claims = newcomer({ email, name: 'New Colleague' })
    expect((await swap(claims)).body.error).toBe('invalid_grant')
    await system.db.insert(organizationDomains).values({ domain, orgId: ours.org.id })
    const token = tokenIn(await swap(claims))
    const [made] = await system.db.select().from(users).where(eq(users.email, email))
    expect(made).toMatchObject({ name: 'New Colleague', kind: 'person' })
    const [member] = await system.db.select().from(memberships).where(eq(memberships.userId, made!.id))
    expect(member).toMatchObject({ orgId: ours.org.id, role: 'member', joinedBy: 'identity_provider' })
    expect((await whoami(system, token)).who?.user.id).toBe(made!.id)
    // The same person again is the same account.
    tokenIn(await swap(claims))
    expect(await system.db.select().from(users).where(eq(users.email, email))).toHaveLength(1)
  })
})

test('a document without a secret, where the organization takes that', async () => {
  const clientId = host.putClient(`/${unique('assistant')}.json`)
  const path = new URL(clientId).pathname
  // Fetched when the admin allows it; here by an authorization.
  await newAssistant(system, { clientId, redirectUri: `${host.origin}/callback` }).connect(ours.person)
  const hits = host.hits(path)
  await allow(system, ours.providerId, clientId, { kind: 'metadata_document', mayBePublic: true })
  const assertion = await ours.assertion({ client_id: clientId })
  const answer = await postToken(system, { grant_type: JWT_BEARER, assertion, client_id: clientId })
  expect((await whoami(system, tokenIn(answer))).status).toBe(200)
  expect(host.hits(path)).toBe(hits)
})

test('a client that also approves keeps both kinds of grants apart', async () => {
  const { clientId, redirectUri } = await preRegistered(system)
  await allow(system, ours.providerId, clientId, { mayBePublic: true })
  const approved = await newAssistant(system, { clientId, redirectUri }).connect(ours.person)
  const assertion = await ours.assertion({ client_id: clientId })
  const given = tokenIn(await postToken(system, { grant_type: JWT_BEARER, assertion, client_id: clientId }))
  expect(claimsIn(given).grant_id).not.toBe(approved.grantId)
  const { grants } = await ours.person.call(listGrants, {})
  expect(grants.map(({ via }) => via).toSorted()).toEqual(['consent', 'enterprise'])
})
