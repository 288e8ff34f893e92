/** One agent: what it may do, what it did, how it ended; told to its user and to admins, and to nobody else. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { platformAccessGrants } from '../../db/schema.ts'
import { listActivity, reportToolCall, summarizeActivity } from '../../src/contracts/activity.ts'
import { queryDataSource } from '../../src/contracts/data-sources.ts'
import { blockOauthClient, narrowGrant, revokeGrant, showGrant } from '../../src/contracts/grants.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { SCOPE_EDITION } from '../../src/contracts/scopes.ts'
import { signActor } from '../support/actor.ts'
import { insertSource } from '../support/data-sources.ts'
import { makeMember, makeOrganization, signedIn, unique, type Org, type Person } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const DAY_SECONDS = 24 * 60 * 60

let system: TestSystem
let org: Org
let viewer: Person

beforeAll(async () => {
  system = await startSystem()
})
afterAll(() => system.stop())
beforeEach(async () => {
  org = await makeOrganization(system)
  viewer = await makeMember(system, org, 'viewer')
})

type Agent = Awaited<ReturnType<typeof connect>>

/** An approval of this person, and calls in its name. */
async function connect(where: Org, { userId }: Person, clientName: string | null = 'Desk assistant') {
  const [now, clientId] = [system.clock.now(), unique('client')]
  const id = makeId('grt', now.getTime())
  await system.db.insert(platformAccessGrants).values({
    id,
    orgId: where.id,
    userId,
    clientId: `https://${clientId}.test/client.json`,
    clientKind: 'metadata_document',
    clientName,
    redirectHost: '127.0.0.1',
    resource: 'platform',
    scopes: ['data:read', 'maintenance:read'],
    scopeEdition: SCOPE_EDITION,
    payload: {},
    keyEpoch: system.system.auth!.keyEpoch,
    createdAt: now,
    expiresAt: new Date(now.getTime() + 300 * DAY_SECONDS * 1000),
  })
  const actor = { userId, orgId: where.id, scopes: ['data:read'] as const, clientId, grantId: id }
  const call = async () => system.as({ token: await signActor(system, actor), organization: where.id })
  return { id, clientId: `https://${clientId}.test/client.json`, call }
}

const callFunction = async (agent: Agent, outcome: 'answered' | 'refused' = 'answered') =>
  (await agent.call())(reportToolCall, {
    name: 'whoami',
    outcome,
    duration_ms: 1,
    question_bytes: 2,
    answer_bytes: 3,
  })

/** Refused by the source, which has no configuration; a question all the same. */
const ask = async (agent: Agent, source_id: string) =>
  (await agent.call())(queryDataSource, { source_id, query: 'x' }).catch(() => undefined)

const show = (who: Person, agent: Agent) => who.call(showGrant, { grant_id: agent.id })

/** Of all calls, since a week or since then. */
const agentsSeenBy = async (who: Person, from = weekAgo()) =>
  (await who.call(summarizeActivity, { type: 'all', agents: 'true', from })).agents ?? []
const weekAgo = () => new Date(system.clock.now().getTime() - 6 * DAY_SECONDS * 1000).toISOString()

describe('the page of an agent', () => {
  test('its user and every admin see it; for colleagues and other organizations it does not exist', async () => {
    const agent = await connect(org, viewer)
    const other = await makeOrganization(system)
    const admin = await makeMember(system, org, 'admin')
    for (const who of [viewer, admin, org.owner]) {
      expect(await show(who, agent)).toMatchObject({
        id: agent.id,
        client_name: 'Desk assistant',
        user: { id: viewer.userId },
        scopes: ['data:read', 'maintenance:read'],
        sources: null,
        ended: null,
        blocked: false,
      })
    }
    const colleague = await makeMember(system, org, 'developer')
    for (const who of [colleague, other.owner]) {
      await expect(show(who, agent)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    await expect(
      viewer.call(showGrant, { grant_id: makeId('grt', system.clock.now().getTime()) }),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('an agent cannot read its own, nor another one', async () => {
    const [agent, other] = [await connect(org, viewer), await connect(org, viewer)]
    for (const { id } of [agent, other]) {
      await expect((await agent.call())(showGrant, { grant_id: id })).rejects.toMatchObject({
        code: 'FORBIDDEN',
      })
    }
  })

  test('it says how it ended, and when', async () => {
    const ended = async (end: (agent: Agent) => Promise<unknown>) => {
      const agent = await connect(org, viewer)
      await end(agent)
      return (await show(viewer, agent)).ended
    }
    const at = expect.stringMatching(/^2026-03-02T/) as string
    const stamp = (agent: Agent, set: Partial<typeof platformAccessGrants.$inferInsert>) =>
      system.db.update(platformAccessGrants).set(set).where(eq(platformAccessGrants.id, agent.id))
    expect(await ended(({ id }) => viewer.call(revokeGrant, { grant_id: id }))).toEqual({
      at,
      reason: 'disconnected',
    })
    expect(await ended(({ id }) => org.owner.call(revokeGrant, { grant_id: id }))).toEqual({
      at,
      reason: 'revoked',
    })
    expect(await ended((agent) => stamp(agent, { expiresAt: system.clock.now() }))).toEqual({
      at,
      reason: 'expired',
    })
    expect(await ended((agent) => stamp(agent, { keyEpoch: 'of older secrets' }))).toEqual({
      at: null,
      reason: 'keys_rotated',
    })
    // Stamped by hand, as operators may.
    const byHand = { revokedAt: system.clock.now(), revokedReason: 'lost laptop' }
    expect(await ended((agent) => stamp(agent, byHand))).toEqual({ at, reason: 'revoked' })
  })

  test('a block of its client is on it, and belongs to this organization', async () => {
    const agent = await connect(org, viewer)
    const elsewhere = await makeOrganization(system)
    const block = { client_id: agent.clientId, blocked: true }
    await elsewhere.owner.call(blockOauthClient, block)
    expect((await show(viewer, agent)).blocked).toBe(false)
    await org.owner.call(blockOauthClient, block)
    expect((await show(viewer, agent)).blocked).toBe(true)
  })

  test('narrowing is on it at once', async () => {
    const agent = await connect(org, viewer)
    await viewer.call(narrowGrant, { grant_id: agent.id, scopes: ['data:read'] })
    expect((await show(viewer, agent)).scopes).toEqual(['data:read'])
  })
})

describe('the calls of an agent', () => {
  test('carry its grant and the name it had then, and are found by it', async () => {
    const { sourceId } = await insertSource(system, org, { enabled: true, exposed: true })
    const [agent, other] = [await connect(org, viewer), await connect(org, viewer, null)]
    await ask(agent, sourceId)
    await callFunction(agent)
    await callFunction(other, 'refused')
    const own = { type: 'all', grant_id: agent.id } as const
    const { activity } = await viewer.call(listActivity, own)
    expect(
      activity.map(({ type, name }) => [type, name]).toSorted(([one], [next]) => (one! < next! ? -1 : 1)),
    ).toEqual([
      ['data_source', sourceId],
      ['function', 'whoami'],
    ])
    for (const row of activity) {
      expect(row).toMatchObject({
        grant_id: agent.id,
        client_id: agent.clientId,
        client_name: 'Desk assistant',
      })
    }
    await system.db
      .update(platformAccessGrants)
      .set({ clientName: 'Renamed' })
      .where(eq(platformAccessGrants.id, agent.id))
    expect((await viewer.call(listActivity, own)).activity[0]?.client_name).toBe('Desk assistant')
    const day = system.clock.now().toISOString().slice(0, 10)
    expect((await viewer.call(summarizeActivity, own)).days).toEqual([
      { day, answered: 1, refused: 1, failed: 0, questions: 1 },
    ])
    expect((await viewer.call(listActivity, { grant_id: agent.id })).activity).toHaveLength(1)
  })

  test('colleagues and other organizations find none of them by its id', async () => {
    const agent = await connect(org, viewer)
    await callFunction(agent)
    const colleague = await makeMember(system, org, 'developer')
    const other = await makeOrganization(system)
    for (const who of [colleague, other.owner]) {
      const own = { type: 'all', grant_id: agent.id } as const
      expect((await who.call(listActivity, own)).activity).toEqual([])
      expect((await who.call(summarizeActivity, own)).days).toEqual([])
      expect(await agentsSeenBy(who)).toEqual([])
    }
    expect(await agentsSeenBy(org.owner)).toHaveLength(1)
  })

  test('are told apart by where they came in', async () => {
    const { sourceId } = await insertSource(system, org, { enabled: true, exposed: true })
    await ask(await connect(org, viewer), sourceId)
    const post = (client: string) =>
      system.fetch(`/api/wf/slim/data-sources/${sourceId}/query`, {
        method: 'POST',
        body: '{"query":"x"}',
        headers: {
          authorization: `Bearer ${viewer.token}`,
          'content-type': 'application/json',
          'x-svc-client': client,
        },
      })
    await post('cli')
    await post('console')
    const found = async (entry_point: 'mcp' | 'cli' | 'api') =>
      (await viewer.call(listActivity, { type: 'data_source', entry_point })).activity.map(
        ({ source }) => source,
      )
    expect([await found('mcp'), await found('cli'), await found('api')]).toEqual([['mcp'], ['cli'], ['api']])
  })
})

describe('the agents that called', () => {
  test('the last one first, each with its days, for seven days; an admin sees everybody’s', async () => {
    const [mine, theirs] = [await connect(org, viewer), await connect(org, org.owner, null)]
    await callFunction(mine)
    system.clock.advance(7 * DAY_SECONDS)
    const day = (ago: number) =>
      new Date(system.clock.now().getTime() - ago * DAY_SECONDS * 1000).toISOString().slice(0, 10)
    await callFunction(mine)
    await callFunction(mine, 'refused')
    system.clock.advance(2 * DAY_SECONDS)
    await callFunction(theirs)
    await callFunction(mine)
    system.clock.advance(60)
    await callFunction(theirs)
    // Nobody stays signed in for nine days.
    const again = async (who: Person): Promise<Person> => ({ ...who, ...(await signedIn(system, who.email)) })
    const [owner, user] = [await again(org.owner), await again(viewer)]
    expect(await agentsSeenBy(owner)).toEqual([
      {
        grant_id: theirs.id,
        client_id: theirs.clientId,
        client_name: null,
        user: { id: org.owner.userId, name: org.owner.name },
        last_call_at: expect.stringContaining(day(0)) as string,
        calls: 2,
        refused: 0,
        failed: 0,
        days: [{ day: day(0), calls: 2 }],
      },
      expect.objectContaining({
        grant_id: mine.id,
        client_name: 'Desk assistant',
        user: { id: viewer.userId, name: viewer.name },
        calls: 3,
        refused: 1,
        days: [
          { day: day(2), calls: 2 },
          { day: day(0), calls: 1 },
        ],
      }),
    ])
    const ids = async (who: Person, since?: string) =>
      (await agentsSeenBy(who, since)).map(({ grant_id, calls }) => [grant_id, calls])
    expect(await ids(user)).toEqual([[mine.id, 3]])
    const from = new Date(system.clock.now().getTime() - 20 * DAY_SECONDS * 1000).toISOString()
    expect(await ids(user, from)).toEqual([[mine.id, 4]])
    expect(await ids(user, '9999-01-01T00:00:00Z')).toEqual([])
    expect(await ids(user, '0001-01-01T00:00:00Z')).toEqual([[mine.id, 4]])
  })

  test('one that was disconnected is still told', async () => {
    const agent = await connect(org, viewer)
    await callFunction(agent)
    await viewer.call(revokeGrant, { grant_id: agent.id })
    expect((await agentsSeenBy(viewer)).map(({ grant_id }) => grant_id)).toEqual([agent.id])
    expect(await viewer.call(summarizeActivity, { type: 'all' })).not.toHaveProperty('agents')
  })
})
