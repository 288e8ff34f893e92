/**
 * Attacks on the exchange of assertions, by their number. Two organizations, each with a provider, and each provider signs
 * whatever it likes, also about the other's people. 18 is in identity-provider.test.ts, where a provider is turned on.
 */
import { createPublicKey, createSign, generateKeyPairSync, KeyObject, sign } from 'node:crypto'
import { compactDecrypt, CompactEncrypt, exportJWK, generateKeyPair } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, eq, inArray, isNull, ne } from '../../db/drizzle.ts'
import {
  assertionUses,
  identityLinks,
  memberships,
  organizationDomains,
  passwords,
  users,
} from '../../db/schema.ts'
import { blockOauthClient } from '../../src/contracts/grants.ts'
import { deleteIdentityProvider, linkIdentity } from '../../src/contracts/identity-provider.ts'
import { removeMember } from '../../src/contracts/members.ts'
import { updateOrganization } from '../../src/contracts/organizations.ts'
import { guardedFetch } from '../../src/adapters/outbound/guarded-fetch.ts'
import { createProviderKeys } from '../../src/cores/identity-provider/provider-keys.ts'
import {
  newAddress,
  preRegistered,
  register,
  startListeningSystem,
  whoami,
  type HttpAnswer,
  type ListeningSystem,
} from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import {
  allow,
  basic,
  claimsIn,
  clientWithSecret,
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
  trust,
  usesOf,
  type Company,
} from '../support/enterprise.ts'
import { makeMember, makeOrganization, makePerson, unique } from '../support/make.ts'
import { newKey, makeIssuer, type Claims, type Issuer } from '../support/issuer.ts'

let host: DocumentHost
let system: ListeningSystem
let a: Company
let b: Company
let accountsBefore: { id: string }[]
beforeAll(async () => {
  host = await openDocumentHost()
  system = await startListeningSystem({}, { guardedFetch: host.guardedFetch })
})
beforeEach(async () => {
  a = await company(system, await makeIssuer(system, host))
  b = await company(system, await makeIssuer(system, host))
  accountsBefore = await accountsByProviders()
})
afterAll(async () => {
  await system.stop()
  host.close()
})

const swap = (who: Company, assertion: string, fields: Record<string, string | readonly string[]> = {}) =>
  exchange(system, who.client, assertion, fields)

/** G: 400 invalid_grant in the one text that every refused assertion gets, and nothing is stored. */
async function expectRefused(answer: HttpAnswer | Promise<HttpAnswer>, ...whose: Company[]): Promise<void> {
  const { status, body } = await answer
  await expectNobodyNew()
  expect([status, body]).toEqual([
    400,
    { error: 'invalid_grant', error_description: 'grant request is invalid' },
  ])
  for (const { providerId } of whose.length > 0 ? whose : [a]) {
    expect(await usesOf(system, providerId)).toEqual([])
    expect(await grantsBy(system, providerId)).toEqual([])
  }
}

/** Accounts, members and links are those that the test itself has made. */
async function expectNobodyNew(): Promise<void> {
  const orgs = [a.org.id, b.org.id]
  const joined = and(inArray(memberships.orgId, orgs), eq(memberships.joinedBy, 'identity_provider'))
  expect(await system.db.select().from(memberships).where(joined)).toEqual([])
  const linked = and(
    inArray(identityLinks.providerId, [a.providerId, b.providerId]),
    ne(identityLinks.linkedBy, 'admin'),
  )
  expect(await system.db.select().from(identityLinks).where(linked)).toEqual([])
  expect(await accountsByProviders()).toEqual(accountsBefore)
}

/** People whom a test makes have a password. */
const accountsByProviders = () =>
  system.db
    .select({ id: users.id })
    .from(users)
    .leftJoin(passwords, eq(passwords.userId, users.id))
    .where(isNull(passwords.userId))
    .orderBy(users.id)

const lastReason = async ({ providerId }: Company) => (await refusalsOf(system, providerId)).at(-1)?.reason

/** Otherwise a refusal would prove nothing. */
test('what the attacks change is taken unchanged', async () => {
  for (const one of [a, b]) expect((await swap(one, await one.assertion())).status).toBe(200)
})

describe('1: a signature that is none', () => {
  test('alg none', async () => {
    const { key } = a.provider
    const [, body] = (await a.assertion()).split('.')
    for (const alg of ['none', 'NONE', 'None', '']) {
      const header = Buffer.from(JSON.stringify({ alg, typ: 'oauth-id-jag+jwt', kid: key.kid })).toString(
        'base64url',
      )
      for (const signature of ['', 'AA']) await expectRefused(swap(a, `${header}.${body}.${signature}`))
    }
    await expectRefused(swap(a, a.provider.unsecured(a.claims())))
  })

  test('HS256 under the public key', async () => {
    const { key } = a.provider
    const known = createPublicKey({ key: key.jwk, format: 'jwk' })
    const secrets = [
      // As a library would take it for a secret.
      known.export({ type: 'spki', format: 'pem' }),
      known.export({ type: 'spki', format: 'der' }),
      JSON.stringify(known.export({ format: 'jwk' })),
      JSON.stringify(key.jwk),
      key.jwk.x!,
      JSON.stringify({ keys: [key.jwk] }),
    ]
    for (const secret of secrets) {
      const by = { alg: 'HS256', kid: key.kid, key: Buffer.from(secret as string) }
      await expectRefused(swap(a, await a.assertion({}, { by })))
    }
    // Nor a shared secret that the provider publishes as one of its keys.
    const shared = Buffer.alloc(32, 7)
    a.provider.publish(key, { jwk: { kty: 'oct', k: shared.toString('base64url'), kid: 'shared' } })
    system.clock.advance(61)
    await expectRefused(swap(a, await a.assertion({}, { by: { alg: 'HS256', kid: 'shared', key: shared } })))
  })

  test('an RSA key of 1024 bits', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'weak' }
    a.provider.publish(a.provider.key, { jwk })
    const [, body] = (await a.assertion()).split('.')
    const header = Buffer.from(
      JSON.stringify({ alg: 'RS256', typ: 'oauth-id-jag+jwt', kid: 'weak' }),
    ).toString('base64url')
    const signature = createSign('sha256').update(`${header}.${body}`).sign(privateKey, 'base64url')
    await expectRefused(swap(a, `${header}.${body}.${signature}`))
  })
})

test('2: another type, or none', async () => {
  for (const typ of ['JWT', 'at+jwt', 'oauth-id-jag', '', undefined, 1, ['oauth-id-jag+jwt']]) {
    await expectRefused(swap(a, await a.assertion({}, { header: { typ } })))
  }
})

test('3: the id token of the same person, with the same key', async () => {
  const idToken = await a.assertion({ aud: a.client.clientId, nonce: 'n' }, { header: { typ: 'JWT' } })
  await expectRefused(swap(a, idToken))
  await expectRefused(swap(a, await a.assertion({ nonce: 'n' }, { header: { typ: undefined } })))
})

test('4: a key of the attacker in the header: refused, and nothing is fetched', async () => {
  const own = await newKey('ES256', a.provider.key.kid)
  const path = `/${unique('own')}/keys`
  const jku = host.put(path, { keys: [own.jwk] })
  tokenIn(await swap(a, await a.assertion()))
  const reads = a.provider.keyReads()
  for (const header of [
    { jwk: own.jwk },
    { jku },
    { x5u: jku },
    { jku, kid: undefined },
    { x5c: ['MIIB'] },
  ]) {
    const answer = await swap(a, await a.assertion({}, { by: own, header }))
    expect(answer.body.error).toBe('invalid_grant')
  }
  expect([host.hits(path), a.provider.keyReads()]).toEqual([0, reads])
})

test('5: the right key id, another key', async () => {
  const own = await newKey('ES256', a.provider.key.kid)
  await expectRefused(swap(a, await a.assertion({}, { by: own })))
  expect(await lastReason(a)).toBe('signature')
  // A byte more or less of what was signed.
  const [header, body, signature] = (await a.assertion()).split('.')
  const claims = JSON.parse(Buffer.from(body!, 'base64url').toString()) as Claims
  const forged = Buffer.from(JSON.stringify({ ...claims, scope: 'data:read' })).toString('base64url')
  await expectRefused(swap(a, `${header}.${forged}.${signature}`))
})

test('6: an issuer that nobody trusts: nothing is fetched, nothing is kept', async () => {
  const unknown = await makeIssuer(system, host)
  await expectRefused(swap(a, await unknown.sign(a.claims())), a, b)
  const discovery = new URL(`${unknown.issuer}/.well-known/openid-configuration`)
  expect([unknown.keyReads(), host.hits(discovery.pathname)]).toEqual([0, 0])
  for (const { provider, providerId } of [a, b]) {
    expect(provider.keyReads()).toBe(0)
    expect(await refusalsOf(system, providerId)).toEqual([])
  }
})

test('7: the issuer spelled otherwise', async () => {
  const { issuer } = a.provider
  const url = new URL(issuer)
  for (const iss of [
    `${issuer}/`,
    issuer.toUpperCase(),
    issuer.replace(url.host, url.hostname),
    issuer.replace('https:', 'http:'),
    `${issuer}?`,
    ` ${issuer}`,
    [issuer],
  ]) {
    await expectRefused(swap(a, await a.assertion({ iss })))
  }
})

test('8: for another server, for the token endpoint, or with a slash', async () => {
  for (const aud of [
    'https://other.example',
    `${system.origin}/`,
    `${system.origin}/oauth/token`,
    `${system.origin}/platform`,
    system.origin.toUpperCase(),
    '',
    undefined,
  ]) {
    await expectRefused(swap(a, await a.assertion({ aud })))
  }
  expect(await lastReason(a)).toBe('audience')
})

test('9: for us and somebody else', async () => {
  for (const aud of [[system.origin, 'https://other.example'], [system.origin, system.origin], []]) {
    await expectRefused(swap(a, await a.assertion({ aud })))
  }
  expect((await swap(a, await a.assertion({ aud: [system.origin] }))).status).toBe(200)
})

test('10: expired, not yet valid, or valid for a day', async () => {
  const now = Math.floor(system.clock.now().getTime() / 1000)
  const cases: [Claims, string][] = [
    [{ iat: now - 600, exp: now - 120 }, 'expired'],
    [{ iat: now + 180, exp: now + 300 }, 'not_yet_valid'],
    [{ nbf: now + 180 }, 'not_yet_valid'],
    [{ exp: now + 86_400 }, 'lifetime'],
    [{ iat: now - 86_000, exp: now + 300 }, 'lifetime'],
    [{ iat: now, exp: now - 10 }, 'lifetime'],
    [{ exp: String(now + 300) }, 'claims'],
    [{ exp: undefined }, 'claims'],
    [{ iat: undefined }, 'claims'],
    [{ nbf: 'soon' }, 'claims'],
  ]
  for (const [claims, reason] of cases) {
    await expectRefused(swap(a, await a.assertion(claims)))
    expect([claims, await lastReason(a)]).toEqual([claims, reason])
  }
  // A clock that is half a minute off is forgiven.
  expect((await swap(a, await a.assertion({ iat: now + 30 }))).status).toBe(200)
})

test('11: issued to another client, or to nobody', async () => {
  const other = await clientWithSecret(system)
  await allow(system, a.providerId, other.clientId)
  for (const client_id of [
    other.clientId,
    undefined,
    '',
    [a.client.clientId],
    a.client.clientId.toUpperCase(),
  ]) {
    await expectRefused(swap(a, await a.assertion({ client_id })))
  }
  await expectRefused(exchange(system, other, await a.assertion()))
  expect(await lastReason(a)).toBe('client')
})

test('12: stolen, without the secret of its client', async () => {
  const assertion = await a.assertion()
  const wrong = { clientId: a.client.clientId, secret: 'wrong' }
  const answers = [
    await exchange(system, wrong, assertion),
    await postToken(system, { grant_type: JWT_BEARER, assertion, client_id: a.client.clientId }),
    await exchange(system, { ...b.client, clientId: a.client.clientId }, assertion),
  ]
  for (const { status, body } of answers) expect([status, body.error]).toEqual([401, 'invalid_client'])
  expect(await usesOf(system, a.providerId)).toEqual([])
  expect((await exchange(system, a.client, assertion)).status).toBe(200)
})

describe('one provider signs the other’s people', () => {
  beforeEach(async () => {
    for (const { providerId } of [a, b]) await setProvider(system, providerId, { linking: 'domain' })
  })

  test('13: by their address', async () => {
    const claims = { sub: unique('x'), email: a.person.email, email_verified: true }
    await expectRefused(swap(b, await b.assertion(claims)), a, b)
    expect(await linksOf(system, b.providerId, a.person)).toEqual([])
    expect(await linksOf(system, a.providerId)).toHaveLength(1)
  })

  test('14: by their subject, or as our own id', async () => {
    const foreign = [
      { sub: a.subject },
      { sub: a.person.userId },
      { aud_sub: a.person.userId },
      { sub: a.subject, aud_sub: a.person.userId },
      { aud_sub: 'usr_nobody' },
      { aud_sub: [b.person.userId] },
    ]
    for (const claims of foreign) await expectRefused(swap(b, await b.assertion(claims)), a, b)
    expect((await swap(b, await b.assertion({ aud_sub: b.person.userId }))).status).toBe(200)
  })

  test('14: by a subject that the other provider has linked, also of somebody who is in both', async () => {
    await makeMember(system, b.org, 'admin', a.person)
    await expectRefused(swap(b, await b.assertion({ sub: a.subject })), a, b)
    expect(await lastReason(b)).toBe('email_unverified')
    expect(await linksOf(system, b.providerId, a.person)).toEqual([])
  })

  test('14: in the name of the other’s issuer, with a key of its own', async () => {
    const forged = await b.provider.sign(a.claims({ iss: a.provider.issuer }))
    await expectRefused(swap(a, forged), a, b)
    const mine = await b.provider.sign(a.claims({ iss: a.provider.issuer, client_id: b.client.clientId }), {
      header: { kid: a.provider.key.kid },
    })
    await expectRefused(swap(b, mine), a, b)
  })

  test('15: an address in a domain that is not theirs', async () => {
    const domain = `${unique('company')}.test`
    await system.db.insert(organizationDomains).values({ domain, orgId: a.org.id })
    const claims = { sub: unique('x'), email: `new@${domain}`, email_verified: true }
    await expectRefused(swap(b, await b.assertion(claims)), a, b)
    for (const email of [
      `new@sub.${domain}`,
      `new@${domain}@evil.test`,
      `new@${domain}.evil.test`,
      'new',
      domain,
    ]) {
      await expectRefused(swap(a, await a.assertion({ ...claims, email })), a, b)
    }
    expect(await linksOf(system, b.providerId)).toHaveLength(1)
    expect(await system.db.select().from(users).where(eq(users.email, claims.email))).toEqual([])
  })

  test('15: an address that somebody has elsewhere does not make them a member', async () => {
    const domain = `${unique('company')}.test`
    const outsider = await makePerson(system, { email: `outsider@${domain}` })
    await makeMember(system, a.org, 'admin', outsider)
    // Afterwards: whoever signs in with an address of a domain joins by that.
    await system.db.insert(organizationDomains).values({ domain, orgId: b.org.id })
    const claims = { sub: unique('x'), email: outsider.email, email_verified: true }
    await expectRefused(swap(b, await b.assertion(claims)), a, b)
    const where = and(eq(memberships.orgId, b.org.id), eq(memberships.userId, outsider.userId))
    expect(await system.db.select().from(memberships).where(where)).toEqual([])
  })

  test('15: an address spelled otherwise makes no second account, and brings nobody back', async () => {
    const domain = `${unique('company')}.test`
    const outsider = await makePerson(system, { email: `kim@${domain}` })
    const removed = await makeMember(
      system,
      b.org,
      'viewer',
      await makePerson(system, { email: `kai@${domain}` }),
    )
    await b.org.owner.call(removeMember, { org_id: b.org.id, user_id: removed.userId })
    await system.db
      .update(users)
      .set({ email: `${unique('x')}@elsewhere.test` })
      .where(eq(users.id, removed.userId))
    await system.db.insert(organizationDomains).values({ domain, orgId: b.org.id })
    for (const { email } of [outsider, removed]) {
      for (const spelled of [
        ` ${email}`,
        `\t${email}`,
        `\u00a0${email}`,
        email.replace('k', '\u212a'),
        email,
      ]) {
        const claims = { sub: unique('x'), email: spelled, email_verified: true }
        await expectRefused(swap(b, await b.assertion(claims)), a, b)
      }
    }
    // In capitals it is the same address.
    const member = await makeMember(system, b.org, 'viewer')
    const claims = { sub: unique('x'), email: member.email.toUpperCase(), email_verified: true }
    expect(claimsIn(tokenIn(await swap(b, await b.assertion(claims)))).sub).toBe(member.userId)
  })

  test('34: a subject that nobody could enter is not linked', async () => {
    const { email } = await makeMember(system, a.org, 'viewer')
    for (const sub of ['x'.repeat(256), 'a\u202eb', 'a\u0007b', 'a\u2028b', 'a\u2066b']) {
      await expectRefused(swap(a, await a.assertion({ sub, email, email_verified: true })))
      expect(await lastReason(a)).toBe('claims')
      await expect(
        a.org.owner.call(linkIdentity, { subject: sub, user_id: a.person.userId }),
      ).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
    const claims = { sub: 'x'.repeat(255), email, email_verified: true }
    expect((await swap(a, await a.assertion(claims))).status).toBe(200)
  })

  test('16: an address that is not verified, there or here', async () => {
    const member = await makeMember(system, a.org, 'admin')
    for (const email_verified of [false, undefined, null, 'true', 1]) {
      const claims = { sub: unique('x'), email: member.email, email_verified }
      await expectRefused(swap(a, await a.assertion(claims)), a, b)
      expect(await lastReason(a)).toBe('email_unverified')
    }
    const unproven = await makeMember(system, a.org, 'admin', await makePerson(system, { verified: false }))
    const claims = { sub: unique('x'), email: unproven.email, email_verified: true }
    await expectRefused(swap(a, await a.assertion(claims)), a, b)
    expect(await linksOf(system, a.providerId)).toHaveLength(1)
  })

  test('16: nothing said of an address: it counts in a domain of that organization alone', async () => {
    const domain = `${unique('company')}.test`
    const member = await makeMember(
      system,
      a.org,
      'viewer',
      await makePerson(system, { email: `ada@${domain}` }),
    )
    const claims = { sub: unique('x'), email: member.email }
    await expectRefused(swap(a, await a.assertion(claims)), a, b)
    // Of the other organization.
    await system.db.insert(organizationDomains).values({ domain, orgId: b.org.id })
    await expectRefused(swap(a, await a.assertion(claims)), a, b)
    await system.db
      .update(organizationDomains)
      .set({ orgId: a.org.id })
      .where(eq(organizationDomains.domain, domain))
    for (const email_verified of [false, null, 'true', 1]) {
      await expectRefused(swap(a, await a.assertion({ ...claims, email_verified })), a, b)
      expect(await lastReason(a)).toBe('email_unverified')
    }
    const beside = [`ada@sub.${domain}`, `ada@${domain}@evil.test`, `ada@${domain}.evil.test`]
    for (const email of beside) await expectRefused(swap(a, await a.assertion({ ...claims, email })), a, b)
    expect(await linksOf(system, a.providerId, member)).toEqual([])
    tokenIn(await swap(a, await a.assertion(claims)))
    expect(await linksOf(system, a.providerId, member)).toMatchObject([
      { subject: claims.sub, linkedBy: 'email' },
    ])
    const newcomer = { sub: unique('x'), email: `new@${domain}` }
    tokenIn(await swap(a, await a.assertion(newcomer)))
    expect(await system.db.select().from(users).where(eq(users.email, newcomer.email))).toHaveLength(1)
  })

  test('16: an address that was given to somebody else: the link stays', async () => {
    const claims = { sub: unique('x'), email: a.person.email, email_verified: true }
    await expectRefused(swap(a, await a.assertion(claims)), a, b)
    expect(await lastReason(a)).toBe('subject_changed')
    expect(await linksOf(system, a.providerId)).toMatchObject([
      { subject: a.subject, userId: a.person.userId },
    ])
  })

  describe('whoever would be linked or made by one that is refused', () => {
    let claims: Claims
    let colleague: Claims
    beforeEach(async () => {
      const domain = `${unique('company')}.test`
      await system.db.insert(organizationDomains).values({ domain, orgId: a.org.id })
      claims = { sub: unique('x'), email: `new@${domain}`, email_verified: true }
      const { email } = await makeMember(system, a.org, 'developer')
      colleague = { sub: unique('y'), email, email_verified: true }
    })

    test('14, 22: for another id of ours, for an endpoint elsewhere', async () => {
      for (const person of [claims, colleague]) {
        await expectRefused(swap(a, await a.assertion({ ...person, aud_sub: a.person.userId })))
        expect(await lastReason(a)).toBe('claims')
        await expectRefused(swap(a, await a.assertion({ ...person, resource: 'https://evil.test/platform' })))
        expect(await lastReason(a)).toBe('resource')
      }
    })

    test('23, 25: by the parameters, by a rule, without a scope', async () => {
      await setRules(system, a.providerId, [{ claim: 'groups', value: 'contractors', scopes: [] }])
      const cases: [Claims, Record<string, string>, string][] = [
        [{}, { resource: 'https://evil.test/platform' }, 'invalid_target'],
        [{ groups: ['contractors'] }, {}, 'invalid_scope'],
        [{ scope: 'maintenance:admin' }, {}, 'invalid_scope'],
        [{}, { scope: 'maintenance:admin' }, 'invalid_scope'],
      ]
      for (const person of [claims, colleague]) {
        for (const [more, fields, error] of cases) {
          const { status, body } = await swap(a, await a.assertion({ ...person, ...more }), fields)
          expect([more, status, body.error]).toEqual([more, 400, error])
          await expectNobodyNew()
        }
      }
    })

    test('21: where agents are off, or the client is blocked', async () => {
      await a.org.owner.call(blockOauthClient, { client_id: a.client.clientId, blocked: true })
      for (const person of [claims, colleague]) await expectRefused(swap(a, await a.assertion(person)))
      await a.org.owner.call(updateOrganization, { org_id: a.org.id, agents_enabled: false })
      for (const person of [claims, colleague]) await expectRefused(swap(a, await a.assertion(person)))
      expect(await lastReason(a)).toBe('agents_off')
    })

    test('26: one that was used', async () => {
      const jti = unique('jti')
      tokenIn(await swap(a, await a.assertion({ jti })))
      for (const person of [claims, colleague]) {
        const { body } = await swap(a, await a.assertion({ ...person, jti }))
        expect(body.error).toBe('invalid_grant')
        expect(await lastReason(a)).toBe('replayed')
        await expectNobodyNew()
      }
      // Nothing else was wrong with them.
      for (const person of [claims, colleague])
        expect((await swap(a, await a.assertion(person))).status).toBe(200)
    })
  })

  test('20: a member of the one alone, though linked at the other’s provider', async () => {
    const subject = unique('elsewhere')
    await link(system, b.providerId, subject, a.person)
    await expectRefused(swap(b, await b.assertion({ sub: subject })), a, b)
    expect(await lastReason(b)).toBe('not_a_member')
  })

  test('20: one person in both: a token of the one is for that one alone', async () => {
    await makeMember(system, b.org, 'viewer', a.person)
    const subject = unique('both')
    await link(system, b.providerId, subject, a.person)
    const assertion = (resource: string) =>
      b.assertion({ sub: subject, scope: undefined, resource: `${system.origin}/${resource}` })
    const platform = tokenIn(await swap(b, await assertion('platform')))
    expect((await whoami(system, platform)).who).toMatchObject({
      organization: { id: b.org.id },
      user: { id: a.person.userId },
      role: 'viewer',
    })
    const notifications = tokenIn(await swap(b, await assertion('notifications')))
    expect(claimsIn(notifications)).toMatchObject({ org_id: b.org.id })
    expect((await whoami(system, notifications, 'notifications')).status).toBe(200)
    expect(await grantsBy(system, a.providerId)).toEqual([])
  })
})

test('17: an issuer that two share: another tenant, or none', async () => {
  const shared = await makeIssuer(system, host)
  const [orgOne, orgTwo] = [await makeOrganization(system), await makeOrganization(system)]
  const one = await trust(system, orgOne, shared, { tenantClaim: 'tid', tenantValue: 'one' })
  const two = await trust(system, orgTwo, shared, { tenantClaim: 'tid', tenantValue: 'two' })
  const subject = unique('same')
  for (const [id, { owner }] of [
    [one, orgOne],
    [two, orgTwo],
  ] as const) {
    await allow(system, id, a.client.clientId)
    await link(system, id, subject, owner)
  }
  const assertion = (claims: Claims) =>
    shared.sign({ sub: subject, client_id: a.client.clientId, scope: 'data:read', ...claims })
  for (const claims of [
    {},
    { tid: 'three' },
    { tid: '' },
    { tid: ['one'] },
    { tenant: 'one' },
    { tid: 'ONE' },
  ]) {
    await expectRefused(swap(a, await assertion(claims)))
  }
  for (const [tid, { id }] of [
    ['one', orgOne],
    ['two', orgTwo],
  ] as const) {
    expect(claimsIn(tokenIn(await swap(a, await assertion({ tid })))).org_id).toBe(id)
  }
  // Of an issuer with tenants, a subject is nobody without them.
  await expectRefused(swap(a, await a.assertion({ tenant: 'one' })))
  expect(await lastReason(a)).toBe('tenant')
})

test('19: it names another organization', async () => {
  for (const aud_tenant of [b.org.id, b.org.slug, '', [a.org.id], 'nobody']) {
    await expectRefused(swap(a, await a.assertion({ aud_tenant })))
  }
  expect(await lastReason(a)).toBe('audience_tenant')
  for (const aud_tenant of [a.org.id, a.org.slug]) {
    expect((await swap(a, await a.assertion({ aud_tenant }))).status).toBe(200)
  }
})

describe('21: where it is closed', () => {
  test('for a removed member', async () => {
    await a.org.owner.call(removeMember, { org_id: a.org.id, user_id: a.person.userId })
    await expectRefused(swap(a, await a.assertion()))
    // And not back by their address: somebody removed them.
    const domain = a.person.email.split('@')[1]!
    await setProvider(system, a.providerId, { linking: 'domain' })
    await system.db.delete(organizationDomains).where(eq(organizationDomains.domain, domain))
    await system.db.insert(organizationDomains).values({ domain, orgId: a.org.id })
    const claims = { sub: unique('x'), email: a.person.email, email_verified: true }
    await expectRefused(swap(a, await a.assertion(claims)))
    // Nor with another account, when theirs has another address by now.
    const renamed = { email: `${unique('renamed')}@elsewhere.test` }
    await system.db.update(users).set(renamed).where(eq(users.id, a.person.userId))
    await expectRefused(swap(a, await a.assertion(claims)))
    expect(await lastReason(a)).toBe('not_a_member')
    await system.db.delete(organizationDomains).where(eq(organizationDomains.domain, domain))
  })

  test('for an organization that switched agents off', async () => {
    await a.org.owner.call(updateOrganization, { org_id: a.org.id, agents_enabled: false })
    await expectRefused(swap(a, await a.assertion()))
    expect(await lastReason(a)).toBe('agents_off')
  })

  test('for a client that it blocks', async () => {
    await a.org.owner.call(blockOauthClient, { client_id: a.client.clientId, blocked: true })
    await expectRefused(swap(a, await a.assertion()))
    expect(await lastReason(a)).toBe('client_blocked')
  })
})

test('22: for an endpoint elsewhere, or for two', async () => {
  const [platform, notifications] = [`${system.origin}/platform`, `${system.origin}/notifications`]
  for (const resource of [
    'https://evil.example/platform',
    `${system.origin}/other`,
    `${platform}?x=1`,
    [platform, notifications],
    [platform, platform],
    [],
    '',
    7,
    { platform },
  ]) {
    await expectRefused(swap(a, await a.assertion({ resource })))
  }
  expect(await lastReason(a)).toBe('resource')
})

test('23: the parameter means another endpoint than the claim', async () => {
  const [platform, notifications] = [`${system.origin}/platform`, `${system.origin}/notifications`]
  const cases: [Claims, string | string[]][] = [
    [{ resource: platform }, notifications],
    [{ resource: platform }, 'https://evil.example/platform'],
    [{}, 'https://evil.example/platform'],
    [{}, [platform, notifications]],
    [{ resource: platform }, [platform, notifications]],
  ]
  for (const [claims, resource] of cases) {
    const { status, body } = await swap(a, await a.assertion(claims), { resource })
    expect([resource, status, body.error]).toEqual([resource, 400, 'invalid_target'])
  }
  expect(await usesOf(system, a.providerId)).toEqual([])
})

test('24: a token at the other endpoint', async () => {
  const at = async (resource: string) =>
    tokenIn(await swap(a, await a.assertion({ scope: undefined, resource: `${system.origin}/${resource}` })))
  const [platform, notifications] = [await at('platform'), await at('notifications')]
  expect((await whoami(system, platform, 'notifications')).status).toBe(401)
  expect((await whoami(system, notifications, 'platform')).status).toBe(401)
  expect((await whoami(system, notifications, 'notifications')).status).toBe(200)
})

describe('25: scopes above what there is', () => {
  const scopesBy = async (claims: Claims) => (await swap(a, await a.assertion(claims))).body.scope
  const EVERYTHING = 'data:read maintenance:read maintenance:run maintenance:admin proposals:decide'

  test('above the client, the rule or the role', async () => {
    expect(await scopesBy({ scope: EVERYTHING })).toBe('data:read maintenance:read')
    await setRules(system, a.providerId, [
      { scopes: ['data:read', 'maintenance:run', 'maintenance:admin', 'proposals:decide'] },
    ])
    expect(await scopesBy({ scope: EVERYTHING })).toBe('data:read')
    // The client may have all of them now, but a developer cannot run maintenance.
    const wide = await clientWithSecret(system)
    await allow(system, a.providerId, wide.clientId, {
      maxScopes: ['data:read', 'maintenance:run', 'maintenance:admin', 'proposals:decide'],
    })
    const by = (claims: Claims) =>
      a.assertion({ client_id: wide.clientId, ...claims }).then((one) => exchange(system, wide, one))
    expect((await by({ scope: EVERYTHING })).body.scope).toBe('data:read proposals:decide')
    // What nobody named is not given by default.
    expect((await by({ scope: undefined })).body.scope).toBe('data:read')
    await setRules(system, a.providerId, [])
    expect((await by({ scope: EVERYTHING })).body.scope).toBe('data:read')
  })

  test('nothing left is no token, and never the defaults', async () => {
    for (const scope of ['maintenance:admin', 'unknown', '', ' ']) {
      const { status, body } = await swap(a, await a.assertion({ scope }))
      expect([scope, status, body.error]).toEqual([scope, 400, 'invalid_scope'])
    }
    const { body } = await swap(a, await a.assertion(), { scope: 'maintenance:admin' })
    expect(body.error).toBe('invalid_scope')
    await expectRefused(swap(a, await a.assertion({ scope: ['data:read'] })))
  })
})

describe('26: the same assertion again', () => {
  test('by its client within a minute: on the same grant; after that refused', async () => {
    const assertion = await a.assertion()
    const first = tokenIn(await swap(a, assertion))
    system.clock.advance(50)
    const second = tokenIn(await swap(a, assertion))
    expect(claimsIn(second).grant_id).toBe(claimsIn(first).grant_id)
    system.clock.advance(11)
    expect((await swap(a, assertion)).body.error).toBe('invalid_grant')
    expect(await lastReason(a)).toBe('replayed')
    expect(await grantsBy(system, a.providerId)).toHaveLength(1)
  })

  test('after the provider was removed and added again', async () => {
    const assertion = await a.assertion()
    tokenIn(await swap(a, assertion))
    await a.org.owner.call(deleteIdentityProvider, {})
    const again = await trust(system, a.org, a.provider)
    await allow(system, again, a.client.clientId)
    await link(system, again, a.subject, a.person)
    expect((await swap(a, assertion)).body.error).toBe('invalid_grant')
    expect((await refusalsOf(system, again)).at(-1)?.reason).toBe('replayed')
    expect((await swap(a, await a.assertion())).status).toBe(200)
  })

  test('does not get more, nor another endpoint', async () => {
    const assertion = await a.assertion()
    tokenIn(await swap(a, assertion, { scope: 'data:read' }))
    expect((await swap(a, assertion)).body.scope).toBe('data:read')
    const other = await swap(a, assertion, { resource: `${system.origin}/notifications` })
    expect(other.status).toBe(400)
  })

  test('is remembered for as long as it would be taken', async () => {
    const now = Math.floor(system.clock.now().getTime() / 1000)
    const assertion = await a.assertion({ iat: now, exp: now + 60 })
    tokenIn(await swap(a, assertion))
    const [use] = await usesOf(system, a.providerId)
    expect(use!.expiresAt.getTime()).toBeGreaterThanOrEqual((now + 120) * 1000)
    system.clock.advance(110)
    expect((await swap(a, assertion)).body.error).toBe('invalid_grant')
  })
})

test('27: the same jti from two issuers, however the two are put together', async () => {
  const jti = unique('jti')
  for (const one of [a, b]) expect((await swap(one, await one.assertion({ jti }))).status).toBe(200)
  const ids = await system.db.select({ id: assertionUses.id }).from(assertionUses)
  expect(new Set(ids.map(({ id }) => id)).size).toBe(ids.length)
  // Nor one issuer with a jti that begins with what another's id ends with.
  expect((await swap(a, await a.assertion({ jti: b.providerId + jti }))).status).toBe(200)
  expect((await swap(b, await b.assertion({ jti: a.providerId + jti }))).status).toBe(200)
})

describe('28: a client that is not on the list', () => {
  const unauthorized = ({ status, body }: HttpAnswer) =>
    expect([status, body.error]).toEqual([400, 'unauthorized_client'])

  test('on no list, or on another organization’s', async () => {
    const other = await clientWithSecret(system)
    unauthorized(await exchange(system, other, await a.assertion({ client_id: other.clientId })))
    unauthorized(await exchange(system, b.client, await a.assertion({ client_id: b.client.clientId })))
    expect(await usesOf(system, a.providerId)).toEqual([])
    expect(await refusalsOf(system, a.providerId)).toEqual([])
  })

  test('writes nothing into the log; what its own client forges hides nothing', async () => {
    const other = await clientWithSecret(system)
    const own = await newKey('ES256', a.provider.key.kid)
    for (const client of [other, b.client]) {
      const forged = await a.assertion({ client_id: client.clientId }, { by: own })
      expect((await exchange(system, client, forged)).status).toBe(400)
    }
    expect(await refusalsOf(system, a.providerId)).toEqual([])
    expect(a.provider.keyReads()).toBeLessThanOrEqual(1)
    await Promise.all(Array.from({ length: 70 }, async () => swap(a, await a.assertion({}, { by: own }))))
    const forged = await refusalsOf(system, a.providerId)
    expect(forged.length).toBeGreaterThan(0)
    expect(forged.length).toBeLessThan(15)
    await expectRefused(swap(a, await a.assertion({ aud: 'https://other.example' })))
    expect(await lastReason(a)).toBe('audience')
  })

  test('that registered itself, even if it is on the list', async () => {
    const { body } = await register(system, { redirect_uris: ['https://app.example/cb'], client_name: 'x' })
    const clientId = String(body.client_id)
    await allow(system, a.providerId, clientId, { kind: 'dynamic', mayBePublic: true })
    const assertion = await a.assertion({ client_id: clientId })
    unauthorized(await postToken(system, { grant_type: JWT_BEARER, assertion, client_id: clientId }))
    expect(await usesOf(system, a.providerId)).toEqual([])
  })
})

test('29: a client without a secret, where it must have one', async () => {
  const { clientId } = await preRegistered(system)
  await allow(system, a.providerId, clientId)
  // Anybody can send this: it is not for the log.
  const forged = await a.assertion({ client_id: clientId }, { by: await newKey('ES256', a.provider.key.kid) })
  await expectRefused(postToken(system, { grant_type: JWT_BEARER, assertion: forged, client_id: clientId }))
  expect(await refusalsOf(system, a.providerId)).toEqual([])
  const assertion = await a.assertion({ client_id: clientId })
  const answer = await postToken(system, { grant_type: JWT_BEARER, assertion, client_id: clientId })
  expect([answer.status, answer.body.error]).toEqual([400, 'unauthorized_client'])
  expect(await usesOf(system, a.providerId)).toEqual([])
  expect(await lastReason(a)).toBe('client_public')
})

test('30: the provider is paused: refused, and so is the token from before', async () => {
  const token = tokenIn(await swap(a, await a.assertion()))
  expect((await whoami(system, token)).status).toBe(200)
  await setProvider(system, a.providerId, { state: 'paused' })
  const { body } = await swap(a, await a.assertion())
  expect(body).toEqual({ error: 'invalid_grant', error_description: 'grant request is invalid' })
  expect(await lastReason(a)).toBe('paused')
  expect((await whoami(system, token)).status).toBe(401)
})

describe('31: keys from where they must not come', () => {
  const signer = { keyId: 'k', algorithm: 'ES256' as const }

  const clock = () => system.clock.now()

  test('a name that leads to loopback, where keys are: refused, and nobody asks there', async () => {
    const { jwksUri } = a.provider
    expect(await createProviderKeys({ guardedFetch: host.guardedFetch, clock }).read(jwksUri)).toHaveLength(1)
    const reads = a.provider.keyReads()
    for (const address of ['127.0.0.1', '::ffff:127.0.0.1']) {
      const guarded = guardedFetch({ resolve: async () => [address], ca: host.certificate })
      expect(await createProviderKeys({ guardedFetch: guarded, clock }).read(jwksUri)).toBeUndefined()
    }
    expect(a.provider.keyReads()).toBe(reads)
  })

  test('loopback and private addresses: refused', async () => {
    const keys = createProviderKeys({ guardedFetch: guardedFetch(), clock })
    for (const uri of [
      'https://127.0.0.1/keys',
      'https://localhost/keys',
      'https://[::1]/keys',
      'https://10.0.0.1/keys',
      'https://169.254.169.254/keys',
      'http://example.com/keys',
      'file:///etc/passwd',
    ]) {
      expect([uri, await keys.read(uri)]).toEqual([uri, undefined])
      expect(await keys.find(uri, signer)).toEqual([])
    }
  })

  test('a redirect, ten megabytes, an answer that never ends: refused, the known keys stay for a day', async () => {
    const assertion = () => a.assertion()
    tokenIn(await swap(a, await assertion()))
    // Taken, they would let in whoever has this key, and nobody else.
    const other = await newKey()
    const theirs = { keys: [other.jwk] }
    const elsewhere = host.put(`/${unique('other')}/keys`, theirs)
    const padded = JSON.stringify({ ...theirs, padding: 'x'.repeat(10 * 1024 * 1024) })
    const answers: Parameters<Issuer['keysAt']>[0][] = [
      (answer) => answer.writeHead(302, { location: elsewhere }).end(),
      (answer) => answer.writeHead(200).end(padded),
      (answer) => void answer.writeHead(200).write('{"keys": ['),
      (answer) => answer.writeHead(200).end('not json'),
      (answer) => answer.writeHead(500).end(),
    ]
    for (const answer of answers) {
      a.provider.keysAt(answer)
      // Older than they are used unseen: they are asked for again, in vain.
      system.clock.advance(11 * 60)
      const reads = a.provider.keyReads()
      expect((await swap(a, await assertion())).status).toBe(200)
      expect(a.provider.keyReads()).toBe(reads + 1)
      const forged = await a.assertion({}, { by: other })
      expect((await swap(a, forged)).body.error).toBe('invalid_grant')
    }
    expect(host.hits(new URL(elsewhere).pathname)).toBe(0)
    system.clock.advance(24 * 60 * 60)
    expect((await swap(a, await assertion())).body.error).toBe('invalid_grant')
  })
})

describe('32: key ids without end', () => {
  test('one fetch a minute, then 429; who comes with a good one is not kept out', async () => {
    tokenIn(await swap(a, await a.assertion()))
    system.clock.advance(61)
    const reads = a.provider.keyReads()
    const address = newAddress()
    const own = await newKey()
    const statuses: number[] = []
    const pauses = new Set<string | null>()
    for (let round = 0; round < 6; round++) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, async () => {
          const assertion = await a.assertion({}, { by: { ...own, kid: unique('kid') } })
          return exchange(system, a.client, assertion, {}, address)
        }),
      )
      statuses.push(...answers.map(({ status }) => status))
      for (const { status, headers } of answers) if (status === 429) pauses.add(headers.get('retry-after'))
    }
    expect(statuses).toHaveLength(300)
    expect(new Set(statuses)).toEqual(new Set([400, 429]))
    expect([...pauses]).toEqual([...pauses].map(() => expect.stringMatching(/^[1-9]\d*$/)))
    // The clock of the test goes on with every reading, by a millisecond.
    expect(a.provider.keyReads() - reads).toBe(1)
    expect((await exchange(system, a.client, await a.assertion(), {}, address)).status).toBe(200)
    // And the log of it has an end.
    expect((await refusalsOf(system, a.providerId)).length).toBeLessThan(200)
  })

  test('guesses at a secret are counted with all other guesses', async () => {
    const address = newAddress()
    const wrong = { clientId: a.client.clientId, secret: 'wrong' }
    const assertion = await a.assertion()
    const guesses = await Promise.all(
      Array.from({ length: 90 }, () => exchange(system, wrong, assertion, {}, address)),
    )
    expect(guesses.filter(({ status }) => status === 401).length).toBeLessThan(70)
    // They use up nothing of what assertions have.
    const { status } = await exchange(system, a.client, await a.assertion({ aud: 'x' }), {}, address)
    expect(status).toBe(400)
  })

  test('a key that was taken back', async () => {
    const old = a.provider.key
    tokenIn(await swap(a, await a.assertion()))
    await a.provider.rotate()
    system.clock.advance(10 * 60 + 1)
    expect((await swap(a, await a.assertion({}, { by: old }))).body.error).toBe('invalid_grant')
  })
})

describe('33: what cannot be checked, or is not one assertion', () => {
  test('bound to a key, with more than scopes say, or with what must be understood', async () => {
    await expectRefused(swap(a, await a.assertion({ cnf: { jkt: 'x' } })))
    expect(await lastReason(a)).toBe('proof_of_possession')
    await expectRefused(swap(a, await a.assertion({ authorization_details: [{ type: 'x' }] })))
    const [, body] = (await a.assertion()).split('.')
    for (const extra of [{ crit: ['x'], x: 1 }, { b64: true }, { crit: [] }]) {
      const header = Buffer.from(
        JSON.stringify({ alg: 'ES256', kid: a.provider.key.kid, typ: 'oauth-id-jag+jwt', ...extra }),
      ).toString('base64url')
      const key = KeyObject.from(a.provider.key.key)
      const signature = sign('sha256', Buffer.from(`${header}.${body}`), { key, dsaEncoding: 'ieee-p1363' })
      await expectRefused(swap(a, `${header}.${body}.${signature.toString('base64url')}`))
    }
  })

  test('encrypted, too long, or something else', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ECDH-ES')
    const inner = await a.assertion()
    const encrypted = await new CompactEncrypt(new TextEncoder().encode(inner))
      .setProtectedHeader({
        alg: 'ECDH-ES',
        enc: 'A128GCM',
        typ: 'oauth-id-jag+jwt',
        epk: await exportJWK(publicKey),
      })
      .encrypt(publicKey)
    expect(new TextDecoder().decode((await compactDecrypt(encrypted, privateKey)).plaintext)).toBe(inner)
    const long = await a.assertion({ padding: 'x'.repeat(6_500) })
    expect(long.length).toBeGreaterThan(8 * 1024)
    const [header, body, signature] = inner.split('.')
    for (const text of [
      encrypted,
      long,
      'x',
      '..',
      'a.b.c',
      `${inner}.`,
      `${inner} `,
      `${header}.${Buffer.from('[]').toString('base64url')}.${signature}`,
      `${header}.${Buffer.from('null').toString('base64url')}.${signature}`,
      `${Buffer.from([0xff, 0xfe]).toString('base64url')}.${body}.${signature}`,
      `{"protected":"${header}","payload":"${body}","signature":"${signature}"}`,
    ]) {
      await expectRefused(swap(a, text))
    }
  })

  test('two of them, or none', async () => {
    const assertion = await a.assertion()
    for (const given of [[assertion, assertion], [assertion, await a.assertion()], []]) {
      const { status, body } = await exchange(system, a.client, given)
      expect([status, body.error]).toEqual([400, 'invalid_request'])
    }
    expect(await usesOf(system, a.providerId)).toEqual([])
  })
})

test('34: characters that cannot be stored', async () => {
  await setProvider(system, a.providerId, { linking: 'domain' })
  const bad = ['x\0y', '\ud800', '\0', 'x\udfff', '\u0000'.repeat(3)]
  for (const text of bad) {
    for (const claims of [
      { sub: text },
      { jti: text },
      { iss: text },
      { client_id: text },
      { aud_sub: text },
      { resource: text },
      { sub: unique('x'), email: `${text}@company.test`, email_verified: true },
    ]) {
      await expectRefused(swap(a, await a.assertion(claims)))
    }
    await expectRefused(swap(a, await a.assertion({}, { header: { kid: text } })))
  }
  // In a claim that nobody compares it does no harm, and no rule breaks on it.
  await setRules(system, a.providerId, [{ claim: 'groups', value: 'x', scopes: ['data:read'] }])
  expect((await swap(a, await a.assertion({ groups: bad, tid: '\0', hd: '\ud800' }))).status).toBe(200)
  for (const claims of [{ sub: 'x'.repeat(2_000) }, { jti: '' }, { jti: 7 }, { sub: {} }]) {
    expect((await swap(a, await a.assertion(claims))).body.error).toBe('invalid_grant')
  }
})

test('35: no refresh token, and none is taken', async () => {
  const { body } = await swap(a, await a.assertion({ scope: 'data:read offline_access' }), {
    scope: 'data:read offline_access',
  })
  expect(Object.keys(body).toSorted()).toEqual(['access_token', 'expires_in', 'scope', 'token_type'])
  for (const refresh_token of [
    String(body.access_token),
    await a.assertion(),
    String(claimsIn(String(body.access_token)).jti),
  ]) {
    const answer = await postToken(system, { grant_type: 'refresh_token', refresh_token }, basic(a.client))
    expect([answer.status, answer.body.access_token]).toEqual([400, undefined])
  }
})

test('36: in the address it is not read, and it is in no line of the log', async () => {
  const assertion = await a.assertion()
  const query = new URLSearchParams({ grant_type: JWT_BEARER, assertion })
  const response = await fetch(`${system.origin}/oauth/token?${query}`, {
    method: 'POST',
    headers: { ...basic(a.client), 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: JWT_BEARER }),
  })
  expect([response.status, ((await response.json()) as Claims).error]).toEqual([400, 'invalid_request'])
  tokenIn(await swap(a, assertion))
  await swap(a, await a.assertion({ aud: 'https://other.example' }))
  await swap(a, `${assertion}x`)
  const [header, body, signature] = assertion.split('.')
  const logged = system.logLines.join('\n')
  expect(logged).toContain('/oauth/token')
  for (const part of [assertion, header!, body!, signature!]) expect(logged).not.toContain(part)
  const kept = JSON.stringify([await refusalsOf(system, a.providerId), await grantsBy(system, a.providerId)])
  // Nor the beginning of it, where a text is cut.
  for (const part of [header!, body!, signature!]) expect(kept).not.toContain(part.slice(0, 40))
})

test('37: neither metadata nor answers say whom anybody trusts', async () => {
  const metadata = await (await fetch(`${system.origin}/.well-known/oauth-authorization-server`)).json()
  expect(metadata).toMatchObject({
    authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
    grant_types_supported: expect.arrayContaining([JWT_BEARER]),
  })
  expect(JSON.stringify(metadata)).not.toContain(new URL(a.provider.issuer).host)
  const unknown = await makeIssuer(system, host)
  const own = await newKey('ES256', b.provider.key.kid)
  const shown = ({ status, text }: HttpAnswer) => [status, text]
  // By a client on somebody's list, and by one on nobody's: an issuer that is trusted answers as one that is not.
  const nobody = await clientWithSecret(system)
  for (const client of [a.client, nobody]) {
    const claims = b.claims({ client_id: client.clientId })
    const answers = [
      await exchange(system, client, await unknown.sign(claims)),
      await exchange(
        system,
        client,
        await b.provider.sign({ ...claims, iss: b.provider.issuer }, { by: own }),
      ),
      await exchange(system, client, await b.provider.sign(claims, { by: await newKey() })),
    ]
    expect(new Set(answers.map((answer) => JSON.stringify(shown(answer)))).size).toBe(1)
  }
})

test('37: a text that an assertion brought is shown as text', async () => {
  await swap(a, await a.assertion({ sub: `a\u202eb\u0007c${'x'.repeat(500)}` }))
  const [refusal] = await refusalsOf(system, a.providerId)
  expect(refusal!.subject).not.toMatch(/\p{C}/u)
  expect(refusal!.subject!.length).toBeLessThanOrEqual(200)
})

test('38: a registration that asks for it does not get it', async () => {
  const { body } = await register(system, {
    redirect_uris: ['https://app.example/cb'],
    grant_types: ['client_credentials', JWT_BEARER, 'authorization_code'],
    token_endpoint_auth_method: 'client_secret_basic',
  })
  expect(body.grant_types).toEqual(['authorization_code'])
  const client = { clientId: String(body.client_id), secret: String(body.client_secret) }
  await allow(system, a.providerId, client.clientId, { kind: 'dynamic' })
  const answer = await exchange(system, client, await a.assertion({ client_id: client.clientId }))
  expect(answer.body.error).toBe('unauthorized_client')
  const machine = await postToken(system, { grant_type: 'client_credentials' }, basic(client))
  expect([machine.status, machine.body.access_token]).toEqual([400, undefined])
})

test('turned off, it is neither offered nor taken', async () => {
  const off = await startListeningSystem({ ENTERPRISE_AUTH: 'off' })
  try {
    const metadata = (await (
      await fetch(`${off.origin}/.well-known/oauth-authorization-server`)
    ).json()) as Claims
    expect(metadata.grant_types_supported).not.toContain(JWT_BEARER)
    expect(metadata).not.toHaveProperty('authorization_grant_profiles_supported')
    const { status, body } = await exchange(off, a.client, await a.assertion())
    expect([status, body.error]).toEqual([400, 'unsupported_grant_type'])
  } finally {
    await off.stop()
  }
})
