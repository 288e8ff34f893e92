/** Signatures of others: of identity providers, and of machine agents that prove themselves with a key. */
import { constants, verify, type KeyObject } from 'node:crypto'

/**
 * RFC 7518, 3.3 to 3.5, and RFC 8037. Asymmetric ones alone: a public key must never be taken for a shared secret, and
 * `none` for a signature. Those of providers, and of keys that machine agents may have; what the authorization server takes
 * from its clients is `CLIENT_ALGORITHMS`.
 */
const ALGORITHMS = {
  ES256: { type: 'ec', digest: 'sha256', options: { dsaEncoding: 'ieee-p1363' } },
  EdDSA: { type: 'ed25519', digest: null, options: {} },
  RS256: { type: 'rsa', digest: 'sha256', options: { padding: constants.RSA_PKCS1_PADDING } },
  PS256: {
    type: 'rsa',
    digest: 'sha256',
    options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
  },
} as const
export type Algorithm = keyof typeof ALGORITHMS
export const ALGORITHM_NAMES = Object.keys(ALGORITHMS) as Algorithm[]

export const isAlgorithm = (value: unknown): value is Algorithm =>
  typeof value === 'string' && Object.hasOwn(ALGORITHMS, value)

export const isOfType = ({ asymmetricKeyType }: KeyObject, algorithm: Algorithm): boolean =>
  asymmetricKeyType === ALGORITHMS[algorithm].type

/**
 * RFC 7517, 4.2 to 4.4: what a key is for, in its own words. Undefined where that is anything but our signatures; without an
 * algorithm, any that fits its type.
 */
export function purposeOf({
  use,
  key_ops,
  alg,
}: Readonly<Record<string, unknown>>): { readonly algorithm: Algorithm | undefined } | undefined {
  if (use !== undefined && use !== 'sig') return undefined
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) return undefined
  // RFC 9864: the same by its new name, which browsers write into what they export.
  const algorithm = alg === 'Ed25519' ? 'EdDSA' : alg
  return algorithm === undefined || isAlgorithm(algorithm) ? { algorithm } : undefined
}

/** RFC 7518, 3.3: at least 2048 bits. The upper bounds keep the cost of one signature small. */
export const RSA_BITS = { min: 2048, max: 8192 }

export function isStrong({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n, namedCurve } = asymmetricKeyDetails ?? {}
  if (asymmetricKeyType === 'rsa')
    return (
      modulusLength >= RSA_BITS.min &&
      modulusLength <= RSA_BITS.max &&
      publicExponent >= 3n &&
      publicExponent < 2n ** 33n
    )
  return asymmetricKeyType === 'ed25519' || namedCurve === 'prime256v1'
}

/** On this thread: it takes a tenth of a millisecond, and a way through another thread as long. */
export function verifySignature(
  { algorithm, signed, signature }: { algorithm: Algorithm; signed: string; signature: Uint8Array },
  key: KeyObject,
): boolean {
  if (!isOfType(key, algorithm)) return false
  const { digest, options } = ALGORITHMS[algorithm]
  return verify(digest, Buffer.from(signed), { key, ...options }, signature)
}
