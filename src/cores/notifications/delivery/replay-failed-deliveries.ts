import { and, asc, eq, gte, inArray, lt, or, sql } from '../../../../db/drizzle.ts'
import { deliveries, integrations, messages, subscriptions } from '../../../../db/schema.ts'
import { REPLAYS_MAX, type DeliveryReason } from '../../../contracts/deliveries.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { withTransaction } from '../../transaction.ts'
import { enqueueReplays, selectReplayable } from './enqueue-replays.ts'

/** Dropped because of the receiver, which may work again by now; not because of what somebody chose. */
const RECEIVER_FAILED: readonly DeliveryReason[] = ['endpoint_gone', 'endpoint_dead', 'integration_lost']

export const replayFailedDeliveries =
  ({ db, clock }: Storage): Handler<'replayFailedDeliveries'> =>
  (who, { from, to, integration_id, include_unconfirmed }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = requireMember(who)
      const found = await selectReplayable(tx)
        .where(
          and(
            eq(deliveries.orgId, orgId),
            gte(deliveries.createdAt, new Date(from)),
            to === undefined ? undefined : lt(deliveries.createdAt, new Date(to)),
            integration_id === undefined ? undefined : eq(deliveries.integrationId, integration_id),
            or(
              eq(deliveries.state, 'failed'),
              and(eq(deliveries.state, 'dropped'), inArray(deliveries.reason, [...RECEIVER_FAILED])),
            ),
            include_unconfirmed ? undefined : sql`${deliveries.reason} is distinct from 'outcome_unknown'`,
            isDeliverable,
            isNotReplayed,
          ),
        )
        .orderBy(asc(deliveries.id))
        .limit(REPLAYS_MAX + 1)
      const replayed = found.slice(0, REPLAYS_MAX)
      await enqueueReplays(tx, clock, replayed)
      if (replayed.length > 0) {
        const subject = `${replayed.length} since ${from}`
        await recordAudit(tx, clock, who, { orgId, action: 'delivery.replayed', subject })
      }
      return { replayed: replayed.length, more: found.length > REPLAYS_MAX }
    })

/** The same as `reasonAgainst`, for many at once. */
const isDeliverable = sql`${messages.id} is not null
  and (${deliveries.integrationId} is null or ${integrations.state} = 'active')
  and (${deliveries.subscriptionId} is null or ${subscriptions.enabled})`

/** A delivery is replayed in bulk once; its replay may be replayed again. */
const isNotReplayed = sql`not exists (select 1 from ${deliveries} again
  where again.org_id = ${deliveries.orgId} and again.replay_of = ${deliveries.id})`
