import { createHmac } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { hs256 } from './hs256.ts'

const KEY = new Uint8Array(32).fill(7)
const KIND = { typ: 'svc-test+jwt', issuer: 'https://auth.example', audience: 'https://api.example' }
const NOW = new Date('2026-11-15T12:00:00Z')
const LATER = new Date('2026-11-15T13:00:00Z')
const ours = hs256(KEY, KIND)

test('what we sign is a JWT to others, and what others sign rightly is one to us', async () => {
  const token = await ours.sign({ sub: 'usr_1', scope: 'a b' }, NOW, LATER)
  const read = await jwtVerify(token, KEY, { ...KIND, currentDate: NOW, algorithms: ['HS256'] })
  expect(read.payload).toMatchObject({ sub: 'usr_1', scope: 'a b', iss: KIND.issuer, aud: KIND.audience })
  expect(await ours.verify(token, NOW)).toEqual(read.payload)
  expect(await ours.verify(await theirs({}), NOW)).toMatchObject({ sub: 'usr_1' })
})

/** Signed rightly by somebody who has the key, but not quite what is meant here. */
const theirs = (
  claims: Record<string, unknown>,
  { header = {}, key = KEY }: { header?: Record<string, unknown>; key?: Uint8Array } = {},
): Promise<string> =>
  new SignJWT({ sub: 'usr_1', iss: KIND.issuer, aud: KIND.audience, iat: 1, exp: 9_999_999_999, ...claims })
    .setProtectedHeader({ alg: 'HS256', typ: KIND.typ, ...header })
    .sign(key)

const byHand = (header: unknown, claims: unknown): string => {
  const [head, body] = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  return `${head}.${body}.${createHmac('sha256', KEY).update(`${head}.${body}`).digest('base64url')}`
}
const CLAIMS = { sub: 'usr_1', iss: KIND.issuer, aud: KIND.audience, iat: 1, exp: 9_999_999_999 }
const HEADER = { alg: 'HS256', typ: KIND.typ }

const REFUSED: [string, () => Promise<string> | string][] = [
  ['another key', () => theirs({}, { key: new Uint8Array(32).fill(8) })],
  ['another type', () => theirs({}, { header: { typ: 'at+jwt' } })],
  ['no type', () => byHand({ alg: 'HS256' }, CLAIMS)],
  ['another algorithm in its header', () => byHand({ ...HEADER, alg: 'HS512' }, CLAIMS)],
  ['no algorithm at all', () => byHand({ ...HEADER, alg: 'none' }, CLAIMS)],
  ['an extension we do not know', () => byHand({ ...HEADER, crit: ['b64'], b64: false }, CLAIMS)],
  ['another issuer', () => theirs({ iss: 'https://evil.example' })],
  ['another audience', () => theirs({ aud: ['https://mcp.example'] })],
  ['no subject', () => theirs({ sub: undefined })],
  ['no time of issue', () => theirs({ iat: undefined })],
  ['no end', () => theirs({ exp: undefined })],
  ['an end in the past', () => theirs({ exp: NOW.getTime() / 1000 })],
  ['a beginning in the future', () => theirs({ nbf: LATER.getTime() / 1000 })],
  ['claims that are no object', () => byHand(HEADER, ['sub'])],
  ['a header that is no object', () => byHand(null, CLAIMS)],
  ['no signature', () => `${byHand(HEADER, CLAIMS).split('.').slice(0, 2).join('.')}.`],
  ['nothing at all', () => ''],
  ['too many parts', () => `${byHand(HEADER, CLAIMS)}.x`],
  ['padding', () => `${byHand(HEADER, CLAIMS)}=`],
]
test.each(REFUSED)('a token with %s is refused without a word', async (_, make) => {
  expect(await ours.verify(await make(), NOW)).toBeUndefined()
})

test('not one changed letter goes unnoticed in header and claims', async () => {
  const token = await ours.sign({ sub: 'usr_1' }, NOW, LATER)
  const signed = token.lastIndexOf('.')
  for (let at = 0; at < signed; at += 7) {
    const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
    expect(await ours.verify(changed, NOW)).toBeUndefined()
  }
})
