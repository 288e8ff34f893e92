/** What a person follows of an app, and the outcome of the last delivery about it. */
import type { Handle } from '../../../../db/connect.ts'
import { and, eq, inArray, isNull, ne, or, sql } from '../../../../db/drizzle.ts'
import { deliveries, messages, type follows } from '../../../../db/schema.ts'
import type { App } from '../../apps/index.ts'
import type { MemberPrincipal } from '../../principal.ts'
import { isTo } from '../delivery/delivery-rows.ts'

export type FollowRow = typeof follows.$inferSelect

type LastDelivery = Pick<
  typeof deliveries.$inferSelect,
  'appId' | 'state' | 'reason' | 'createdAt' | 'settledAt'
> & { readonly nextAt: Date | null }

/** The newest delivery about each app with an attempt; one that still waits has no outcome yet. */
export async function lastDeliveries(
  db: Handle,
  { orgId, userId }: MemberPrincipal,
  appIds: readonly string[],
): Promise<ReadonlyMap<string | null, LastDelivery>> {
  if (appIds.length === 0) return new Map()
  const rows = await db
    .selectDistinctOn([deliveries.appId], {
      appId: deliveries.appId,
      state: deliveries.state,
      reason: deliveries.reason,
      createdAt: deliveries.createdAt,
      settledAt: deliveries.settledAt,
      nextAt: messages.nextAt,
    })
    .from(deliveries)
    .leftJoin(messages, and(eq(messages.orgId, deliveries.orgId), eq(messages.id, deliveries.messageId)))
    .where(
      and(
        eq(deliveries.orgId, orgId),
        isTo(userId),
        isNull(deliveries.subscriptionId),
        inArray(deliveries.appId, [...appIds]),
        ne(deliveries.state, 'waiting'),
        // Of their own doing they are not told, which says nothing about what is.
        or(isNull(deliveries.reason), ne(deliveries.reason, 'own_action')),
      ),
    )
    .orderBy(deliveries.appId, sql`${deliveries.id} desc`)
  return new Map(rows.map((row) => [row.appId, row]))
}

export const presentFollow = (
  app: App,
  follow: FollowRow | null,
  last: ReadonlyMap<string | null, LastDelivery>,
) => ({
  app: app.alias,
  name: app.name,
  categories: follow?.categories ?? [],
  frequency: follow?.frequency ?? ('immediately' as const),
  last: outcomeOf(last.get(app.id)),
})

function outcomeOf(last: LastDelivery | undefined) {
  if (!last) return null
  const isRetrying = last.state === 'retrying'
  return {
    outcome: isRetrying ? 'retrying' : last.state === 'sent' ? 'delivered' : 'not_sent',
    reason: last.reason,
    at: (last.settledAt ?? last.createdAt).toISOString(),
    next_attempt_at: isRetrying ? (last.nextAt?.toISOString() ?? null) : null,
  } as const
}
