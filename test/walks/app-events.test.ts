/** Events that an app sends itself: to subscriptions thin, to its people with its text, once for each key. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { appMembers, events, outbox } from '../../db/schema.ts'
import { sendAppEvent } from '../../src/contracts/app-events.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp, setAppMember } from '../../src/contracts/apps.ts'
import { listDeliveries } from '../../src/contracts/deliveries.ts'
import { listNotifications } from '../../src/contracts/inbox.ts'
import { previewEventPattern } from '../../src/contracts/subscriptions.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { openConsole } from '../support/console.ts'
import { makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { notificationHarness, type NotificationHarness } from '../support/notification-harness.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const PER_DAY = 6

let database: TestDatabase
let system: TestSystem
let harness: NotificationHarness
let org: Org
let elsewhere: Org
let builder: Person
let viewer: Person
/** The same alias in both organizations, and a token of each. */
let alias: string
let token: string
let theirs: string

beforeAll(async () => {
  database = await newDatabase()
  system = await startSystem(
    { SVC_SERVICES: 'api-gateway,auth-service,deploy-api,console', APP_EVENTS_PER_DAY: String(PER_DAY) },
    { connection: database },
  )
  harness = await notificationHarness(database, undefined, system.clock.now().getTime())
  ;[org, elsewhere] = [await makeOrganization(system), await makeOrganization(system)]
  ;[builder, viewer] = [await makeMember(system, org, 'viewer'), await makeMember(system, org, 'viewer')]
})
beforeEach(async () => {
  alias = unique('shop')
  for (const { owner } of [org, elsewhere]) await owner.call(createApp, { alias, name: 'Shop' })
  await org.owner.call(setAppMember, { alias, user_id: builder.userId, role: 'builder' })
  ;[token, theirs] = [await reportingToken(org), await reportingToken(elsewhere)]
})
afterAll(async () => {
  await system?.stop()
  await database?.close()
})

const reportingToken = async ({ owner }: Org) =>
  (await owner.call(createAppToken, { alias, name: 'reporter', scope: 'apps:report' })).token

type Sent = Readonly<Record<string, unknown>>
const send = (by: string, event: Sent = {}) =>
  system.as({ token: by })(sendAppEvent, {
    alias,
    type: `app.${alias}.order.failed`,
    subject: 'order-1234',
    ...event,
  })
const inboxOf = async ({ call }: Person) =>
  (await call(listNotifications, { type: `app.${alias}.*` })).notifications

test('goes thin to subscriptions of its organization, with its text to the inbox of its people, and into digests', async () => {
  const { integrationId, url } = await harness.integration(org, 'webhook')
  await harness.subscription(org, integrationId, `app.${alias}.*`)
  const chat = await harness.integration(org, 'chat')
  await harness.subscription(org, chat.integrationId, `app.${alias}.*`, 'hourly')
  const foreign = await harness.integration(elsewhere, 'webhook')
  await harness.subscription(elsewhere, foreign.integrationId, `app.${alias}.*`)
  const link = '/console/apps?search=shop#order-1234'
  const text = 'Card declined for postgres://shop:hunter2secret@db.internal/shop'
  const answered = await send(token, { text, link })
  expect(answered).toMatchObject({ subject: `apps/${alias}/order-1234`, replayed: false })
  expect(answered.text).toContain('Card declined')
  expect(answered.text).not.toContain('hunter2secret')
  await harness.drain()
  const [thin, ...more] = harness.received(url)
  expect(more).toEqual([])
  expect(thin).toMatchObject({
    type: `app.${alias}.order.failed`,
    subject: `apps/${alias}/order-1234`,
    data: { event_id: answered.id, app: alias, link: answered.link },
  })
  expect(Object.keys(thin!.data).toSorted()).toEqual(['app', 'event_id', 'link', 'organization_id'])
  expect(harness.sent.some(({ what }) => what.includes('declined'))).toBe(false)
  expect(harness.received(foreign.url)).toEqual([])
  expect(await inboxOf(builder)).toMatchObject([
    { summary: `${alias}: ${answered.text}`, url: answered.link, subject: `apps/${alias}/order-1234` },
  ])
  const { pathname, search, hash } = new URL(answered.link)
  expect([pathname, search, hash]).toEqual(['/console/apps', '', ''])
  expect([await inboxOf(viewer), await inboxOf(elsewhere.owner)]).toEqual([[], []])
  harness.clock.advance(60 * 60)
  await harness.drain()
  const line = harness.sent.find(({ to }) => to === chat.url)!.what
  expect(line).toContain(`${alias}: order failed`)
  expect(line).toContain(`<${answered.link.replaceAll('&', '&amp;')}|Open>`)
  // In the ledger of its organization, and of no other.
  const ledgerOf = async ({ owner }: Org) =>
    (await owner.call(listDeliveries, { type: `app.${alias}.*` })).deliveries.map(
      ({ state, channel }) => `${state} ${channel}`,
    )
  expect((await ledgerOf(org)).toSorted()).toEqual(['sent chat', 'sent webhook'])
  expect(await ledgerOf(elsewhere)).toEqual([])
  // Whoever has no part in the app any more reads nothing of it.
  await system.db.delete(appMembers).where(eq(appMembers.userId, builder.userId))
  expect(await inboxOf(builder)).toEqual([])
})

test('without a subscription it has its row in the ledger, and the inbox its own words', async () => {
  const { id } = await send(theirs)
  await harness.drain()
  expect((await elsewhere.owner.call(listDeliveries, { event_id: id })).deliveries).toMatchObject([
    { state: 'dropped', reason: 'matched_nobody', app: alias },
  ])
  expect(await inboxOf(elsewhere.owner)).toMatchObject([
    { summary: `${alias}: order failed`, url: expect.stringContaining(`/console/apps/${alias}`) },
  ])
  expect((await org.owner.call(listDeliveries, { event_id: id })).deliveries).toEqual([])
})

test('the same key is the same event, before and after it went out; another app has keys of its own', async () => {
  const key = 'order-1234-declined'
  const both = await Promise.all([1, 2].map(() => send(token, { idempotency_key: key })))
  expect(new Set(both.map(({ replayed }) => replayed))).toEqual(new Set([false, true]))
  expect(both[0]!.id).toBe(both[1]!.id)
  await harness.drain()
  // As a header, too.
  const again = await system.fetch(`/api/deploy/apps/${alias}/events`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify({ type: `app.${alias}.order.failed`, subject: 'order-1234' }),
  })
  expect(await again.json()).toMatchObject({ id: both[0]!.id, replayed: true })
  expect(await send(theirs, { idempotency_key: key })).toMatchObject({ replayed: false })
  for (const other of [
    { subject: 'order-1235' },
    { type: `app.${alias}.order.shipped` },
    { text: 'Order 1234 was declined' },
    { link: '/console/apps' },
  ])
    await expect(send(token, { idempotency_key: key, ...other })).rejects.toMatchObject({ code: 'CONFLICT' })
  await harness.drain()
  const rows = await system.db
    .select()
    .from(events)
    .where(eq(events.type, `app.${alias}.order.failed`))
  expect(rows.map(({ orgId }) => orgId).toSorted()).toEqual([org.id, elsewhere.id].toSorted())
})

test('what is wrong stores nothing, and counts for nothing', async () => {
  const neighbor = unique('billing')
  await org.owner.call(createApp, { alias: neighbor, name: 'Billing' })
  const wrong: [Sent, string][] = [
    [{ type: `app.${neighbor}.order.failed` }, 'INVALID_REQUEST'],
    [{ type: 'deploy.failed' }, 'INVALID_REQUEST'],
    [{ type: `app.${alias}` }, 'INVALID_REQUEST'],
    [{ type: `app.${alias}.Order` }, 'INVALID_REQUEST'],
    [{ text: 'x'.repeat(4097) }, 'INVALID_REQUEST'],
    [{ text: 'two\nlines' }, 'INVALID_REQUEST'],
    [{ text: 'turned \u202E around' }, 'INVALID_REQUEST'],
    [{ subject: 'tickets/tkt_1' }, 'INVALID_REQUEST'],
    [{ more: 'x'.repeat(4097) }, 'INVALID_REQUEST'],
    [{ link: 'https://evil.example/console/apps' }, 'INVALID_REQUEST'],
    [{ link: '//evil.example/console' }, 'INVALID_REQUEST'],
    [{ link: String.raw`/\evil.example/console` }, 'INVALID_REQUEST'],
    [{ link: 'javascript:alert(1)//console' }, 'INVALID_REQUEST'],
    [{ link: '/console/../oauth/authorize' }, 'INVALID_REQUEST'],
    [{ link: '/consoles' }, 'INVALID_REQUEST'],
    [{ alias: neighbor, type: `app.${neighbor}.x` }, 'NOT_FOUND'],
    [{ alias: 'nothing-here', type: 'app.nothing-here.x' }, 'NOT_FOUND'],
  ]
  for (const [event, code] of wrong)
    await expect(send(token, event), JSON.stringify(event).slice(0, 80)).rejects.toMatchObject({ code })
  await expect(
    viewer.call(sendAppEvent, { alias, type: `app.${alias}.x`, subject: 'one' }),
  ).rejects.toMatchObject({ code: 'FORBIDDEN' })
  expect(await system.db.select().from(outbox).where(eq(outbox.orgId, org.id))).toEqual([])
  // All of the day is left.
  for (let n = 0; n < PER_DAY; n++) await send(token, { subject: `order-${n}`, idempotency_key: `k${n}` })
  await expect(send(token, { subject: 'order-more' })).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  // A repetition is no new one, and the same app elsewhere has a day of its own.
  expect(await send(token, { subject: 'order-0', idempotency_key: 'k0' })).toMatchObject({ replayed: true })
  expect(await send(theirs)).toMatchObject({ replayed: false })
  expect(await system.db.$count(outbox, eq(outbox.orgId, org.id))).toBe(PER_DAY)
  await harness.drain()
})

test('a pattern of app events is known by its app; the form says what it matched', async () => {
  const preview = ({ owner }: Org, pattern: string) => owner.call(previewEventPattern, { pattern })
  expect(await preview(org, `app.${alias}.*`)).toEqual({ types: [], events: 0, is_known: true })
  expect(await preview(org, 'app.nothing-here.*')).toMatchObject({ is_known: false })
  const page = await openConsole(system, org.owner)
  const shown = async (pattern: string) =>
    (await page.walker.open(`/console/subscriptions/preview?pattern=${encodeURIComponent(pattern)}`)).text
  expect(await shown(`app.${alias}.*`)).toContain('It sent nothing in the last 7 days')
  await send(token)
  await harness.drain()
  expect(await preview(org, 'app.*')).toMatchObject({
    is_known: true,
    types: expect.arrayContaining([
      { type: `app.${alias}.order.failed`, when: `Sent by the app ${alias}`, events: 1 },
    ]),
  })
  expect((await preview(elsewhere, `app.${alias}.*`)).types).toEqual([])
  expect(await shown(`app.${alias}.order.failed`)).toContain(`Sent by the app ${alias}`)
})
