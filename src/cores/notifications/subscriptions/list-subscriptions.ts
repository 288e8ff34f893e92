import { and, desc, eq, ilike, isNull, lt } from '../../../../db/drizzle.ts'
import { integrations, subscriptions } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { pageOf, readCursor } from '../../../contracts/paging.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { likePattern } from '../../like-pattern.ts'
import { lastDelivery, presentSubscription } from './subscription-rows.ts'

export const listSubscriptions =
  ({ db }: Storage): Handler<'listSubscriptions'> =>
  async (who, { pattern, integration_id, enabled, limit, cursor }) => {
    const { orgId } = requireMember(who)
    const before = readCursor(cursor, 1)?.[0]
    const rows = await db
      .select({ subscription: subscriptions, integration: integrations, lastDeliveryAt: lastDelivery() })
      .from(subscriptions)
      .innerJoin(
        integrations,
        and(eq(integrations.orgId, subscriptions.orgId), eq(integrations.id, subscriptions.integrationId)),
      )
      .where(
        and(
          eq(subscriptions.orgId, orgId),
          isNull(subscriptions.userId),
          pattern === undefined ? undefined : ilike(subscriptions.pattern, likePattern(pattern)),
          integration_id === undefined ? undefined : eq(subscriptions.integrationId, integration_id),
          enabled === undefined ? undefined : eq(subscriptions.enabled, enabled),
          before === undefined ? undefined : lt(subscriptions.id, before),
        ),
      )
      .orderBy(desc(subscriptions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.subscription.id])
    return {
      subscriptions: page.rows.map((row) => presentSubscription(row, row.lastDeliveryAt)),
      next_cursor: page.next_cursor,
    }
  }
