import { and, desc, eq, isNull, sql } from '../../../../db/drizzle.ts'
import { deliveries, messages } from '../../../../db/schema.ts'
import { read, type Verb } from '../../verb.ts'
import { countDeliveries, DAY_MS, IS_SENT, since } from './outcome-counts.ts'
import { HELD } from './hold-target.ts'
import { HEALTH_DAYS, readIntegrationHealth } from './read-integration-health.ts'

const SHOWN_DAYS = 30
/** Of a busy day the newest tell how long deliveries take. */
const TIMED = 1_000

export const summarizeDeliveries: Verb<'summarizeDeliveries'> = read(
  async ({ db: current, old: db = current, clock, orgId }, { health: withHealth }) => {
    const now = clock()
    const { days, last_24_hours, integrations } = await countDeliveries(db, orgId, now, {
      days: SHOWN_DAYS,
      integrationDays: withHealth ? HEALTH_DAYS : 0,
    })
    const newest = db
      .select({
        ms: sql<number>`extract(epoch from ${deliveries.settledAt} - ${deliveries.createdAt}) * 1000`.as(
          'ms',
        ),
      })
      .from(deliveries)
      .leftJoin(messages, and(eq(messages.orgId, deliveries.orgId), eq(messages.id, deliveries.messageId)))
      // Digests wait on purpose.
      .where(and(since(orgId, new Date(now.getTime() - DAY_MS)), IS_SENT, isNull(messages.digestKey)))
      .orderBy(desc(deliveries.id))
      .limit(TIMED)
      .as('newest')
    const [latency] = await db
      .select({ p95: sql<number | null>`percentile_cont(0.95) within group (order by ${newest.ms})` })
      .from(newest)
    const [waiting] = await db
      .select({ oldest: sql<string | null>`min(${messages.createdAt})` })
      .from(messages)
      .where(
        and(
          eq(messages.orgId, orgId),
          sql`${messages.state} in ('pending', 'claimed', 'sending') and ${messages.nextAt} < ${HELD}`,
        ),
      )
    const p95 = latency?.p95 ?? null
    return {
      days,
      last_24_hours: { ...last_24_hours, p95_ms: p95 === null ? null : Math.round(p95) },
      oldest_waiting_at: waiting?.oldest ? new Date(waiting.oldest).toISOString() : null,
      ...(withHealth && { health: await readIntegrationHealth(db, orgId, integrations) }),
    }
  },
)
