import { and, eq, gte, isNotNull, sql } from '../../../../db/drizzle.ts'
import { deliveries, messages } from '../../../../db/schema.ts'
import { DELIVERIES_TIMED, HEALTH_DAYS } from '../../../contracts/deliveries.ts'
import { read, type Verb } from '../../verb.ts'
import { idBefore } from './delivery-rows.ts'
import { countDeliveries, DAY_MS, IS_SENT } from './outcome-counts.ts'
import { HELD } from './hold-target.ts'
import { readIntegrationHealth } from './read-integration-health.ts'

const SHOWN_DAYS = 30

export const summarizeDeliveries: Verb<'summarizeDeliveries'> = read(
  async ({ db: current, old: db = current, clock, orgId }, { health: withHealth }) => {
    const now = clock()
    const { days, last_24_hours, integrations } = await countDeliveries(db, orgId, now, {
      days: SHOWN_DAYS,
      integrationDays: withHealth ? HEALTH_DAYS : 0,
    })
    // By their ids alone, which begin with the time: with the time as well, the planner expects few and sorts a whole day.
    // One by one by the key: joined, the planner would read all messages of the month. Digests wait on purpose.
    const [latency] = await db.execute<{ p95: number | null }>(sql`
      select percentile_cont(0.95) within group (
        order by extract(epoch from newest.settled_at - newest.created_at) * 1000) as p95
      from (
        select * from ${deliveries}
        where ${eq(deliveries.orgId, orgId)} and ${gte(deliveries.id, idBefore(new Date(now.getTime() - DAY_MS)))}
          and ${isNotNull(deliveries.channel)} and ${IS_SENT}
        order by id desc limit ${sql.raw(String(DELIVERIES_TIMED))}
      ) newest left join lateral (
        select digest_key from messages m where m.org_id = newest.org_id and m.id = newest.message_id limit 1
      ) m on true
      where m.digest_key is null`)
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
