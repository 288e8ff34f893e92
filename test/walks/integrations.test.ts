/** Integrations: addresses and keys are never returned, and what was lost comes back as it was. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { chatAccounts, chatLinks, integrations, follows, subscriptions } from '../../db/schema.ts'
import {
  beginChatInstall,
  beginChatLink,
  completeChatInstall,
  completeChatLink,
  configureForum,
  connectChatWebhook,
  connectEmail,
  connectForum,
  connectWebhook,
  listIntegrations,
  pauseIntegration,
  removeChatLink,
  removeIntegration,
  rotateWebhookSecret,
  showChatLink,
  updateIntegration,
} from '../../src/contracts/integrations.ts'
import { INTEGRATIONS_MAX, SIGN_IN_ATTEMPT_SECONDS } from '../../src/contracts/limits.ts'
import {
  createSubscription,
  deleteSubscription,
  listSubscriptions,
  updateSubscription,
} from '../../src/contracts/subscriptions.ts'
import { fakeChatApp, fakeChecks, stateIn } from '../support/fake-integrations.ts'
import { makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let admin: Person

beforeAll(async () => {
  system = await startSystem(
    { SVC_SERVICES: 'api-gateway,auth-service' },
    { checks: fakeChecks, chatApp: fakeChatApp },
  )
})

beforeEach(async () => {
  org = await makeOrganization(system)
  admin = org.owner
})

afterAll(() => system.stop())

const address = () => `https://hooks.${unique('host')}.test/${unique('secret')}`
const webhook = (url = address(), by = admin) => by.call(connectWebhook, { name: 'Receiver', url })
const listed = async (by = admin) => (await by.call(listIntegrations, {})).integrations
const subscribed = async (integration_id: string, pattern: string) =>
  (await admin.call(createSubscription, { integration_id, pattern })).id
const subscription = async (id: string) =>
  (await admin.call(listSubscriptions, {})).subscriptions.find((one) => one.id === id)

/** As the engine leaves it when the chat service has forgotten the webhook. */
async function lose(id: string): Promise<void> {
  const { db } = system
  await db.update(integrations).set({ state: 'lost' }).where(eq(integrations.id, id))
  await db
    .update(subscriptions)
    .set({ enabled: false, disabledReason: 'integration_lost' })
    .where(and(eq(subscriptions.integrationId, id), eq(subscriptions.enabled, true)))
}

async function install(code: string, by = admin) {
  const { url } = await by.call(beginChatInstall, {})
  return by.call(completeChatInstall, { code, state: stateIn(url) })
}

async function link(by: Person, code: string) {
  const { url } = await by.call(beginChatLink, {})
  return by.call(completeChatLink, { code, state: stateIn(url) })
}

describe('a webhook', () => {
  test('is shown masked, to admins of its organization only, and is sealed where it lies', async () => {
    const url = address()
    const made = await webhook(url)
    expect(made).toMatchObject({ kind: 'webhook', state: 'active', subscriptions: 0, failing_since: null })
    expect(made.address).toBe(`${new URL(url).origin}/…${url.slice(-4)}`)
    expect(await listed()).toEqual([made])
    const elsewhere = await makeOrganization(system)
    expect(await listed(elsewhere.owner)).toEqual([])
    const theirs = { integration_id: made.id, name: 'Mine now' }
    await expect(elsewhere.owner.call(updateIntegration, theirs)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(elsewhere.owner.call(removeIntegration, { integration_id: made.id })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    const [row] = await system.db.select().from(integrations).where(eq(integrations.id, made.id))
    expect(JSON.stringify(row)).not.toContain(new URL(url).pathname.slice(1))
    expect(system.logLines.join('')).not.toContain(new URL(url).pathname.slice(1))
  })

  test('of a short address shows nothing of it', async () => {
    const { address: shown } = await webhook('https://short.test/abc')
    expect(shown).toBe('https://short.test/…')
  })

  test.each(['http://plain.test/x', 'https://10.0.0.7/x', 'not an address'])(
    'at %s is refused without saying it back',
    async (url) => {
      const refusal = await webhook(url).catch((error: unknown) => error)
      expect(refusal).toMatchObject({ code: 'INVALID_REQUEST', problems: [expect.stringMatching(/^url: /)] })
      expect(JSON.stringify(refusal)).not.toContain(url)
      expect(await listed()).toEqual([])
    },
  )

  test('is connected once, by two at the same moment too; another organization may have the same', async () => {
    const url = address()
    const both = await Promise.allSettled([webhook(url), webhook(url)])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    await expect(webhook(url)).rejects.toMatchObject({ code: 'CONFLICT' })
    const elsewhere = await makeOrganization(system)
    expect(await webhook(url, elsewhere.owner)).toMatchObject({ state: 'active' })
  })

  test('gets a new address, which is a new key and a new beginning', async () => {
    const [first, second] = [await webhook(), await webhook()]
    const { db } = system
    const gone = { state: 'gone' as const, failingSince: system.clock.now() }
    await db.update(integrations).set(gone).where(eq(integrations.id, first.id))
    const url = address()
    const changed = await admin.call(updateIntegration, { integration_id: first.id, url })
    expect(changed).toMatchObject({ state: 'active', failing_since: null })
    expect(changed.address).not.toBe(first.address)
    await expect(admin.call(updateIntegration, { integration_id: second.id, url })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
  })

  test('is switched off and on, renamed and removed with its subscriptions', async () => {
    const { id } = await webhook()
    const sub = await subscribed(id, 'deploy.failed')
    const change = (to: object) => admin.call(updateIntegration, { integration_id: id, ...to })
    expect(await change({ enabled: false })).toMatchObject({ state: 'off', subscriptions: 1 })
    expect(await change({ url: address() })).toMatchObject({ state: 'off' })
    expect(await change({ enabled: true, name: 'Renamed', resend_on_unknown: true })).toMatchObject({
      state: 'active',
      name: 'Renamed',
      resend_on_unknown: true,
    })
    await admin.call(removeIntegration, { integration_id: id })
    expect(await listed()).toEqual([])
    expect(await subscription(sub)).toBeUndefined()
    await expect(change({ name: 'Gone' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('is one of a hundred integrations at most; another organization has its own', async () => {
    const { id } = await webhook()
    const { db } = system
    const [row] = await db.select().from(integrations).where(eq(integrations.id, id))
    const others = Array.from({ length: INTEGRATIONS_MAX - 1 }, () => ({
      ...row!,
      id: unique('int'),
      digest: unique('digest'),
    }))
    await db.insert(integrations).values(others)
    await expect(webhook()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('at most'),
    })
    await webhook(address(), (await makeOrganization(system)).owner)
    await admin.call(removeIntegration, { integration_id: id })
    await webhook()
  })

  test('alone is signed and may be sent to again; no mail address is connected where no mail can be sent', async () => {
    await webhook()
    const { id } = await admin.call(connectChatWebhook, { name: 'Team', url: address() })
    const change = (integration_id: string, to: object) =>
      admin.call(updateIntegration, { integration_id, ...to })
    await expect(change(id, { resend_on_unknown: true })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      problems: ['resend_on_unknown: only for webhooks'],
    })
    const installed = await install('T1/#general/1')
    await expect(change(installed.id, { url: address() })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('comes from connecting it'),
    })
    for (const unsigned of [id, installed.id]) {
      await expect(admin.call(rotateWebhookSecret, { integration_id: unsigned })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: 'Only webhooks are signed',
      })
    }
    // No mail server is set up here.
    await expect(admin.call(connectEmail, { address: 'team@people.test' })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('no mail server'),
    })
    expect((await listed()).map(({ kind }) => kind).toSorted()).toEqual(['chat', 'chat', 'webhook'])
  })
})

describe('a chat channel', () => {
  test('gets a subscription for new tickets, once and never again', async () => {
    const url = address()
    const { id } = await admin.call(connectChatWebhook, { name: 'Team', url })
    const { subscriptions: made } = await admin.call(listSubscriptions, {})
    expect(made).toMatchObject([
      {
        pattern: 'support.ticket.created',
        is_default: true,
        created_by: null,
        integration: { id },
        channel: 'chat',
      },
    ])
    await admin.call(deleteSubscription, { subscription_id: made[0]!.id })
    await lose(id)
    await admin.call(connectChatWebhook, { name: 'Team', url })
    await admin.call(removeIntegration, { integration_id: id })
    await admin.call(connectChatWebhook, { name: 'Team', url })
    expect((await admin.call(listSubscriptions, {})).subscriptions).toEqual([])
  })

  test.each(['pasted', 'installed'])(
    'that was lost and is %s again goes on, but for what was paused',
    async (how) => {
      const url = address()
      const connect = (generation: number) =>
        how === 'pasted'
          ? admin.call(connectChatWebhook, { name: 'Team', url })
          : install(`T1/#general/${generation}`)
      const { id } = await connect(1)
      const [lost, paused, pausedAfter] = await Promise.all(
        ['deploy.failed', 'pipeline.run.*', 'application.check.*'].map((pattern) => subscribed(id, pattern)),
      )
      await admin.call(updateSubscription, { subscription_id: paused!, enabled: false })
      await lose(id)
      await admin.call(updateSubscription, { subscription_id: pausedAfter!, enabled: false })
      const resumed = admin.call(updateSubscription, { subscription_id: lost!, enabled: true })
      await expect(resumed).rejects.toMatchObject({ code: 'CONFLICT' })
      expect(await connect(2)).toMatchObject({ id, state: 'active' })
      expect(await subscription(lost!)).toMatchObject({ enabled: true, disabled_reason: null })
      for (const one of [paused!, pausedAfter!]) {
        expect(await subscription(one)).toMatchObject({ enabled: false, disabled_reason: 'paused' })
      }
    },
  )

  test('is installed by a way that is good once, for whoever began it, and for a while', async () => {
    const other = await makeMember(system, org, 'admin')
    const { url } = await admin.call(beginChatInstall, {})
    const back = { code: 'T1/#general', state: stateIn(url) }
    const conflict = { code: 'CONFLICT', message: expect.stringContaining('has expired') as string }
    await expect(other.call(completeChatInstall, back)).rejects.toMatchObject(conflict)
    await expect(admin.call(completeChatInstall, back)).rejects.toMatchObject(conflict)
    const late = stateIn((await admin.call(beginChatInstall, {})).url)
    system.clock.advance(SIGN_IN_ATTEMPT_SECONDS + 1)
    await expect(admin.call(completeChatInstall, { ...back, state: late })).rejects.toMatchObject(conflict)
    await expect(install('refused')).rejects.toMatchObject(conflict)
    await expect(install('down')).rejects.toMatchObject({ code: 'TIMEOUT' })
    expect(await install('T1/#general')).toMatchObject({ workspace: 'Team T1', channel: '#general' })
    const forLink = stateIn((await admin.call(beginChatLink, {})).url)
    await expect(admin.call(completeChatInstall, { ...back, state: forLink })).rejects.toMatchObject(conflict)
    const elsewhere = await makeOrganization(system)
    const taken = { ...back, state: stateIn((await admin.call(beginChatInstall, {})).url) }
    await expect(elsewhere.owner.call(completeChatInstall, taken)).rejects.toMatchObject(conflict)
    await expect(admin.call(completeChatInstall, taken)).rejects.toMatchObject(conflict)
  })

  test('whose webhook is connected already is not installed beside it, unless that one was lost', async () => {
    // As the chat service of these tests answers an installation.
    const { channel, id: installed } = await install('T1/#general')
    const [{ digest, sealed }] = (await system.db
      .select()
      .from(integrations)
      .where(eq(integrations.id, installed))) as [typeof integrations.$inferSelect]
    await admin.call(removeIntegration, { integration_id: installed })
    const { id } = await admin.call(connectChatWebhook, { name: 'By hand', url: address() })
    await system.db.update(integrations).set({ digest }).where(eq(integrations.id, id))
    await expect(install('T1/#general')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'This address is already connected',
    })
    expect((await listed()).map((one) => one.id)).toEqual([id])
    // Another organization has its own.
    const elsewhere = await makeOrganization(system)
    expect(await install('T1/#general', elsewhere.owner)).toMatchObject({ channel })
    await lose(id)
    expect(await install('T1/#general')).toMatchObject({ id, state: 'active', channel })
    expect(sealed).not.toBe('')
  })

  test('cannot be installed where no app is set up', async () => {
    const plain = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service' }, { chatApp: null })
    const { owner } = await makeOrganization(plain)
    expect(await owner.call(listIntegrations, {})).toMatchObject({
      chat_install: false,
      email: { ready: false, from: null },
    })
    await expect(owner.call(beginChatInstall, {})).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(owner.call(beginChatLink, {})).rejects.toMatchObject({ code: 'CONFLICT' })
    await plain.stop()
  })
})

describe('a forum', () => {
  const config = { url: 'https://forum.test', category: 4 }

  test('is connected before it is configured, and its key goes nowhere else', async () => {
    await expect(admin.call(configureForum, { config })).rejects.toMatchObject({ code: 'CONFLICT' })
    const { id } = await admin.call(connectForum, { url: 'https://forum.test/', api_key: 'all' })
    const subscribing = subscribed(id, 'support.ticket.*')
    await expect(subscribing).rejects.toMatchObject({ code: 'CONFLICT' })
    const moved = admin.call(configureForum, { config: { ...config, url: 'https://thief.test' } })
    await expect(moved).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await admin.call(configureForum, { config })).toMatchObject({ id, category: 4 })
    await subscribed(id, 'support.ticket.*')
    const renewed = await admin.call(connectForum, { url: 'https://forum.test', api_key: 'newer' })
    expect(renewed).toMatchObject({ id, category: 4, subscriptions: 1, state: 'active' })
    // Whoever has a new key for it does not resume it.
    await admin.call(pauseIntegration, { integration_id: id })
    const paused = await admin.call(connectForum, { url: 'https://forum.test', api_key: 'all' })
    expect(paused).toMatchObject({ id, state: 'paused' })
    expect(await admin.call(connectForum, { url: 'https://other.test', api_key: 'all' })).toMatchObject({
      id,
      category: null,
    })
  })

  test.each([
    ['single', 'INVALID_REQUEST'],
    ['bad', 'INVALID_REQUEST'],
    ['down', 'TIMEOUT'],
  ])('with the key “%s” is refused with %s', async (api_key, code) => {
    const connecting = admin.call(connectForum, { url: 'https://forum.test', api_key })
    await expect(connecting).rejects.toMatchObject({ code })
    expect(await listed()).toEqual([])
  })
})

describe('an account at the chat service', () => {
  test('is linked, shown, unlinked, and what is followed stays', async () => {
    const team = unique('T')
    await install(`${team}/#general`)
    const ada = await makeMember(system, org, 'viewer')
    expect(await ada.call(showChatLink, {})).toEqual({ workspace_connected: true, link: null })
    const code = `${team}/U1/Ada\u202e`
    expect(await link(ada, code)).toEqual({ workspace: `Team ${team}`, display_name: 'Ada' })
    const { userId } = ada
    const follow = { orgId: org.id, userId, appId: 'app_x', frequency: 'daily' as const }
    const changedAt = system.clock.now()
    await system.db.insert(follows).values({ ...follow, categories: ['Tickets'], changedAt })
    await system.db.update(chatLinks).set({ inactiveAt: changedAt }).where(eq(chatLinks.userId, userId))
    expect((await ada.call(showChatLink, {})).link).toMatchObject({ user_id: 'U1', active: false })
    await link(ada, code)
    expect((await ada.call(showChatLink, {})).link).toMatchObject({ active: true })
    await ada.call(removeChatLink, {})
    await ada.call(removeChatLink, {})
    expect((await ada.call(showChatLink, {})).link).toBeNull()
    expect(await system.db.select().from(follows).where(eq(follows.userId, userId))).toHaveLength(1)
  })

  test('is not linked without a connected workspace', async () => {
    await admin.call(connectChatWebhook, { name: 'Pasted', url: address() })
    expect(await admin.call(showChatLink, {})).toMatchObject({ workspace_connected: false })
    await expect(admin.call(beginChatLink, {})).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('no connected chat workspace') as string,
    })
  })

  test('of a different workspace is not linked', async () => {
    await install(`${unique('T')}/#general`)
    await expect(link(admin, 'T-other/U1/Ada')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('different workspace') as string,
    })
    expect((await admin.call(showChatLink, {})).link).toBeNull()
  })

  test('belongs to one person, whom nobody else is told, until they let it go', async () => {
    const team = unique('T')
    await install(`${team}/#general`)
    const [ada, bob] = [await makeMember(system, org, 'viewer'), await makeMember(system, org, 'viewer')]
    await link(ada, `${team}/U1/Ada`)
    const refusal = (await link(bob, `${team}/U1/Ada`).catch((error: unknown) => error)) as Error
    expect(refusal).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('another user') as string,
    })
    for (const secret of [ada.name, ada.email, ada.userId])
      expect(JSON.stringify(refusal)).not.toContain(secret)

    // The same account in a second organization of the same person, and gone from one of them.
    const second = await makeOrganization(system, ada)
    const there = { ...ada, call: system.as({ token: ada.token, organization: second.id }) }
    const here = { ...ada, call: system.as({ token: ada.token, organization: org.id }) }
    await install(`${team}/#other`, there)
    await link(there, `${team}/U1/Ada`)
    await here.call(removeChatLink, {})
    await expect(link(bob, `${team}/U1/Ada`)).rejects.toMatchObject({ code: 'CONFLICT' })
    await there.call(removeChatLink, {})
    expect(await link(bob, `${team}/U1/Bob`)).toMatchObject({ display_name: 'Bob' })
  })

  test('gives way to another account of the same person', async () => {
    const team = unique('T')
    await install(`${team}/#general`)
    await link(admin, `${team}/U1/Old`)
    await link(admin, `${team}/U2/New`)
    const left = await system.db.select().from(chatAccounts).where(eq(chatAccounts.teamId, team))
    expect(left).toEqual([{ teamId: team, chatUserId: 'U2', orgId: org.id, userId: admin.userId }])
  })

  test('of two who claim it at the same moment has one', async () => {
    const team = unique('T')
    await install(`${team}/#general`)
    const people = await Promise.all([1, 2, 3].map(() => makeMember(system, org, 'viewer')))
    const claims = await Promise.allSettled(people.map((one) => link(one, `${team}/U1/Me`)))
    expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  // Races on Postgres only: the embedded database has one connection, so there each call waits for the one before.
  test.runIf(inject('everyCase'))(
    'that is unlinked and linked at the same moment is taken if and only if it is linked',
    async () => {
      const team = unique('T')
      await install(`${team}/#general`)
      const [ada, bob] = [await makeMember(system, org, 'viewer'), await makeMember(system, org, 'viewer')]
      const code = `${team}/U1/Me`
      const columns = ({ chatUserId, orgId, userId }: typeof chatAccounts.$inferSelect) => ({
        chatUserId,
        orgId,
        userId,
      })
      for (let round = 0; round < 30; round++) {
        await link(ada, code)
        const [again, other] = await Promise.all([ada, bob].map((one) => one.call(beginChatLink, {})))
        await Promise.allSettled([
          ada.call(removeChatLink, {}),
          ada.call(completeChatLink, { code, state: stateIn(again!.url) }),
          ada.call(removeChatLink, {}),
          bob.call(completeChatLink, { code, state: stateIn(other!.url) }),
        ])
        const links = await system.db.select().from(chatLinks).where(eq(chatLinks.teamId, team))
        const accounts = await system.db.select().from(chatAccounts).where(eq(chatAccounts.teamId, team))
        expect(links.length).toBeLessThanOrEqual(1)
        expect(accounts.map(columns)).toEqual(links.map(columns))
        for (const one of [ada, bob]) await one.call(removeChatLink, {})
      }
    },
  )
})
