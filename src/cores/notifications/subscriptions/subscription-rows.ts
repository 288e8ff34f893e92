/** Rows of subscriptions, the organization's and a person's own. */
import type { Transaction } from '../../../../db/connect.ts'
import { and, eq, isNull, ne, sql } from '../../../../db/drizzle.ts'
import { deliveries, subscriptions } from '../../../../db/schema.ts'
import { CHANNELS, takesTiming, type Timing } from '../../../contracts/channels.ts'
import { notFound, ServiceError } from '../../../contracts/errors.ts'
import type { MemberPrincipal } from '../../principal.ts'
import { lockIntegration, type IntegrationRow } from '../integrations/integration-rows.ts'

export type SubscriptionRow = typeof subscriptions.$inferSelect

/** When something was last delivered by it. */
export const lastDelivery = () => sql<string | null>`(
  select ${deliveries.settledAt} from ${deliveries}
  where ${and(
    eq(deliveries.orgId, subscriptions.orgId),
    eq(deliveries.subscriptionId, subscriptions.id),
    eq(deliveries.state, 'sent'),
  )}
  order by ${deliveries.id} desc limit 1)`

export const presentCommonFields = (row: SubscriptionRow, lastDeliveryAt: string | null) => ({
  id: row.id,
  pattern: row.pattern,
  timing: row.timing,
  enabled: row.enabled,
  disabled_reason: row.disabledReason,
  is_default: row.defaultKey !== null,
  last_delivery_at: lastDeliveryAt === null ? null : new Date(lastDeliveryAt).toISOString(),
  created_at: row.createdAt.toISOString(),
})

/** The emails a person gets from an organization: theirs to turn off and on, and nobody else's. */
export const ownedBy = ({ orgId, userId }: MemberPrincipal) =>
  and(eq(subscriptions.orgId, orgId), eq(subscriptions.userId, userId), isNull(subscriptions.integrationId))

export const WITH_LAST_DELIVERY = { row: subscriptions, lastDeliveryAt: lastDelivery() }

/** The organization's, which are to an integration. */
type SubscriptionWithIntegration = {
  readonly subscription: SubscriptionRow
  readonly integration: IntegrationRow
}

export const presentSubscription = (
  { subscription, integration }: SubscriptionWithIntegration,
  lastDeliveryAt: string | null,
) => ({
  ...presentCommonFields(subscription, lastDeliveryAt),
  channel: integration.kind,
  integration: { id: integration.id, name: integration.name },
  created_by: subscription.createdBy,
})

export async function patternsOfIntegration(
  tx: Transaction,
  { orgId, id }: IntegrationRow,
  except = '',
): Promise<string[]> {
  const rows = await tx
    .select({ pattern: subscriptions.pattern })
    .from(subscriptions)
    .where(
      and(eq(subscriptions.orgId, orgId), eq(subscriptions.integrationId, id), ne(subscriptions.id, except)),
    )
  return rows.map(({ pattern }) => pattern)
}

export function requireNewPattern(others: readonly string[], pattern: string): void {
  if (!others.includes(pattern)) return
  throw new ServiceError('CONFLICT', 'This integration already has a subscription with this pattern', {
    hint: 'Update or resume that one.',
  })
}

export function requireTiming({ kind }: IntegrationRow, timing: Timing): void {
  if (takesTiming(kind, timing)) return
  throw new ServiceError('INVALID_REQUEST', 'This integration takes no digests', {
    problems: [`timing: ${CHANNELS[kind].label.toLowerCase()} integrations take immediately only`],
  })
}

export const subscriptionKey = (row: Pick<SubscriptionRow, 'orgId' | 'id'>) =>
  and(eq(subscriptions.orgId, row.orgId), eq(subscriptions.id, row.id))

/** The integration first, as everybody locks them. A person's own subscription is nobody else's to change. */
export async function lockSubscription(
  tx: Transaction,
  orgId: string,
  id: string,
): Promise<SubscriptionWithIntegration> {
  const [found] = await tx
    .select({ integrationId: subscriptions.integrationId })
    .from(subscriptions)
    .where(and(subscriptionKey({ orgId, id }), isNull(subscriptions.userId)))
  if (!found?.integrationId) throw notFound()
  const integration = await lockIntegration(tx, orgId, found.integrationId)
  const [subscription] = await tx
    .select()
    .from(subscriptions)
    .where(subscriptionKey({ orgId, id }))
    .for('update')
  if (!subscription) throw notFound()
  return { subscription, integration }
}
