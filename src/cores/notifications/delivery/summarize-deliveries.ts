import { and, asc, eq, sql } from '../../../../db/drizzle.ts'
import { deliveries, messages } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { countOf, DAY, DAY_MS, IS_SENT, outcomeCounts, since } from './outcome-counts.ts'

const SHOWN_DAYS = 30

export const summarizeDeliveries =
  ({ db, clock }: Storage): Handler<'summarizeDeliveries'> =>
  async (who) => {
    const { orgId } = requireMember(who)
    const now = clock().getTime()
    const today = Math.floor(now / DAY_MS) * DAY_MS
    const days = await db
      .select({
        day: DAY,
        sent: countOf(IS_SENT),
        failed: countOf(sql`${deliveries.state} = 'failed'`),
        dropped: countOf(sql`${deliveries.state} = 'dropped'`),
        open: countOf(sql`${deliveries.state} in ('waiting', 'retrying')`),
      })
      .from(deliveries)
      .where(since(orgId, new Date(today - (SHOWN_DAYS - 1) * DAY_MS)))
      .groupBy(sql`1`)
      .orderBy(asc(sql`1`))
    const [recent] = await db
      .select({
        ...outcomeCounts(),
        // Digests wait on purpose.
        p95: sql<number | null>`percentile_cont(0.95) within group (
          order by extract(epoch from ${deliveries.settledAt} - ${deliveries.createdAt}) * 1000
        ) filter (where ${IS_SENT} and ${messages.digestKey} is null)`,
      })
      .from(deliveries)
      .leftJoin(messages, and(eq(messages.orgId, deliveries.orgId), eq(messages.id, deliveries.messageId)))
      .where(since(orgId, new Date(now - DAY_MS)))
    const [waiting] = await db
      .select({ oldest: sql<string | null>`min(${messages.createdAt})` })
      .from(messages)
      .where(and(eq(messages.orgId, orgId), sql`${messages.state} in ('pending', 'claimed', 'sending')`))
    const { p95, ...counts } = recent!
    return {
      days,
      last_24_hours: { ...counts, p95_ms: p95 === null ? null : Math.round(p95) },
      oldest_waiting_at: waiting?.oldest ? new Date(waiting.oldest).toISOString() : null,
    }
  }
