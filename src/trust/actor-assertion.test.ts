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

  const known = {
    email: 'ada@example.test',
    name: 'Ada',
    orgName: 'Analysts',
    orgSlug: 'analysts',
    role: 'viewer' as 'viewer' | 'owner',
    membership: undefined,
  }

  test('says what was signed, whatever is done to what was given to or got from it', async () => {
    const mine = { ...known }
    const token = await assertions.sign({ ...actor, known: mine }, NOW)
    mine.role = 'owner'
    const verified = await assertions.verify(token, NOW)
    verified!.known!.role = 'owner'
    expect(await assertions.verify(token, NOW)).toMatchObject({ known: { role: 'viewer' } })
  })

  test('is the same to whoever signed it and to another process', async () => {
    const elsewhere = actorAssertions(SECRET, ISSUER)
    const moment = new Date(NOW.getTime() + 999)
    for (const one of [
      actor,
      { ...actor, clientId: 'c' },
      { userId: 'u', orgId: 'o', scopes: [], tokenId: 't', known },
    ]) {
      const token = await assertions.sign(one, moment)
      for (const when of [moment, later(59), later(60), later(61)]) {
        expect(await assertions.verify(token, when)).toEqual(await elsewhere.verify(token, when))
      }
    }
  })

  test('is verified long after others were signed', async () => {
    const first = await assertions.sign(actor, NOW)
    for (let at = 0; at < 600; at += 1) await assertions.sign({ ...actor, userId: `usr_${at}` }, NOW)
    expect(await assertions.verify(first, NOW)).toMatchObject({ userId: 'usr_1' })
  })

  test('that was changed is refused, also right after the original was signed', async () => {
    const token = await assertions.sign(actor, NOW)
    const [head, body, mac] = token.split('.') as [string, string, string]
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object
    const forged = Buffer.from(JSON.stringify({ ...claims, sub: 'usr_2' })).toString('base64url')
    expect(await assertions.verify(`${head}.${forged}.${mac}`, NOW)).toBeUndefined()
    const another = actorAssertions('43'.repeat(32), ISSUER)
    expect(await another.verify(token, NOW)).toBeUndefined()
  })
})
