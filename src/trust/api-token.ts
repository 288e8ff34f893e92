/** API tokens: `svc_` + 256 random bits in base 62 + a checksum, so that secret scanners recognize one. */
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { KeyPurpose } from './derive-key.ts'
import { keyedHash } from './keyed-hash.ts'

const PREFIX = 'svc_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 62^43 > 2^256. */
const SECRET_DIGITS = 43
/** 62^6 > 2^32. */
const CHECKSUM_DIGITS = 6

const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_DIGITS + CHECKSUM_DIGITS}}$`)

export function makeApiToken(): string {
  const secret = PREFIX + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_DIGITS)
  return secret + checksum(secret)
}

/** A mistyped token is refused here, before the database is queried. */
export const isApiToken = (text: string): boolean =>
  SHAPE.test(text) && checksum(text.slice(0, -CHECKSUM_DIGITS)) === text.slice(-CHECKSUM_DIGITS)

/** All that is stored of a token. */
export const apiTokenHash = (deps: { keyFor(purpose: KeyPurpose): Uint8Array }, token: string): string =>
  keyedHash(deps.keyFor('api-token'), token)

/** Enough to tell one's own tokens apart in a list, far too little to guess the rest. */
export const tokenPrefix = (token: string): string => token.slice(0, PREFIX.length + 6)

const checksum = (text: string): string => base62(BigInt(crc32(text)), CHECKSUM_DIGITS)

function base62(value: bigint, digits: number): string {
  let text = ''
  for (let rest = value; text.length < digits; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text
  return text
}
