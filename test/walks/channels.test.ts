/**
 * Every channel at once, over real sockets: a mail server, a chat service, a forum and the receiver of a webhook, all
 * connected as people do it, with the settings an operator would give, and driven by the engine.
 */
import { createHash, createHmac, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eq } from '../../db/drizzle.ts'
import { emailSuppressions, integrations } from '../../db/schema.ts'
import { createChannelAdapters, type ChannelAdapters } from '../../src/boot/channel-adapters.ts'
import { createApp, setAppMember } from '../../src/contracts/apps.ts'
import { listDeliveries } from '../../src/contracts/deliveries.ts'
import {
  beginChatInstall,
  beginChatLink,
  completeChatInstall,
  completeChatLink,
  configureForum,
  connectEmail,
  connectForum,
  connectWebhook,
  listIntegrations,
  pauseIntegration,
  resumeIntegration,
  sendAddressVerification,
  showAddressVerification,
  showChatLink,
  testIntegration,
  updateIntegration,
  verifyAddress,
} from '../../src/contracts/integrations.ts'
import { MAILS_PER_ADDRESS } from '../../src/contracts/limits.ts'
import { removeMember } from '../../src/contracts/members.ts'
import {
  createSubscription,
  listMySubscriptions,
  listSubscriptions,
  setFollow,
  updateSubscription,
} from '../../src/contracts/subscriptions.ts'
import { changeTicketStatus, createTicket, replyToTicket } from '../../src/contracts/tickets.ts'
import { nameInMail } from '../../src/cores/mail-text.ts'
import { emailDigest } from '../../src/cores/notifications/integrations/integration-secret.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { drainNotifications } from '../support/drain.ts'
import { startFakeChat, type FakeChat } from '../support/fake-chat.ts'
import { startFakeForum, type FakeForum } from '../support/fake-forum.ts'
import { linkIn } from '../support/links.ts'
import { startMailServer, type MailServer } from '../support/mail-server.ts'
import { makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

type Got = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string }

async function startReceiver() {
  const got: Got[] = []
  const state = { status: 200 }
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      got.push({ path: request.url ?? '', headers: request.headers, body })
      response.writeHead(state.status).end('whatever')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { got, state, url, close: async () => void server.close() }
}

/** Planted in what people write and are called; none of it may leave. */
const CANARY = 'canary-7f3a'
/** Of a ticket: only a mail to somebody who may read it says so. */
const TITLE = 'canary title 9b1c'

let database: TestDatabase
let system: TestSystem
let channelAdapters: ChannelAdapters
let mail: MailServer
let chat: FakeChat
let forum: FakeForum
let receiver: Awaited<ReturnType<typeof startReceiver>>
let org: Org
let elsewhere: Org
let admin: Person
let maintainer: Person
let reporter: Person
let hook: string
let ticketId: string

beforeAll(async () => {
  ;[database, mail, chat, forum, receiver] = await Promise.all([
    newDatabase(),
    startMailServer(),
    startFakeChat(),
    startFakeForum(),
    startReceiver(),
  ])
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  system = await startSystem(
    {
      SVC_SERVICES: 'api-gateway,auth-service,deploy-api,site',
      SMTP_URL: mail.url,
      MAIL_FROM: 'svc <notify@acme.test>',
      DKIM_SELECTOR: 'k1',
      DKIM_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      CHAT_URL: chat.url,
      CHAT_CLIENT_ID: chat.clientId,
      CHAT_CLIENT_SECRET: chat.clientSecret,
      NOTIFY_ALLOW_NETS: '127.0.0.1',
    },
    { connection: database, withMail: true },
  )
  channelAdapters = await createChannelAdapters(system.system.config)
  ;[org, elsewhere] = [await makeOrganization(system), await makeOrganization(system)]
  ;[admin, maintainer, reporter] = [
    await makeMember(system, org, 'admin'),
    await makeMember(system, org, 'developer'),
    await makeMember(system, org, 'viewer'),
  ]
  hook = `${receiver.url}/in/${CANARY}`
  for (const { call } of [maintainer, elsewhere.owner]) await call(createApp, { alias: 'shop', name: CANARY })
  await maintainer.call(setAppMember, { alias: 'shop', user_id: reporter.userId, role: 'builder' })
})

afterAll(async () => {
  await channelAdapters?.close()
  await system?.stop()
  await Promise.all([mail?.close(), chat?.close(), forum?.close(), receiver?.close(), database?.close()])
})

/** The engine with the channels of the settings; a second later, because a channel takes one line a second. */
async function deliver() {
  system.clock.advance(2)
  await drainNotifications({
    db: system.system.gateway!.db,
    directory: system.system.gateway!.directory,
    clock: () => system.clock.now(),
    channels: channelAdapters.channels,
    dataKeys: system.system.gateway!.dataKeys,
    appUrl: system.system.config.APP_URL,
    siteUrl: system.system.config.SITE_URL,
    log: system.system.log,
  })
}

const codeOf = async (url: string) => {
  const { code, state } = Object.fromEntries((await chat.walk(url)).searchParams)
  return { code: code!, state: state! }
}

const ledger = async (filter: { channel?: 'email' | 'chat' | 'webhook' | 'forum' | 'direct_message' } = {}) =>
  (await admin.call(listDeliveries, filter)).deliveries

describe('connecting', () => {
  test('a webhook, within the operator’s own networks and nowhere else', async () => {
    const { id, address } = await admin.call(connectWebhook, { name: 'Receiver', url: hook })
    expect(address).not.toContain(CANARY)
    await admin.call(createSubscription, { pattern: 'support.ticket.*', integration_id: id })
    for (const url of [
      'http://169.254.169.254/latest',
      'https://[::1]/',
      'http://10.0.0.1/',
      'https://127.0.0.2/',
    ]) {
      await expect(admin.call(connectWebhook, { name: 'Inside', url })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
      })
    }
  })

  test('a chat channel by installing the app, which subscribes it to new tickets', async () => {
    chat.present({ team: 'T1', id: 'UADMIN', name: 'Admin' }, '#ops')
    const begun = await admin.call(beginChatInstall, {})
    expect(begun.url).toContain(encodeURIComponent('/console/integrations/chat/callback'))
    const made = await admin.call(completeChatInstall, await codeOf(begun.url))
    expect(made).toMatchObject({ kind: 'chat', channel: '#ops', workspace: 'Workspace T1', subscriptions: 1 })
  })

  test('the forum with a key for all users, and not with an admin’s own', async () => {
    forum.addPerson('admin')
    const api_key = forum.makeKey('admin')
    await expect(admin.call(connectForum, { url: forum.url, api_key })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    })
    const { id } = await admin.call(connectForum, { url: forum.url, api_key: forum.makeKey() })
    await admin.call(configureForum, { config: { url: forum.url, category: 7 } })
    await admin.call(createSubscription, { pattern: 'support.ticket.created', integration_id: id })
    forum.addPerson('rita', reporter.userId)
  })

  test('one’s own chat account, of which nothing but a name and an id is kept', async () => {
    chat.present({ team: 'T2', id: 'U7', name: 'Mona' })
    const wrong = await codeOf((await maintainer.call(beginChatLink, {})).url)
    await expect(maintainer.call(completeChatLink, wrong)).rejects.toMatchObject({ code: 'CONFLICT' })
    chat.present({ team: 'T1', id: 'U7', name: 'Mona' })
    await maintainer.call(completeChatLink, await codeOf((await maintainer.call(beginChatLink, {})).url))
    expect((await maintainer.call(showChatLink, {})).link).toMatchObject({
      user_id: 'U7',
      display_name: 'Mona',
    })
    expect(chat.liveTokens.size).toBe(0)
    await maintainer.call(setFollow, { alias: 'shop', categories: ['Tickets'] })
  })
})

describe('a ticket is filed', () => {
  beforeAll(async () => {
    const filed = await reporter.call(createTicket, { alias: 'shop', title: TITLE, body: CANARY })
    ticketId = filed.id
    await elsewhere.owner.call(createTicket, { alias: 'shop', title: 'x', body: 'y' })
    await deliver()
  })

  test('the webhook gets a thin object with a signature that its address alone can check', () => {
    expect(receiver.got).toHaveLength(1)
    const { path, headers, body } = receiver.got[0]!
    expect(path).toBe(`/in/${CANARY}`)
    expect(JSON.parse(body)).toEqual([
      expect.objectContaining({
        type: 'support.ticket.created',
        subject: `tickets/${ticketId}`,
        data: expect.objectContaining({ organization_id: org.id, app: 'shop', ticket_id: ticketId }),
      }),
    ])
    const key = createHash('sha256').update(hook).digest()
    const mac = (signed: string) => createHmac('sha256', key).update(signed)
    const timestamp = String(headers['x-svc-timestamp'])
    expect(headers['x-svc-signature']).toBe(`v1=${mac(`${timestamp}.${body}`).digest('hex')}`)
    const id = String(headers['webhook-id'])
    expect(headers['webhook-signature']).toBe(`v1,${mac(`${id}.${timestamp}.${body}`).digest('base64')}`)
    expect(headers['user-agent']).toMatch(/^svc\//)
  })

  test('the channel gets one line with a link, and whoever follows the app a message', () => {
    const link = `<http://localhost:4000/console/apps/shop/tickets/${ticketId}|Open>`
    expect(chat.lines).toEqual([{ channel: '#ops', text: `shop: a ticket was filed ${link}` }])
    expect(chat.messages.map(({ to, text }) => [to, text])).toEqual([
      ['U7', `shop · Tickets · filed · ${link}`],
    ])
  })

  test('the forum gets a post in the reporter’s own name', () => {
    expect(forum.topics).toMatchObject([{ username: 'rita', category: 7 }])
  })

  test('each of them stands in the ledger as sent, and nothing of the other organization', async () => {
    expect((await ledger()).map(({ channel, state }) => `${channel} ${state}`).toSorted()).toEqual([
      'chat sent',
      'direct_message sent',
      'forum sent',
      'webhook sent',
    ])
    expect((await elsewhere.owner.call(listIntegrations, {})).integrations).toEqual([])
    const theirs = (await elsewhere.owner.call(listDeliveries, {})).deliveries
    expect(theirs.map(({ reason }) => reason)).toEqual(['matched_nobody'])
  })
})

describe('somebody replies', () => {
  const reply = () =>
    maintainer.call(replyToTicket, { alias: 'shop', ticket_id: ticketId, body: CANARY, internal: false })
  const unsubscribeUrl = () => /<(http[^>]+)>/.exec(headerOf('list-unsubscribe'))![1]!
  const headerOf = (key: string) =>
    mail.arrived.at(-1)!.mail.headers.find((one) => one.key === key)?.value ?? ''

  test('the reporter gets a signed mail with an unsubscribe link', async () => {
    await reply()
    await deliver()
    expect(mail.arrived.map(({ to }) => to)).toEqual([[reporter.email]])
    expect(mail.arrived[0]!.mail).toMatchObject({
      from: { address: 'notify@acme.test' },
      subject: `[${nameInMail(org.name)}] shop: a ticket has a reply: ${TITLE}`,
    })
    expect(headerOf('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
    expect(headerOf('dkim-signature')).toContain('d=acme.test')
    expect(headerOf('in-reply-to')).toMatch(/^<thr-/)
    expect(mail.arrived[0]!.mail.text).toContain(unsubscribeUrl())
  })

  test('opening that way changes nothing; one click ends exactly these mails, for good', async () => {
    const enabled = async () =>
      (await reporter.call(listMySubscriptions, {})).subscriptions.map((one) => [one.pattern, one.enabled])
    const path = new URL(unsubscribeUrl()).pathname
    const page = await (await system.fetch(path)).text()
    expect(page).toContain('support.ticket.replied')
    await system.fetch(path, { method: 'POST' })
    expect(await enabled()).toEqual([['support.ticket.replied', true]])
    const forged = path.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    const click = { method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) }
    expect((await system.fetch(forged, click)).status).toBe(200)
    expect(await enabled()).toEqual([['support.ticket.replied', true]])
    expect((await system.fetch(path, click)).status).toBe(200)
    expect(await enabled()).toEqual([['support.ticket.replied', false]])
    await reply()
    await deliver()
    expect(mail.arrived).toHaveLength(1)
  })
})

describe('things go wrong', () => {
  const file = () => reporter.call(createTicket, { alias: 'shop', title: 'x', body: 'y' })

  test('a webhook that says 410 is never asked again', async () => {
    receiver.state.status = 410
    await file()
    await deliver()
    const before = receiver.got.length
    await file()
    await deliver()
    expect(receiver.got.length).toBe(before)
    const { integrations } = await admin.call(listIntegrations, {})
    expect(integrations.find(({ kind }) => kind === 'webhook')?.state).toBe('gone')
  })

  test('a lost answer is said to be lost, and the line is not repeated', async () => {
    chat.failNext('webhook', 'hang up after')
    const before = chat.lines.length
    await file()
    for (let n = 0; n < 3; n++) await deliver()
    expect(chat.lines.length).toBe(before + 1)
    expect((await ledger({ channel: 'chat' }))[0]).toMatchObject({
      state: 'failed',
      reason: 'outcome_unknown',
      unconfirmed: true,
    })
  })

  test('a post whose answer was lost is looked up and counts as sent', async () => {
    forum.failNext('hang up after')
    const before = forum.topics.length
    await file()
    await deliver()
    expect(forum.topics.length).toBe(before + 1)
    expect((await ledger({ channel: 'forum' }))[0]).toMatchObject({ state: 'sent' })
  })

  test('somebody without an account at the forum fails the post, and nobody else posts it', async () => {
    const before = forum.topics.length
    await maintainer.call(createTicket, { alias: 'shop', title: 'x', body: 'y' })
    await deliver()
    expect(forum.topics.length).toBe(before)
    expect((await ledger({ channel: 'forum' }))[0]).toMatchObject({
      state: 'failed',
      reason: 'no_forum_account',
    })
  })

  test('a person who left the workspace is marked, and the integration stays', async () => {
    chat.deactivate('U7')
    await file()
    await deliver()
    expect((await maintainer.call(showChatLink, {})).link).toMatchObject({ active: false })
    const { integrations } = await admin.call(listIntegrations, {})
    expect(integrations.find(({ kind }) => kind === 'chat')?.state).toBe('active')
  })
})

describe('an email address', () => {
  let reader: Person
  let id: string
  let subscription_id: string
  const tokensTo = (email: string) =>
    system.mails.filter(({ to }) => to === email).map(({ text: said }) => linkIn(said).split('/').at(-1)!)
  const newestTo = (email: string) => tokensTo(email).at(-1)!
  const mailsTo = (email: string) => mail.arrived.filter(({ to }) => to.includes(email))
  const stateOf = async (by: Person, integrationId = id) =>
    (await by.call(listIntegrations, {})).integrations.find((one) => one.id === integrationId)?.state
  const subscribed = async () =>
    (await admin.call(listSubscriptions, { integration_id: id })).subscriptions.find(
      (one) => one.id === subscription_id,
    )
  const unsubscribe = async (email: string) => {
    const link = /Unsubscribe: (\S+)/.exec(mailsTo(email).at(-1)!.mail.text ?? '')![1]!
    await system.fetch(link, {
      method: 'POST',
      body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
    })
  }
  const change = (to: { address?: string; enabled?: boolean }) =>
    admin.call(updateIntegration, { integration_id: id, ...to })
  const isLinkGood = async (token: string) => {
    const { organization } = await admin.call(showAddressVerification, { token })
    const [verified] = await Promise.allSettled([admin.call(verifyAddress, { token })])
    expect(verified.status).toBe(organization === null ? 'rejected' : 'fulfilled')
    return organization !== null
  }
  const conflict = { code: 'CONFLICT' }

  beforeAll(async () => {
    reader = await makeMember(system, org, 'developer')
  })

  test('is confirmed by the newest link that was mailed to it, and counts its links for one organization', async () => {
    const address = reader.email
    for (let n = 0; n < MAILS_PER_ADDRESS.count; n++) ({ id } = await admin.call(connectEmail, { address }))
    await expect(admin.call(connectEmail, { address })).rejects.toMatchObject({ code: 'RATE_LIMITED' })
    const newest = newestTo(address)
    const theirs = await elsewhere.owner.call(connectEmail, { address })
    expect(await isLinkGood(tokensTo(address)[0]!)).toBe(false)
    const isIt = eq(integrations.id, id)
    const [row] = await system.db.select().from(integrations).where(isIt)
    await system.db.update(integrations).set({ verificationExpiresAt: system.clock.now() }).where(isIt)
    expect(await isLinkGood(newest)).toBe(false)
    const { verificationExpiresAt } = row!
    await system.db.update(integrations).set({ verificationExpiresAt }).where(isIt)
    // What the mail server once said of this mailbox is over with that.
    const digest = emailDigest(system.system.gateway!.dataKeys, address)
    const bounced = { emailDigest: digest, reason: 'bounce' as const, createdAt: system.clock.now() }
    await system.db.insert(emailSuppressions).values(bounced)
    await change({ enabled: false })
    expect(await isLinkGood(newest)).toBe(true)
    expect(await stateOf(admin)).toBe('off')
    expect((await change({ enabled: true })).state).toBe('active')
    expect(await stateOf(elsewhere.owner, theirs.id)).toBe('unverified')
    await expect(admin.call(connectEmail, { address })).rejects.toMatchObject(conflict)
    await expect(admin.call(sendAddressVerification, { integration_id: id })).rejects.toMatchObject(conflict)
    for (const [by, integration_id] of [
      [admin, id],
      [elsewhere.owner, theirs.id],
    ] as const) {
      const made = await by.call(createSubscription, { integration_id, pattern: 'support.ticket.*' })
      if (by === admin) subscription_id = made.id
    }
  })

  test('gets what it is subscribed to, by the id of the ticket, and not what its reader did', async () => {
    const ticket = await reader.call(createTicket, { alias: 'shop', title: TITLE, body: CANARY })
    await elsewhere.owner.call(createTicket, { alias: 'shop', title: TITLE, body: CANARY })
    for (const [by, status] of [
      [reader, 'done'],
      [maintainer, 'open'],
    ] as const)
      await by.call(changeTicketStatus, { alias: 'shop', ticket_id: ticket.id, status })
    // Each waits for the one before, which is about the same ticket.
    for (let n = 0; n < 3; n++) await deliver()
    const got = mailsTo(reader.email)
    expect(got.map(({ mail: { subject } }) => subject)).toEqual([
      `[${nameInMail(org.name)}] shop: a ticket was filed: ${ticket.id}`,
      expect.stringContaining(ticket.id),
    ])
    const { deliveries } = await admin.call(listDeliveries, { integration_id: id })
    expect(deliveries.map(({ type, reason }) => `${type}: ${reason}`).toSorted()).toEqual([
      'support.ticket.created: null',
      'support.ticket.status_changed: null',
      'support.ticket.status_changed: own_action',
    ])
    expect((await elsewhere.owner.call(listDeliveries, { channel: 'email' })).deliveries).toMatchObject([
      { reason: 'address_unverified' },
    ])
  })

  test('that is changed proves itself anew, and links to the one before end nothing', async () => {
    const next = `next-${reader.email}`
    await admin.call(pauseIntegration, { integration_id: id })
    await expect(change({ address: next })).rejects.toMatchObject(conflict)
    await admin.call(resumeIntegration, { integration_id: id })
    expect((await change({ address: next })).state).toBe('unverified')
    // Turning it on does not go round it.
    expect((await change({ enabled: true })).state).toBe('unverified')
    await unsubscribe(reader.email)
    expect(await isLinkGood(newestTo(next))).toBe(true)
    expect(await subscribed()).toMatchObject({ enabled: true })
    await reporter.call(createTicket, { alias: 'shop', title: TITLE, body: CANARY })
    await deliver()
    // What its reader ends is ended for good, also where an admin had paused it.
    const update = (enabled: boolean) => admin.call(updateSubscription, { subscription_id, enabled })
    await update(false)
    await unsubscribe(next)
    expect(await update(false)).toMatchObject({ enabled: false, disabled_reason: 'unsubscribed' })
    await expect(update(true)).rejects.toMatchObject(conflict)
    // Every mail has a link that ends what it came by: none is left for a test.
    await expect(admin.call(testIntegration, { integration_id: id })).rejects.toMatchObject(conflict)
  })

  test('of somebody who left is to be confirmed anew, on or off, and no link from before does that', async () => {
    const left = await Promise.all(
      (['active', 'off', 'turned on', 'unverified'] as const).map(async (was) => {
        const who = await makeMember(system, org, 'developer')
        const { id: integration_id } = await admin.call(connectEmail, { address: who.email })
        const link = newestTo(who.email)
        const turn = (enabled: boolean) => admin.call(updateIntegration, { integration_id, enabled })
        if (was !== 'unverified') expect(await isLinkGood(link)).toBe(true)
        if (was === 'off' || was === 'turned on') await turn(false)
        system.clock.advance(1)
        await admin.call(removeMember, { org_id: org.id, user_id: who.userId })
        // By the membership itself, also before a worker comes.
        expect(await isLinkGood(link)).toBe(false)
        if (was === 'turned on') expect((await turn(true)).state).toBe('unverified')
        return { was, who, integration_id, link, turn }
      }),
    )
    await deliver()
    for (const { was, who, integration_id, link, turn } of left) {
      expect([was, await stateOf(admin, integration_id)]).toEqual([was, 'off'])
      // Nor once they are back.
      await makeMember(system, org, 'developer', who)
      expect([was, (await turn(true)).state]).toEqual([was, 'unverified'])
      expect(await isLinkGood(link)).toBe(false)
    }
  })
})

test('nothing that people wrote or are called has left, and no address or token is in the log', () => {
  const left = [
    ...receiver.got.map(({ body }) => body),
    ...chat.lines.map(({ text }) => text),
    ...chat.messages.map(({ text }) => text),
    ...forum.topics.flatMap(({ title, raw }) => [title, raw]),
  ]
  expect(left.filter((text) => text.includes(TITLE))).toEqual([])
  const mails = mail.arrived.map(({ raw }) => raw.toString())
  // A mail names whom it is for, and nobody else: an admin gets one about an integration that stopped.
  const said = [...left, ...mails].join('\n').replaceAll(/^To: .*$/gm, '')
  for (const secret of [CANARY, reporter.name, maintainer.name, admin.email])
    expect(said).not.toContain(secret)
  const log = system.logLines.join('\n')
  for (const secret of [CANARY, 'xoxb-', 'xoxp-', '/services/', reporter.email])
    expect(log).not.toContain(secret)
})
