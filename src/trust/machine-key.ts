/** A public key that a machine agent proves itself with. */
import { constants, createHash, createPublicKey, verify, type JsonWebKey } from 'node:crypto'
import { ServiceError } from '../contracts/errors.ts'

const RSA_BITS_MIN = 2048
const RSA_BITS_MAX = 8192
const KEY_ID_MAX = 200
/** RFC 7518, 6: the members of each kind, in the order that RFC 7638 hashes them in. */
const MEMBERS: Record<string, readonly string[]> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
}
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

export type PublicKey = { readonly jwk: Record<string, string>; readonly thumbprint: string }

/** Only what makes up the key is kept, and the name that the client gives it. */
export function readPublicKey(given: Readonly<Record<string, unknown>>): PublicKey {
  if (PRIVATE_MEMBERS.some((name) => given[name] !== undefined))
    throw problem('is a private key. Do not use it any more, and send the public key of another one')
  const members = MEMBERS[String(given.kty)] ?? []
  const key: Record<string, string> = {}
  for (const name of members) {
    const value = given[name]
    if (typeof value !== 'string') throw problem(`must have ${name}`)
    key[name] = value
  }
  requireStrength(key)
  const { kid } = given
  if (
    kid !== undefined &&
    (typeof kid !== 'string' || !/^[\x21-\x7e]+$/.test(kid) || kid.length > KEY_ID_MAX)
  )
    throw problem(`kid must be visible ASCII, at most ${KEY_ID_MAX} characters`)
  return {
    jwk: kid === undefined ? key : { ...key, kid },
    thumbprint: createHash('sha256').update(JSON.stringify(key)).digest('base64url'),
  }
}

function requireStrength(key: Record<string, string>): void {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = importKey(key)
  if (type === 'ed25519' || (type === 'ec' && details?.namedCurve === 'prime256v1')) return
  const bits = details?.modulusLength ?? 0
  if (type === 'rsa' && bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX) return
  throw problem(`must be P-256, Ed25519, or RSA of ${RSA_BITS_MIN} to ${RSA_BITS_MAX} bits`)
}

/** Whether a JWS that has been verified with one of several keys was signed with this one. */
export function isSignedBy(jws: string, jwk: JsonWebKey): boolean {
  const [header = '', payload = '', signature = ''] = jws.split('.')
  const { alg } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg: string }
  const key = importKey(jwk)
  const how = SIGNATURES[`${key.asymmetricKeyType} ${alg}`]
  if (!how) return false
  const { digest, ...options } = how
  const signed = Buffer.from(`${header}.${payload}`)
  return verify(digest, signed, { key, ...options }, Buffer.from(signature, 'base64url'))
}

type Signature = {
  readonly digest: 'sha256' | null
  readonly dsaEncoding?: 'ieee-p1363'
  readonly padding?: number
  readonly saltLength?: number
}

/** RFC 7518, 3.1, by the kind of key and algorithm. */
const SIGNATURES: Record<string, Signature> = {
  'ec ES256': { digest: 'sha256', dsaEncoding: 'ieee-p1363' },
  'ed25519 EdDSA': { digest: null },
  'ed25519 Ed25519': { digest: null },
  'rsa RS256': { digest: 'sha256' },
  'rsa PS256': {
    digest: 'sha256',
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  },
}

function importKey(key: JsonWebKey) {
  try {
    return createPublicKey({ key, format: 'jwk' })
  } catch (cause) {
    throw problem('is not a valid JWK', cause)
  }
}

const problem = (text: string, cause?: unknown) =>
  new ServiceError('INVALID_REQUEST', undefined, { problems: [`public_key ${text}`], cause })
