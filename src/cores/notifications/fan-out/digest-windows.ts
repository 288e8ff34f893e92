/** When digests go out: at the next full hour or the next 09:00, in the organization's time zone. */
import type { Handle } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'
import type { Timing } from '../../../contracts/channels.ts'

export type DigestTiming = Exclude<Timing, 'immediately'>
export type DigestWindows = Readonly<Record<DigestTiming, Date>>

/**
 * The ends of the windows that are open at a moment. Not within a transaction: a zone that this database does not know is
 * an error there, and counts as UTC.
 */
export async function windowsAfter(db: Handle, zone: string, now: Date): Promise<DigestWindows> {
  return ends(db, zone, now).catch(() => ends(db, 'UTC', now))
}

/** The local time is made an instant on its own day, so 09:00 stays 09:00 on both sides of a change of clocks. */
async function ends(db: Handle, zone: string, now: Date): Promise<DigestWindows> {
  const [row] = await db.execute<{ hourly: string; daily: string }>(sql`
    select date_trunc('hour', at, zone) + interval '1 hour' as hourly,
      case when at < (day + time '09:00') at time zone zone
        then (day + time '09:00') at time zone zone
        else (day + 1 + time '09:00') at time zone zone end as daily
    from (
      select at, zone, (at at time zone zone)::date as day
      from (select ${now.toISOString()}::timestamptz as at, ${zone}::text as zone) given
    ) local`)
  return { hourly: new Date(row!.hourly), daily: new Date(row!.daily) }
}
