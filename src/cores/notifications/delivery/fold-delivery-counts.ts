/**
 * By how many the counts of deliveries have changed becomes part of the counts: what triggers add lies apart, so that nobody
 * waits for a counter. What is read is the sum of both, so it is right at every moment.
 */
import type { SQL } from 'drizzle-orm'
import { sql } from '../../../../db/drizzle.ts'
import type { Storage } from '../../dependencies.ts'

const AT_ONCE = 10_000
/** The last 24 hours are read by the hour; what is older, by the day. */
const HOURLY_DAYS = 2
const DAY_MS = 24 * 60 * 60 * 1000

const ADDED = sql`
  on conflict (org_id, hour, integration_id, state, reason) do update set n = delivery_counts.n + excluded.n`

export async function foldDeliveryCounts({ db }: Pick<Storage, 'db'>): Promise<void> {
  for (;;) {
    const [folded] = await db.execute<{ n: number }>(sql`
      with taken as (
        delete from delivery_count_changes where (org_id, hour, seq) in (
          select org_id, hour, seq from delivery_count_changes limit ${sql.raw(String(AT_ONCE))} for update skip locked)
        returning *
      ), added as (
        insert into delivery_counts (org_id, hour, integration_id, state, reason, n)
        select org_id, hour, integration_id, state, reason, sum(n) from taken
        group by 1, 2, 3, 4, 5 having sum(n) <> 0
        -- The same order everywhere: two that fold do not wait for each other.
        order by 1, 2, 3, 4, 5
        ${ADDED}
      )
      select count(*)::int as n from taken`)
    if (folded!.n < AT_ONCE) return
  }
}

/** Locked in the order of those that add: neither waits for the other in turn. */
const inOrder = (which: SQL): SQL => sql`(org_id, hour, integration_id, state, reason) in (
  select org_id, hour, integration_id, state, reason from delivery_counts where ${which}
  order by 1, 2, 3, 4, 5 for update)`

/** Those of older days become one a day, those that are none go, and those of deliveries that are gone. */
export async function sweepDeliveryCounts({ db, clock }: Storage, before: Date): Promise<void> {
  const isOver = sql`(n = 0 or hour < date_trunc('day', ${before.toISOString()}::timestamptz, 'UTC'))`
  await db.execute(sql`delete from delivery_counts where ${isOver} and ${inOrder(isOver)}`)
  const hourly = new Date(Math.floor(clock().getTime() / DAY_MS - HOURLY_DAYS) * DAY_MS)
  const isHourly = sql`(hour < ${hourly.toISOString()}::timestamptz and hour <> date_trunc('day', hour, 'UTC'))`
  await db.execute(sql`
    with taken as (
      delete from delivery_counts where ${isHourly} and ${inOrder(isHourly)}
      returning *
    )
    insert into delivery_counts (org_id, hour, integration_id, state, reason, n)
    select org_id, date_trunc('day', hour, 'UTC'), integration_id, state, reason, sum(n) from taken
    group by 1, 2, 3, 4, 5
    order by 1, 2, 3, 4, 5
    ${ADDED}`)
}
