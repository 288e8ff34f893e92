import type { SQL } from 'drizzle-orm'
import { and, asc, eq, gte, sql } from '../../../../db/drizzle.ts'
import { deliveries, messages } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const SHOWN_DAYS = 30

/** Of what had a destination: an event that matched nobody says nothing about delivery. */
export const summarizeDeliveries =
  ({ db, clock }: Storage): Handler<'summarizeDeliveries'> =>
  async (who) => {
    const { orgId } = requireMember(who)
    const now = clock().getTime()
    const since = (ms: number) =>
      and(
        eq(deliveries.orgId, orgId),
        gte(deliveries.createdAt, new Date(ms)),
        sql`${deliveries.channel} is not null`,
      )
    const today = Math.floor(now / DAY_MS) * DAY_MS
    const days = await db
      .select({
        day: sql<string>`to_char(${deliveries.createdAt} at time zone 'UTC', 'YYYY-MM-DD')`,
        sent: countOf(sql`${deliveries.state} = 'sent'`),
        failed: countOf(sql`${deliveries.state} = 'failed'`),
        dropped: countOf(sql`${deliveries.state} = 'dropped'`),
        open: countOf(sql`${deliveries.state} in ('waiting', 'retrying')`),
      })
      .from(deliveries)
      .where(since(today - (SHOWN_DAYS - 1) * DAY_MS))
      .groupBy(sql`1`)
      .orderBy(asc(sql`1`))
    const unconfirmed = sql`${deliveries.reason} = 'outcome_unknown'`
    const [recent] = await db
      .select({
        sent: countOf(sql`${deliveries.state} = 'sent'`),
        failed: countOf(sql`${deliveries.state} = 'failed' and not ${unconfirmed}`),
        unconfirmed: countOf(sql`${deliveries.state} = 'failed' and ${unconfirmed}`),
        // Digests wait on purpose.
        p95: sql<number | null>`percentile_cont(0.95) within group (
          order by extract(epoch from ${deliveries.settledAt} - ${deliveries.createdAt}) * 1000
        ) filter (where ${deliveries.state} = 'sent' and ${messages.digestKey} is null)`,
      })
      .from(deliveries)
      .leftJoin(messages, and(eq(messages.orgId, deliveries.orgId), eq(messages.id, deliveries.messageId)))
      .where(since(now - DAY_MS))
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

const countOf = (which: SQL) => sql<number>`(count(*) filter (where ${which}))::int`
