import { and, eq } from '../../../../db/drizzle.ts'
import { deliveries } from '../../../../db/schema.ts'
import { notFound, ServiceError } from '../../../contracts/errors.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { recordAudit } from '../../audit/index.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { withTransaction } from '../../transaction.ts'
import { isOpen } from './delivery-rows.ts'
import { enqueueReplays, lockReplays, selectReplayable, type ReplayableRow } from './enqueue-replays.ts'

export const replayDelivery =
  ({ db, clock }: Storage): Handler<'replayDelivery'> =>
  (who, { delivery_id }) =>
    withTransaction(db, async (tx) => {
      const { orgId } = requireMember(who)
      await lockReplays(tx, orgId)
      const [row] = await selectReplayable(tx).where(
        and(eq(deliveries.orgId, orgId), eq(deliveries.id, delivery_id)),
      )
      if (!row) throw notFound()
      const against = reasonAgainst(row)
      if (against !== undefined) throw new ServiceError('CONFLICT', against)
      const [id] = await enqueueReplays(tx, clock, [row])
      await recordAudit(tx, clock, who, { orgId, action: 'delivery.replayed', subject: delivery_id })
      return { id: id!, replay_of: delivery_id }
    })

function reasonAgainst({
  delivery,
  message,
  integrationState,
  isSubscribed,
}: ReplayableRow): string | undefined {
  if (delivery.channel === null) return 'This event matched nobody, so there is nothing to replay'
  if (isOpen(delivery.state)) return 'This delivery is still in progress'
  if (!message) return 'This delivery has no message to replay'
  if (delivery.integrationId !== null && integrationState === null) return 'The integration was removed'
  if (delivery.integrationId !== null && integrationState !== 'active') return 'The integration is not active'
  if (delivery.subscriptionId !== null && isSubscribed === null) return 'The subscription was deleted'
  if (delivery.subscriptionId !== null && !isSubscribed) return 'The subscription is paused'
  return undefined
}
