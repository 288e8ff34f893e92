/** Random secrets and the keyed hashes under which they are stored. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 bits: guessing is hopeless, so a plain HMAC (and no slow hash) protects it at rest. */
export const randomSecret = (): string => randomBytes(32).toString('base64url')

export const keyedHash = (key: Uint8Array, value: string): string =>
  createHmac('sha256', key).update(value).digest('hex')

export const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex')

/** Hashing first makes the lengths equal, which timingSafeEqual demands and which would otherwise leak. */
export const sameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())
