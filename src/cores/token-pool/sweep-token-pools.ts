/** Removes what is of no use once its day is over: closed reservations, and then the pools they were taken from. */
import { sql } from '../../../db/drizzle.ts'
import type { Storage } from '../dependencies.ts'

const RESERVATION_DAYS = 7
const POOL_DAYS = 90

export async function sweepTokenPools({ db, clock }: Storage): Promise<void> {
  // Not by the clock of this process alone: ahead by months, it would give everybody a second allowance today.
  const now = sql`least(${clock().toISOString()}::timestamptz, clock_timestamp())`
  await db.execute(sql`
    delete from token_reservations where state in ('settled', 'released')
      and expires_at < ${now} - make_interval(days => ${String(RESERVATION_DAYS)}::int)`)
  await db.execute(sql`
    delete from token_pools where reserved = 0
      and day < (${now} at time zone 'UTC')::date - ${String(POOL_DAYS)}::int`)
}
