import { and, desc, eq, ilike, isNull, lt } from '../../../../db/drizzle.ts'
import { integrations, subscriptions } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { pageOf, readCursor } from '../../../contracts/paging.ts'
import { ONE_ROW, totalOf } from '../../total-of.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { likePattern } from '../../like-pattern.ts'
import { lastDelivery, presentSubscription } from './subscription-rows.ts'

export const listSubscriptions =
  ({ db }: Storage): Handler<'listSubscriptions'> =>
  async (who, { pattern, integration_id, enabled, limit, cursor, count }) => {
    const { orgId } = requireMember(who)
    const before = readCursor(cursor, 1)?.[0]
    const matching = and(
      eq(subscriptions.orgId, orgId),
      isNull(subscriptions.userId),
      pattern === undefined ? undefined : ilike(subscriptions.pattern, likePattern(pattern)),
      integration_id === undefined ? undefined : eq(subscriptions.integrationId, integration_id),
      enabled === undefined ? undefined : eq(subscriptions.enabled, enabled),
    )
    const rows = await db
      .select({ subscription: subscriptions, integration: integrations, lastDeliveryAt: lastDelivery() })
      .from(subscriptions)
      .innerJoin(
        integrations,
        and(eq(integrations.orgId, subscriptions.orgId), eq(integrations.id, subscriptions.integrationId)),
      )
      .where(and(matching, before === undefined ? undefined : lt(subscriptions.id, before)))
      .orderBy(desc(subscriptions.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.subscription.id])
    const counted = await totalOf(db, { count, cursor }, page, () =>
      db.select(ONE_ROW).from(subscriptions).where(matching),
    )
    return {
      subscriptions: page.rows.map((row) => presentSubscription(row, row.lastDeliveryAt)),
      next_cursor: page.next_cursor,
      ...counted,
    }
  }
