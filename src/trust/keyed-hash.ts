/** Random secrets and the keyed hashes under which they are stored. */
import {
  createHash,
  createHmac,
  createSecretKey,
  randomBytes,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto'

/** 256 bits: guessing is hopeless, so a plain HMAC (and no slow hash) protects it at rest. */
export const randomSecret = (): string => randomBytes(32).toString('base64url')

/** Keys live as long as the process. With plain bytes, Node 24 makes a key of them at every use: 30 instead of 7 µs. */
const keyObjects = new WeakMap<Uint8Array, KeyObject>()

export function keyedHash(key: Uint8Array, value: string): string {
  const keyObject = keyObjects.get(key) ?? createSecretKey(key)
  keyObjects.set(key, keyObject)
  return createHmac('sha256', keyObject).update(value).digest('hex')
}

export const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex')

/** Hashing first makes the lengths equal, which timingSafeEqual demands and which would otherwise leak. */
export const sameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())
