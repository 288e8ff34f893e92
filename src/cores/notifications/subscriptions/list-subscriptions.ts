import { and, eq, ilike, isNull } from '../../../../db/drizzle.ts'
import { integrations, subscriptions } from '../../../../db/schema.ts'
import { likePattern } from '../../like-pattern.ts'
import { list, type Verb } from '../../list.ts'
import { lastDelivery, presentSubscription } from './subscription-rows.ts'

export const listSubscriptions: Verb<'listSubscriptions'> = list(
  { rows: 'subscriptions', desc: [subscriptions.id] },
  async ({ db, orgId, page }, { pattern, integration_id, enabled }) =>
    page({
      from: () =>
        db
          .select({ subscription: subscriptions, integration: integrations, lastDeliveryAt: lastDelivery() })
          .from(subscriptions)
          .innerJoin(
            integrations,
            and(
              eq(integrations.orgId, subscriptions.orgId),
              eq(integrations.id, subscriptions.integrationId),
            ),
          ),
      where: and(
        eq(subscriptions.orgId, orgId),
        isNull(subscriptions.userId),
        pattern === undefined ? undefined : ilike(subscriptions.pattern, likePattern(pattern)),
        integration_id === undefined ? undefined : eq(subscriptions.integrationId, integration_id),
        enabled === undefined ? undefined : eq(subscriptions.enabled, enabled),
      ),
      key: (row) => [row.subscription.id],
      present: (rows) => rows.map((row) => presentSubscription(row, row.lastDeliveryAt)),
    }),
)
