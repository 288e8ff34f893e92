/** Forged bearers: each differs from a real one in one way. */
import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { ACTOR_ASSERTION_TYPE } from '../../src/trust/actor-assertion.ts'
import { makeApiToken } from '../../src/trust/api-token.ts'
import { deriveKey } from '../../src/trust/derive-key.ts'
import { hs256 } from '../../src/trust/hs256.ts'
import { USER_TOKEN_TYPE } from '../../src/trust/user-token.ts'
import { actorOf, signActor } from './actor.ts'
import type { Org, Person } from './make.ts'
import type { TestSystem } from './system.ts'

type Real = { org: Org; person: Person; apiToken: { id: string; token: string } }

/** By name. `other` is somebody else with an organization and a token of their own. */
export async function forgeries(
  system: TestSystem,
  real: Real,
  other: Real,
): Promise<Record<string, string>> {
  const {
    JWT_SECRET = '',
    JWT_SIGNING_KEY = '',
    ACTOR_ASSERTION_SECRET = '',
    AUTH_URL,
  } = system.system.config
  const userKey = deriveKey({ jwtSecret: JWT_SECRET, jwtSigningKey: JWT_SIGNING_KEY }, 'user-token')
  const actorKey = new Uint8Array(Buffer.from(ACTOR_ASSERTION_SECRET, 'hex'))
  const now = system.clock.now()
  const later = (seconds: number) => new Date(now.getTime() + seconds * 1000)
  const userKind = { typ: USER_TOKEN_TYPE, issuer: AUTH_URL.origin, audience: 'svc' }
  const actorKind = { typ: ACTOR_ASSERTION_TYPE, issuer: AUTH_URL.origin, audience: 'svc-gateway' }
  const userClaims = decodeJwt(real.person.token)
  const { iat: _iat, exp: _exp, iss: _iss, aud: _aud, ...userOnly } = userClaims
  const assertion = await signActor(system, actorOf(real.org, real.person, real.apiToken.id))
  const { iat: _at, exp: _until, iss: _by, aud: _for, ...actorOnly } = decodeJwt(assertion)
  const user = (key: Uint8Array, kind = {}, claims = {}, until = later(60)) =>
    hs256(key, { ...userKind, ...kind }).sign({ ...userOnly, ...claims }, now, until)
  const actor = (key: Uint8Array, kind = {}, claims = {}, until = later(60)) =>
    hs256(key, { ...actorKind, ...kind }).sign({ ...actorOnly, ...claims }, now, until)
  const header = decodeProtectedHeader(real.person.token)
  const withHeader = (change: object, signature: (signed: string) => string) => {
    const signed = `${encode({ ...header, ...change })}.${encode(userClaims)}`
    return `${signed}.${signature(signed)}`
  }
  const hmac = (hash: string) => (signed: string) =>
    createHmac(hash, userKey).update(signed).digest('base64url')
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const otherKey = new Uint8Array(randomBytes(32))

  return {
    'a word': 'letmein',
    'an API token nobody made': makeApiToken(),
    'a mistyped API token': mistyped(real.apiToken.token),
    'a cut API token': real.apiToken.token.slice(0, -1),
    'an id instead of its token': real.apiToken.id,
    'a cut user token': real.person.token.slice(0, -4),
    'a user token of three dots': '..',
    'an unsigned token': withHeader({ alg: 'none' }, () => ''),
    'an RS256 token with a key id': withHeader({ alg: 'RS256', kid: 'svc' }, (signed) =>
      sign('sha256', Buffer.from(signed), rsa).toString('base64url'),
    ),
    'an HS512 token under our own key': withHeader({ alg: 'HS512' }, hmac('sha512')),
    'a token with a critical extension': withHeader({ crit: ['b64'], b64: false }, hmac('sha256')),
    'a user token under another secret': await user(otherKey),
    'a user token under the assertion secret': await user(actorKey),
    'a user token under the raw JWT secret': await user(new Uint8Array(Buffer.from(JWT_SECRET, 'hex'))),
    'a user token of no type': await user(userKey, { typ: 'JWT' }),
    'a user token of an assertion’s type': await user(userKey, { typ: ACTOR_ASSERTION_TYPE }),
    'a user token of another issuer': await user(userKey, { issuer: 'https://auth.elsewhere.test' }),
    'a user token for another audience': await user(userKey, { audience: 'svc-gateway' }),
    'an expired user token': await user(userKey, {}, {}, later(-1)),
    'a user token with another person’s session': await user(userKey, {}, { sub: other.person.userId }),
    'a user token of an unknown session': await user(userKey, {}, { sid: 'ses_0' }),
    'an assertion under another secret': await actor(otherKey),
    'an assertion under the user key': await actor(userKey),
    'an assertion of a user token’s type': await actor(actorKey, { typ: USER_TOKEN_TYPE }),
    'an assertion of another issuer': await actor(actorKey, { issuer: 'https://auth.elsewhere.test' }),
    'an assertion for another audience': await actor(actorKey, { audience: 'svc' }),
    'an expired assertion': await actor(actorKey, {}, {}, later(-1)),
    'an assertion that lives too long': await actor(actorKey, {}, {}, later(61)),
    'an assertion without a credential': await actor(actorKey, {}, { tid: undefined }),
    'an assertion with two credentials': await actor(actorKey, {}, { gid: 'grt_0' }),
    'an assertion of an unknown grant': await actor(actorKey, {}, { tid: undefined, gid: 'grt_0' }),
    'an assertion with somebody else’s token': await actor(actorKey, {}, { tid: other.apiToken.id }),
    'an assertion about somebody else': await actor(actorKey, {}, { sub: other.person.userId }),
    'an assertion in another organization': await actor(actorKey, {}, { org: other.org.id }),
    'a token as long as a novel': `svc_${'0'.repeat(100_000)}`,
    'a JWT as long as a novel': `${encode({ ...header, pad: 'x'.repeat(100_000) })}.${encode(userClaims)}.x`,
  }
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** One character in the middle is changed: only the checksum can tell. */
export const mistyped = (token: string): string =>
  token.slice(0, 20) + (token[20] === 'x' ? 'y' : 'x') + token.slice(21)
