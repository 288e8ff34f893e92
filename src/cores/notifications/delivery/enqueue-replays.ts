/** Sends deliveries again when somebody asks for it: each under a new id that names the first, because both may arrive. */
import type { Transaction } from '../../../../db/connect.ts'
import { and, eq, inArray, isNotNull, isNull, or, sql } from '../../../../db/drizzle.ts'
import { notify } from '../../../../db/listen.ts'
import { deliveries, deliveryKeys, integrations, messages, subscriptions } from '../../../../db/schema.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import { makeId } from '../../../contracts/ids.ts'
import type { Clock } from '../../dependencies.ts'

/**
 * Until the transaction ends, in front of `selectReplayable`: that nothing replays a delivery yet is asked without a lock,
 * so a recovery beside a replay in bulk, or two of those, would each queue it.
 */
export async function lockReplays(tx: Transaction, orgId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`replays of ${orgId}`}, 0))`)
}

/** A replay is kept longer than the event that it is about, which a message needs. */
const HAS_EVENT = sql`exists (
  select from events e where e.org_id = ${deliveries.orgId} and e.id = ${deliveries.eventId})`

/** Deliveries with their message, and where they would go today. */
export const selectReplayable = (tx: Transaction) =>
  tx
    .select({
      delivery: deliveries,
      message: messages,
      integrationState: integrations.state,
      isSubscribed: subscriptions.enabled,
      hasEvent: sql<boolean>`${HAS_EVENT}`,
    })
    .from(deliveries)
    .leftJoin(messages, and(eq(messages.orgId, deliveries.orgId), eq(messages.id, deliveries.messageId)))
    .leftJoin(
      integrations,
      and(eq(integrations.orgId, deliveries.orgId), eq(integrations.id, deliveries.integrationId)),
    )
    .leftJoin(
      subscriptions,
      and(eq(subscriptions.orgId, deliveries.orgId), eq(subscriptions.id, deliveries.subscriptionId)),
    )
    .$dynamic()

export type ReplayableRow = Awaited<ReturnType<typeof selectReplayable>>[number]

/** Dropped while the integration was stopped, which works again by now, or was off; not what a person chose for themselves. */
const WHILE_STOPPED: readonly DeliveryReason[] = [
  'endpoint_gone',
  'endpoint_dead',
  'integration_lost',
  'integration_off',
  'paused_too_long',
]

/** Of an email integration: what waited as its mailbox rejected a mail, and what came before it was confirmed again. */
const MAILBOX_FAILED: readonly DeliveryReason[] = ['address_suppressed', 'address_unverified']

/** What did not arrive, or may not have, can be sent again today, and was not sent again yet. */
export const wasMissed = ({ includesUnconfirmed }: { readonly includesUnconfirmed: boolean }) =>
  and(
    or(
      eq(deliveries.state, 'failed'),
      and(eq(deliveries.state, 'dropped'), inArray(deliveries.reason, [...WHILE_STOPPED])),
      and(
        eq(deliveries.state, 'dropped'),
        isNotNull(deliveries.integrationId),
        inArray(deliveries.reason, [...MAILBOX_FAILED]),
      ),
    ),
    includesUnconfirmed ? undefined : sql`${deliveries.reason} is distinct from 'outcome_unknown'`,
    isDeliverable,
    isNotReplayed,
  )

/** The same as `reasonAgainst` of replayDelivery, for many at once. */
const isDeliverable = sql`${messages.id} is not null
  and (${deliveries.integrationId} is null or ${integrations.state} = 'active')
  and (${deliveries.subscriptionId} is null or ${subscriptions.enabled}) and ${HAS_EVENT}`

/** A delivery is replayed in bulk once; its replay may be replayed again. */
const isNotReplayed = isNull(deliveries.replayedAt)

/** All of one organization. Each as a message of its own, at once and in no order: newer ones about the same subject do not wait for an old one. */
export async function enqueueReplays(
  tx: Transaction,
  clock: Clock,
  rows: readonly ReplayableRow[],
): Promise<string[]> {
  if (rows.length === 0) return []
  const now = clock()
  const replays = rows.map(({ delivery, message }) => ({
    delivery: {
      ...delivery,
      id: makeId('dlv', now.getTime()),
      messageId: makeId('msg', now.getTime()),
      state: 'waiting' as const,
      reason: null,
      replayOf: delivery.id,
      replayedAt: null,
      createdAt: now,
      settledAt: null,
    },
    message: message!,
  }))
  await tx.insert(deliveries).values(replays.map(({ delivery }) => delivery))
  await tx.insert(deliveryKeys).values(
    replays.map(({ delivery: { orgId, eventId, id } }) => ({
      orgId,
      eventId,
      recipient: id,
      deliveryId: id,
    })),
  )
  const replayed = replays.map(({ delivery }) => delivery.replayOf)
  await tx
    .update(deliveries)
    .set({ replayedAt: now })
    .where(and(eq(deliveries.orgId, rows[0]!.delivery.orgId), inArray(deliveries.id, replayed)))
  await tx.insert(messages).values(
    replays.map(({ delivery, message }) => {
      // With others in one POST, it stands where it stood.
      const { orgId, channel, subscriptionId, integrationId, userId, target, seq } = message
      const id = delivery.messageId
      const state = 'pending' as const
      return {
        orgId,
        id,
        channel,
        subscriptionId,
        integrationId,
        userId,
        target,
        seq,
        state,
        nextAt: now,
        createdAt: now,
      }
    }),
  )
  await notify(tx, 'messages')
  return replays.map(({ delivery }) => delivery.id)
}
