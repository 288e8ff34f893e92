import { expect, test } from 'vitest'
import { isServiceAccountToken, readServiceAccountToken } from './service-account-token.ts'

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const tokenOf = (claims: unknown): string => `${encode({ alg: 'RS256', kid: 'k1' })}.${encode(claims)}.c2ln`

const CLAIMS = {
  aud: ['svc-control-plane', 'other'],
  exp: 1_800_000_000,
  sub: 'system:serviceaccount:shop:worker.v2',
  'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'worker.v2', uid: 'f00d-1' } },
}

test('a token says whose it is', () => {
  expect(readServiceAccountToken(tokenOf(CLAIMS))).toEqual({
    namespace: 'shop',
    name: 'worker.v2',
    uid: 'f00d-1',
    audiences: ['svc-control-plane', 'other'],
    expiresAt: new Date(1_800_000_000_000),
  })
  expect(readServiceAccountToken(tokenOf({ ...CLAIMS, aud: 'one' }))?.audiences).toEqual(['one'])
})

const OTHERS: unknown[] = [
  null,
  [],
  'text',
  {},
  { ...CLAIMS, sub: 'usr_1' },
  { ...CLAIMS, sub: 'system:serviceaccount:shop' },
  { ...CLAIMS, sub: 'system:serviceaccount:shop:worker:more' },
  { ...CLAIMS, sub: ['system:serviceaccount:shop:worker'] },
  { ...CLAIMS, exp: 'soon' },
  { ...CLAIMS, exp: 1e300 },
  { ...CLAIMS, 'kubernetes.io': null },
  { ...CLAIMS, 'kubernetes.io': { serviceaccount: { uid: 7 } } },
  { ...CLAIMS, 'kubernetes.io': { serviceaccount: { uid: 'x'.repeat(65) } } },
]
test.each(OTHERS)('%j is none', (claims) => {
  expect(isServiceAccountToken(tokenOf(claims))).toBe(false)
})

test.each(['', 'svc_abc', 'a.b', 'a.b.c.d', 'a.!!.c', '..'])('%j is none', (token) => {
  expect(isServiceAccountToken(token)).toBe(false)
})

test.each([' x1', '\n', ',x', '='])('with %j behind it, it is not asked about', (more) => {
  const token = tokenOf(CLAIMS) + more
  expect(readServiceAccountToken(token)).toBeUndefined()
  // And it is still nobody else's.
  expect(isServiceAccountToken(token)).toBe(true)
})
