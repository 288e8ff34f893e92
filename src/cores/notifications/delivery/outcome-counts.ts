/** What became of deliveries, counted as a reader understands it: of what was to arrive, what did and what did not. */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../../db/connect.ts'
import { and, eq, gte, isNotNull, sql } from '../../../../db/drizzle.ts'
import { deliveries } from '../../../../db/schema.ts'
import { NOT_SENT_BY_CHOICE } from '../../../contracts/deliveries.ts'
import { idBefore } from './delivery-rows.ts'

export const DAY_MS = 24 * 60 * 60 * 1000

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
  last_missed: string | null
}

/** Of what had a destination: an event that matched nobody says nothing about delivery. */
export const since = (orgId: string, from: Date) =>
  and(
    eq(deliveries.orgId, orgId),
    gte(deliveries.id, idBefore(from)),
    gte(deliveries.createdAt, from),
    isNotNull(deliveries.channel),
  )

const sumOf = (which: SQL) => sql`coalesce(sum(n) filter (where ${which}), 0)::int`
const DAY = sql`to_char(day, 'YYYY-MM-DD')`

/** Those of the last 24 hours. */
const RECENT_OUTCOMES = sql.join(
  Object.entries(OUTCOMES).map(
    ([name, which]) => sql`${sumOf(sql`${which} and is_recent`)} as ${sql.identifier(name)}`,
  ),
  sql`, `,
)

type Counted = { days: Day[]; last_24_hours: OutcomeCounts; integrations: IntegrationDay[] }

/**
 * By day in UTC, and the last of those days by integration, too. The rows are read once and counted by whatever tells them
 * apart; those few counts are then added up by what they mean, under the name of the table.
 */
export async function countDeliveries(
  db: Handle,
  orgId: string,
  now: Date,
  { days, integrationDays }: { days: number; integrationDays: number },
): Promise<Counted> {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS
  const beginOf = (count: number) => new Date(today - (count - 1) * DAY_MS)
  const yesterday = new Date(now.getTime() - DAY_MS).toISOString()
  const [found] = (await db.execute(sql`
    with counted as materialized (
      select ${integrationDays > 0 ? sql`${deliveries.integrationId}` : sql`null::text`} as integration_id,
        (${deliveries.createdAt} at time zone 'UTC')::date as day, ${deliveries.state} as state,
        ${deliveries.reason} as reason, ${deliveries.createdAt} >= ${yesterday}::timestamptz as is_recent,
        count(*)::int as n, max(${deliveries.id}) as last
      from ${deliveries} where ${since(orgId, beginOf(days))} group by 1, 2, 3, 4, 5
    ), by_day as (
      select ${DAY} as day, ${sumOf(IS_SENT)} as sent, ${sumOf(sql`${deliveries.state} = 'failed'`)} as failed,
        ${sumOf(sql`${deliveries.state} = 'dropped'`)} as dropped,
        ${sumOf(sql`${deliveries.state} in ('waiting', 'retrying')`)} as open
      from counted as ${deliveries} group by deliveries.day order by 1
    ), by_integration as (
      select integration_id, ${DAY} as day, ${sumOf(IS_SENT)} as sent_of_day, ${sumOf(IS_MISSED)} as missed_of_day,
        max(last) filter (where ${IS_MISSED}) as last_missed, ${RECENT_OUTCOMES}
      from counted as ${deliveries}
      where deliveries.day >= ${beginOf(integrationDays).toISOString().slice(0, 10)}::date
      group by integration_id, deliveries.day order by 2
    ), recent as (
      select ${RECENT_OUTCOMES} from counted as ${deliveries}
    )
    select coalesce((select json_agg(by_day) from by_day), '[]') as days,
      (select row_to_json(recent) from recent) as last_24_hours,
      coalesce((select json_agg(by_integration) from by_integration), '[]') as integrations`)) as unknown as [
    Counted,
  ]
  return found
}
