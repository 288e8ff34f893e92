/** Who is notified of what: the organization's subscriptions, mails to a person, and what a person follows. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, eq, inArray } from '../../db/drizzle.ts'
import {
  appMembers,
  apps,
  deliveries,
  defaultSubscriptions,
  events,
  memberships,
  organizations,
  outbox,
  follows,
  subscriptions,
  throttles,
} from '../../db/schema.ts'
import type { Timing } from '../../src/contracts/channels.ts'
import { TEST_EVENT } from '../../src/contracts/events.ts'
import { makeId } from '../../src/contracts/ids.ts'
import {
  configureForum,
  connectChatWebhook,
  connectForum,
  connectWebhook,
  updateIntegration,
} from '../../src/contracts/integrations.ts'
import { DELIVERY_TESTS_PER_ORGANIZATION } from '../../src/contracts/limits.ts'
import {
  createSubscription,
  deleteSubscription,
  listFollows,
  listMySubscriptions,
  listSubscriptions,
  previewEventPattern,
  setFollow,
  showUnsubscribe,
  updateMySubscription,
  testSubscription,
  unsubscribe,
  updateSubscription,
} from '../../src/contracts/subscriptions.ts'
import { unsubscribeToken } from '../../src/cores/notifications/subscriptions/unsubscribe-token.ts'
import { fakeChecks } from '../support/fake-integrations.ts'
import {
  makeApiToken,
  makeAppMember,
  makeMember,
  makeOrganization,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let admin: Person

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service' }, { checks: fakeChecks })
})

beforeEach(async () => {
  org = await makeOrganization(system)
  admin = org.owner
})

afterAll(() => system.stop())

const connected = async (by = admin) =>
  (await by.call(connectWebhook, { name: 'Receiver', url: `https://hooks.test/${unique('secret')}` })).id

describe('a subscription of the organization', () => {
  test('names an event type or a prefix, and says when nothing is known by it', async () => {
    const integration_id = await connected()
    const make = (pattern: string) => admin.call(createSubscription, { integration_id, pattern })
    expect(await make('deploy.failed')).toMatchObject({
      pattern: 'deploy.failed',
      timing: 'immediately',
      enabled: true,
      is_default: false,
      created_by: admin.userId,
      channel: 'webhook',
      integration: { id: integration_id, name: 'Receiver' },
      notes: [],
    })
    expect((await make('deploy.exploded')).notes).toEqual([expect.stringContaining('No event of this type')])
    // An integration gets an event once, however many patterns match.
    expect((await make('deploy.*')).notes).toEqual([])
    await expect(make('deploy.failed')).rejects.toMatchObject({ code: 'CONFLICT' })
    for (const bad of ['*', 'Deploy.failed', 'deploy.*.x', 'a..b', '.*', "x'; drop"]) {
      await expect(make(bad)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
    const unknownTiming = { integration_id, pattern: 'a.b', timing: 'weekly' as never }
    await expect(admin.call(createSubscription, unknownTiming)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    })
  })

  test('is seen, changed and used by admins of its own organization only', async () => {
    const { id } = await admin.call(createSubscription, {
      integration_id: await connected(),
      pattern: 'deploy.failed',
    })
    const elsewhere = await makeOrganization(system)
    const outsider = elsewhere.owner
    expect((await outsider.call(listSubscriptions, {})).subscriptions).toEqual([])
    const theirs = { subscription_id: id }
    const integration_id = await connected()
    for (const trying of [
      () => outsider.call(updateSubscription, { ...theirs, enabled: false }),
      () => outsider.call(testSubscription, theirs),
      () => outsider.call(deleteSubscription, theirs),
      () => outsider.call(createSubscription, { integration_id, pattern: 'deploy.*' }),
    ]) {
      await expect(trying()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    const developer = await makeMember(system, org, 'developer')
    await expect(developer.call(listSubscriptions, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test('is found by pattern, integration and state', async () => {
    const [one, other] = [await connected(), await connected()]
    const make = (integration_id: string, pattern: string) =>
      admin.call(createSubscription, { integration_id, pattern })
    const paused = await make(one, 'deploy.failed')
    await make(one, 'pipeline.run.*')
    await make(other, 'deploy.failed')
    await admin.call(updateSubscription, { subscription_id: paused.id, enabled: false })
    const found = async (filter: object) =>
      (await admin.call(listSubscriptions, filter)).subscriptions.map(({ pattern }) => pattern)
    expect(await found({ pattern: 'PIPE' })).toEqual(['pipeline.run.*'])
    expect(await found({ pattern: '%' })).toEqual([])
    expect(await found({ integration_id: one, enabled: 'true' })).toEqual(['pipeline.run.*'])
    expect(await found({ enabled: 'false' })).toEqual(['deploy.failed'])
  })

  test('to a forum is immediate; any other timing is refused, also later', async () => {
    for (const { owner } of [await makeOrganization(system), await makeOrganization(system)]) {
      const { id: integration_id } = await owner.call(connectForum, {
        url: 'https://forum.test',
        api_key: 'all',
      })
      await owner.call(configureForum, { config: { url: 'https://forum.test', category: 4 } })
      const make = (timing: Timing) =>
        owner.call(createSubscription, { integration_id, pattern: 'deploy.failed', timing })
      const refusal = {
        code: 'INVALID_REQUEST',
        problems: ['timing: forum integrations take immediately only'],
      }
      for (const timing of ['hourly', 'daily'] as const) {
        await expect(make(timing)).rejects.toMatchObject(refusal)
      }
      const { id: subscription_id } = await make('immediately')
      const change = owner.call(updateSubscription, { subscription_id, timing: 'daily' })
      await expect(change).rejects.toMatchObject(refusal)
    }
  })

  test('changes its pattern and timing, and not into one that is there', async () => {
    const integration_id = await connected()
    const { id } = await admin.call(createSubscription, { integration_id, pattern: 'deploy.failed' })
    await admin.call(createSubscription, { integration_id, pattern: 'pipeline.run.*' })
    const change = (to: object) => admin.call(updateSubscription, { subscription_id: id, ...to })
    expect(await change({ timing: 'daily', pattern: 'support.ticket.*' })).toMatchObject({
      timing: 'daily',
      pattern: 'support.ticket.*',
    })
    await expect(change({ pattern: 'pipeline.run.*' })).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('that was a default and is deleted leaves its tombstone', async () => {
    await admin.call(connectChatWebhook, { name: 'Team', url: `https://hooks.test/${unique('secret')}` })
    const [made] = (await admin.call(listSubscriptions, {})).subscriptions
    await admin.call(deleteSubscription, { subscription_id: made!.id })
    expect(
      await system.db.select().from(defaultSubscriptions).where(eq(defaultSubscriptions.orgId, org.id)),
    ).toHaveLength(1)
    await expect(admin.call(deleteSubscription, { subscription_id: made!.id })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  test('is tried by an event that names it, unless it could not arrive', async () => {
    const integration_id = await connected()
    const { id } = await admin.call(createSubscription, { integration_id, pattern: 'deploy.failed' })
    const sendTest = () => admin.call(testSubscription, { subscription_id: id })
    const { event_id } = await sendTest()
    expect(await system.db.select().from(outbox).where(eq(outbox.id, event_id))).toMatchObject([
      { orgId: org.id, type: TEST_EVENT, data: { subscription_id: id }, actorId: admin.userId },
    ])
    await admin.call(updateSubscription, { subscription_id: id, enabled: false })
    await expect(sendTest()).rejects.toMatchObject({ code: 'CONFLICT' })
    await admin.call(updateSubscription, { subscription_id: id, enabled: true })
    await admin.call(updateIntegration, { integration_id, enabled: false })
    await expect(sendTest()).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('is tried so often, counted for each organization by itself', async () => {
    const { owner: theirs } = await makeOrganization(system)
    const [mine, other] = await Promise.all(
      [admin, theirs].map(async (by) => {
        const integration_id = await connected(by)
        const { id } = await by.call(createSubscription, { integration_id, pattern: 'deploy.failed' })
        return () => by.call(testSubscription, { subscription_id: id })
      }),
    )
    const bucketsNow = () => system.db.select().from(throttles)
    const known = new Set((await bucketsNow()).map(({ key }) => key))
    await mine!()
    const added = (await bucketsNow()).flatMap(({ key }) => (known.has(key) ? [] : [key]))
    const fullUntil = new Date(system.clock.now().getTime() + DELIVERY_TESTS_PER_ORGANIZATION.seconds * 1000)
    await system.db.update(throttles).set({ fullUntil }).where(inArray(throttles.key, added))
    await expect(mine!()).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    await other!()
  })

  test('can be previewed: the types there are, and what happened in seven days', async () => {
    const elsewhere = await makeOrganization(system)
    const happened = async (where: Org, type: string, daysAgo: number) => {
      const at = new Date(system.clock.now().getTime() - daysAgo * 86_400_000)
      const event = {
        source: 'x',
        dedupKey: unique('key'),
        seq: 1,
        subject: 'runs/r',
        data: {},
        occurredAt: at,
        recordedAt: at,
      }
      await system.db
        .insert(events)
        .values({ ...event, orgId: where.id, id: makeId('evt', at.getTime()), type })
    }
    for (const daysAgo of [1, 6, 8]) await happened(org, 'pipeline.run.failed', daysAgo)
    await happened(org, 'pipeline.run.recovered', 1)
    await happened(org, 'deploy.failed', 1)
    await happened(elsewhere, 'pipeline.run.failed', 1)
    const preview = (pattern: string) => admin.call(previewEventPattern, { pattern })
    const { types, ...rest } = await preview('pipeline.run.*')
    expect(rest).toEqual({ events: 3, is_known: true })
    expect(types.map(({ type, events: n }) => [type, n])).toEqual([
      ['pipeline.run.failed', 2],
      ['pipeline.run.recovered', 1],
      ['pipeline.run.host_offline', 0],
      ['pipeline.run.missed', 0],
    ])
    expect(await preview('pipeline.exploded')).toEqual({ types: [], events: 0, is_known: false })
    expect(await preview('svc.*')).toEqual({ types: [], events: 0, is_known: false })
    await expect(preview('*')).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  })
})

/** As a default is made, of which a person has one or the other. */
async function mailed(person: Person, pattern = 'org.support_access.*', where = org): Promise<string> {
  const now = system.clock.now()
  const id = makeId('sub', now.getTime())
  await system.db.insert(subscriptions).values({
    orgId: where.id,
    id,
    userId: person.userId,
    pattern,
    timing: 'immediately',
    enabled: true,
    defaultKey: unique('default'),
    createdAt: now,
  })
  return id
}

describe('a mail to a person', () => {
  test('is theirs to switch off and on; admins do not even see it', async () => {
    const ada = await makeMember(system, org, 'viewer')
    const subscription_id = await mailed(ada)
    expect((await ada.call(listMySubscriptions, {})).subscriptions).toMatchObject([
      { id: subscription_id, enabled: true, is_default: true },
    ])
    const off = await ada.call(updateMySubscription, { subscription_id, enabled: false })
    expect(off).toMatchObject({ enabled: false, disabled_reason: 'paused' })
    expect(await ada.call(updateMySubscription, { subscription_id, enabled: true })).toMatchObject({
      enabled: true,
      disabled_reason: null,
    })
    expect((await admin.call(listSubscriptions, {})).subscriptions).toEqual([])
    expect((await admin.call(listMySubscriptions, {})).subscriptions).toEqual([])
    for (const trying of [
      () => admin.call(updateMySubscription, { subscription_id, enabled: false }),
      () => admin.call(updateSubscription, { subscription_id, enabled: false }),
      () => admin.call(deleteSubscription, { subscription_id }),
    ]) {
      await expect(trying()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
  })

  test('is stopped for good by its link, which tells a forger nothing', async () => {
    const ada = await makeMember(system, org, 'viewer')
    const [subscriptionId, other] = [await mailed(ada), await mailed(ada, 'support.ticket.replied')]
    const key = system.system.gateway!.dataKeys.keyFor('unsubscribe')
    const token = unsubscribeToken(key, { orgId: org.id, subscriptionId, mailbox: null })
    const anybody = system.as()
    const unchanged = { pattern: 'org.support_access.*', organization: org.name, enabled: true }
    expect(await anybody(showUnsubscribe, { token })).toEqual(unchanged)
    const forged = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    const gone = unsubscribeToken(key, { orgId: org.id, subscriptionId: makeId('sub', 0), mailbox: null })
    for (const bad of [forged, gone, 'nonsense', token.replace('n1.', 'n2.')]) {
      expect(await anybody(showUnsubscribe, { token: bad })).toEqual({
        pattern: null,
        organization: null,
        enabled: false,
      })
      expect(await anybody(unsubscribe, { token: bad })).toEqual({})
    }
    expect(await anybody(showUnsubscribe, { token })).toEqual(unchanged)
    for (const _twice of [1, 2]) expect(await anybody(unsubscribe, { token })).toEqual({})
    const { subscriptions: mine } = await ada.call(listMySubscriptions, {})
    // Made within one millisecond they stand in either order.
    expect(new Map(mine.map(({ id, enabled, disabled_reason }) => [id, [enabled, disabled_reason]]))).toEqual(
      new Map([
        [other, [true, null]],
        [subscriptionId, [false, 'unsubscribed']],
      ]),
    )
  })
})

async function makeApp(where = org, alias = unique('app')): Promise<{ id: string; alias: string }> {
  const now = system.clock.now()
  const id = makeId('app', now.getTime())
  await system.db.insert(apps).values({ orgId: where.id, id, alias, name: `The ${alias}`, createdAt: now })
  return { id, alias }
}

const puts = (person: Person, appId: string, role: 'builder' | 'maintainer' = 'builder') =>
  makeAppMember(system, { orgId: org.id, appId, userId: person.userId, role })

describe('following', () => {
  const followsOf = async (by: Person, filter: object = {}) => (await by.call(listFollows, filter)).follows

  test('is for apps one builds, maintains or administers', async () => {
    const ada = await makeMember(system, org, 'viewer')
    const [built, foreign] = [await makeApp(org, 'built'), await makeApp(org, 'foreign')]
    await puts(ada, built.id)
    await makeApp(await makeOrganization(system))
    expect((await followsOf(ada)).map(({ app }) => app)).toEqual(['built'])
    expect((await followsOf(admin)).map(({ app }) => app)).toEqual(['built', 'foreign'])
    const choice = { categories: ['Tickets' as const] }
    await expect(ada.call(setFollow, { alias: foreign.alias, ...choice })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await expect(ada.call(setFollow, { alias: 'nothing', ...choice })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    expect(await ada.call(setFollow, { alias: 'built', ...choice })).toMatchObject({
      app: 'built',
      name: 'The built',
      categories: ['Tickets'],
      frequency: 'immediately',
      last: null,
    })
    expect((await followsOf(admin)).map(({ categories }) => categories)).toEqual([[], []])
  })

  test('is replaced by what is saved, and ended by nothing', async () => {
    const { alias } = await makeApp()
    await admin.call(setFollow, { alias, categories: ['Tickets', 'Checks', 'Tickets'], frequency: 'daily' })
    expect(await followsOf(admin, { following: 'true' })).toMatchObject([
      { categories: ['Checks', 'Tickets'], frequency: 'daily' },
    ])
    await admin.call(setFollow, { alias, categories: ['Failed deploys'] })
    expect(await followsOf(admin)).toMatchObject([
      { categories: ['Failed deploys'], frequency: 'immediately' },
    ])
    await admin.call(setFollow, { alias, categories: ['Failed deploys'], frequency: 'daily' })
    expect(await followsOf(admin)).toMatchObject([{ categories: ['Failed deploys'], frequency: 'daily' }])
    expect(await admin.call(setFollow, { alias, categories: [] })).toMatchObject({ categories: [] })
    expect(await followsOf(admin, { following: 'true' })).toEqual([])
    expect(await followsOf(admin)).toHaveLength(1)
  })

  test('can be ended, and nothing else, by who has no part in the app any more', async () => {
    const ada = await makeMember(system, org, 'viewer')
    const { id, alias } = await makeApp()
    await puts(ada, id)
    await ada.call(setFollow, { alias, categories: ['Checks'] })
    // What is left of a membership that has ended gives nothing to whoever came back.
    const former = { membershipId: unique('membership') }
    await system.db.update(appMembers).set(former).where(eq(appMembers.userId, ada.userId))
    expect(await followsOf(ada)).toEqual([])
    await system.db.delete(appMembers).where(eq(appMembers.userId, ada.userId))
    expect(await followsOf(ada)).toEqual([])
    await expect(ada.call(setFollow, { alias, categories: ['Tickets'] })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await ada.call(setFollow, { alias, categories: [] })
    const own = and(eq(follows.orgId, org.id), eq(follows.userId, ada.userId))
    expect(await system.db.select().from(follows).where(own)).toEqual([])
  })

  test('says how the last message fared, and when the next daily one goes out', async () => {
    const { id: appId, alias } = await makeApp()
    await admin.call(setFollow, { alias, categories: ['Checks'] })
    const insertDelivery = async (row: Partial<typeof deliveries.$inferInsert>) => {
      system.clock.advance(1)
      const now = system.clock.now()
      const { userId } = admin
      await system.db.insert(deliveries).values({
        orgId: org.id,
        id: makeId('dlv', now.getTime()),
        eventId: unique('evt'),
        type: 'application.check.failed',
        state: 'sent',
        channel: 'direct_message',
        createdAt: now,
        userId,
        appId,
        ...row,
      })
    }
    const last = async () => (await followsOf(admin))[0]!.last
    await insertDelivery({ settledAt: system.clock.now() })
    expect(await last()).toMatchObject({ outcome: 'delivered', reason: null })
    await insertDelivery({ state: 'retrying', reason: 'rate_limited' })
    expect(await last()).toMatchObject({ outcome: 'retrying', reason: 'rate_limited' })
    await insertDelivery({ state: 'dropped', reason: 'no_chat_account', settledAt: system.clock.now() })
    await insertDelivery({ state: 'waiting' })
    // Of their own doing they are not told, which says nothing about what is.
    await insertDelivery({ state: 'dropped', reason: 'own_action', settledAt: system.clock.now() })
    expect(await last()).toMatchObject({ outcome: 'not_sent', reason: 'no_chat_account' })
    await system.db.update(organizations).set({ timezone: 'Asia/Tokyo' }).where(eq(organizations.id, org.id))
    const next = new Date((await admin.call(listFollows, {})).next_daily_at)
    expect(next.toISOString()).toMatch(/T00:00:00.000Z$/)
    expect(next.getTime() - system.clock.now().getTime()).toBeLessThanOrEqual(86_400_000)
    expect(next.getTime()).toBeGreaterThan(system.clock.now().getTime())
  })

  test('opens to the scopes of notifications', async () => {
    const { alias } = await makeApp()
    const reader = await makeApiToken(system, org, admin, { scopes: ['notifications:read'] })
    expect((await reader.call(listFollows, {})).follows).toHaveLength(1)
    await expect(reader.call(setFollow, { alias, categories: [] })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await expect(reader.call(listSubscriptions, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test('needs a membership: who has left the organization sees nothing of it', async () => {
    const ada = await makeMember(system, org, 'admin')
    await makeApp()
    expect(await followsOf(ada)).toHaveLength(1)
    await system.db.delete(memberships).where(eq(memberships.userId, ada.userId))
    await expect(followsOf(ada)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})
