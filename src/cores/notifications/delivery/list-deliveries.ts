import type { Handle } from '../../../../db/connect.ts'
import { and, eq, inArray, isNotNull } from '../../../../db/drizzle.ts'
import { apps, deliveries, deliveryKeys } from '../../../../db/schema.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { isOfType } from '../../like-pattern.ts'
import { list, type Verb } from '../../list.ts'
import { IS_MISSED } from './outcome-counts.ts'
import { isBefore, isSince, isTo, presentDeliveries, selectDeliveries } from './delivery-rows.ts'

export const listDeliveries: Verb<'listDeliveries', WithDirectory> = list(
  { rows: 'deliveries', desc: [deliveries.id] },
  async (context, { missed, type, state, reason, channel, integration_id, app, event_id, from, to }) => {
    const { db, old = db, orgId, page } = context
    return page({
      from: () => selectDeliveries(old),
      counted: app === undefined ? () => old.select({ id: deliveries.id }).from(deliveries) : undefined,
      where: and(
        eq(deliveries.orgId, orgId),
        type === undefined ? undefined : isOfType(deliveries.type, type),
        missed ? and(isNotNull(deliveries.channel), IS_MISSED) : undefined,
        state && eq(deliveries.state, state),
        reason && eq(deliveries.reason, reason),
        channel && eq(deliveries.channel, channel),
        integration_id === undefined ? undefined : isTo(integration_id),
        app === undefined ? undefined : eq(apps.alias, app),
        event_id === undefined ? undefined : inArray(deliveries.id, ofEvent(db, orgId, event_id)),
        from === undefined ? undefined : isSince(new Date(from)),
        to === undefined ? undefined : isBefore(new Date(to)),
      ),
      key: ({ delivery }) => [delivery.id],
      present: (rows) => presentDeliveries(context, rows),
    })
  },
)

const ofEvent = (db: Handle, orgId: string, eventId: string) =>
  db
    .select({ id: deliveryKeys.deliveryId })
    .from(deliveryKeys)
    .where(and(eq(deliveryKeys.orgId, orgId), eq(deliveryKeys.eventId, eventId)))
