import { describe, expect, onTestFinished, test } from 'vitest'
import {
  HOME_TENANT,
  PRIVATE_TENANT,
  startIdentityProvider,
  type IdentityProvider,
  type Misbehavior,
  type PersonAtProvider,
  type ProviderKind,
} from '../../../test/support/identity-provider.ts'
import { SignInRefused, SignInUnavailable } from '../../contracts/sign-in-errors.ts'
import type { OpenIdOptions } from './open-id.ts'
import { createSignInProviders, type SignInConfig } from './providers.ts'

const CALLBACK = new URL('https://app.acme.example/auth/any/callback')
const ADA = { email: 'ada@acme.example', email_verified: true, name: 'Ada Lovelace' }
const OTHER_TENANT = '66666666-7777-4888-8999-000000000000'

describe.each<ProviderKind>(['google', 'microsoft', 'oidc'])('%s', (kind) => {
  test('a walk through the provider proves the person', async () => {
    const { signIn } = await meet(kind)
    expect(await signIn()).toMatchObject({ provider: kind, email: 'ada@acme.example', name: 'Ada Lovelace' })
  })

  test('state, nonce and verifier are new every time, and only the challenge leaves', async () => {
    const { provider } = await meet(kind)
    const [one, two] = [await provider.begin(CALLBACK), await provider.begin(CALLBACK)]
    expect(new Set([one, two].flatMap((b) => [b.state, b.nonce, b.codeVerifier])).size).toBe(6)
    expect(one.url.searchParams.get('code_challenge_method')).toBe('S256')
    expect(one.url.searchParams.get('redirect_uri')).toBe(CALLBACK.href)
    expect(one.url.href).not.toContain(one.codeVerifier)
  })

  test('asks the provider to let the person choose only when they want to be somebody else', async () => {
    const { provider } = await meet(kind)
    expect((await provider.begin(CALLBACK)).url.searchParams.has('prompt')).toBe(false)
    const other = await provider.begin(CALLBACK, { chooseAccount: true })
    expect(other.url.searchParams.get('prompt')).toBe('select_account')
  })

  test('every request to the provider goes the way it is told, which may be a proxy', async () => {
    const seen: string[] = []
    const fetch: typeof globalThis.fetch = (input, init) => {
      seen.push(new URL(input instanceof Request ? input.url : input).pathname)
      return globalThis.fetch(input, init)
    }
    const { idp, signIn } = await meet(kind, {}, { fetch })
    await signIn()
    const asked = idp.requests.map(({ path }) => path.split('?')[0]!)
    const direct = asked.filter((path) => /well-known|token|jwks|me$/.test(path))
    expect(seen.toSorted()).toEqual(direct.toSorted())
    expect(seen.length).toBeGreaterThanOrEqual(3)
  })

  test('whoever signed in before at the provider, the present person is proven', async () => {
    const { idp, signIn } = await meet(kind, { bob: { sub: 'bob', email: 'bob@acme.example', name: 'Bob' } })
    await signIn()
    idp.signInWithProvider('bob')
    expect(await signIn()).toMatchObject({ name: 'Bob' })
  })

  test('an answer to another request is refused: the state differs', async () => {
    const { provider, idp } = await meet(kind)
    const [mine, other] = [await provider.begin(CALLBACK), await provider.begin(CALLBACK)]
    const callback = await idp.walk(other.url)
    expect(await refusalOf(provider.finish(callback, { ...mine, redirectUri: CALLBACK }))).toMatch(/state/)
  })

  test('an answer without state is refused', async () => {
    const { provider, idp } = await meet(kind)
    const begun = await provider.begin(CALLBACK)
    const callback = await idp.walk(begun.url)
    callback.searchParams.delete('state')
    expect(await refusalOf(provider.finish(callback, { ...begun, redirectUri: CALLBACK }))).toMatch(/state/)
  })

  test('an id token made for another sign-in is refused: the nonce differs', async () => {
    const { provider, idp } = await meet(kind)
    const [mine, other] = [await provider.begin(CALLBACK), await provider.begin(CALLBACK)]
    const callback = await idp.walk(mine.url)
    const swapped = { ...mine, nonce: other.nonce, redirectUri: CALLBACK }
    expect(await refusalOf(provider.finish(callback, swapped))).toMatch(/nonce/)
  })

  test('a stolen code is worth nothing without the verifier', async () => {
    const { provider, idp } = await meet(kind)
    const [mine, other] = [await provider.begin(CALLBACK), await provider.begin(CALLBACK)]
    const callback = await idp.walk(mine.url)
    const guessed = { ...mine, codeVerifier: other.codeVerifier, redirectUri: CALLBACK }
    expect(await refusalOf(provider.finish(callback, guessed))).toMatch(/invalid_grant/)
  })

  test('a code works once', async () => {
    const { provider, idp } = await meet(kind)
    const begun = await provider.begin(CALLBACK)
    const callback = await idp.walk(begun.url)
    await provider.finish(callback, { ...begun, redirectUri: CALLBACK })
    expect(await refusalOf(provider.finish(callback, { ...begun, redirectUri: CALLBACK }))).toMatch(
      /invalid_grant/,
    )
  })

  test('a code given to another address is refused', async () => {
    const { provider, idp } = await meet(kind)
    const begun = await provider.begin(CALLBACK)
    const callback = await idp.walk(begun.url)
    const redirectUri = new URL('https://elsewhere.example/auth/any/callback')
    expect(await refusalOf(provider.finish(callback, { ...begun, redirectUri }))).toMatch(/invalid_grant/)
  })

  test('the callback may have come in under an address of its own behind a proxy', async () => {
    const { provider, idp } = await meet(kind)
    const begun = await provider.begin(CALLBACK)
    const internal = new URL(`http://10.0.0.7:4000/auth/any/callback${(await idp.walk(begun.url)).search}`)
    expect(await provider.finish(internal, { ...begun, redirectUri: CALLBACK })).toMatchObject({
      provider: kind,
    })
  })

  test('a parameter given twice is refused', async () => {
    const { provider, idp } = await meet(kind)
    const begun = await provider.begin(CALLBACK)
    const callback = await idp.walk(begun.url)
    callback.searchParams.append('code', 'another')
    const finished = provider.finish(callback, { ...begun, redirectUri: CALLBACK })
    expect(await refusalOf(finished)).toMatch(/code/)
  })

  test.each<[string, Misbehavior, RegExp]>([
    ['with a wrong nonce', { idToken: { nonce: 'replayed' } }, /nonce/],
    ['without nonce', { idToken: { nonce: undefined } }, /nonce/],
    ['for another client', { idToken: { aud: 'somebody-else' } }, /aud/],
    ['of another issuer', { idToken: { iss: 'https://evil.example' } }, /iss/],
    ['that has run out', { idToken: { exp: 1_700_000_000 } }, /exp/],
    ['without subject', { idToken: { sub: undefined } }, /sub/],
    ['that nobody signed', { signature: 'none' }, /alg/],
    ['signed by another key', { signature: 'foreign-key' }, /signature/],
    ['signed with our own secret', { signature: 'client-secret' }, /JWS algorithm/],
  ])('an id token %s is refused', async (_what, how, reason) => {
    const { idp, signIn } = await meet(kind)
    idp.misbehave(how)
    expect(await refusalOf(signIn())).toMatch(reason)
  })

  test('a code that has run out is refused', async () => {
    const { idp, signIn } = await meet(kind)
    idp.misbehave({ code: 'expired' })
    expect(await refusalOf(signIn())).toMatch(/invalid_grant/)
  })

  test('a person who presses Cancel is refused', async () => {
    const { idp, signIn } = await meet(kind)
    idp.misbehave({ answer: 'access_denied' })
    expect(await refusalOf(signIn())).toMatch(/access_denied/)
  })

  test('text in the callback URL does not reach the log', async () => {
    const { provider } = await meet(kind)
    const begun = await provider.begin(CALLBACK)
    const forged = new URL(CALLBACK)
    forged.search = String(new URLSearchParams({ state: begun.state, error: 'root logged in\n<b>', iss: '' }))
    const refusal = await provider
      .finish(forged, { ...begun, redirectUri: CALLBACK })
      .catch((e: unknown) => e)
    expect(refusal).toBeInstanceOf(SignInRefused)
    expect(JSON.stringify(refusal)).not.toContain('root')
  })

  test('a refusal carries no code, token or claim', async () => {
    const { idp, provider } = await meet(kind)
    idp.misbehave({ idToken: { nonce: 'replayed' } })
    const begun = await provider.begin(CALLBACK)
    const callback = await idp.walk(begun.url)
    const refusal = (await provider
      .finish(callback, { ...begun, redirectUri: CALLBACK })
      .catch((e: unknown) => e)) as Error
    expect(refusal.cause).toBeUndefined()
    expect(refusal.message).toBe('The sign-in was refused')
    expect(JSON.stringify(refusal)).not.toContain(callback.searchParams.get('code'))
  })

  test('a provider that is down keeps nobody from starting, and is asked again', async () => {
    const idp = await startIdentityProvider({ kind, people: { ada: ADA } })
    onTestFinished(() => idp.close())
    idp.misbehave({ outage: 'error-page' })
    const { provider, signIn } = meetAt(kind, idp)
    await expect(provider.begin(CALLBACK)).rejects.toThrow(SignInUnavailable)
    idp.misbehave({})
    expect(await signIn()).toMatchObject({ provider: kind })
  })

  test('a provider that is gone is unavailable', async () => {
    const { idp, provider } = await meet(kind)
    await idp.close()
    await expect(provider.begin(CALLBACK)).rejects.toThrow(SignInUnavailable)
  })

  test.each<[string, (idp: IdentityProvider) => unknown]>([
    ['broken', (idp) => idp.misbehave({ outage: 'error-page' })],
    ['gone', (idp) => idp.close()],
  ])('a provider that is %s on the way back accuses nobody', async (_what, fail) => {
    const { idp, provider } = await meet(kind)
    const begun = await provider.begin(CALLBACK)
    const callback = await idp.walk(begun.url)
    await fail(idp)
    const finished = provider.finish(callback, { ...begun, redirectUri: CALLBACK })
    await expect(finished).rejects.toThrow(SignInUnavailable)
  })

  test('discovery is asked once an hour, however many come', async () => {
    let now = 0
    const { idp, provider } = await meet(kind, {}, { now: () => now })
    const discoveries = () => idp.requests.filter(({ path }) => path.includes('/.well-known/')).length
    expect(discoveries()).toBe(0)
    await Promise.all([provider.begin(CALLBACK), provider.begin(CALLBACK)])
    now = 59 * 60_000
    await provider.begin(CALLBACK)
    expect(discoveries()).toBe(1)
    now = 60 * 60_000
    await provider.begin(CALLBACK)
    expect(discoveries()).toBe(2)
  })

  test('the client secret is sent the way discovery asks for', async () => {
    const { idp, signIn } = await meet(kind)
    await signIn()
    const [exchange] = idp.requests.filter(({ path }) => path.endsWith('/token'))
    expect(exchange?.authorization?.split(' ')[0]).toBe(kind === 'oidc' ? 'Basic' : undefined)
  })
})

describe('google', () => {
  test('the person is the issuer and its subject, with the address of the Workspace', async () => {
    const { idp, signIn } = await meet('google', { ada: { ...ADA, sub: '1084' } })
    expect(await signIn()).toEqual({
      provider: 'google',
      issuer: idp.authority,
      subject: '1084',
      email: 'ada@acme.example',
      emailVerified: true,
      name: 'Ada Lovelace',
    })
  })

  test.each([
    ['an address Google did not verify', { ...ADA, email_verified: false }],
    ['an address Google does not host', { ...ADA, hd: null }],
  ])('%s is not verified', async (_what, claims) => {
    const { signIn } = await meet('google', { ada: claims })
    expect(await signIn()).toMatchObject({ email: 'ada@acme.example', emailVerified: false })
  })

  test('an answer of another issuer is refused (RFC 9207)', async () => {
    const { provider, idp } = await meet('google')
    const begun = await provider.begin(CALLBACK)
    const callback = await idp.walk(begun.url)
    callback.searchParams.set('iss', 'https://evil.example')
    expect(await refusalOf(provider.finish(callback, { ...begun, redirectUri: CALLBACK }))).toMatch(/iss/)
  })
})

describe('microsoft', () => {
  const oid = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee'

  test.each(['common', 'organizations', HOME_TENANT, HOME_TENANT.toUpperCase()])(
    'through %s the person is the tenant and the object in it',
    async (tenantId) => {
      const { idp, signIn } = await meet('microsoft', { ada: { ...ADA, oid, xms_edov: true } }, {}, tenantId)
      expect(await signIn()).toEqual({
        provider: 'microsoft',
        issuer: `${idp.authority}/${HOME_TENANT}/v2.0`,
        subject: oid,
        email: 'ada@acme.example',
        emailVerified: true,
        name: 'Ada Lovelace',
      })
    },
  )

  test('through consumers come private accounts', async () => {
    const { signIn } = await meet('microsoft', { ada: { ...ADA, tid: PRIVATE_TENANT } }, {}, 'consumers')
    expect(await signIn()).toMatchObject({ issuer: expect.stringContaining(PRIVATE_TENANT) })
  })

  test('people of two tenants with the same object id are two people', async () => {
    const { idp, signIn } = await meet('microsoft', { ada: { oid }, eve: { oid, tid: OTHER_TENANT } })
    const ada = await signIn()
    idp.signInWithProvider('eve')
    const eve = await signIn()
    expect(eve.subject).toBe(ada.subject)
    expect(eve.issuer).not.toBe(ada.issuer)
  })

  test.each([
    ['a person of another tenant', HOME_TENANT, OTHER_TENANT],
    ['a private account at organizations', 'organizations', PRIVATE_TENANT],
    ['an organization at consumers', 'consumers', HOME_TENANT],
  ])('%s is refused', async (_what, tenantId, tid) => {
    const { signIn } = await meet('microsoft', { ada: { ...ADA, tid } }, {}, tenantId)
    expect(await refusalOf(signIn())).toMatch(/iss|tid/)
  })

  describe.each(['common', 'organizations', HOME_TENANT])('at %s iss and tid must agree', (tenantId) => {
    test.each<[string, (authority: string) => Record<string, string>]>([
      ['tid', () => ({ tid: OTHER_TENANT })],
      ['iss', (authority) => ({ iss: `${authority}/${OTHER_TENANT}/v2.0` })],
      ['both', (authority) => ({ iss: `${authority}/{tenantid}/v2.0`, tid: '{tenantid}' })],
    ])('%s changed', async (_what, claims) => {
      const { idp, signIn } = await meet('microsoft', {}, {}, tenantId)
      idp.misbehave({ idToken: claims(idp.authority) })
      expect(await refusalOf(signIn())).toMatch(/iss|tid/)
    })
  })

  /** nOAuth: any tenant's administrator can write somebody else's address into the free `email` claim. */
  test('the free email claim is never verified, whatever stands beside it', async () => {
    const { signIn } = await meet('microsoft', { ada: { ...ADA, email_verified: true } })
    expect(await signIn()).toMatchObject({ email: 'ada@acme.example', emailVerified: false })
  })

  test('the verified primary address is', async () => {
    const claims = { email: 'boss@rival.example', verified_primary_email: ['ada@acme.example'] }
    const { signIn } = await meet('microsoft', { ada: claims })
    expect(await signIn()).toMatchObject({ email: 'ada@acme.example', emailVerified: true })
  })
})

describe('any OpenID provider', () => {
  test('claims kept at the userinfo endpoint are fetched there', async () => {
    const { idp, signIn } = await meet('oidc', { ada: { ...ADA, sub: 'ada-7' } })
    expect(await signIn()).toEqual({
      provider: 'oidc',
      issuer: idp.issuer,
      subject: 'ada-7',
      email: 'ada@acme.example',
      emailVerified: true,
      name: 'Ada Lovelace',
    })
    expect(idp.requests.some(({ path }) => path === '/me')).toBe(true)
  })

  test('claims in the id token spare the second question', async () => {
    const { idp, signIn } = await meet('oidc')
    idp.misbehave({ idToken: { email: 'ada@token.example', email_verified: true } })
    expect(await signIn()).toMatchObject({ email: 'ada@token.example', emailVerified: true })
    expect(idp.requests.some(({ path }) => path === '/me')).toBe(false)
  })

  test('the verdict about one address is not lent to another', async () => {
    const { idp, signIn } = await meet('oidc')
    idp.misbehave({ idToken: { email: 'boss@rival.example' } })
    expect(await signIn()).toMatchObject({ email: 'boss@rival.example', emailVerified: false })
  })

  test.each([false, 'true', 1, null])('email_verified %j verifies nothing', async (email_verified) => {
    const { signIn } = await meet('oidc', { ada: { ...ADA, email_verified } })
    expect(await signIn()).toMatchObject({ email: 'ada@acme.example', emailVerified: false })
  })

  test('a person without address or name is still a person', async () => {
    const { signIn } = await meet('oidc', { ada: { sub: 'ada-7' } })
    expect(await signIn()).toMatchObject({ subject: 'ada-7', email: null, emailVerified: false, name: null })
  })

  test('the button carries the words of the operator, and openid is always asked for', async () => {
    const { idp } = await meet('oidc')
    const oidc = { ...idp, title: 'Acme staff', scopes: ['email'] }
    const [provider] = createSignInProviders({ oidc })
    expect(provider?.title).toBe('Acme staff')
    expect((await provider?.begin(CALLBACK))?.url.searchParams.get('scope')).toBe('openid email')
  })

  test('an issuer that speaks for another is not believed', async () => {
    const { idp } = await meet('oidc')
    const issuer = idp.issuer.replace('127.0.0.1', 'localhost')
    const [provider] = createSignInProviders({ oidc: { ...idp, issuer, title: 'Acme' } })
    await expect(provider?.begin(CALLBACK)).rejects.toThrow(SignInUnavailable)
  })

  test('http is for this machine only', async () => {
    const oidc = { issuer: 'http://id.acme.example', clientId: 'c', clientSecret: 's', title: 'Acme' }
    const [provider] = createSignInProviders({ oidc })
    await expect(provider?.begin(CALLBACK)).rejects.toMatchObject({
      name: 'SignInUnavailable',
      reason: 'discovery: only requests to HTTPS are allowed',
    })
  })
})

describe('a provider that takes the connection and says nothing', () => {
  test('is not waited for on the way out', async () => {
    const { idp, provider } = await meet('google', {}, { requestSeconds: 0.1 })
    idp.misbehave({ outage: 'silence' })
    await expect(provider.begin(CALLBACK)).rejects.toMatchObject({ reason: 'discovery: OAUTH_TIMEOUT' })
  })

  test('nor on the way back', async () => {
    const { idp, provider } = await meet('google', {}, { requestSeconds: 1 })
    const begun = await provider.begin(CALLBACK)
    const callback = await idp.walk(begun.url)
    idp.misbehave({ outage: 'silence' })
    const finished = provider.finish(callback, { ...begun, redirectUri: CALLBACK })
    await expect(finished).rejects.toMatchObject({ name: 'SignInUnavailable', reason: 'OAUTH_TIMEOUT' })
  })
})

test('who is configured stands in the order of the buttons, and nobody else', () => {
  const app = { clientId: 'c', clientSecret: 's' }
  const oidc = { ...app, issuer: 'https://id.acme.example', title: 'Acme' }
  const names = (config: SignInConfig) => createSignInProviders(config).map(({ name }) => name)
  expect(names({})).toEqual([])
  expect(names({ oidc, microsoft: { ...app, tenantId: 'common' }, google: app })).toEqual([
    'google',
    'microsoft',
    'oidc',
  ])
})

async function meet(
  kind: ProviderKind,
  people: Record<string, PersonAtProvider> = {},
  timing?: OpenIdOptions,
  tenantId?: string,
) {
  const idp = await startIdentityProvider({ kind, people: { ada: ADA, ...people } })
  onTestFinished(() => idp.close())
  return meetAt(kind, idp, timing, tenantId)
}

function meetAt(kind: ProviderKind, idp: IdentityProvider, timing?: OpenIdOptions, tenantId = 'common') {
  idp.registerRedirect(CALLBACK)
  const config: Record<ProviderKind, SignInConfig> = {
    google: { google: idp },
    microsoft: { microsoft: { ...idp, tenantId } },
    oidc: { oidc: { ...idp, title: 'Acme' } },
  }
  const [provider] = createSignInProviders(config[kind], timing)
  if (!provider) throw new Error('No provider was made')
  const signIn = async () => {
    const begun = await provider.begin(CALLBACK)
    return provider.finish(await idp.walk(begun.url), { ...begun, redirectUri: CALLBACK })
  }
  return { idp, provider, signIn }
}

/** Why it was refused; any other end is thrown, so that a test that expects a refusal shows it. */
async function refusalOf(finished: Promise<unknown>): Promise<string> {
  const outcome = await finished.then(
    () => new Error('Nothing was refused'),
    (error: unknown) => error,
  )
  if (outcome instanceof SignInRefused) return outcome.reason
  throw outcome
}
