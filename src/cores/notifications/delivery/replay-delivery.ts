import { and, eq } from '../../../../db/drizzle.ts'
import { deliveries } from '../../../../db/schema.ts'
import { notFound, ServiceError } from '../../../contracts/errors.ts'
import { write, type Verb } from '../../verb.ts'
import { isOpen } from './delivery-rows.ts'
import { enqueueReplays, lockReplays, selectReplayable, type ReplayableRow } from './enqueue-replays.ts'

export const replayDelivery: Verb<'replayDelivery'> = write(
  { audit: 'delivery.replayed' },
  async ({ tx, clock, orgId, audit }, { delivery_id }) => {
    await lockReplays(tx, orgId)
    const [row] = await selectReplayable(tx).where(
      and(eq(deliveries.orgId, orgId), eq(deliveries.id, delivery_id)),
    )
    if (!row) throw notFound()
    const against = reasonAgainst(row)
    if (against !== undefined) throw new ServiceError('CONFLICT', against)
    const [id] = await enqueueReplays(tx, clock, [row])
    await audit('delivery.replayed', delivery_id)
    return { id: id!, replay_of: delivery_id }
  },
)

function reasonAgainst({
  delivery,
  message,
  integrationState,
  isSubscribed,
  hasEvent,
}: ReplayableRow): string | undefined {
  if (delivery.channel === null) return 'This event matched nobody, so there is nothing to replay'
  if (isOpen(delivery.state)) return 'This delivery is still in progress'
  if (!message) return 'This delivery has no message to replay'
  if (!hasEvent) return 'The event of this delivery is no longer kept'
  if (delivery.integrationId !== null && integrationState === null) return 'The integration was removed'
  if (delivery.integrationId !== null && integrationState !== 'active') return 'The integration is not active'
  if (delivery.subscriptionId !== null && isSubscribed === null) return 'The subscription was deleted'
  if (delivery.subscriptionId !== null && !isSubscribed) return 'The subscription is paused'
  return undefined
}
