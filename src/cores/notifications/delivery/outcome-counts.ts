/** What became of deliveries, counted as a reader understands it: of what was to arrive, what did and what did not. */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../../db/connect.ts'
import { eq, isNotNull, sql } from '../../../../db/drizzle.ts'
import { deliveries, deliveryCountChanges, deliveryCounts } from '../../../../db/schema.ts'
import { NOT_SENT_BY_CHOICE, type DeliveryReason } from '../../../contracts/deliveries.ts'
import { idAfter, idBefore, isBefore, isSince, isTo } from './delivery-rows.ts'

export const DAY_MS = 24 * 60 * 60 * 1000
const HOUR_MS = 60 * 60 * 1000

const isUnconfirmed = sql`${deliveries.reason} is not distinct from 'outcome_unknown'`
const isByChoice = sql`${deliveries.reason} = any(${sql.raw(`'{${NOT_SENT_BY_CHOICE.join(',')}}'::text[]`)})`

export const IS_SENT = sql`${deliveries.state} = 'sent'`
const IS_NOT_SENT = sql`(${deliveries.state} = 'dropped' and not ${isByChoice})`
/** Whatever was to arrive and has not. */
export const IS_MISSED = sql`(${deliveries.state} in ('failed', 'retrying') or ${IS_NOT_SENT})`

const OUTCOMES = {
  sent: IS_SENT,
  failed: sql`(${deliveries.state} = 'failed' and not ${isUnconfirmed})`,
  unconfirmed: sql`(${deliveries.state} = 'failed' and ${isUnconfirmed})`,
  retrying: sql`${deliveries.state} = 'retrying'`,
  not_sent: IS_NOT_SENT,
}

export type OutcomeCounts = Record<keyof typeof OUTCOMES, number>
type Day = { day: string; sent: number; failed: number; dropped: number; open: number }
/** Null: of those to members, who are reached without an integration. */
export type IntegrationDay = OutcomeCounts & {
  integration_id: string | null
  day: string
  sent_of_day: number
  missed_of_day: number
  /** In which hour, or day where it is older, the newest was made that has not arrived. */
  missed_hour: string | null
}

const sumOf = (which: SQL, n = sql`n`) => sql`coalesce(sum(${n}) filter (where ${which}), 0)::int`
const DAY = sql`to_char(day at time zone 'UTC', 'YYYY-MM-DD')`

/** Those of the last 24 hours. */
const RECENT_OUTCOMES = sql.join(
  Object.entries(OUTCOMES).map(
    ([name, which]) => sql`${sumOf(which, sql`recent`)} as ${sql.identifier(name)}`,
  ),
  sql`, `,
)

const RECENT_NAMES = sql.join(
  Object.keys(OUTCOMES).map((name) => sql.identifier(name)),
  sql`, `,
)
const RECENT_SUMS = sql.join(
  Object.keys(OUTCOMES).map(
    (name) => sql`coalesce(sum(${sql.identifier(name)}), 0)::int as ${sql.identifier(name)}`,
  ),
  sql`, `,
)

type Counted = { days: Day[]; last_24_hours: OutcomeCounts; integrations: IntegrationDay[] }

/** Counts in whole numbers: by the name of a time zone it takes three times as long. */
const dayOf = (at: SQL) => sql`date_bin('1 day', ${at}, 'epoch'::timestamptz)`

/**
 * By day in UTC, and the last of those days by integration, too. The counts that every change keeps are read, and no
 * deliveries but those of the hour in which the last 24 began. They are added up once by what they mean, under the name of
 * the table, by the hour only what has not arrived; the rest is sums of those few rows.
 */
export async function countDeliveries(
  db: Handle,
  orgId: string,
  now: Date,
  { days, integrationDays }: { days: number; integrationDays: number },
): Promise<Counted> {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS
  const beginOf = (count: number) => new Date(today - (count - 1) * DAY_MS)
  const yesterday = new Date(now.getTime() - DAY_MS)
  const nextHour = new Date(Math.ceil(yesterday.getTime() / HOUR_MS) * HOUR_MS)
  const integration = integrationDays === 0 ? sql`null::text` : sql`nullif(integration_id, '')`
  const changed = (table: SQL) => sql`
    select ${integration} as integration_id, ${dayOf(sql`hour`)} as day, hour, state, nullif(reason, '') as reason, n
    from ${table}
    where org_id = ${orgId} and hour >= ${beginOf(days).toISOString()}::timestamptz`
  const [found] = (await db.execute(sql`
    with counted as (
      select integration_id, day, state, reason, case when ${IS_MISSED} then hour end as missed_hour, sum(n)::int as n,
        coalesce(sum(n) filter (where hour >= ${nextHour.toISOString()}::timestamptz), 0)::int as recent
      from (${changed(sql`${deliveryCounts}`)} union all ${changed(sql`${deliveryCountChanges}`)}) as ${deliveries}
      group by 1, 2, 3, 4, 5 having sum(n) <> 0
      union all
      select ${integration}, ${dayOf(sql`${yesterday.toISOString()}::timestamptz`)}, ${deliveries.state},
        ${deliveries.reason}, null, 0, count(*)::int
      from ${deliveries}
      where ${eq(deliveries.orgId, orgId)} and ${isSince(yesterday)} and ${isBefore(nextHour)}
        and ${isNotNull(deliveries.channel)}
      group by 1, 3, 4
    ), by_integration as materialized (
      select integration_id, day, ${sumOf(IS_SENT)} as sent_of_day, ${sumOf(IS_MISSED)} as missed_of_day,
        ${sumOf(sql`${deliveries.state} = 'failed'`)} as failed_of_day,
        ${sumOf(sql`${deliveries.state} = 'dropped'`)} as dropped_of_day,
        ${sumOf(sql`${deliveries.state} in ('waiting', 'retrying')`)} as open_of_day,
        max(missed_hour) filter (where n > 0) as missed_hour, ${RECENT_OUTCOMES}
      from counted as ${deliveries} group by integration_id, day
    ), by_day as (
      select ${DAY} as day, sum(sent_of_day) as sent, sum(failed_of_day) as failed, sum(dropped_of_day) as dropped,
        sum(open_of_day) as open
      from by_integration c group by c.day order by 1
    ), recent as (
      select ${RECENT_SUMS} from by_integration
    ), of_integrations as (
      select integration_id, ${DAY} as day, sent_of_day, missed_of_day, missed_hour, ${RECENT_NAMES}
      from by_integration c
      where c.day >= ${beginOf(integrationDays).toISOString()}::timestamptz order by 2
    )
    select coalesce((select json_agg(by_day) from by_day), '[]') as days,
      (select row_to_json(recent) from recent) as last_24_hours,
      coalesce((select json_agg(of_integrations) from of_integrations), '[]') as integrations`)) as unknown as [
    Counted,
  ]
  return integrationDays === 0 ? { ...found, integrations: [] } : found
}

type MissedHour = { readonly integrationId: string | null; readonly hour: Date }
/** With what became of its last attempt. */
type Missed = {
  readonly integration_id: string | null
  readonly delivery_id: string
  readonly at: string
  readonly reason: DeliveryReason | null
  readonly http_status: number | null
}

/** The newest of each that was made in its hour and has not arrived. */
export async function readLastMissed(
  db: Handle,
  orgId: string,
  hours: readonly MissedHour[],
): Promise<readonly Missed[]> {
  const given = hours.map(({ integrationId, hour }) => {
    // One that begins a day may be all of it, of which none is newer.
    const until = new Date(hour.getTime() + (hour.getTime() % DAY_MS === 0 ? DAY_MS : HOUR_MS))
    return {
      integration_id: integrationId,
      first: idBefore(hour),
      last: idAfter(until),
      hour: hour.toISOString(),
      until: until.toISOString(),
    }
  })
  const ofIntegrations = given.filter(({ integration_id }) => integration_id !== null)
  const ofMembers = given.filter(({ integration_id }) => integration_id === null)
  return [
    ...(await readNewestMissed(db, orgId, ofIntegrations, isTo(sql`h.integration_id`))),
    ...(await readNewestMissed(db, orgId, ofMembers, sql`${deliveries.integrationId} is null`)),
  ]
}

/**
 * Each by its index: of an integration by that, of members by the time. Apart, and within the time of all of them, which
 * leaves out most months: otherwise the planner expects so much that it compiles the statement, which takes longer than all.
 */
async function readNewestMissed(
  db: Handle,
  orgId: string,
  given: readonly { first: string; last: string }[],
  which: SQL,
): Promise<readonly Missed[]> {
  if (given.length === 0) return []
  const first = given.map((one) => one.first).toSorted()[0]!
  const last = given
    .map((one) => one.last)
    .toSorted()
    .at(-1)!
  return db.execute(sql`
    select h.integration_id, d.id as delivery_id, d.reason, coalesce(a.started_at, d.created_at) as at, a.http_status
    from json_to_recordset(${JSON.stringify(given)}::text::json) as h(
      integration_id text, first text, last text, hour timestamptz, until timestamptz)
    cross join lateral (
      select * from ${deliveries}
      where ${eq(deliveries.orgId, orgId)} and ${which} and id >= h.first and id < h.last
        and id >= ${first} and id < ${last}
        and created_at >= h.hour and created_at < h.until and channel is not null and ${IS_MISSED}
      order by id desc limit 1
    ) d
    left join lateral (
      select a.started_at, a.http_status
      from messages m join attempts a on a.org_id = m.org_id and a.message_id = m.id and a.number = m.attempts
      where m.org_id = d.org_id and m.id = d.message_id limit 1
    ) a on true`)
}
