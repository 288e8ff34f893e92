/**
 * The last check before a message leaves: whether its subscription, its integration and its recipient are still there and
 * may still have it. What may not go is dropped with its reason; the rest is ready to be sent.
 */
import type { SQL } from 'drizzle-orm'
import { sql } from '../../../../db/drizzle.ts'
import { notify } from '../../../../db/listen.ts'
import type { Channel } from '../../../contracts/channels.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import type { Storage } from '../../dependencies.ts'
import { memberKey, type WithDirectory } from '../../directory/index.ts'
import { CHANNEL_DRIVERS } from '../channels/channel-drivers.ts'
import type {
  DriverDeps,
  OutboundDelivery,
  OutboundMessage,
  RecipientCheck,
} from '../channels/channel-driver.ts'
import type { Outcome } from '../channels/channel-ports.ts'
import type { MessageItem } from '../channels/render.ts'
import { isRepeatable } from './attempts.ts'
import { TARGET_HEALTH, type MessageKey, type TargetHealth } from './claim-messages.ts'
import { takeOtherSubscriptions } from './other-subscriptions.ts'

export type PreparedMessage = MessageKey & {
  readonly channel: Channel
  readonly target: string
  readonly health: TargetHealth
  readonly integrationId: string | null
  /** Of a direct message: the integration whose app sends it, and whose account it goes to. */
  readonly workspaceId: string | null
  /** What the integration was reached with: an answer speaks of that, and not of what somebody enters meanwhile. */
  readonly sealed: string | null
  /** Of a mail: whom it went to, whatever address they have by now. */
  readonly emailDigest: string | null
  readonly userId: string | null
  readonly isRepeatable: boolean
  /** Of the event: in one POST older ones come first. */
  readonly seq: number
  readonly items: readonly MessageItem[]
  /** What its receiver is reached with: none of it is kept from an answer. */
  readonly secrets: readonly string[]
  /** With the others of its POST. */
  send(others: readonly PreparedMessage[]): Promise<Outcome>
}

export async function prepareMessages(
  deps: DriverDeps,
  keys: readonly MessageKey[],
): Promise<PreparedMessage[]> {
  const messages = await takeOtherSubscriptions(deps.db, await readMessages(deps, keys))
  const prepared: PreparedMessage[] = []
  const dropped: { orgId: string; id: string; reason: DeliveryReason }[] = []
  const unprepared: MessageKey[] = []
  for (const message of messages) {
    const { orgId, id, channel, target, health, integrationId, userId, integration, deliveries, seq } =
      message
    const check = await checkRecipient(deps, message)
    if (!check) {
      unprepared.push({ orgId, id })
      continue
    }
    const { refused, route } = check
    for (const [delivery, reason] of refused) dropped.push({ orgId, id: delivery.id, reason })
    const items = deliveries.filter((delivery) => !refused.has(delivery))
    if (!route || items.length === 0) continue
    const one: PreparedMessage = {
      orgId,
      id,
      channel,
      target,
      health,
      integrationId,
      workspaceId: route.workspaceId,
      sealed: route.sealed ?? integration?.sealed ?? null,
      emailDigest: route.emailDigest ?? null,
      userId,
      isRepeatable: isRepeatable(channel, integration?.config['resend_on_unknown'] === true),
      seq,
      items,
      secrets: route.secrets,
      send(others) {
        const all = [one, ...others].toSorted((a, b) => a.seq - b.seq || (a.id < b.id ? -1 : 1))
        return route.send(all.flatMap((message) => message.items))
      },
    }
    prepared.push(one)
  }
  await dropDeliveries(deps, dropped)
  // Nothing was tried, so nothing is counted.
  const later = sql`${deps.clock().toISOString()}::timestamptz + ${POSTPONED_BY}`
  await endClaims(deps, unprepared, sql`state = 'pending', next_at = ${later}`)
  const found = new Set(messages.map(({ orgId, id }) => `${orgId} ${id}`))
  const settled = keys.filter(({ orgId, id }) => !found.has(`${orgId} ${id}`))
  await endClaims(deps, settled, sql`state = 'dropped'`)
  return prepared
}

type Row = Omit<OutboundMessage, 'id' | 'member' | 'deliveries'> &
  Omit<OutboundDelivery, 'occurredAt' | 'isAppMember'> & {
    readonly messageId: string
    readonly occurredAt: string
    /** The membership that the person's role on the app was given to. */
    readonly appMembershipId: string | null
  }

/** Those that still carry an open delivery: tenant tables in one statement, then people in another. */
async function readMessages(
  { db, directory }: Storage & WithDirectory,
  keys: readonly MessageKey[],
): Promise<readonly OutboundMessage[]> {
  // Looked up one after the other and not joined: ten tables in one join take longer to plan than to read.
  const rows = await db.execute<Row>(sql`
    select m.org_id as "orgId", m.id as "messageId", m.channel, m.target, m.user_id as "userId",
      coalesce(t.keeps_sockets, true) as "keepsSockets",
      ${TARGET_HEALTH} as health,
      m.seq::float8 as seq, m.subscription_id as "subscriptionId", m.integration_id as "integrationId", d.id, d.replay_of as "replayOf",
      d.event_id as "eventId", e.type,
      e.subject, e.data, e.occurred_at as "occurredAt", e.actor_id as "actorId",
      (select alias from apps where org_id = d.org_id and id = d.app_id) as app,
      (select membership_id from app_members
        where org_id = d.org_id and app_id = d.app_id and user_id = m.user_id) as "appMembershipId",
      (select categories from follows
        where org_id = d.org_id and user_id = m.user_id and app_id = d.app_id) as followed,
      (select to_json(i) from (select state, config, sealed, verified_at from integrations
        where org_id = m.org_id and id = m.integration_id) i) as integration,
      (select to_json(s) from (select enabled, disabled_reason from subscriptions
        where org_id = m.org_id and id = m.subscription_id) s) as subscription,
      (select to_json(s) from (select id, enabled, disabled_reason from subscriptions
        where org_id = d.org_id and id = d.subscription_id) s) as "bySubscription"
    from json_to_recordset(${JSON.stringify(keys)}::text::json) as k("orgId" text, id text)
    cross join lateral (
      select * from messages where org_id = k."orgId" and id = k.id limit 1
    ) m
    cross join lateral (
      select * from deliveries where org_id = m.org_id and message_id = m.id and state in ('waiting', 'retrying') offset 0
    ) d
    cross join lateral (
      select * from events where org_id = d.org_id and id = d.event_id limit 1
    ) e
    left join lateral (
      select * from message_targets where org_id = m.org_id and target = m.target limit 1
    ) t on true
    order by m.seq, m.id, e.seq, d.id`)
  const people = rows.flatMap(({ orgId, userId }) => (userId === null ? [] : [{ orgId, userId }]))
  const members = await directory.readMembers(db, people)
  return [...Map.groupBy(rows, ({ orgId, messageId }) => `${orgId} ${messageId}`).values()].map((carried) => {
    const { orgId, userId, ...message } = carried[0]!
    const member = (userId !== null && members.get(memberKey({ orgId, userId }))) || null
    return {
      ...message,
      orgId,
      id: message.messageId,
      userId,
      member,
      deliveries: carried.map((row) => ({
        ...row,
        occurredAt: new Date(row.occurredAt),
        isAppMember: member !== null && row.appMembershipId === member.membershipId,
      })),
    }
  })
}

/** Undefined: it cannot be prepared (sealed under another DATA_KEY, say), which must not keep the others from leaving. */
async function checkRecipient(
  deps: DriverDeps,
  message: OutboundMessage,
): Promise<RecipientCheck | undefined> {
  try {
    return await CHANNEL_DRIVERS[message.channel].checkRecipient(deps, message)
  } catch (error) {
    deps.log.warn('a message cannot be prepared', { message: message.id, error })
    return undefined
  }
}

/** A message is dropped with the last delivery that it carries. */
async function dropDeliveries(
  { db, clock }: Storage,
  dropped: readonly { readonly orgId: string; readonly id: string; readonly reason: DeliveryReason }[],
): Promise<void> {
  if (dropped.length === 0) return
  await db.execute(sql`
    with d as (
      select * from json_to_recordset(${JSON.stringify(dropped)}::text::json) as d("orgId" text, id text, reason text)
    ), gone as (
      update deliveries v set state = 'dropped', reason = d.reason, settled_at = ${clock().toISOString()}::timestamptz
      from d
      where v.org_id = d."orgId" and v.id = d.id and v.state in ('waiting', 'retrying')
      returning v.org_id, v.message_id, v.id
    )
    update messages m set state = 'dropped', worker = null, lease_until = null
    from (select distinct org_id, message_id from gone) g
    where m.org_id = g.org_id and m.id = g.message_id and m.state = 'claimed'
      and not exists (
        select from deliveries v
        where v.org_id = g.org_id and v.message_id = g.message_id and v.state in ('waiting', 'retrying')
          and v.id not in (select id from gone)
      )`)
  for (const orgId of new Set(dropped.map((one) => one.orgId))) await notify(db, 'attempts', orgId)
}

const POSTPONED_BY = sql.raw(`interval '5 minutes'`)

async function endClaims({ db }: Storage, keys: readonly MessageKey[], changes: SQL): Promise<void> {
  if (keys.length === 0) return
  await db.execute(sql`
    update messages m set worker = null, lease_until = null, ${changes}
    from json_to_recordset(${JSON.stringify(keys)}::text::json) as k("orgId" text, id text)
    where m.org_id = k."orgId" and m.id = k.id and m.state = 'claimed'`)
}
