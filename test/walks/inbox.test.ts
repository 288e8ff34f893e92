/** A person's inbox: one's own rows only, each event once, read once for good. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { appMembers, events, notifications, memberships } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { acknowledgeNotification, listNotifications } from '../../src/contracts/inbox.ts'
import { addNotifications } from '../../src/cores/notifications/inbox/add-notifications.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
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
beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service' })
  org = await makeOrganization(system)
})
afterAll(() => system.stop())

const notify = (person: Person, where: Org = org, given: { eventId?: string; type?: string } = {}) =>
  withTransaction(system.db, (tx) =>
    addNotifications(tx, () => system.clock.now(), [
      {
        orgId: where.id,
        userId: person.userId,
        eventId: given.eventId ?? unique('evt'),
        type: given.type ?? 'deploy.failed',
        subject: 'app/shop',
        summary: 'A deployment of shop failed',
        url: 'https://app.example/console/apps/shop',
      },
    ]),
  )

describe('the inbox', () => {
  test('shows one’s own notifications, newest first, and nothing of anybody else', async () => {
    const [ada, bob] = [await makeMember(system, org, 'viewer'), await makeMember(system, org, 'admin')]
    const elsewhere = await makeOrganization(system)
    await notify(ada)
    system.clock.advance(1)
    await notify(ada, org, { type: 'support.ticket.created' })
    await notify(elsewhere.owner, elsewhere)
    const { notifications, unread_count } = await ada.call(listNotifications, {})
    expect(notifications.map(({ type }) => type)).toEqual(['support.ticket.created', 'deploy.failed'])
    expect(unread_count).toBe(2)
    expect((await bob.call(listNotifications, {})).notifications).toEqual([])
    expect((await org.owner.call(listNotifications, { state: 'all' })).notifications).toEqual([])
    expect((await elsewhere.owner.call(listNotifications, {})).notifications).toHaveLength(1)
  })

  test('has one notification per event, however often it is added', async () => {
    const ada = await makeMember(system, org, 'viewer')
    const eventId = unique('evt')
    await Promise.all([1, 2, 3].map(() => notify(ada, org, { eventId })))
    expect((await ada.call(listNotifications, {})).notifications).toHaveLength(1)
  })

  test('can be asked for a type, a prefix, a time, read and unread', async () => {
    const ada = await makeMember(system, org, 'viewer')
    for (const type of [
      'deploy.failed',
      'pipeline.run.failed',
      'pipeline.run.recovered',
      'pipelines.other',
    ]) {
      await notify(ada, org, { type })
    }
    const typesOf = async (input: Parameters<typeof listNotifications.input.parse>[0]) =>
      (await ada.call(listNotifications, input as never)).notifications.map(({ type }) => type).toSorted()
    expect(await typesOf({ type: 'deploy.failed' })).toEqual(['deploy.failed'])
    expect(await typesOf({ type: 'pipeline.*' })).toEqual(['pipeline.run.failed', 'pipeline.run.recovered'])
    expect(await typesOf({ type: 'pipeline.run.*' })).toHaveLength(2)
    const since = new Date(system.clock.now().getTime() + 1000).toISOString()
    expect(await typesOf({ since })).toEqual([])
    // However few are asked for, it is said how many are unread.
    for (const asked of [{ since }, { type: 'deploy.failed' }, { limit: 1 }, { state: 'all' as const }])
      expect(await ada.call(listNotifications, asked)).toMatchObject({ unread_count: 4 })
    expect(await typesOf({ state: 'read' })).toEqual([])
    await expect(ada.call(listNotifications, { type: '%' })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    })
  })

  test('marks one read for good: the second time says the first time', async () => {
    const [ada, bob] = [await makeMember(system, org, 'viewer'), await makeMember(system, org, 'viewer')]
    await notify(ada)
    const [entry] = (await ada.call(listNotifications, {})).notifications
    const first = await ada.call(acknowledgeNotification, { notification_id: entry!.id })
    system.clock.advance(60)
    expect(await ada.call(acknowledgeNotification, { notification_id: entry!.id })).toEqual(first)
    expect((await ada.call(listNotifications, {})).notifications).toEqual([])
    expect((await ada.call(listNotifications, { state: 'read' })).notifications[0]).toMatchObject({
      read: true,
    })
    const foreign = bob.call(acknowledgeNotification, { notification_id: entry!.id })
    await expect(foreign).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('hides what happened to an app from who has no part in it any more, but for their own tickets', async () => {
    const ada = await makeMember(system, org, 'viewer')
    const at = system.clock.now()
    const [appId, other] = [makeId('app', at.getTime()), makeId('app', at.getTime())]
    await makeAppMember(system, { orgId: org.id, appId, userId: ada.userId })
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
      await notify(ada, org, { eventId: id })
      return id
    }
    await happened({ appId })
    const foreign = await happened({ appId: other })
    await happened({ appId: other, concernsId: ada.userId })
    await happened({ appId: null })
    const seen = async () => {
      const { notifications, unread_count } = await ada.call(listNotifications, {})
      const page = await ada.call(listNotifications, { limit: 1, state: 'all' })
      expect(page.unread_count).toBe(unread_count)
      return [notifications.length, unread_count]
    }
    expect(await seen()).toEqual([3, 3])
    const [hidden] = await system.db.select().from(notifications).where(eq(notifications.eventId, foreign))
    const ack = () => ada.call(acknowledgeNotification, { notification_id: hidden!.id })
    await expect(ack()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await system.db.delete(appMembers).where(eq(appMembers.userId, ada.userId))
    expect(await seen()).toEqual([2, 2])
    // What is left of a membership that has ended gives nothing to whoever came back.
    const left = { orgId: org.id, appId, userId: ada.userId, role: 'builder', addedAt: at } as const
    await system.db.insert(appMembers).values({ ...left, membershipId: unique('membership') })
    expect(await seen()).toEqual([2, 2])
    await system.db.update(memberships).set({ role: 'admin' }).where(eq(memberships.userId, ada.userId))
    expect(await seen()).toEqual([4, 4])
    await ack()
  })

  test('opens to the scopes of notifications and to no others', async () => {
    await notify(org.owner)
    const reader = await makeApiToken(system, org, org.owner, { scopes: ['notifications:read'] })
    const [entry] = (await reader.call(listNotifications, {})).notifications
    const ack = { notification_id: entry!.id }
    await expect(reader.call(acknowledgeNotification, ack)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const asker = await makeApiToken(system, org, org.owner, { scopes: ['data:read'] })
    await expect(asker.call(listNotifications, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})
