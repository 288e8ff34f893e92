import type { Handle } from '../../../../db/connect.ts'
import { and, asc, eq, gt, inArray, isNotNull, min, sql } from '../../../../db/drizzle.ts'
import { deliveries, integrations, messages } from '../../../../db/schema.ts'
import type { Handler } from '../../../contracts/operations.ts'
import { requireMember } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import { countSubscriptions } from '../integrations/integration-rows.ts'
import { selectDeliveries } from './delivery-rows.ts'
import { countOf, DAY, DAY_MS, IS_MISSED, IS_SENT, outcomeCounts, since } from './outcome-counts.ts'

const SHOWN_DAYS = 7

/** Also of those that never had a delivery; and of members, who are reached without an integration. */
export const listIntegrationHealth =
  ({ db, clock }: Storage): Handler<'listIntegrationHealth'> =>
  async (who) => {
    const { orgId } = requireMember(who)
    const [rows, subscriptions, days, nextAttempts] = await Promise.all([
      db.select().from(integrations).where(eq(integrations.orgId, orgId)).orderBy(asc(integrations.name)),
      countSubscriptions(db, orgId),
      countDays(db, orgId, clock()),
      readNextAttempts(db, orgId),
    ])
    const byIntegration = Map.groupBy(days, ({ integrationId }) => integrationId)
    const newest = (own: readonly Day[]) =>
      own
        .map(({ lastMissed }) => lastMissed ?? '')
        .toSorted()
        .at(-1)
    const failures = await readFailures(
      db,
      orgId,
      [...byIntegration.values()].flatMap((own) => newest(own) || []),
    )
    const healthOf = (id: string | null) => {
      const own = byIntegration.get(id) ?? []
      return {
        last_24_hours: sumOf(own),
        days: own.map(({ day, sentOfDay: sent, missedOfDay: missed }) => ({ day, sent, missed })),
        last_failure: failures.get(newest(own) ?? '') ?? null,
      }
    }
    return {
      integrations: rows.map((row) => ({
        id: row.id,
        kind: row.kind,
        name: row.name,
        state: row.state,
        subscriptions: subscriptions.get(row.id) ?? 0,
        failing_since: row.failingSince?.toISOString() ?? null,
        last_success_at: row.lastSuccessAt?.toISOString() ?? null,
        next_attempt_at: nextAttempts.get(row.id) ?? null,
        ...healthOf(row.id),
      })),
      members: healthOf(null),
    }
  }

type Day = Awaited<ReturnType<typeof countDays>>[number]

/** One pass over a week: per day, and of each day those of the last 24 hours. */
function countDays(db: Handle, orgId: string, now: Date) {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS
  const recent = sql`${deliveries.createdAt} >= ${new Date(now.getTime() - DAY_MS).toISOString()}::timestamptz`
  return db
    .select({
      integrationId: deliveries.integrationId,
      day: DAY,
      sentOfDay: countOf(IS_SENT),
      missedOfDay: countOf(IS_MISSED),
      lastMissed: sql<string | null>`max(${deliveries.id}) filter (where ${IS_MISSED})`,
      ...outcomeCounts(recent),
    })
    .from(deliveries)
    .where(since(orgId, new Date(today - (SHOWN_DAYS - 1) * DAY_MS)))
    .groupBy(sql`1`, sql`2`)
    .orderBy(asc(sql`2`))
}

const NONE = { sent: 0, failed: 0, unconfirmed: 0, retrying: 0, not_sent: 0 }

const sumOf = (days: readonly Day[]) =>
  days.reduce(
    (sum, day) => ({
      sent: sum.sent + day.sent,
      failed: sum.failed + day.failed,
      unconfirmed: sum.unconfirmed + day.unconfirmed,
      retrying: sum.retrying + day.retrying,
      not_sent: sum.not_sent + day.not_sent,
    }),
    NONE,
  )

async function readFailures(db: Handle, orgId: string, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, never>()
  const rows = await selectDeliveries(db).where(
    and(eq(deliveries.orgId, orgId), inArray(deliveries.id, [...ids])),
  )
  return new Map(
    rows.map(({ delivery, httpStatus, attemptedAt }) => [
      delivery.id,
      {
        delivery_id: delivery.id,
        at: (attemptedAt ?? delivery.createdAt).toISOString(),
        reason: delivery.reason,
        http_status: httpStatus,
      },
    ]),
  )
}

/** Of what has failed before: what has not been tried yet is not waited for. */
async function readNextAttempts(db: Handle, orgId: string): Promise<ReadonlyMap<string | null, string>> {
  const rows = await db
    .select({ id: messages.integrationId, at: min(messages.nextAt) })
    .from(messages)
    .where(
      and(
        eq(messages.orgId, orgId),
        eq(messages.state, 'pending'),
        gt(messages.attempts, 0),
        isNotNull(messages.integrationId),
      ),
    )
    .groupBy(messages.integrationId)
  return new Map(rows.flatMap(({ id, at }) => (at === null ? [] : [[id, at.toISOString()] as const])))
}
