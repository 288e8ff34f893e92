import { describe, expect, test } from 'vitest'
import { actorAssertions, ACTOR_ASSERTION_TYPE } from './actor-assertion.ts'
import { hs256 } from './hs256.ts'

const ISSUER = 'https://auth.example'
const SECRET = '42'.repeat(32)
const NOW = new Date('2026-11-15T12:00:00Z')
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
const assertions = actorAssertions(SECRET, ISSUER)
const actor = { userId: 'usr_1', orgId: 'org_1', scopes: ['data:read'] as const, grantId: 'grt_1' }

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { iat: number; exp: number }

describe('an assertion', () => {
  test('lives for sixty seconds', async () => {
    const token = await assertions.sign(actor, NOW)
    const { iat, exp } = claimsOf(token)
    expect([iat, exp - iat]).toEqual([NOW.getTime() / 1000, 60])
    expect(await assertions.verify(token, later(59))).toMatchObject({ userId: 'usr_1', expiresAt: later(60) })
    expect(await assertions.verify(token, later(60))).toBeUndefined()
    expect(await assertions.verify(token, later(3600))).toBeUndefined()
  })

  test.each([
    [60, true],
    [61, false],
    [3600, false],
  ])('that was signed for %i seconds is taken: %s', async (seconds, isTaken) => {
    const key = new Uint8Array(Buffer.from(SECRET, 'hex'))
    const jwt = hs256(key, { typ: ACTOR_ASSERTION_TYPE, issuer: ISSUER, audience: 'svc-gateway' })
    const token = await jwt.sign(
      { sub: 'usr_1', org: 'org_1', scopes: [], gid: 'grt_1' },
      NOW,
      later(seconds),
    )
    expect((await assertions.verify(token, later(1))) !== undefined).toBe(isTaken)
  })
})
