/** Ids carry a prefix that says what they name, and sort by time, so the newest row is the last key of an index. */
import * as z from 'zod'

const PREFIXES = [
  'org',
  'usr',
  'idn',
  'tok',
  'ses',
  'inv',
  'aud',
  'req',
  'grt',
  'dcr',
  'ds',
  'act',
  'app',
  'tkt',
  'rpl',
  'sup',
  'evt',
  'ntf',
  'dlv',
  'msg',
  'int',
  'sub',
  'tkr',
  'rcv',
  'rev',
  'dep',
  'chk',
  'chr',
  'lgl',
  'lgr',
  'ppl',
  'prn',
  'apt',
  'exec',
  'pr',
  'fnd',
  'wlb',
  'lod',
  'idp',
  'idl',
  'idc',
  'ref',
  'mch',
  'crd',
  'grp',
  'scb',
  'scp',
  'evl',
  'trs',
  'rct',
] as const
export type IdPrefix = (typeof PREFIXES)[number]

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'
/** 36^9 ms is the year 5188; a fixed width makes text order equal time order. */
const TIME_DIGITS = 9
/** 16 digits of base 36 are 82 random bits: unguessable enough not to leak counts; ids are not secrets. */
const RANDOM_DIGITS = 16

export function makeId(prefix: IdPrefix, nowMs: number): string {
  const time = Math.floor(nowMs).toString(36).padStart(TIME_DIGITS, '0')
  return `${prefix}_${time}${randomDigits()}`
}

/** Sorts before every id of this moment and later: an index by id then finds a period. */
export function firstIdOf(prefix: IdPrefix, ms: number): string {
  const inRange = Math.min(Math.max(0, Math.floor(ms)), 36 ** TIME_DIGITS - 1)
  return `${prefix}_${inRange.toString(36).padStart(TIME_DIGITS, '0')}`
}

function randomDigits(): string {
  let digits = ''
  while (digits.length < RANDOM_DIGITS) {
    const byte = randomByte()
    // 252 = 7 * 36: bytes above it would favor the first digits.
    if (byte < 252) digits += DIGITS[byte % 36]
  }
  return digits
}

/** Fetched for many ids at once, each byte used once: a request costs the same for 24 bytes as for thousands. */
const randomBytes = new Uint8Array(4_096)
let nextByte = randomBytes.length

function randomByte(): number {
  if (nextByte === randomBytes.length) {
    crypto.getRandomValues(randomBytes)
    nextByte = 0
  }
  return randomBytes[nextByte++]!
}

export const idPattern = (prefix: IdPrefix): RegExp => new RegExp(`^${prefix}_[0-9a-z]{25}$`)

/** Length and alphabet are checked, not existence. */
export const Id = (prefix: IdPrefix) => z.string().regex(idPattern(prefix), `must look like ${prefix}_…`)
