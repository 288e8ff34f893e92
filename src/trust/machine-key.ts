/** A public key that a machine agent proves itself with. */
import { createHash, createPublicKey, type JsonWebKey } from 'node:crypto'
import { ServiceError } from '../contracts/errors.ts'
import { isAlgorithm, isStrong, RSA_BITS, verifySignature } from './signature.ts'

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
  if (!isStrong(importKey(key)))
    throw problem(`must be P-256, Ed25519, or RSA of ${RSA_BITS.min} to ${RSA_BITS.max} bits`)
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

/** Whether a JWS that has been verified with one of several keys was signed with this one. */
export function isSignedBy(jws: string, jwk: JsonWebKey): boolean {
  const [header = '', payload = '', signature = ''] = jws.split('.')
  const { alg } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg: unknown }
  if (!isAlgorithm(alg)) return false
  const presented = {
    algorithm: alg,
    signed: `${header}.${payload}`,
    signature: Buffer.from(signature, 'base64url'),
  }
  return verifySignature(presented, importKey(jwk))
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
