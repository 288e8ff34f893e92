/** Subscriptions as they are shown, of the organization and of a person alike. */
import { and, eq, sql } from '../../../db/drizzle.ts'
import { deliveries, subscriptions } from '../../../db/schema.ts'

export type SubscriptionRow = typeof subscriptions.$inferSelect

/** When something last arrived by it. */
export const lastDelivery = () => sql<string | null>`(
  select ${deliveries.settledAt} from ${deliveries}
  where ${and(
    eq(deliveries.orgId, subscriptions.orgId),
    eq(deliveries.subscriptionId, subscriptions.id),
    eq(deliveries.state, 'sent'),
  )}
  order by ${deliveries.id} desc limit 1)`

export const presentSubscription = (row: SubscriptionRow, lastDeliveryAt: string | null) => ({
  id: row.id,
  pattern: row.pattern,
  timing: row.timing,
  enabled: row.enabled,
  disabled_reason: row.disabledReason,
  is_default: row.seedKey !== null,
  last_delivery_at: lastDeliveryAt === null ? null : new Date(lastDeliveryAt).toISOString(),
  created_at: row.createdAt.toISOString(),
})
