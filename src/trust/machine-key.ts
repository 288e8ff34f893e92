/** A public key that a machine agent proves itself with. */
import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { ServiceError } from '../contracts/errors.ts'
import {
  ALGORITHM_NAMES,
  isAlgorithm,
  isOfType,
  isStrong,
  purposeOf,
  RSA_BITS,
  verifySignature,
  type Algorithm,
} from './signature.ts'

const KEY_ID_MAX = 200
/** RFC 7518, 6: the members of each kind, in the order that RFC 7638 hashes them in. */
const MEMBERS: Record<string, readonly string[]> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
}
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

export type PublicKey = { readonly jwk: Record<string, string>; readonly thumbprint: string }

/** Only what makes up the key is kept, the name that the client gives it, and the algorithm that it is for. */
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
  const imported = importKey(key)
  if (!isStrong(imported))
    throw problem(
      `must be P-256, Ed25519, or RSA of ${RSA_BITS.min} to ${RSA_BITS.max} bits with a usual exponent (65537)`,
    )
  return {
    jwk: { ...key, ...keyIdIn(given), ...algorithmIn(given, imported) },
    thumbprint: createHash('sha256').update(JSON.stringify(key)).digest('base64url'),
  }
}

function keyIdIn({ kid }: Readonly<Record<string, unknown>>): { kid?: string } {
  if (kid === undefined) return {}
  if (typeof kid !== 'string' || !/^[\x21-\x7e]+$/.test(kid) || kid.length > KEY_ID_MAX)
    throw problem(`kid must be visible ASCII, at most ${KEY_ID_MAX} characters`)
  return { kid }
}

/** A key that says so verifies no other algorithm, also where it could. */
function algorithmIn(given: Readonly<Record<string, unknown>>, key: KeyObject): { alg?: Algorithm } {
  const purpose = purposeOf(given)
  if (!purpose) {
    const names = ALGORITHM_NAMES.join(', ')
    throw problem(`must be for signatures: use sig, key_ops with verify, alg one of ${names}, if it has them`)
  }
  const { algorithm } = purpose
  if (algorithm === undefined) return {}
  if (!isOfType(key, algorithm)) throw problem('alg must be one for its kty')
  return { alg: algorithm }
}

/** Whether a JWS that has been verified with one of several keys was signed with this one. */
export function isSignedBy(jws: string, jwk: JsonWebKey): boolean {
  const [header = '', payload = '', signature = ''] = jws.split('.')
  const { alg } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg: unknown }
  if (!isAlgorithm(alg) || (jwk.alg !== undefined && jwk.alg !== alg)) return false
  const presented = {
    algorithm: alg,
    signed: `${header}.${payload}`,
    signature: Buffer.from(signature, 'base64url'),
  }
  return verifySignature(presented, importKey(jwk))
}

function importKey(key: JsonWebKey): KeyObject {
  try {
    return createPublicKey({ key, format: 'jwk' })
  } catch (cause) {
    throw problem('is not a valid JWK', cause)
  }
}

const problem = (text: string, cause?: unknown) =>
  new ServiceError('INVALID_REQUEST', undefined, { problems: [`public_key ${text}`], cause })
