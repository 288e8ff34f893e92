/** Sends deliveries again when somebody asks for it: each under a new id that names the first, because both may arrive. */
import type { Transaction } from '../../../../db/connect.ts'
import { and, eq } from '../../../../db/drizzle.ts'
import { deliveries, integrations, messages, subscriptions } from '../../../../db/schema.ts'
import { makeId } from '../../../contracts/ids.ts'
import type { Clock } from '../../dependencies.ts'

/** Deliveries with their message, and where they would go today. */
export const selectReplayable = (tx: Transaction) =>
  tx
    .select({
      delivery: deliveries,
      message: messages,
      integrationState: integrations.state,
      isSubscribed: subscriptions.enabled,
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

/** Each as a message of its own, at once and in no order: newer ones about the same subject do not wait for an old one. */
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
      createdAt: now,
      settledAt: null,
    },
    message: message!,
  }))
  await tx.insert(deliveries).values(replays.map(({ delivery }) => delivery))
  await tx.insert(messages).values(
    replays.map(({ delivery, message }) => {
      const { orgId, channel, subscriptionId, integrationId, userId, target } = message
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
        state,
        nextAt: now,
        createdAt: now,
      }
    }),
  )
  return replays.map(({ delivery }) => delivery.id)
}
