/** 256 random bits in base 62, and checksums, so that secret scanners recognize a token and a mistyped one is not looked up. */
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 62^43 > 2^256. */
export const SECRET_DIGITS = 43
/** 62^6 > 2^32. */
export const CHECKSUM_DIGITS = 6

export const randomDigits = (): string =>
  base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_DIGITS)

export const addChecksum = (text: string): string => text + checksum(text)

export const hasChecksum = (text: string): boolean =>
  checksum(text.slice(0, -CHECKSUM_DIGITS)) === text.slice(-CHECKSUM_DIGITS)

const checksum = (text: string): string => base62(BigInt(crc32(text)), CHECKSUM_DIGITS)

function base62(value: bigint, digits: number): string {
  let text = ''
  for (let rest = value; text.length < digits; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text
  return text
}
