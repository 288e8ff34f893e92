/**
 * An integration gets an event once, by one of its subscriptions that match. If that one was paused or deleted before the
 * message left, another one that is enabled takes its place: it would have brought the event by itself.
 */
import type { Handle } from '../../../../db/connect.ts'
import { and, asc, desc, eq, sql } from '../../../../db/drizzle.ts'
import { subscriptions } from '../../../../db/schema.ts'
import { matches, TEST_EVENT } from '../../../contracts/events.ts'
import type { OutboundDelivery, OutboundMessage } from '../channels/channel-driver.ts'

/** A message whose subscription is off in two: what another one brings, and what none does, which is refused then. */
export async function takeOtherSubscriptions(
  db: Handle,
  messages: readonly OutboundMessage[],
): Promise<readonly OutboundMessage[]> {
  const without = messages.filter(isWithoutSubscription)
  if (without.length === 0) return messages
  const others = await readEnabled(db, without)
  return messages.flatMap((message) => (isWithoutSubscription(message) ? split(message, others) : [message]))
}

const isWithoutSubscription = ({ integrationId, subscription }: OutboundMessage): boolean =>
  integrationId !== null && !subscription?.enabled

type Other = Awaited<ReturnType<typeof readEnabled>>[number]

const readEnabled = (db: Handle, messages: readonly OutboundMessage[]) => {
  const keys = messages.map(({ orgId, integrationId }) => ({ orgId, integrationId }))
  return db
    .select({
      orgId: subscriptions.orgId,
      integrationId: subscriptions.integrationId,
      id: subscriptions.id,
      pattern: subscriptions.pattern,
    })
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.enabled, true),
        sql`(${subscriptions.orgId}, ${subscriptions.integrationId}) in (
          select k."orgId", k."integrationId"
          from json_to_recordset(${JSON.stringify(keys)}::text::json) as k("orgId" text, "integrationId" text))`,
      ),
    )
    .orderBy(desc(sql`length(${subscriptions.pattern})`), asc(subscriptions.id))
}

function split(message: OutboundMessage, others: readonly Other[]): OutboundMessage[] {
  const theirs = others.filter(
    ({ orgId, integrationId }) => orgId === message.orgId && integrationId === message.integrationId,
  )
  // A test is of the one subscription that it names.
  const isBroughtBy = ({ type }: OutboundDelivery, { pattern }: Other) =>
    type !== TEST_EVENT && matches(pattern, type)
  const { brought = [], left = [] } = Object.groupBy(message.deliveries, (delivery) =>
    theirs.some((other) => isBroughtBy(delivery, other)) ? 'brought' : 'left',
  )
  // The one that a mail's unsubscribe link ends.
  const other = theirs.find((one) => brought.some((delivery) => isBroughtBy(delivery, one)))
  if (other === undefined) return [message]
  const subscription = { enabled: true, disabled_reason: null }
  const taken = { ...message, subscriptionId: other.id, subscription, deliveries: brought }
  return left.length === 0 ? [taken] : [taken, { ...message, deliveries: left }]
}
