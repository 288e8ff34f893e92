/** Staying connected: rotation, the grace for parallel refreshes, the end of a family that was stolen, and revocation. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { oauthArtifacts, platformAccessGrants } from '../../db/schema.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import {
  newAssistant,
  startListeningSystem,
  preRegistered,
  tokensIn,
  whoami,
  type Assistant,
  type ListeningSystem,
  type Tokens,
} from '../support/assistant.ts'
import { goBack } from '../support/go-back.ts'
import { makeOrganization, type Org } from '../support/make.ts'

const GRACE = 60
const INVALID_GRANT = { status: 400, body: { error: 'invalid_grant' } }

let system: ListeningSystem
let strict: ListeningSystem
let org: Org
beforeAll(async () => {
  system = await startListeningSystem()
  strict = await startListeningSystem({ OAUTH_REFRESH_GRACE_S: '0' })
})
afterAll(async () => {
  await system.stop()
  await strict.stop()
})

const familyOf = ({ grantId }: Tokens) =>
  system.db
    .select()
    .from(oauthArtifacts)
    .where(and(eq(oauthArtifacts.grantId, grantId), eq(oauthArtifacts.kind, 'RefreshToken')))
const reasonOf = async ({ grantId }: Tokens) =>
  (await system.db.select().from(platformAccessGrants).where(eq(platformAccessGrants.id, grantId)))[0]!
    .revokedReason

async function connectIn(where: ListeningSystem): Promise<{ assistant: Assistant; tokens: Tokens }> {
  org = await makeOrganization(where)
  const assistant = newAssistant(where, await preRegistered(where))
  return { assistant, tokens: await assistant.connect(org.owner) }
}

describe('with the grace', () => {
  let assistant: Assistant
  let tokens: Tokens
  beforeEach(async () => void ({ assistant, tokens } = await connectIn(system)))

  test('a refresh gives a new pair of the same grant, and the next one again', async () => {
    const next = tokensIn(await assistant.refresh(tokens.refresh))
    expect(next.refresh).not.toBe(tokens.refresh)
    expect(next.access).not.toBe(tokens.access)
    expect([next.grantId, next.scope]).toEqual([tokens.grantId, tokens.scope])
    system.clock.advance(GRACE + 1)
    const third = tokensIn(await assistant.refresh(next.refresh))
    expect((await whoami(system, third.access)).status).toBe(200)
  })

  test('asked for what was never granted alone it is invalid_scope, and uses nothing up', async () => {
    for (const scope of ['notifications:write', 'proposals:decide nonsense', 'nonsense']) {
      const refused = await assistant.refresh(tokens.refresh, { scope })
      expect([scope, refused.status, refused.body.error]).toEqual([scope, 400, 'invalid_scope'])
    }
    // Codex repeats this one.
    for (const scope of ['offline_access', 'data:read notifications:write']) {
      expect((await assistant.refresh(tokens.refresh, { scope })).status).toBe(200)
    }
  })

  test.runIf(inject('everyCase'))(
    'twenty at once all get the same pair, and the family has one successor',
    async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => assistant.refresh(tokens.refresh)))
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
      const pairs = new Set(
        answers.map(({ body }) => JSON.stringify([body.access_token, body.refresh_token])),
      )
      expect(pairs.size).toBe(1)
      const family = await familyOf(tokens)
      expect(family.filter(({ consumedAt }) => consumedAt === null)).toHaveLength(1)
      expect(family).toHaveLength(2)
      const next = tokensIn(answers[0]!)
      expect((await whoami(system, next.access)).status).toBe(200)
      expect((await assistant.refresh(next.refresh)).status).toBe(200)
    },
  )

  test('an answer that got lost is given again, with the time that is left', async () => {
    const first = await assistant.refresh(tokens.refresh)
    system.clock.advance(GRACE - 10)
    const again = await assistant.refresh(tokens.refresh)
    expect([again.body.access_token, again.body.refresh_token]).toEqual([
      first.body.access_token,
      first.body.refresh_token,
    ])
    expect(Number(first.body.expires_in) - Number(again.body.expires_in)).toBeGreaterThanOrEqual(GRACE - 10)
    expect(await reasonOf(tokens)).toBeNull()
    expect(await familyOf(tokens)).toHaveLength(2)
  })

  /** Threat: refresh-token theft; whoever comes second, thief or owner, ends it for both. */
  test('a replay after the grace ends the family: next call 401, no refresh, and the trail says so', async () => {
    const next = tokensIn(await assistant.refresh(tokens.refresh))
    expect((await whoami(system, next.access)).status).toBe(200)
    system.clock.advance(GRACE + 1)
    expect(await assistant.refresh(tokens.refresh)).toMatchObject(INVALID_GRANT)
    expect((await whoami(system, next.access)).status).toBe(401)
    expect((await whoami(system, tokens.access)).status).toBe(401)
    expect(await assistant.refresh(next.refresh)).toMatchObject(INVALID_GRANT)
    expect(await familyOf(tokens)).toEqual([])
    expect(await reasonOf(tokens)).toBe('reuse_detected')
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, action: 'grant.reused' })
    expect(audit).toMatchObject([{ action: 'grant.reused', subject: 'An assistant' }])
  })

  test('a replay of an older one ends it too, however often it was refreshed since', async () => {
    let last = tokens
    for (let i = 0; i < 3; i++) {
      last = tokensIn(await assistant.refresh(last.refresh))
      system.clock.advance(GRACE + 1)
    }
    expect(await assistant.refresh(tokens.refresh)).toMatchObject(INVALID_GRANT)
    expect(await assistant.refresh(last.refresh)).toMatchObject(INVALID_GRANT)
  })

  test('another connection of the same client and person goes on', async () => {
    const other = await assistant.connect(org.owner)
    await assistant.refresh(tokens.refresh)
    system.clock.advance(GRACE + 1)
    expect((await assistant.refresh(tokens.refresh)).status).toBe(400)
    expect((await whoami(system, other.access)).status).toBe(200)
    expect((await assistant.refresh(other.refresh)).status).toBe(200)
  })

  /** Threat: secrets at rest; a copy of the database must not contain usable tokens. */
  test('what is kept of the pair cannot be opened with the database alone', async () => {
    const next = tokensIn(await assistant.refresh(tokens.refresh))
    const stored = JSON.stringify(await familyOf(tokens))
    expect(stored).toContain('successor')
    for (const { refresh, access } of [tokens, next]) {
      for (const secret of [refresh, access, access.split('.')[2]!]) {
        expect(stored.includes(secret)).toBe(false)
        expect(stored.includes(Buffer.from(secret).toString('base64url'))).toBe(false)
      }
    }
    expect((await familyOf(tokens)).filter(({ successor }) => successor !== null)).toHaveLength(1)
  })

  test('works for its client only, and a wrong guess does not end it', async () => {
    const other = newAssistant(system, await preRegistered(system))
    expect(await other.refresh(tokens.refresh)).toMatchObject(INVALID_GRANT)
    expect(await assistant.refresh(`${tokens.refresh}x`)).toMatchObject(INVALID_GRANT)
    expect(await assistant.refresh(tokens.access)).toMatchObject(INVALID_GRANT)
    expect((await assistant.refresh(tokens.refresh)).status).toBe(200)
  })

  test('a spent one of a foreign client inside the grace is not answered', async () => {
    await assistant.refresh(tokens.refresh)
    const other = newAssistant(system, await preRegistered(system))
    expect(await other.refresh(tokens.refresh)).toMatchObject(INVALID_GRANT)
    expect(await reasonOf(tokens)).toBeNull()
  })
})

describe('without a grace', () => {
  test('a second presentation ends the family at once', async () => {
    const { assistant, tokens } = await connectIn(strict)
    const next = tokensIn(await assistant.refresh(tokens.refresh))
    expect(await assistant.refresh(tokens.refresh)).toMatchObject(INVALID_GRANT)
    expect((await whoami(strict, next.access)).status).toBe(401)
    expect(await reasonOf(tokens)).toBe('reuse_detected')
  })

  test('of eight at once one is answered at most, and then nothing lives', async () => {
    const { assistant, tokens } = await connectIn(strict)
    const answers = await Promise.all(Array.from({ length: 8 }, () => assistant.refresh(tokens.refresh)))
    const good = answers.filter(({ status }) => status === 200)
    expect(good.length).toBeLessThanOrEqual(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer).toMatchObject(INVALID_GRANT)
    }
    expect((await whoami(strict, tokens.access)).status).toBe(401)
    expect(await reasonOf(tokens)).toBe('reuse_detected')
  })
})

/** RFC 7009. */
describe('revocation', () => {
  test('of a refresh token ends the grant, is told to the organization, and may be repeated', async () => {
    const { assistant, tokens } = await connectIn(system)
    expect((await assistant.revoke(tokens.refresh)).status).toBe(200)
    expect((await whoami(system, tokens.access)).status).toBe(401)
    expect(await assistant.refresh(tokens.refresh)).toMatchObject(INVALID_GRANT)
    expect(await reasonOf(tokens)).toBe('token_revoked')
    const { audit } = await org.owner.call(listAudit, { org_id: org.id, action: 'grant.revoked' })
    expect(audit).toHaveLength(1)
    expect((await assistant.revoke(tokens.refresh)).status).toBe(200)
    expect((await assistant.revoke('never seen')).status).toBe(200)
  })

  test('by another client changes nothing', async () => {
    const { assistant, tokens } = await connectIn(system)
    const other = newAssistant(system, await preRegistered(system))
    await other.revoke(tokens.refresh)
    expect((await whoami(system, tokens.access)).status).toBe(200)
    expect((await assistant.refresh(tokens.refresh)).status).toBe(200)
  })
})

/** An asynchronous primary has died: what it had last is gone, and a process has recorded that. */
const GRACES = [
  ['with a grace', () => system],
  ['without one', () => strict],
] as const

describe.each(inject('everyCase') ? GRACES : GRACES.slice(0, 1))('after a lost tail, %s', (_, where) => {
  let assistant: Assistant
  let tokens: Tokens
  let saved: Awaited<ReturnType<typeof familyOf>>
  let from = 0
  beforeEach(async () => {
    ;({ assistant, tokens } = await connectIn(where()))
    where().clock.advance(600)
    saved = await familyOf(tokens)
    from = where().clock.now().getTime()
    where().clock.advance(10)
  })

  /** The family as it was saved, whatever came after. */
  async function loseTail(): Promise<void> {
    const { db, clock } = where()
    for (const row of await familyOf(tokens))
      await db.delete(oauthArtifacts).where(eq(oauthArtifacts.id, row.id))
    await db.insert(oauthArtifacts).values(saved)
    clock.advance(10)
    await goBack(where(), from)
    clock.advance(20)
  }
  const refresh = async (token: string) => tokensIn(await assistant.refresh(token))
  const reasonAfter = async (...all: string[]) => {
    for (const token of all) expect(await assistant.refresh(token)).toMatchObject(INVALID_GRANT)
    return reasonOf(tokens)
  }

  test('the last token goes on, once, with its grant; the one before it is spent', async () => {
    const second = await refresh(tokens.refresh)
    await loseTail()
    const third = await refresh(second.refresh)
    expect(third.grantId).toBe(tokens.grantId)
    expect((await whoami(where(), third.access)).status).toBe(200)
    const fourth = await refresh(third.refresh)
    expect((await whoami(where(), fourth.access)).status).toBe(200)
    // A thief with the first, which the database had forgotten to be spent.
    expect(await reasonAfter(tokens.refresh, fourth.refresh)).toBe('reuse_detected')
  })

  test('of several that were lost, the second that comes ends the family', async () => {
    const second = await refresh(tokens.refresh)
    const third = await refresh(second.refresh)
    await loseTail()
    const stolen = await refresh(second.refresh)
    expect(await reasonAfter(third.refresh, stolen.refresh)).toBe('reuse_detected')
  })

  test('whoever went on with an older one since has it with somebody else: both lose it', async () => {
    const second = await refresh(tokens.refresh)
    await loseTail()
    const stolen = await refresh(tokens.refresh)
    expect(await reasonAfter(second.refresh, stolen.refresh)).toBe('reuse_detected')
  })

  test('one of an ended grant stays dead, and so does one that was made up or belongs to another client', async () => {
    const second = await refresh(tokens.refresh)
    await loseTail()
    const other = newAssistant(where(), await preRegistered(where()))
    expect(await other.refresh(second.refresh)).toMatchObject(INVALID_GRANT)
    for (const forged of forgeries(second.refresh))
      expect(await assistant.refresh(forged)).toMatchObject(INVALID_GRANT)
    await assistant.revoke(tokens.refresh)
    expect(await assistant.refresh(second.refresh)).toMatchObject(INVALID_GRANT)
    expect(await reasonOf(tokens)).toBe('token_revoked')
  })

  test.runIf(inject('everyCase'))(
    'of one that was issued outside of the tail the row is missing for another reason: refused, and nothing ends',
    async () => {
      where().clock.advance(-3600)
      const early = await refresh(tokens.refresh)
      where().clock.advance(3600)
      await loseTail()
      expect(await assistant.refresh(early.refresh)).toMatchObject(INVALID_GRANT)
      expect((await assistant.refresh(tokens.refresh)).status).toBe(200)
    },
  )

  /** With another time, another grant, without the rest, or by a version that said nothing of it. */
  function forgeries(token: string): string[] {
    const [random, seconds, grantId, mac] = token.split('.') as [string, string, string, string]
    return [
      [random, (Number.parseInt(seconds, 36) + 1).toString(36), grantId, mac],
      [random, seconds, `${grantId}x`, mac],
      [`${random}x`, seconds, grantId, mac],
      [random, seconds, grantId, mac.slice(1)],
      [random, seconds, grantId, ''],
      [random],
    ].map((parts) => parts.join('.'))
  }
})
