/** The notifications core on a database of its own: organizations with people and integrations, and channels that record what they send. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../../db/connect.ts'
import { and, asc, eq, like, not, sql } from '../../db/drizzle.ts'
import {
  apps,
  attempts,
  deliveries,
  integrations,
  memberships,
  organizations,
  messages,
  subscriptions,
  users,
} from '../../db/schema.ts'
import type { IntegrationKind, Timing } from '../../src/contracts/channels.ts'
import type { EventType } from '../../src/contracts/events.ts'
import { makeId } from '../../src/contracts/ids.ts'
import type { Role } from '../../src/contracts/roles.ts'
import type { ChannelPorts, Outcome } from '../../src/cores/notifications/index.ts'
import { recordEvent, type NewEvent } from '../../src/cores/outbox.ts'
import { sealIntegrationSecret } from '../../src/cores/notifications/integrations/integration-secret.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import type { NotificationDeps } from '../../src/worker/notifications.ts'
import { drainNotifications } from './drain.ts'
import { START_MS } from './system.ts'
import { localDirectory } from '../../src/cores/directory/index.ts'

/** As a receiver sees it. */
type Received = {
  readonly id: string
  readonly type: string
  readonly subject: string
  readonly data: { readonly event_id: string }
}

export type SentMessage = { readonly by: keyof ChannelPorts; readonly to: string; readonly what: string }
export type Answer = (sent: SentMessage) => Outcome | Promise<Outcome>

export type NotificationHarness = Awaited<ReturnType<typeof notificationHarness>>
export type HarnessOrg = Awaited<ReturnType<NotificationHarness['organization']>>

export async function notificationHarness(
  { db }: Pick<Connection, 'db'>,
  dataKey = randomBytes(32).toString('hex'),
  startMs = START_MS,
) {
  let nowMs = startMs
  // A millisecond a call: ids sort by time, and no test waits for a machine that is busy.
  const clock = () => new Date(nowMs++)
  const sent: SentMessage[] = []
  const warnings: { event: string; fields: Record<string, unknown> | undefined }[] = []
  let answer: Answer = () => ({ kind: 'sent', httpStatus: 200 })
  const note = async (by: keyof ChannelPorts, to: string, what: string): Promise<Outcome> => {
    const one = { by, to, what }
    sent.push(one)
    // The one of this moment, whatever a test wants of the next message.
    const answerNow = answer
    // As on a network: the answer is never there in the same moment.
    await sleep(0)
    return answerNow(one)
  }
  const channels: ChannelPorts = {
    webhook: ({ url, body }) => note('webhook', url, body),
    chat: ({ url, text }) => note('chat', url, text),
    direct_message: ({ chatUserId, text }) => note('direct_message', chatUserId, text),
    email: ({ to, subject, text, html }) => note('email', to, [subject, text, html].join('\n')),
    forum: ({ userId, title, body }) => note('forum', userId, `${title}\n${body}`),
  }
  const keys = dataKeys(dataKey)
  const deps: NotificationDeps = {
    db,
    clock,
    channels,
    directory: localDirectory(clock),
    dataKeys: keys,
    appUrl: new URL('https://app.example.test'),
    siteUrl: new URL('https://site.example.test'),
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

  async function integration(
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
    const sealed = sealIntegrationSecret(
      keys,
      { orgId: org.id, id: integrationId },
      { url, botToken, apiKey },
    )
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
    deps,
    sent,
    warnings,
    clock: {
      now: clock,
      advance: (seconds: number) => void (nowMs += seconds * 1000),
      /** To a moment, which then goes on. */
      set: (at: string) => void (nowMs = Date.parse(at)),
    },
    /** So much later, for leases too, which run by the database's clock. */
    async later(seconds: number) {
      nowMs += seconds * 1000
      await db.execute(
        sql`update messages set lease_until = lease_until - make_interval(secs => ${String(seconds)}::float8)`,
      )
    },
    answer: (next: Answer) => void (answer = next),
    organization,
    person,
    app,
    integration,
    subscription,
    record,
    drain: () => drainNotifications(deps),
    /** Without the notices to admins about those that failed. */
    deliveriesOf: (org: { id: string }) =>
      db
        .select()
        .from(deliveries)
        .where(and(eq(deliveries.orgId, org.id), not(like(deliveries.type, NOTICES))))
        .orderBy(asc(deliveries.id)),
    noticesOf: (org: { id: string }) =>
      db
        .select()
        .from(deliveries)
        .where(and(eq(deliveries.orgId, org.id), like(deliveries.type, NOTICES)))
        .orderBy(asc(deliveries.id)),
    messagesOf: (org: { id: string }) =>
      db
        .select()
        .from(messages)
        .where(eq(messages.orgId, org.id))
        .orderBy(asc(messages.createdAt), asc(messages.id)),
    attemptsOf: (org: { id: string }, messageId: string) =>
      db
        .select()
        .from(attempts)
        .where(and(eq(attempts.orgId, org.id), eq(attempts.messageId, messageId)))
        .orderBy(asc(attempts.number)),
    /** What reached an address, as the objects of a webhook. */
    received: (url: string) =>
      sent.filter(({ to }) => to === url).flatMap(({ what }) => JSON.parse(what) as Received[]),
  }
}

const NOTICES = 'org.delivery.%'

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
