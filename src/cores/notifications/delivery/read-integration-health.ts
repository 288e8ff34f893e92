/** How deliveries to each integration go, and to members, from what was counted of a week. */
import type { Handle } from '../../../../db/connect.ts'
import { and, asc, eq, isNotNull, min, sql } from '../../../../db/drizzle.ts'
import { integrations, messages } from '../../../../db/schema.ts'
import { countSubscriptions } from '../integrations/integration-rows.ts'
import { HELD } from './hold-target.ts'
import { readLastMissed, type IntegrationDay, type OutcomeCounts } from './outcome-counts.ts'

/** Also of those that never had a delivery. */
export async function readIntegrationHealth(db: Handle, orgId: string, days: readonly IntegrationDay[]) {
  const [rows, subscriptions, nextAttempts] = await Promise.all([
    db.select().from(integrations).where(eq(integrations.orgId, orgId)).orderBy(asc(integrations.name)),
    countSubscriptions(db, orgId),
    readNextAttempts(db, orgId),
  ])
  const byIntegration = Map.groupBy(days, ({ integration_id }) => integration_id)
  const missed = [...byIntegration].flatMap(([integrationId, own]) => {
    // What has arrived since is taken off by the hour, also of a day that is counted as a whole.
    const hours = own.flatMap(({ missed_hour, missed_of_day }) =>
      missed_hour === null || missed_of_day === 0 ? [] : [Date.parse(missed_hour)],
    )
    return hours.length === 0 ? [] : [{ integrationId, hour: new Date(Math.max(...hours)) }]
  })
  const failures = new Map(
    (await readLastMissed(db, orgId, missed)).map(
      ({ integration_id, at, ...failure }) =>
        [integration_id, { ...failure, at: new Date(at).toISOString() }] as const,
    ),
  )
  const healthOf = (id: string | null) => {
    const own = byIntegration.get(id) ?? []
    return {
      last_24_hours: sumOf(own),
      days: own.map(({ day, sent_of_day: sent, missed_of_day: missed }) => ({ day, sent, missed })),
      last_failure: failures.get(id) ?? null,
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

const NONE: OutcomeCounts = { sent: 0, failed: 0, unconfirmed: 0, retrying: 0, not_sent: 0 }

const sumOf = (days: readonly IntegrationDay[]): OutcomeCounts =>
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

/** Of what has failed before: what has not been tried yet is not waited for. */
async function readNextAttempts(db: Handle, orgId: string): Promise<ReadonlyMap<string | null, string>> {
  const rows = await db
    .select({ id: messages.integrationId, at: min(messages.nextAt) })
    .from(messages)
    .where(
      and(
        eq(messages.orgId, orgId),
        // The server keeps a plan by the index of what waits only if it knows the state.
        sql`${messages.state} = 'pending' and ${messages.attempts} > 0 and ${messages.nextAt} < ${HELD}`,
        isNotNull(messages.integrationId),
      ),
    )
    .groupBy(messages.integrationId)
  return new Map(rows.flatMap(({ id, at }) => (at === null ? [] : [[id, at.toISOString()] as const])))
}
