/** A person's inbox: one's own rows only, each event once, read once for good. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { appMembers, events, inbox, memberships } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { acknowledge, listInbox } from '../../src/contracts/inbox.ts'
import { tell } from '../../src/cores/notifications/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service' })
  org = await makeOrganization(system)
})
afterAll(() => system.stop())

const told = (person: Person, where: Org = org, given: { eventId?: string; type?: string } = {}) =>
  withTransaction(system.db, (tx) =>
    tell(tx, () => system.clock.now(), {
      orgId: where.id,
      userId: person.userId,
      eventId: given.eventId ?? unique('evt'),
      type: given.type ?? 'deploy.failed',
      subject: 'app/shop',
      summary: 'A deployment of shop failed',
      url: 'https://app.example/console/apps/shop',
    }),
  )

describe('the inbox', () => {
  test('shows what one was told, newest first, and nothing of anybody else', async () => {
    const [ada, bob] = [await makeMember(system, org, 'viewer'), await makeMember(system, org, 'admin')]
    const elsewhere = await makeOrganization(system)
    await told(ada)
    system.clock.advance(1)
    await told(ada, org, { type: 'support.ticket.created' })
    await told(elsewhere.owner, elsewhere)
    const { notifications, unread_count } = await ada.call(listInbox, {})
    expect(notifications.map(({ type }) => type)).toEqual(['support.ticket.created', 'deploy.failed'])
    expect(unread_count).toBe(2)
    expect((await bob.call(listInbox, {})).notifications).toEqual([])
    expect((await org.owner.call(listInbox, { state: 'all' })).notifications).toEqual([])
    expect((await elsewhere.owner.call(listInbox, {})).notifications).toHaveLength(1)
  })

  test('tells of the same event once, however often it is told', async () => {
    const ada = await makeMember(system, org, 'viewer')
    const eventId = unique('evt')
    await Promise.all([1, 2, 3].map(() => told(ada, org, { eventId })))
    expect((await ada.call(listInbox, {})).notifications).toHaveLength(1)
  })

  test('can be asked for a type, a prefix, a time, read and unread', async () => {
    const ada = await makeMember(system, org, 'viewer')
    for (const type of [
      'deploy.failed',
      'pipeline.run.failed',
      'pipeline.run.recovered',
      'pipelines.other',
    ]) {
      await told(ada, org, { type })
    }
    const typesOf = async (input: Parameters<typeof listInbox.input.parse>[0]) =>
      (await ada.call(listInbox, input as never)).notifications.map(({ type }) => type).toSorted()
    expect(await typesOf({ type: 'deploy.failed' })).toEqual(['deploy.failed'])
    expect(await typesOf({ type: 'pipeline.*' })).toEqual(['pipeline.run.failed', 'pipeline.run.recovered'])
    expect(await typesOf({ type: 'pipeline.run.*' })).toHaveLength(2)
    expect(await typesOf({ since: new Date(system.clock.now().getTime() + 1000).toISOString() })).toEqual([])
    expect(await typesOf({ state: 'read' })).toEqual([])
    await expect(ada.call(listInbox, { type: '%' })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  })

  test('marks one read for good: the second time says the first time', async () => {
    const [ada, bob] = [await makeMember(system, org, 'viewer'), await makeMember(system, org, 'viewer')]
    await told(ada)
    const [entry] = (await ada.call(listInbox, {})).notifications
    const first = await ada.call(acknowledge, { notification_id: entry!.id })
    system.clock.advance(60)
    expect(await ada.call(acknowledge, { notification_id: entry!.id })).toEqual(first)
    expect((await ada.call(listInbox, {})).notifications).toEqual([])
    expect((await ada.call(listInbox, { state: 'read' })).notifications[0]).toMatchObject({ read: true })
    const foreign = bob.call(acknowledge, { notification_id: entry!.id })
    await expect(foreign).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('hides what happened to an app from who has no part in it any more, but for their own tickets', async () => {
    const ada = await makeMember(system, org, 'viewer')
    const at = system.clock.now()
    const [appId, other] = [makeId('app', at.getTime()), makeId('app', at.getTime())]
    const part = { orgId: org.id, userId: ada.userId, role: 'builder' as const, addedAt: at }
    await system.db.insert(appMembers).values({ ...part, appId })
    const happened = async (event: Partial<typeof events.$inferInsert>) => {
      const id = makeId('evt', at.getTime())
      const row = {
        orgId: org.id,
        source: 'test',
        dedupKey: id,
        type: 'deploy.failed',
        subject: 'x/y',
        data: {},
      }
      await system.db.insert(events).values({ ...row, id, seq: 1, occurredAt: at, recordedAt: at, ...event })
      await told(ada, org, { eventId: id })
      return id
    }
    await happened({ appId })
    const foreign = await happened({ appId: other })
    await happened({ appId: other, concernsId: ada.userId })
    await happened({ appId: null })
    const seen = async () => {
      const { notifications, unread_count } = await ada.call(listInbox, {})
      return [notifications.length, unread_count]
    }
    expect(await seen()).toEqual([3, 3])
    const [hidden] = await system.db.select().from(inbox).where(eq(inbox.eventId, foreign))
    const ack = () => ada.call(acknowledge, { notification_id: hidden!.id })
    await expect(ack()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await system.db.delete(appMembers).where(eq(appMembers.userId, ada.userId))
    expect(await seen()).toEqual([2, 2])
    await system.db.update(memberships).set({ role: 'admin' }).where(eq(memberships.userId, ada.userId))
    expect(await seen()).toEqual([4, 4])
    await ack()
  })

  test('opens to the scopes of notifications and to no others', async () => {
    await told(org.owner)
    const reader = await makeApiToken(system, org, org.owner, { scopes: ['notifications:read'] })
    const [entry] = (await reader.call(listInbox, {})).notifications
    const ack = { notification_id: entry!.id }
    await expect(reader.call(acknowledge, ack)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const asker = await makeApiToken(system, org, org.owner, { scopes: ['data:read'] })
    await expect(asker.call(listInbox, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})
