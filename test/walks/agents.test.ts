/** One agent: what it may do, what it did, how it ended; told to its user and to admins, and to nobody else. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, asc, eq } from '../../db/drizzle.ts'
import {
  apiTokens,
  apps,
  grantUses,
  memberships,
  outbox,
  platformAccessGrants,
  supportSessions,
} from '../../db/schema.ts'
import { showAccess } from '../../src/contracts/access.ts'
import {
  listActivity,
  reportToolCall,
  showAgentDay,
  summarizeActivity,
} from '../../src/contracts/activity.ts'
import { listAudit } from '../../src/contracts/audit.ts'
import {
  listAskableDataSources,
  queryDataSource,
  searchDataSources,
} from '../../src/contracts/data-sources.ts'
import { blockOauthClient, narrowGrant, revokeGrant, showGrant } from '../../src/contracts/grants.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { AGENTS_TOLD_MAX } from '../../src/contracts/limits.ts'
import { createMachineAgent } from '../../src/contracts/machine-agents.ts'
import { changeMemberRole } from '../../src/contracts/members.ts'
import { updateOrganization } from '../../src/contracts/organizations.ts'
import { SCOPE_EDITION, type Scope } from '../../src/contracts/scopes.ts'
import { createApiToken, revokeApiToken } from '../../src/contracts/tokens.ts'
import { insertActivity } from '../../src/cores/activity/insert-activity.ts'
import { narrowUnusedGrants } from '../../src/cores/grants/index.ts'
import { organizationChoices } from '../../oauth/connector/organization-choices.ts'
import { lockAuthor, type Author } from '../../src/cores/lock-author.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
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
async function connect(
  where: Org,
  { userId }: Person,
  clientName: string | null = 'Desk assistant',
  given: Partial<typeof platformAccessGrants.$inferInsert> = {},
) {
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
    usesSince: now,
    expiresAt: new Date(now.getTime() + 300 * DAY_SECONDS * 1000),
    ...given,
  })
  const scopes = ['data:read', 'maintenance:read'] as const
  const actor = { userId, orgId: where.id, scopes, clientId, grantId: id }
  const call = async () => system.as({ token: await signActor(system, actor), organization: where.id })
  return { id, clientId: `https://${clientId}.test/client.json`, call }
}

const callFunction = async (
  agent: Agent,
  outcome: 'answered' | 'refused' = 'answered',
  scopes: Scope[] = [],
) =>
  (await agent.call())(reportToolCall, {
    scopes,
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
    // Whoever is in both may still connect it here.
    await makeMember(system, elsewhere, 'viewer', viewer)
    const asked = { clientId: agent.clientId, kind: 'metadata_document', scopes: [] } as const
    const places = await organizationChoices(system.system.auth!, viewer.userId, asked)
    const isOpen = Object.fromEntries(places.map((place) => [place.id, place.isOpen]))
    expect(isOpen).toEqual({ [org.id]: true, [elsewhere.id]: false })
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

  test('those of somebody else are asked for by owners and admins alone', async () => {
    const { userId } = viewer
    const colleague = await makeMember(system, org, 'developer')
    await expect(colleague.call(listActivity, { user_id: userId })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'Only owners and admins may see the activity of others',
    })
    expect((await viewer.call(listActivity, { user_id: userId })).activity).toEqual([])
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

test('a write looks once more, under its lock, at what its author stands on, in its organization', async () => {
  const other = await makeOrganization(system)
  const lock = (author: Partial<Author>) =>
    withTransaction(system.db, (tx) =>
      lockAuthor(
        tx,
        () => system.clock.now(),
        { orgId: org.id, userId: viewer.userId, role: 'viewer', ...author },
        'viewer',
      ),
    ).then(
      () => 'done',
      (error: unknown) => String((error as { code?: unknown }).code),
    )
  const supportSessionId = makeId('sup', system.clock.now().getTime())
  const startedAt = system.clock.now()
  const expiresAt = new Date(startedAt.getTime() + 60_000)
  const times = { startedAt, expiresAt }
  await system.db
    .insert(supportSessions)
    .values({ ...times, orgId: org.id, id: supportSessionId, staffId: viewer.userId, reason: 'Help' })
  expect([await lock({ supportSessionId }), await lock({ supportSessionId, orgId: other.id })]).toEqual([
    'done',
    'FORBIDDEN',
  ])
  const isIt = eq(supportSessions.id, supportSessionId)
  await system.db.update(supportSessions).set({ endedAt: startedAt }).where(isIt)
  expect(await lock({ supportSessionId })).toBe('FORBIDDEN')
  await system.db.update(supportSessions).set({ endedAt: null, expiresAt: startedAt }).where(isIt)
  expect(await lock({ supportSessionId })).toBe('FORBIDDEN')

  const { id: tokenId } = await viewer.call(createApiToken, { name: 'short', expires_in_days: 1 })
  expect(await lock({ tokenId })).toBe('done')
  await system.db.update(apiTokens).set({ expiresAt: startedAt }).where(eq(apiTokens.id, tokenId))
  expect(await lock({ tokenId })).toBe('UNAUTHENTICATED')

  const { user_id: userId } = await org.owner.call(createMachineAgent, {
    name: unique('nightly'),
    owner_id: viewer.userId,
  })
  expect([await lock({ userId }), await lock({ userId, orgId: other.id })]).toEqual(['done', 'FORBIDDEN'])
  const isMember = and(eq(memberships.orgId, org.id), eq(memberships.userId, viewer.userId))
  await system.db.delete(memberships).where(isMember)
  // Whoever comes back is another member, and answers for nothing of before.
  await makeMember(system, org, 'viewer', viewer)
  expect([await lock({}), await lock({ userId })]).toEqual(['done', 'FORBIDDEN'])
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

  test('of more than are told, those that called last; of another organization none', async () => {
    const other = await makeOrganization(system)
    const at = system.clock.now().getTime()
    const rows = Array.from({ length: AGENTS_TOLD_MAX + 1 }, (_, n) => ({
      type: 'function' as const,
      id: makeId('act', at - n * 1_000),
      at: new Date(at - n * 1_000),
      name: 'whoami',
      userId: viewer.userId,
      userName: viewer.name,
      entryPoint: 'mcp' as const,
      clientId: 'client',
      grantId: `grt_${n}`,
      outcome: 'answered' as const,
      durationMs: 1,
      questionBytes: 2,
      answerBytes: 3,
      requestId: 'req',
    }))
    await Promise.all(rows.map((row) => insertActivity(system.db, { ...row, orgId: org.id })))
    await insertActivity(system.db, { ...rows[0]!, orgId: other.id })
    expect((await agentsSeenBy(org.owner)).map(({ grant_id }) => grant_id)).toEqual(
      rows.slice(0, AGENTS_TOLD_MAX).map(({ grantId }) => grantId),
    )
  })

  test('one that was disconnected is still told', async () => {
    const agent = await connect(org, viewer)
    await callFunction(agent)
    await viewer.call(revokeGrant, { grant_id: agent.id })
    expect((await agentsSeenBy(viewer)).map(({ grant_id }) => grant_id)).toEqual([agent.id])
    expect(await viewer.call(summarizeActivity, { type: 'all' })).not.toHaveProperty('agents')
  })
})

describe('the day of an agent', () => {
  test('is told by period of work, with data sources and counts, to its user and admins alone', async () => {
    const { sourceId } = await insertSource(system, org, { enabled: true, exposed: true })
    const agent = await connect(org, viewer)
    const toMidnight = (DAY_SECONDS * 1000 - (system.clock.now().getTime() % (DAY_SECONDS * 1000))) / 1000
    system.clock.advance(toMidnight + 60)
    const who: Person = { ...viewer, ...(await signedIn(system, viewer.email)) }
    const day = system.clock.now().toISOString().slice(0, 10)
    await ask(agent, sourceId)
    await ask(agent, sourceId)
    system.clock.advance(29 * 60)
    await callFunction(agent)
    system.clock.advance(31 * 60)
    await callFunction(agent, 'refused')
    const shown = await who.call(showAgentDay, { grant_id: agent.id, day })
    expect(shown).toMatchObject({ day, calls: 4, answered: 1, refused: 3, failed: 0 })
    expect(shown.periods).toEqual([
      expect.objectContaining({
        calls: 3,
        refused: 2,
        data_sources: [{ source_id: sourceId, calls: 2, answered: 0, refused: 2, failed: 0, hits: 0 }],
        functions: [{ name: 'whoami', calls: 1, answered: 1, refused: 0, failed: 0 }],
        errors: [{ error: expect.any(String) as string, calls: 2 }],
      }),
      expect.objectContaining({ calls: 1, refused: 1, data_sources: [] }),
    ])
    expect(Date.parse(shown.periods[0]!.to) - Date.parse(shown.periods[0]!.from)).toBeGreaterThan(28 * 60_000)
    expect(await who.call(showAgentDay, { grant_id: agent.id })).toEqual(shown)
    const admin = await makeMember(system, org, 'admin')
    expect((await admin.call(showAgentDay, { grant_id: agent.id, day })).calls).toBe(4)
    const before = new Date(Date.parse(day) - 1).toISOString().slice(0, 10)
    expect((await who.call(showAgentDay, { grant_id: agent.id, day: before })).periods).toEqual([])
    const colleague = await makeMember(system, org, 'developer')
    const other = await makeOrganization(system)
    for (const another of [colleague, other.owner])
      expect((await another.call(showAgentDay, { grant_id: agent.id, day })).periods).toEqual([])
  })
})

describe('what an agent uses', () => {
  const again = async (who: Person): Promise<Person> => ({ ...who, ...(await signedIn(system, who.email)) })
  /** The job, as the worker runs it. */
  const judge = () => narrowUnusedGrants({ db: system.db, clock: () => system.clock.now() })
  const eventsOf = async (where: Org) =>
    (await system.db.select().from(outbox).where(eq(outbox.orgId, where.id)).orderBy(asc(outbox.seq))).map(
      ({ type, concernsId, data }): Record<string, unknown> => ({ type, concernsId, ...data }),
    )
  const rightsOf = async (agent: Agent) => {
    const [row] = await system.db
      .select()
      .from(platformAccessGrants)
      .where(eq(platformAccessGrants.id, agent.id))
    return { scopes: row!.scopes, sources: row!.sources, ended: row!.revokedReason }
  }
  const advanceDays = (days: number) => system.clock.advance(days * DAY_SECONDS)

  test('is counted by scope; what was refused is not, nor what its grant does not have', async () => {
    const agent = await connect(org, viewer)
    await callFunction(agent, 'answered', ['maintenance:read'])
    await callFunction(agent, 'answered', ['maintenance:read'])
    await callFunction(agent, 'refused', ['data:read'])
    await ask(agent, 'db_unknown')
    await callFunction(agent, 'answered', ['proposals:decide'])
    const { use } = await show(viewer, agent)
    expect(use).toEqual({
      since: expect.any(String) as string,
      scopes: [
        { scope: 'data:read', calls: 0, last_used_at: null },
        { scope: 'maintenance:read', calls: 2, last_used_at: expect.any(String) as string },
      ],
      sources: [],
      unused: null,
      narrows_on: null,
      ends_on: null,
    })
    const second = await connect(org, viewer)
    expect((await show(viewer, second)).use.scopes.map(({ calls }) => calls)).toEqual([0, 0])
    // Of several data sources it is all calls, and the last of them.
    const [earlier, later] = [new Date(Date.parse(use.since) + 1000), new Date(Date.parse(use.since) + 2000)]
    const used = { orgId: org.id, grantId: second.id, scope: 'data:read' as const }
    await system.db.insert(grantUses).values([
      { ...used, sourceId: 'ds_1', calls: 2, lastUsedAt: later },
      { ...used, sourceId: 'ds_2', calls: 3, lastUsedAt: earlier },
    ])
    expect((await show(viewer, second)).use.scopes[0]).toEqual({
      scope: 'data:read',
      calls: 5,
      last_used_at: later.toISOString(),
    })
    const elsewhere = await makeOrganization(system)
    const other = await connect(elsewhere, elsewhere.owner)
    expect((await show(elsewhere.owner, other)).use.scopes.map(({ calls }) => calls)).toEqual([0, 0])
  })

  test('is each source that a search names, found or not; a search over all uses none where it finds nothing', async () => {
    const { sourceId } = await insertSource(system, org, { enabled: true, exposed: true })
    const agent = await connect(org, viewer)
    const usedBy = async (sources?: string[]) => {
      const call = await agent.call()
      await call(searchDataSources, { query: 'x', ...(sources && { sources }) })
      return (await show(viewer, agent)).use.sources.map(({ source_id, calls }) => [source_id, calls])
    }
    expect(await usedBy()).toEqual([])
    expect(await usedBy([sourceId])).toEqual([[sourceId, 1]])
  })

  test('for thirty days is what a suggestion leaves; one narrows to it at once, and never to more', async () => {
    await insertSource(system, org, { enabled: true, exposed: true, title: 'Handbook' })
    const agent = await connect(org, viewer)
    const narrow = async (days: number) =>
      (await again(viewer)).call(narrowGrant, { grant_id: agent.id, used_within_days: days })
    await expect(narrow(1)).rejects.toMatchObject({ code: 'CONFLICT' })
    advanceDays(29)
    await callFunction(agent, 'answered', ['maintenance:read'])
    expect((await show(await again(viewer), agent)).use.unused).toBeNull()
    await expect(narrow(30)).rejects.toMatchObject({ code: 'CONFLICT' })
    advanceDays(1)
    expect((await show(await again(viewer), agent)).use.unused).toMatchObject({
      scopes: ['data:read'],
      sources: [{ name: 'Handbook' }],
    })
    const colleague = await makeMember(system, org, 'developer')
    await expect(
      colleague.call(narrowGrant, { grant_id: agent.id, used_within_days: 30 }),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(
      (await again(viewer)).call(narrowGrant, {
        grant_id: agent.id,
        used_within_days: 30,
        scopes: ['data:read'],
      }),
    ).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    expect((await narrow(30)).scopes).toEqual(['maintenance:read'])
    // What it no longer has does not come back by having been used.
    expect((await narrow(30)).scopes).toEqual(['maintenance:read'])
    expect(await rightsOf(agent)).toEqual({ scopes: ['maintenance:read'], sources: [], ended: null })
    expect((await show(await again(viewer), agent)).use.unused).toBeNull()
  })

  test('nothing at all: there is nothing to narrow to', async () => {
    const agent = await connect(org, viewer)
    advanceDays(31)
    const who = await again(viewer)
    expect((await show(who, agent)).use.unused).toBeNull()
    await expect(who.call(narrowGrant, { grant_id: agent.id, used_within_days: 30 })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
  })

  test('where the organization wants it, the rest is taken by itself: its person is told before, and after', async () => {
    const elsewhere = await makeOrganization(system)
    const settings = { org_id: org.id, narrow_unused_after_days: 30 }
    await expect(viewer.call(updateOrganization, settings)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    for (const days of [13, 366])
      await expect(
        org.owner.call(updateOrganization, { ...settings, narrow_unused_after_days: days }),
      ).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    expect(await org.owner.call(updateOrganization, settings)).toMatchObject({
      narrow_unused_after_days: 30,
      end_unused_after_days: null,
    })
    const [agent, theirs] = [await connect(org, viewer), await connect(elsewhere, elsewhere.owner)]
    const use = async () => {
      for (const one of [agent, theirs]) await callFunction(one, 'answered', ['maintenance:read'])
    }
    await use()
    advanceDays(22)
    await use()
    await judge()
    expect(await eventsOf(org)).toEqual([])
    advanceDays(1)
    await judge()
    await judge()
    const on = new Date(system.clock.now().getTime() + 7 * DAY_SECONDS * 1000)
    const told = { concernsId: viewer.userId, grant_id: agent.id }
    expect(await eventsOf(org)).toEqual([
      { type: 'agent.unused', ...told, next: 'narrowed', on: on.toISOString().slice(0, 10) },
    ])
    expect((await show(await again(viewer), agent)).use.narrows_on).toContain(on.toISOString().slice(0, 10))
    advanceDays(6)
    await judge()
    expect((await rightsOf(agent)).scopes).toEqual(['data:read', 'maintenance:read'])
    advanceDays(1)
    await judge()
    await judge()
    expect((await rightsOf(agent)).scopes).toEqual(['maintenance:read'])
    // What they were told has come to pass: of whatever comes next they are told anew.
    const [row] = await system.db
      .select()
      .from(platformAccessGrants)
      .where(eq(platformAccessGrants.id, agent.id))
    expect(row!.narrowingToldAt).toBeNull()
    expect((await eventsOf(org)).slice(1)).toEqual([{ type: 'agent.narrowed', ...told }])
    const narrowed = { org_id: org.id, action: 'grant.narrowed' } as const
    const { audit } = await (await again(org.owner)).call(listAudit, narrowed)
    expect(audit).toMatchObject([{ actor: { name: 'svc' }, subject: 'Desk assistant: maintenance:read' }])
    expect(await rightsOf(theirs)).toMatchObject({ scopes: ['data:read', 'maintenance:read'] })
    expect(await eventsOf(elsewhere)).toEqual([])
  })

  test('of a machine agent, whoever answers for it is told', async () => {
    const [answers, elsewhere] = [await makeMember(system, org, 'developer'), await makeOrganization(system)]
    for (const { id, owner } of [org, elsewhere])
      await owner.call(updateOrganization, { org_id: id, end_unused_after_days: 14 })
    await org.owner.call(createMachineAgent, { name: unique('robot'), owner_id: answers.userId })
    await elsewhere.owner.call(createMachineAgent, { name: unique('robot') })
    advanceDays(7)
    await judge()
    const told = async (where: Org) =>
      (await eventsOf(where)).map(({ type, concernsId }) => [type, concernsId])
    expect(await told(org)).toEqual([['agent.unused', answers.userId]])
    expect(await told(elsewhere)).toEqual([['agent.unused', elsewhere.owner.userId]])
  })

  test('at no time, it is disconnected where the organization wants that, after its person was told', async () => {
    await org.owner.call(updateOrganization, { org_id: org.id, end_unused_after_days: 14 })
    const [idle, busy] = [await connect(org, viewer), await connect(org, viewer)]
    advanceDays(7)
    await callFunction(busy)
    await judge()
    const endsOn = async () => (await show(await again(viewer), idle)).use.ends_on
    expect(await endsOn()).toEqual(expect.any(String))
    const owner = await again(org.owner)
    await owner.call(updateOrganization, { org_id: org.id, end_unused_after_days: null })
    expect(await endsOn()).toBeNull()
    await owner.call(updateOrganization, { org_id: org.id, end_unused_after_days: 14 })
    advanceDays(7)
    await judge()
    expect(await rightsOf(idle)).toMatchObject({ ended: 'unused' })
    expect(await rightsOf(busy)).toMatchObject({ ended: null })
    expect(
      (await eventsOf(org)).filter(({ grant_id }) => grant_id === idle.id).map(({ type }) => type),
    ).toEqual(['agent.unused', 'agent.ended'])
    expect((await show(await again(viewer), idle)).ended?.reason).toBe('unused')
  })
})

describe('what somebody reaches', () => {
  const reachedIn = ({ sources }: { sources: readonly { source_id: string; reached: boolean }[] }) =>
    sources.filter(({ reached }) => reached).map(({ source_id }) => source_id)
  const ALL = { enabled: true, exposed: true }

  async function furnish() {
    const open = await insertSource(system, org, { ...ALL, name: 'alpha', minimumRole: 'viewer' })
    const high = await insertSource(system, org, { ...ALL, name: 'beta', minimumRole: 'admin' })
    await insertSource(system, org, { name: 'gamma', enabled: true, exposed: false })
    const configuration = {
      connection_config: { embedding_configs: [] },
      filter_schema: {},
      access_column: 'who',
    }
    const rows = await insertSource(system, org, { ...ALL, name: 'rows', configuration })
    await system.db
      .insert(apps)
      .values({ orgId: org.id, id: makeId('app', 1), alias: 'shop', name: 'Shop', createdAt: new Date(1) })
    return { open, high, rows }
  }

  test('is what their own calls are answered, and why not is said of everything else', async () => {
    await furnish()
    for (const role of ['viewer', 'developer', 'admin'] as const) {
      const person = await makeMember(system, org, role)
      const { now, after, loses } = await org.owner.call(showAccess, { user_id: person.userId })
      const asked = await person.call(listAskableDataSources, {})
      expect(reachedIn(now).toSorted()).toEqual(asked.data_sources.map(({ id }) => id).toSorted())
      expect(now.sources.find(({ source_id }) => source_id === 'db_gamma')).toMatchObject({
        why: ['not_exposed'],
      })
      expect(now.apps).toMatchObject({ reached: true, count: 1, readable: role === 'viewer' ? 0 : 1 })
      expect([after, loses, now.tools]).toEqual([null, null, []])
      const { rows, rows_of } = now.sources.find(({ source_id }) => source_id === 'db_rows')!
      expect([rows, rows_of.includes('everyone'), rows_of.includes('role:admin')]).toEqual([
        'limited',
        true,
        role === 'admin',
      ])
    }
  })

  test('of an agent is limited by its grant; narrowing says before what is lost, and then that is lost', async () => {
    const { open } = await furnish()
    const agent = await connect(org, org.owner)
    const before = await org.owner.call(showAccess, { grant_id: agent.id })
    expect(reachedIn(before.now)).toEqual(['db_alpha', 'db_beta', 'db_rows'])
    const narrowing = { grant_id: agent.id, scopes: ['data:read' as const], sources: ['db_alpha'] }
    const { after, loses } = await org.owner.call(showAccess, narrowing)
    expect(loses).toEqual({
      sources: ['beta', 'rows'],
      rows: [],
      apps: 1,
      tools: ['app_list', 'maintenance_status', 'proposal_show'],
    })
    expect(after!.sources.find(({ source_id }) => source_id === 'db_beta')?.why).toEqual(['not_granted'])
    expect(after!.apps).toMatchObject({ reached: false, why: ['scope'] })
    // Nothing was changed by asking.
    expect(await org.owner.call(showAccess, { grant_id: agent.id })).toEqual(before)
    await org.owner.call(narrowGrant, narrowing)
    expect((await org.owner.call(showAccess, { grant_id: agent.id })).now).toEqual(after)
    const { data_sources } = await (await agent.call())(listAskableDataSources, {})
    expect(data_sources.map(({ id }) => id)).toEqual([open.sourceId])
    const wider = { grant_id: agent.id, sources: ['db_beta'] }
    await expect(org.owner.call(showAccess, wider)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  })

  test('a data source that its person may not know is named to them nowhere, though its grant holds it', async () => {
    const [open, high] = [
      await insertSource(system, org, { ...ALL, name: 'alpha', minimumRole: 'viewer' }),
      await insertSource(system, org, { ...ALL, name: 'beta', minimumRole: 'developer' }),
    ]
    const held = await connect(org, viewer, 'Desk assistant', { sources: [open.id, high.id] })
    const seenBy = async (who: Person) => (await show(who, held)).sources?.map(({ id }) => id)
    expect([await seenBy(viewer), await seenBy(org.owner)]).toEqual([[open.id], [open.id, high.id]])
  })

  test('with another role is told before it is given', async () => {
    await furnish()
    const admin = await makeMember(system, org, 'admin')
    const lowered = await org.owner.call(showAccess, { user_id: admin.userId, role: 'viewer' })
    expect(lowered.loses).toEqual({ sources: ['beta'], rows: ['rows'], apps: 1, tools: [] })
    const raised = await org.owner.call(showAccess, { user_id: viewer.userId, role: 'admin' })
    expect(raised.loses).toEqual({ sources: [], rows: [], apps: 0, tools: [] })
    expect(raised.after).toMatchObject({ role: 'admin', apps: { readable: 1 } })
    await org.owner.call(changeMemberRole, { org_id: org.id, user_id: admin.userId, role: 'viewer' })
    expect((await org.owner.call(showAccess, { user_id: admin.userId })).now).toEqual(lowered.after)
  })

  test('with an API token is at most what its scopes open', async () => {
    await furnish()
    const { id } = await org.owner.call(createApiToken, {
      name: 'read apps',
      scopes: ['maintenance:read'],
      audiences: ['platform'],
    })
    const { now } = await org.owner.call(showAccess, { token_id: id })
    expect(reachedIn(now)).toEqual([])
    expect(now.sources[0]!.why).toEqual(['scope'])
    expect(now.tools.filter(({ reached }) => reached).map(({ name }) => name)).toEqual([
      'app_list',
      'maintenance_status',
      'proposal_show',
      'whoami',
    ])
    await expect(viewer.call(showAccess, { token_id: id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await org.owner.call(revokeApiToken, { token_id: id })
    await expect(org.owner.call(showAccess, { token_id: id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('is told of oneself, and as owner or admin of anybody; for everybody else they do not exist', async () => {
    const agent = await connect(org, org.owner)
    const other = await makeOrganization(system)
    expect((await viewer.call(showAccess, { user_id: viewer.userId })).now.role).toBe('viewer')
    for (const who of [viewer, other.owner]) {
      for (const whose of [{ user_id: org.owner.userId }, { grant_id: agent.id }])
        await expect(who.call(showAccess, whose)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    for (const invalid of [
      {},
      { user_id: viewer.userId, grant_id: agent.id },
      { user_id: viewer.userId, scopes: ['data:read' as const] },
      { grant_id: agent.id, role: 'viewer' as const },
    ])
      await expect(org.owner.call(showAccess, invalid)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  })
})
