/** What became of deliveries, counted as a reader understands it: of what was to arrive, what did and what did not. */
import type { SQL } from 'drizzle-orm'
import { and, eq, gte, isNotNull, sql } from '../../../../db/drizzle.ts'
import { deliveries } from '../../../../db/schema.ts'
import { NOT_SENT_BY_CHOICE } from '../../../contracts/deliveries.ts'
import { idBefore } from './delivery-rows.ts'

export const DAY_MS = 24 * 60 * 60 * 1000

export const countOf = (which: SQL) => sql<number>`(count(*) filter (where ${which}))::int`

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

type OutcomeCounts = Record<keyof typeof OUTCOMES, number>

/** As columns of a statement; `among`: of these rows only. */
export const outcomeCounts = (among: SQL = sql`true`) =>
  Object.fromEntries(
    Object.entries(OUTCOMES).map(([name, which]) => [name, countOf(sql`${which} and ${among}`)]),
  ) as { [Name in keyof OutcomeCounts]: SQL<number> }

/** Of what had a destination: an event that matched nobody says nothing about delivery. */
export const since = (orgId: string, from: Date) =>
  and(
    eq(deliveries.orgId, orgId),
    gte(deliveries.id, idBefore(from)),
    gte(deliveries.createdAt, from),
    isNotNull(deliveries.channel),
  )

export const DAY = sql<string>`to_char(${deliveries.createdAt} at time zone 'UTC', 'YYYY-MM-DD')`
