/** The notification core on a database of its own: organizations with people and connections, and channels that note what they were given. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../../db/connect.ts'
import { and, asc, eq } from '../../db/drizzle.ts'
import {
  apps,
  attempts,
  deliveries,
  integrations,
  memberships,
  organizations,
  sends,
  subscriptions,
  users,
} from '../../db/schema.ts'
import type { EventType, Timing } from '../../src/contracts/events.ts'
import { makeId } from '../../src/contracts/ids.ts'
import type { IntegrationKind } from '../../src/contracts/integrations.ts'
import type { Role } from '../../src/contracts/roles.ts'
import { recordEvent, type Channels, type Outcome } from '../../src/cores/notifications/index.ts'
import type { NewEvent } from '../../src/cores/notifications/record-event.ts'
import { sealConnection } from '../../src/cores/notifications/connection-secret.ts'
import type { Message } from '../../src/cores/needs.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { drainNotifications, type NotificationNeeds } from '../../src/worker/notifications.ts'

export type Noted = { readonly by: keyof Channels; readonly to: string; readonly what: string }
export type Answer = (noted: Noted) => Outcome | Promise<Outcome>

export type NotificationHouse = Awaited<ReturnType<typeof notificationHouse>>
export type HouseOrg = Awaited<ReturnType<NotificationHouse['organization']>>

export async function notificationHouse(
  { db }: Pick<Connection, 'db'>,
  dataKey = randomBytes(32).toString('hex'),
) {
  let offsetMs = 0
  const clock = () => new Date(Date.now() + offsetMs)
  const noted: Noted[] = []
  const mails: Message[] = []
  const warnings: { event: string; fields: Record<string, unknown> | undefined }[] = []
  let answer: Answer = () => ({ kind: 'sent', httpStatus: 200 })
  const note = async (by: keyof Channels, to: string, what: string): Promise<Outcome> => {
    const one = { by, to, what }
    noted.push(one)
    // The one of this moment, whatever a test wants of the next message.
    const answerNow = answer
    // As on a network: the answer is never there in the same moment.
    await sleep(0)
    return answerNow(one)
  }
  const channels: Channels = {
    webhook: ({ url, body }) => note('webhook', url, body),
    chatWebhook: ({ url, text }) => note('chatWebhook', url, text),
    directMessage: ({ chatUserId, text }) => note('directMessage', chatUserId, text),
    email: ({ to, subject, text, html }) => note('email', to, [subject, text, html].join('\n')),
    forum: ({ userId, title, body }) => note('forum', userId, `${title}\n${body}`),
  }
  const keys = dataKeys(dataKey)
  const needs: NotificationNeeds = {
    db,
    clock,
    channels,
    dataKeys: keys,
    appUrl: new URL('https://app.example.test'),
    siteUrl: new URL('https://site.example.test'),
    mail: async (message) => void mails.push(message),
    log: { warn: (event, fields) => void warnings.push({ event, fields }) },
  }
  const id = (prefix: Parameters<typeof makeId>[0]) => makeId(prefix, clock().getTime())

  async function person(org: { id: string }, role: Role, name = `person-${randomBytes(4).toString('hex')}`) {
    const userId = id('usr')
    const email = `${name}@people.test`
    await db.insert(users).values({ id: userId, email, emailVerifiedAt: clock(), name, createdAt: clock() })
    await db
      .insert(memberships)
      .values({ orgId: org.id, userId, role, joinedBy: 'invitation', joinedAt: clock() })
    return { userId, email }
  }

  async function organization(timezone = 'UTC') {
    const orgId = id('org')
    const name = `Org ${orgId}`
    await db.insert(organizations).values({ id: orgId, name, slug: orgId, timezone, createdAt: clock() })
    const owner = await person({ id: orgId }, 'owner')
    return { id: orgId, owner }
  }

  async function app(org: { id: string }, alias: string, name = alias) {
    const appId = id('app')
    await db.insert(apps).values({ orgId: org.id, id: appId, alias, name, createdAt: clock() })
    return appId
  }

  async function connection(
    org: { id: string },
    kind: IntegrationKind,
    {
      url = `https://${kind}.test/${randomBytes(8).toString('hex')}`,
      botToken,
      apiKey,
      teamId,
      config = {},
    }: {
      url?: string
      botToken?: string
      apiKey?: string
      teamId?: string
      config?: Record<string, string | number | boolean>
    } = {},
  ) {
    const integrationId = id('int')
    const sealed = sealConnection(keys, { orgId: org.id, id: integrationId }, { url, botToken, apiKey })
    await db.insert(integrations).values({
      orgId: org.id,
      id: integrationId,
      kind,
      name: kind,
      state: 'active',
      config,
      sealed,
      digest: randomBytes(8).toString('hex'),
      teamId: teamId ?? null,
      createdAt: clock(),
    })
    return { integrationId, url }
  }

  async function subscription(
    org: { id: string },
    integrationId: string,
    pattern: string,
    timing: Timing = 'immediately',
  ) {
    const subscriptionId = id('sub')
    await db.insert(subscriptions).values({
      orgId: org.id,
      id: subscriptionId,
      integrationId,
      pattern,
      timing,
      enabled: true,
      createdAt: clock(),
    })
    return subscriptionId
  }

  const record = (org: { id: string }, event: Partial<NewEvent> & { type: EventType }) =>
    withTransaction(db, (tx) =>
      recordEvent(tx, clock, {
        orgId: org.id,
        subject: `things/${randomBytes(6).toString('hex')}`,
        dedupKey: randomBytes(8).toString('hex'),
        source: 'test',
        actorId: null,
        data: DATA[event.type] ?? {},
        ...event,
      }),
    )

  return {
    db,
    needs,
    noted,
    mails,
    warnings,
    clock: {
      now: clock,
      advance: (seconds: number) => void (offsetMs += seconds * 1000),
      /** To a moment, which then goes on. */
      set: (at: string) => void (offsetMs = new Date(at).getTime() - Date.now()),
    },
    answer: (next: Answer) => void (answer = next),
    organization,
    person,
    app,
    connection,
    subscription,
    record,
    drain: () => drainNotifications(needs),
    deliveriesOf: (org: { id: string }) =>
      db.select().from(deliveries).where(eq(deliveries.orgId, org.id)).orderBy(asc(deliveries.id)),
    sendsOf: (org: { id: string }) =>
      db.select().from(sends).where(eq(sends.orgId, org.id)).orderBy(asc(sends.createdAt), asc(sends.id)),
    attemptsOf: (org: { id: string }, sendId: string) =>
      db
        .select()
        .from(attempts)
        .where(and(eq(attempts.orgId, org.id), eq(attempts.sendId, sendId)))
        .orderBy(asc(attempts.number)),
    /** What reached an address, as the objects of a webhook. */
    received: (url: string) =>
      noted
        .filter(({ to }) => to === url)
        .flatMap(({ what }) => JSON.parse(what) as { id: string; type: string; subject: string }[]),
  }
}

/** The smallest honest data of each type that the tests record. */
const DATA: Partial<Record<EventType, Record<string, string>>> = {
  'deploy.failed': { deployment_id: 'dep_1', code: 'BUILD_FAILED' },
  'application.check.failed': { check_id: 'chk_1' },
  'application.check.recovered': { check_id: 'chk_1' },
  'pipeline.run.failed': { pipeline_id: 'pl_1' },
  'pipeline.run.recovered': { pipeline_id: 'pl_1' },
  'support.ticket.created': { ticket_id: 'tkt_1' },
  'support.ticket.replied': { ticket_id: 'tkt_1', reply_id: 'rpl_1' },
  'org.support_access.started': { support_session_id: 'sup_1' },
}
