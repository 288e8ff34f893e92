/**
 * Tells owners and admins that deliveries were given up, or may have arrived: by an event, once a day for each destination,
 * so that a receiver that is down for a night is one notice. What failed on its way to say so says nothing more.
 */
import { sql } from '../../../../db/drizzle.ts'
import type { Channel } from '../../../contracts/channels.ts'
import type { DeliveryReason } from '../../../contracts/deliveries.ts'
import type { EventType } from '../../../contracts/events.ts'
import type { Storage } from '../../dependencies.ts'
import { withTransaction } from '../../transaction.ts'
import { recordEvent } from '../../outbox.ts'
import type { AttemptResult } from './attempts.ts'

/** Of the others, some stop an integration, which has a notice of its own, and some are a person's own to mend. */
const NOTICES: Partial<Record<DeliveryReason, EventType>> = {
  gave_up: 'org.delivery.gave_up',
  refused: 'org.delivery.gave_up',
  address_refused: 'org.delivery.gave_up',
  outcome_unknown: 'org.delivery.unconfirmed',
}

type Destination = {
  readonly orgId: string
  readonly target: string
  readonly channel: Channel
  readonly integrationId: string | null
  readonly type: EventType
  readonly reason: DeliveryReason
}

export async function recordFailureNotices(
  { db, clock }: Storage,
  results: readonly Pick<AttemptResult, 'orgId' | 'id' | 'state' | 'deliveryReason'>[],
): Promise<void> {
  const failed = results.flatMap(({ orgId, id, state, deliveryReason: reason }) => {
    const type = reason === null ? undefined : NOTICES[reason]
    return state === 'failed' && type ? [{ orgId, id, type, reason }] : []
  })
  if (failed.length === 0) return
  await withTransaction(db, async (tx) => {
    const destinations = await tx.execute<Destination>(sql`
      select distinct on (m.org_id, m.target, f.type) m.org_id as "orgId", m.target, m.channel,
        m.integration_id as "integrationId", f.type, f.reason
      from json_to_recordset(${JSON.stringify(failed)}::text::json) as f("orgId" text, id text, type text, reason text)
      join messages m on m.org_id = f."orgId" and m.id = f.id
      where not exists (
        select from deliveries d
        where d.org_id = m.org_id and d.message_id = m.id and d.type like any('{org.delivery.%,org.integration.%}'::text[])
      )
      order by m.org_id, m.target, f.type, m.id`)
    const day = clock().toISOString().slice(0, 10)
    for (const { orgId, target, channel, integrationId, type, reason } of destinations) {
      await recordEvent(tx, clock, {
        orgId,
        type,
        subject: `destinations/${target}`,
        source: 'deliveries',
        dedupKey: `${type}:${target}:${day}`,
        actorId: null,
        data: { channel, reason, ...(integrationId !== null && { integration_id: integrationId }) },
      })
    }
  })
}
