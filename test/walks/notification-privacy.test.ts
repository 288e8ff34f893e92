/**
 * What people write and every secret stay where they belong. Words that stand nowhere else are planted in every text,
 * name, address and key; then everything is sent that can be, and everything that left or stayed is searched for them.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createApp } from '../../src/contracts/apps.ts'
import { listDeliveries, showDelivery } from '../../src/contracts/deliveries.ts'
import { listNotifications } from '../../src/contracts/inbox.ts'
import {
  beginChatInstall,
  beginChatLink,
  completeChatInstall,
  completeChatLink,
  configureForum,
  connectChatWebhook,
  connectForum,
  connectWebhook,
  listIntegrations,
  updateIntegration,
} from '../../src/contracts/integrations.ts'
import { createSubscription, setFollow } from '../../src/contracts/subscriptions.ts'
import { createTicket, changeTicketStatus, replyToTicket } from '../../src/contracts/tickets.ts'
import type { ChannelPorts, Outcome } from '../../src/cores/notifications/index.ts'
import { drainNotifications } from '../support/drain.ts'
import { fakeChatApp, fakeChecks, stateIn } from '../support/fake-integrations.ts'
import { newDatabase, type TestDatabase } from '../support/database.ts'
import { makeApiToken, makeMember, makeOrganization, makePerson, type Org } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const planted = (what: string): string => `canary${what}${randomBytes(6).toString('hex')}`

/** With hosted auth nothing else is known of people. */
const PEOPLE = inject('auth') === 'hosted' ? 'validated_members' : 'users'

/** Where each may be found afterwards; nowhere else, and never outside. */
const CANARIES = {
  title: { word: planted('title'), tables: ['tickets'] },
  body: { word: planted('body'), tables: ['tickets'] },
  reply: { word: planted('reply'), tables: ['ticket_replies'] },
  note: { word: planted('note'), tables: ['ticket_replies'] },
  appName: { word: planted('appname'), tables: ['apps'] },
  // Whoever did something is named where their organization reads it.
  person: { word: planted('person'), tables: ['audit_log', 'ticket_replies', 'tickets', PEOPLE] },
  mail: { word: planted('mail'), tables: PEOPLE === 'users' ? ['passwords', PEOPLE] : [PEOPLE] },
  displayName: { word: planted('display'), tables: ['chat_links'] },
  webhook: { word: planted('webhook'), tables: [] },
  oldWebhook: { word: planted('oldwebhook'), tables: [] },
  chatWebhook: { word: planted('chatwebhook'), tables: [] },
  botToken: { word: planted('bot'), tables: [] },
  installed: { word: planted('installed'), tables: [] },
  apiKey: { word: planted('apikey'), tables: [] },
} satisfies Record<string, { word: string; tables: string[] }>
const word = (name: keyof typeof CANARIES): string => CANARIES[name].word

let database: TestDatabase
let system: TestSystem
let org: Org
/** What left, without the secret it was reached with. */
const left: string[] = []
let mcpToken: string

const note = async (what: unknown): Promise<Outcome> => {
  left.push(JSON.stringify(what))
  // A few are refused once, so that there are second attempts as well.
  return left.length <= 3
    ? { kind: 'refused', reason: 'server_error', retry: true, httpStatus: 500 }
    : { kind: 'sent', httpStatus: 200 }
}
const channels: ChannelPorts = {
  webhook: ({ headers, body }) => note({ headers, body }),
  chat: ({ text }) => note({ text }),
  direct_message: ({ messageId, chatUserId, text }) => note({ messageId, chatUserId, text }),
  email: ({ to: _theirs, ...mail }) => note({ ...mail, isMail: true }),
  forum: ({ apiKey: _key, url: _address, ...post }) => note(post),
}

/** Every event fanned out, every message sent, refused ones again. */
async function deliverAll(): Promise<void> {
  const { gateway, config } = system.system
  for (let round = 0; round < 6; round++) {
    await drainNotifications({
      db: system.system.gateway!.db,
      directory: system.system.gateway!.directory,
      clock: () => system.clock.now(),
      channels,
      dataKeys: gateway!.dataKeys,
      appUrl: config.APP_URL,
      siteUrl: config.SITE_URL,
      log: system.system.log,
    })
    system.clock.advance(3_700)
  }
}

beforeAll(async () => {
  database = await newDatabase()
  system = await startSystem(
    { SVC_SERVICES: 'api-gateway,auth-service,deploy-api,mcp-server' },
    {
      connection: database,
      checks: fakeChecks,
      chatApp: {
        ...fakeChatApp,
        install: async () => ({
          teamId: 'T1',
          teamName: 'Team',
          channel: '#general',
          webhookUrl: `https://hooks.chat.test/services/${word('installed')}/in`,
          botToken: word('botToken'),
        }),
      },
    },
  )
  org = await makeOrganization(system)
  const { owner } = org
  const named = { name: `Ada ${word('person')}`, email: `${word('mail')}@people.test` }
  const reporter = await makeMember(system, org, 'viewer', await makePerson(system, named))

  const url = `https://hooks.test/${word('oldWebhook')}/in`
  const webhook = await owner.call(connectWebhook, { name: 'Receiver', url })
  const newer = `https://hooks.test/${word('webhook')}/in`
  await owner.call(updateIntegration, { integration_id: webhook.id, url: newer })
  const chatUrl = `https://chat.test/${word('chatWebhook')}/in`
  await owner.call(connectChatWebhook, { name: 'Team', url: chatUrl })
  const { url: installUrl } = await owner.call(beginChatInstall, {})
  await owner.call(completeChatInstall, { code: 'x', state: stateIn(installUrl) })
  const forum = await owner.call(connectForum, { url: 'https://forum.test', api_key: word('apiKey') })
  await owner.call(configureForum, { config: { url: 'https://forum.test', category: 4 } })
  for (const [integration_id, timing] of [
    [webhook.id, 'immediately'],
    [forum.id, 'immediately'],
  ] as const) {
    await owner.call(createSubscription, { integration_id, pattern: 'support.ticket.*', timing })
  }
  const digest = { integration_id: webhook.id, pattern: 'support.*', timing: 'hourly' as const }
  await owner.call(createSubscription, digest)

  await owner.call(createApp, { alias: 'shop', name: `Shop ${word('appName')}` })
  await owner.call(setFollow, { alias: 'shop', categories: ['Tickets'] })
  const { url: linkUrl } = await owner.call(beginChatLink, {})
  const code = `T1/U1/${word('displayName')}`
  await owner.call(completeChatLink, { code, state: stateIn(linkUrl) })

  const text = { title: `It broke ${word('title')}`, body: word('body') }
  const { id: ticket_id } = await reporter.call(createTicket, { alias: 'shop', ...text })
  const ticket = { alias: 'shop', ticket_id }
  await owner.call(replyToTicket, { ...ticket, body: word('reply') })
  await owner.call(replyToTicket, { ...ticket, body: word('note'), internal: true })
  await reporter.call(replyToTicket, { ...ticket, body: 'Thank you' })
  await owner.call(changeTicketStatus, { ...ticket, status: 'in_progress' })
  mcpToken = (await makeApiToken(system, org, owner, { audiences: ['notifications'] })).token
  await deliverAll()
}, 90_000)

afterAll(async () => {
  await system.stop()
  await database.close()
})

const found = (texts: readonly string[], allowed: readonly string[] = []): string[] =>
  Object.values(CANARIES).flatMap(({ word: canary }) =>
    !allowed.includes(canary) && texts.some((text) => text.includes(canary)) ? [canary] : [],
  )

test('everything was sent by every channel there is', async () => {
  const { deliveries } = await org.owner.call(listDeliveries, { limit: 200 })
  const channelsUsed = new Set(
    deliveries.flatMap(({ state, channel }) => (state === 'sent' && channel !== null ? [channel] : [])),
  )
  expect([...channelsUsed].toSorted()).toEqual(['chat', 'direct_message', 'email', 'forum', 'webhook'])
  // Their own replies and moves are told to nobody's own channel.
  const dropped = deliveries.filter(({ state }) => state !== 'sent')
  expect(new Set(dropped.map(({ reason }) => reason))).toEqual(new Set(['own_action']))
})

test('nothing that a person wrote or is called was sent, nor any secret', () => {
  expect(left.length).toBeGreaterThan(10)
  const isMail = (text: string) => text.includes('"isMail":true')
  expect(found(left.filter((text) => !isMail(text)))).toEqual([])
  // Only the mail to whoever may read the ticket says which one it is.
  expect(found(left.filter(isMail))).toEqual([word('title')])
})

test('no table has any of it but those it belongs to', async () => {
  const { sql } = database
  const tables = await sql.query<{ name: string }>(
    // Partitions hold what their table holds.
    `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  )
  expect(tables.length).toBeGreaterThan(30)
  const where: Record<string, string[]> = {}
  for (const { name } of tables) {
    for (const [what, { word: canary }] of Object.entries(CANARIES)) {
      const [hit] = await sql.query<{ n: number }>(
        `select count(*)::int as n from "${name}" row_of_it where row_of_it::text like $1`,
        [`%${canary}%`],
      )
      if (hit!.n > 0) where[what] = [...(where[what] ?? []), name].toSorted()
    }
  }
  const belongs = Object.entries(CANARIES).flatMap(([what, { tables: own }]) =>
    own.length === 0 ? [] : [[what, own] as const],
  )
  expect(where).toEqual(Object.fromEntries(belongs))
})

test('no line of the log has any of it', () => {
  expect(system.logLines.length).toBeGreaterThan(10)
  expect(found(system.logLines)).toEqual([])
})

test('the ledger names the person a mail went to, and nothing else', async () => {
  const { call } = org.owner
  const { deliveries } = await call(listDeliveries, { limit: 200 })
  const shown = await Promise.all(deliveries.map(({ id }) => call(showDelivery, { delivery_id: id })))
  const unnamed = [...deliveries, ...shown].map(({ destination: _name, ...rest }) => JSON.stringify(rest))
  expect(found(unnamed)).toEqual([])
  const to = deliveries.map(({ destination }) => destination ?? '')
  expect(found(to)).toEqual([word('person')])
  expect(found([JSON.stringify(await call(listIntegrations, {}))])).toEqual([])
})

test('inbox and tools say the alias; only what one follows is called by its name', async () => {
  const use = async (name: string, input: object) => {
    const response = await system.fetch('/notifications', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${mcpToken}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: input },
      }),
    })
    return response.text()
  }
  const listed = await use('notifications_list', { state: 'all' })
  expect(listed).toContain('shop: a ticket was filed')
  expect(found([listed, JSON.stringify(await org.owner.call(listNotifications, { state: 'all' }))])).toEqual(
    [],
  )
  const follows = await use('notification_subscriptions', {})
  expect(follows).toContain('delivered')
  expect(found([follows])).toEqual([word('appName')])
  const chosen = await use('notification_follow', { app: 'shop', categories: [] })
  expect(found([chosen])).toEqual([word('appName')])
  expect(await use('notification_subscriptions', {})).toContain(String.raw`\"follows\":[]`)
})
