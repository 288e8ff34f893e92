/** Email as a channel like the others, over a real mail server: proven first, then told of events like any integration. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { emailSuppressions, integrations } from '../../db/schema.ts'
import { createChannelAdapters, type ChannelAdapters } from '../../src/boot/channel-adapters.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { listDeliveries } from '../../src/contracts/deliveries.ts'
import {
  connectEmail,
  listIntegrations,
  removeIntegration,
  sendAddressVerification,
  showAddressVerification,
  updateIntegration,
  verifyAddress,
} from '../../src/contracts/integrations.ts'
import { removeMember } from '../../src/contracts/members.ts'
import {
  createSubscription,
  listSubscriptions,
  updateSubscription,
} from '../../src/contracts/subscriptions.ts'
import { changeTicketStatus, createTicket, replyToTicket } from '../../src/contracts/tickets.ts'
import type { Overrides } from '../../src/boot/system.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { drainNotifications } from '../support/drain.ts'
import { linkIn } from '../support/links.ts'
import {
  smtpFailure,
  startFaultyMailServer,
  startMailServer,
  type MailServer,
} from '../support/mail-server.ts'
import { makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let database: TestDatabase
let system: TestSystem
let channelAdapters: ChannelAdapters
let mail: MailServer
let org: Org
let elsewhere: Org
let admin: Person

beforeAll(async () => {
  ;[database, mail] = await Promise.all([newDatabase(), startMailServer()])
  system = await startSystem(
    {
      SVC_SERVICES: 'api-gateway,auth-service,deploy-api,site',
      SMTP_URL: mail.url,
      MAIL_FROM: 'svc <notify@acme.test>',
    },
    { connection: database, mail: undefined } as unknown as Overrides,
  )
  channelAdapters = await createChannelAdapters(system.system.config)
})
afterAll(async () => {
  await channelAdapters?.close()
  await system?.stop()
  await Promise.all([mail?.close(), database?.close()])
})
beforeEach(async () => {
  ;[org, elsewhere] = [await makeOrganization(system), await makeOrganization(system)]
  admin = org.owner
  mail.answerWith(undefined)
})

async function deliver(channels = channelAdapters.channels) {
  system.clock.advance(2)
  await drainNotifications({
    db: system.system.gateway!.db,
    directory: system.system.gateway!.directory,
    clock: () => system.clock.now(),
    channels,
    dataKeys: system.system.gateway!.dataKeys,
    appUrl: system.system.config.APP_URL,
    siteUrl: system.system.config.SITE_URL,
    log: system.system.log,
  })
}

const newAddress = () => `${unique('desk')}@people.test`
const arrivedAt = (address: string) => mail.arrived.filter(({ to }) => to.includes(address))
const newestLink = (address: string) => linkIn(arrivedAt(address).at(-1)?.mail.text ?? '')
const tokenIn = (link: string) => link.split('/').at(-1)!
const stateOf = async (by: Person, id: string) =>
  (await by.call(listIntegrations, {})).integrations.find((one) => one.id === id)?.state

const visit = (link: string, form?: Record<string, string>) =>
  system.fetch(link, form && { method: 'POST', body: new URLSearchParams(form) })

async function connected(by: Person, address = newAddress(), pattern = 'support.ticket.*') {
  const { id } = await by.call(connectEmail, { address })
  await by.call(verifyAddress, { token: tokenIn(newestLink(address)) })
  const subscription = await by.call(createSubscription, { integration_id: id, pattern })
  return { id, address, subscription_id: subscription.id }
}

async function fileTicket(by: Person) {
  const alias = unique('shop')
  await by.call(createApp, { alias, name: 'Shop' })
  const { id } = await by.call(createTicket, { alias, title: 'It broke', body: 'Badly.' })
  return { alias, ticket_id: id }
}

describe('an address', () => {
  test('is sent a link and nothing else before the button on its page is pressed', async () => {
    const address = newAddress()
    const { id, state, kind, name, address: shown } = await admin.call(connectEmail, { address })
    expect([state, kind]).toEqual(['unverified', 'email'])
    expect(shown).toMatch(/^d…@people\.test$/)
    expect(name).toBe(shown)
    await admin.call(createSubscription, { integration_id: id, pattern: 'support.ticket.*' })
    await fileTicket(admin)
    await deliver()
    expect(arrivedAt(address).map(({ mail: { subject } }) => subject)).toEqual([
      'Confirm notifications to this address',
    ])
    const { deliveries } = await admin.call(listDeliveries, { integration_id: id })
    expect(deliveries).toMatchObject([{ state: 'dropped', reason: 'address_unverified', channel: 'email' }])

    const link = newestLink(address)
    // Scanners and previews open every link, by any method that should change nothing.
    for (const method of ['GET', 'HEAD', 'OPTIONS']) await system.fetch(link, { method })
    await visit(link, {})
    expect(await stateOf(admin, id)).toBe('unverified')
    const page = await (await visit(link)).text()
    expect(page).toContain(org.name)
    expect(page).toContain('Confirm address')
    expect(page).not.toContain(address)
    expect(await (await visit(link, { confirm: '1' })).text()).toContain('The address is confirmed')
    expect(await stateOf(admin, id)).toBe('active')
    // Pressed twice: nothing more happens, and it is no failure.
    expect(await (await visit(link, { confirm: '1' })).text()).toContain('The address is confirmed')
    await fileTicket(admin)
    await deliver()
    expect(arrivedAt(address)).toHaveLength(2)
  })

  test('of one organization says nothing about it in another', async () => {
    const address = newAddress()
    const { id } = await connected(admin, address)
    const theirs = await elsewhere.owner.call(connectEmail, { address })
    expect(theirs.state).toBe('unverified')
    const there = { integration_id: id }
    for (const trying of [
      () => elsewhere.owner.call(sendAddressVerification, there),
      () => elsewhere.owner.call(updateIntegration, { ...there, address: newAddress() }),
      () => elsewhere.owner.call(removeIntegration, there),
      () => elsewhere.owner.call(createSubscription, { ...there, pattern: 'deploy.*' }),
    ]) {
      await expect(trying()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    await fileTicket(elsewhere.owner)
    await deliver()
    expect(arrivedAt(address).filter(({ mail: { subject } }) => subject?.startsWith('['))).toEqual([])
  })

  test('is only admins’ to connect, and none that cannot be reached', async () => {
    const developer = await makeMember(system, org, 'developer')
    await expect(developer.call(connectEmail, { address: newAddress() })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    for (const address of ['nobody', 'a@b.test, c@evil.test', 'x@somewhere.invalid', 'x@localhost']) {
      await expect(admin.call(connectEmail, { address })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
  })

  test.each(['forged', 'another organization’s', 'expired', 'replaced', 'of a removed integration'])(
    'is not confirmed by a link that is %s, and all are answered alike',
    async (which) => {
      const address = newAddress()
      const { id } = await admin.call(connectEmail, { address })
      let token = tokenIn(newestLink(address))
      if (which === 'forged') token = `${token.slice(0, -4)}AAAA`
      if (which === 'another organization’s') token = token.replace(org.id, elsewhere.id)
      if (which === 'expired') {
        // Not by the clock, which would end the sessions of this file.
        const verificationExpiresAt = system.clock.now()
        await system.db.update(integrations).set({ verificationExpiresAt }).where(eq(integrations.id, id))
      }
      if (which === 'replaced') await admin.call(sendAddressVerification, { integration_id: id })
      if (which === 'of a removed integration') await admin.call(removeIntegration, { integration_id: id })
      const unknown = { organization: null, address: null, verified: false }
      expect(await admin.call(showAddressVerification, { token })).toEqual(unknown)
      await expect(admin.call(verifyAddress, { token })).rejects.toMatchObject({ code: 'NOT_FOUND' })
      const link = new URL(`/verify-address/${token}`, system.system.config.SITE_URL).href
      expect(await (await visit(link, { confirm: '1' })).text()).toContain('no longer valid')
      expect(await stateOf(admin, id)).not.toBe('active')
    },
  )

  test('that is changed is proven anew, and the old link ends', async () => {
    const { id, address } = await connected(admin)
    const next = newAddress()
    const changed = await admin.call(updateIntegration, { integration_id: id, address: next })
    expect(changed.state).toBe('unverified')
    // Turning it on does not go round it.
    const turnedOn = await admin.call(updateIntegration, { integration_id: id, enabled: true })
    expect(turnedOn.state).toBe('unverified')
    const old = tokenIn(newestLink(address))
    await expect(admin.call(verifyAddress, { token: old })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await fileTicket(admin)
    await deliver()
    expect([arrivedAt(address).length, arrivedAt(next).length]).toEqual([1, 1])
    await admin.call(verifyAddress, { token: tokenIn(newestLink(next)) })
    await fileTicket(admin)
    await deliver()
    expect([arrivedAt(address).length, arrivedAt(next).length]).toEqual([1, 2])
    await expect(
      admin.call(updateIntegration, { integration_id: id, url: 'https://203.0.113.9/in' }),
    ).rejects.toMatchObject({ code: expect.stringMatching(/^(CONFLICT|INVALID_REQUEST)$/) })
  })

  test('that was turned off stays off when it is confirmed', async () => {
    const address = newAddress()
    const { id } = await admin.call(connectEmail, { address })
    await admin.call(updateIntegration, { integration_id: id, enabled: false })
    await admin.call(verifyAddress, { token: tokenIn(newestLink(address)) })
    expect(await stateOf(admin, id)).toBe('off')
    await admin.call(updateIntegration, { integration_id: id, enabled: true })
    expect(await stateOf(admin, id)).toBe('active')
  })

  test('gets as many links as fit into its own bucket, and so does an organization', async () => {
    const address = newAddress()
    for (let n = 0; n < 5; n++) await admin.call(connectEmail, { address })
    const refused = { code: 'RATE_LIMITED' }
    await expect(admin.call(connectEmail, { address })).rejects.toMatchObject(refused)
    // Another organization, and another address, have buckets of their own.
    await elsewhere.owner.call(connectEmail, { address })
    for (let n = 5; n < 20; n++) await admin.call(connectEmail, { address: newAddress() })
    await expect(admin.call(connectEmail, { address: newAddress() })).rejects.toMatchObject(refused)
    expect((await admin.call(listIntegrations, {})).integrations).toHaveLength(16)
    expect(arrivedAt(address)).toHaveLength(6)
  })

  test('whose link could not be mailed is kept, and the next try sends another', async () => {
    const address = newAddress()
    mail.answerWith(smtpFailure(451, 'not now'))
    await expect(admin.call(connectEmail, { address })).rejects.toMatchObject({ code: 'CONFLICT' })
    mail.answerWith(undefined)
    const { id } = await admin.call(connectEmail, { address })
    await admin.call(verifyAddress, { token: tokenIn(newestLink(address)) })
    expect(await stateOf(admin, id)).toBe('active')
    await expect(admin.call(connectEmail, { address })).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(admin.call(sendAddressVerification, { integration_id: id })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
  })

  test('connected many times at once is one integration', async () => {
    const address = newAddress()
    const made = await Promise.all([1, 2, 3].map(() => admin.call(connectEmail, { address })))
    expect(new Set(made.map(({ id }) => id)).size).toBe(1)
  })

  test('that the mail server rejects for good is unverified again, and admins are told', async () => {
    const { id, address } = await connected(admin)
    const faulty = await startFaultyMailServer('RCPT', '550 5.1.1 no such user', 1)
    const broken = await createChannelAdapters({ ...system.system.config, SMTP_URL: faulty.url })
    await fileTicket(admin)
    await deliver(broken.channels)
    await broken.close()
    faulty.close()
    expect(await stateOf(admin, id)).toBe('unverified')
    const { deliveries } = await admin.call(listDeliveries, { type: 'org.integration.stopped' })
    expect(deliveries).toMatchObject([{ channel: 'email', destination: expect.any(String) }])
    const old = tokenIn(newestLink(address))
    await expect(admin.call(verifyAddress, { token: old })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('that was rejected once as somebody’s own works again when it is confirmed', async () => {
    const address = newAddress()
    const { emailDigest } = await import('../../src/cores/notifications/integrations/integration-secret.ts')
    await system.db.insert(emailSuppressions).values({
      emailDigest: emailDigest(system.system.gateway!.dataKeys, address),
      reason: 'bounce',
      createdAt: system.clock.now(),
    })
    await connected(admin, address)
    await fileTicket(admin)
    await deliver()
    expect(arrivedAt(address)).toHaveLength(2)
  })
})

describe('what is sent', () => {
  test('says which organization and which ticket, by its id, in text and in HTML, and nothing that people wrote', async () => {
    const { address } = await connected(admin)
    const { ticket_id } = await fileTicket(admin)
    await deliver()
    const [, { mail: got, to }] = arrivedAt(address) as [unknown, (typeof mail.arrived)[number]]
    expect(to).toEqual([address])
    expect(got.subject).toContain('a ticket was filed')
    for (const text of [got.subject, got.text, got.html]) {
      expect(text).toContain(ticket_id)
      expect(text).not.toContain('It broke')
    }
    for (const text of [got.text, got.html]) expect(text).toContain(`/tickets/${ticket_id}`)
    expect(got.headers.find(({ key }) => key === 'list-unsubscribe')?.value).toMatch(/\/unsubscribe\/n1\./)
  })

  test('comes once, however many patterns match, and in digests like everything else', async () => {
    const { id, address } = await connected(admin)
    await admin.call(createSubscription, { integration_id: id, pattern: 'support.*', timing: 'daily' })
    await fileTicket(admin)
    await deliver()
    expect(arrivedAt(address)).toHaveLength(2)
    const daily = await connected(admin, newAddress(), 'deploy.*')
    const subscription = await admin.call(createSubscription, {
      integration_id: daily.id,
      pattern: 'support.ticket.*',
      timing: 'hourly',
    })
    expect(subscription.timing).toBe('hourly')
    const ticket = await fileTicket(admin)
    await admin.call(replyToTicket, { ...ticket, body: 'More' })
    await deliver()
    expect(arrivedAt(daily.address)).toHaveLength(1)
    system.clock.advance(3_700)
    await deliver()
    expect(arrivedAt(daily.address).at(-1)?.mail.subject).toMatch(/^\[.+\] 2 notifications$/)
  })

  test('ends with one subscription when its reader unsubscribes, and no admin resumes that', async () => {
    const { id, address, subscription_id } = await connected(admin)
    const other = await admin.call(createSubscription, { integration_id: id, pattern: 'org.member.removed' })
    await fileTicket(admin)
    await deliver()
    const link = /Unsubscribe: (\S+)/.exec(arrivedAt(address).at(-1)!.mail.text ?? '')![1]!
    expect((await visit(link, { 'List-Unsubscribe': 'One-Click' })).status).toBe(200)
    const { subscriptions } = await admin.call(listSubscriptions, { integration_id: id })
    expect(new Map(subscriptions.map((one) => [one.id, one.disabled_reason]))).toEqual(
      new Map([
        [subscription_id, 'unsubscribed'],
        [other.id, null],
      ]),
    )
    await fileTicket(admin)
    await deliver()
    expect(arrivedAt(address)).toHaveLength(2)
    const resume = () => admin.call(updateSubscription, { subscription_id, enabled: true })
    await expect(resume()).rejects.toMatchObject({ code: 'CONFLICT' })
    // Nor by pausing it first.
    const paused = await admin.call(updateSubscription, { subscription_id, enabled: false })
    expect(paused).toMatchObject({ enabled: false, disabled_reason: 'unsubscribed' })
    await expect(resume()).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('is ended by links that were mailed to this address, and not by those of an earlier one', async () => {
    const { id, address, subscription_id } = await connected(admin)
    const unsubscribeLink = (at: string) =>
      /Unsubscribe: (\S+)/.exec(arrivedAt(at).at(-1)!.mail.text ?? '')![1]!
    await fileTicket(admin)
    await deliver()
    const old = unsubscribeLink(address)
    expect(await (await visit(old)).text()).toContain(org.name)
    const next = newAddress()
    await admin.call(updateIntegration, { integration_id: id, address: next })
    await admin.call(verifyAddress, { token: tokenIn(newestLink(next)) })
    expect(await (await visit(old)).text()).not.toContain(org.name)
    await visit(old, { 'List-Unsubscribe': 'One-Click' })
    const reason = async () =>
      (await admin.call(listSubscriptions, { integration_id: id })).subscriptions.find(
        (one) => one.id === subscription_id,
      )?.disabled_reason
    expect(await reason()).toBeNull()
    await fileTicket(admin)
    await deliver()
    await visit(unsubscribeLink(next), { 'List-Unsubscribe': 'One-Click' })
    expect(await reason()).toBe('unsubscribed')
  })

  test('is not what the reader of the address did themselves', async () => {
    const { id, address } = await connected(admin, admin.email)
    const ticket = await fileTicket(await makeMember(system, org, 'admin'))
    await admin.call(changeTicketStatus, { ...ticket, status: 'done' })
    // The second waits for the first, which is about the same ticket.
    for (let round = 0; round < 2; round++) await deliver()
    const { deliveries } = await admin.call(listDeliveries, { integration_id: id })
    expect(new Map(deliveries.map(({ type, reason }) => [type, reason]))).toEqual(
      new Map([
        ['support.ticket.created', null],
        ['support.ticket.status_changed', 'own_action'],
      ]),
    )
    expect(arrivedAt(address).filter(({ mail: { subject } }) => subject?.includes('moved'))).toEqual([])
  })
})

describe('a member who is removed', () => {
  test('gets nothing more at their verified address: it is turned off, and admins are told', async () => {
    const leaving = await makeMember(system, org, 'developer')
    const mine = await connected(admin, leaving.email)
    const other = await connected(admin)
    const theirs = await connected(elsewhere.owner, leaving.email)
    await admin.call(removeMember, { org_id: org.id, user_id: leaving.userId })
    for (const { owner } of [org, elsewhere]) await fileTicket(owner)
    await deliver()
    expect(await stateOf(admin, mine.id)).toBe('off')
    expect(await stateOf(admin, other.id)).toBe('active')
    expect(await stateOf(elsewhere.owner, theirs.id)).toBe('active')
    // With the other notices of the hour.
    system.clock.advance(3_700)
    await deliver()
    const { deliveries } = await admin.call(listDeliveries, { type: 'org.integration.stopped' })
    expect(deliveries).toMatchObject([{ channel: 'email', state: 'sent' }])
    expect(arrivedAt(admin.email).map(({ mail: { subject } }) => subject)).toEqual([
      expect.stringContaining('An integration stopped'),
    ])
    // Two links, and one ticket of the other organization.
    expect(arrivedAt(leaving.email)).toHaveLength(3)
    // Turned on again, it must be proven again.
    await admin.call(updateIntegration, { integration_id: mine.id, enabled: true })
    expect(await stateOf(admin, mine.id)).toBe('unverified')
    system.clock.advance(60)
    await admin.call(sendAddressVerification, { integration_id: mine.id })
    await admin.call(verifyAddress, { token: tokenIn(newestLink(leaving.email)) })
    await fileTicket(admin)
    await deliver()
    expect(arrivedAt(leaving.email)).toHaveLength(5)
  })

  test.each([true, false])(
    'confirms nothing with a link from before, also where it was off; the worker was there: %s',
    async (wasWorkedOff) => {
      const leaving = await makeMember(system, org, 'developer')
      const { id } = await admin.call(connectEmail, { address: leaving.email })
      const token = tokenIn(newestLink(leaving.email))
      await admin.call(updateIntegration, { integration_id: id, enabled: false })
      system.clock.advance(1)
      await admin.call(removeMember, { org_id: org.id, user_id: leaving.userId })
      if (wasWorkedOff) await deliver()
      await expect(admin.call(verifyAddress, { token })).rejects.toMatchObject({ code: 'NOT_FOUND' })
      expect((await admin.call(showAddressVerification, { token })).organization).toBeNull()
      const turnedOn = await admin.call(updateIntegration, { integration_id: id, enabled: true })
      expect(turnedOn.state).toBe('unverified')
      // Told only where it was on as the worker came.
      await deliver()
      const { deliveries } = await admin.call(listDeliveries, { type: 'org.integration.stopped' })
      expect(deliveries).toHaveLength(wasWorkedOff ? 0 : 1)
    },
  )

  test.each([true, false])(
    'is not sent to again by turning on what was off; the worker was there: %s',
    async (wasWorkedOff) => {
      const leaving = await makeMember(system, org, 'developer')
      const { id } = await connected(admin, leaving.email)
      await admin.call(updateIntegration, { integration_id: id, enabled: false })
      system.clock.advance(1)
      await admin.call(removeMember, { org_id: org.id, user_id: leaving.userId })
      if (wasWorkedOff) await deliver()
      const turnedOn = await admin.call(updateIntegration, { integration_id: id, enabled: true })
      expect(turnedOn.state).toBe('unverified')
      expect(arrivedAt(leaving.email)).toHaveLength(1)
    },
  )

  /** The worker may be slow: what is on its way is held back by the membership itself. */
  test('gets nothing from the moment of the removal on', async () => {
    const leaving = await makeMember(system, org, 'developer')
    const { id, address } = await connected(admin, leaving.email)
    await fileTicket(admin)
    system.clock.advance(1)
    const { endAccess } = await import('../../src/cores/organizations/end-access.ts')
    const { withTransaction } = await import('../../src/cores/transaction.ts')
    // Without its event, as while that one still waits.
    await withTransaction(system.db, (tx) =>
      endAccess(tx, () => system.clock.now(), { orgId: org.id, userId: leaving.userId }, null),
    )
    await deliver()
    const { deliveries } = await admin.call(listDeliveries, { integration_id: id })
    expect(deliveries).toMatchObject([{ state: 'dropped', reason: 'not_a_member' }])
    expect(arrivedAt(address)).toHaveLength(1)
    const [row] = await system.db.select().from(integrations).where(eq(integrations.id, id))
    expect(row?.state).toBe('active')
  })
})
