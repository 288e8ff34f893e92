/** An integration stopped: owners and admins learn of it as of everything else, by an event that goes through the queue. */
import { randomUUID } from 'node:crypto'
import type { Transaction } from '../../../../db/connect.ts'
import type { IntegrationKind } from '../../../contracts/channels.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import type { Clock } from '../../dependencies.ts'
import { recordEvent } from '../../outbox.ts'

type Stopped = {
  readonly orgId: string
  readonly id: string
  readonly kind: IntegrationKind
  readonly reason: DeliveryReason
}

/** In the transaction of the change. */
export const recordStopped = (
  tx: Transaction,
  clock: Clock,
  { orgId, id, kind, reason }: Stopped,
): Promise<string> =>
  recordEvent(tx, clock, {
    orgId,
    type: 'org.integration.stopped',
    subject: `integrations/${id}`,
    source: 'integrations',
    // It can be connected again, and stop again.
    dedupKey: `stopped:${id}:${randomUUID()}`,
    actorId: null,
    data: { integration_id: id, channel: kind, reason },
  })
