/**
 * Brings back checks whose next run is further away than it can be: a clock was ahead when it was set. Without this they
 * would be silent for as long as the clock was ahead, and nobody would be told.
 */
import { sql } from '../../../db/drizzle.ts'
import type { Storage } from '../dependencies.ts'

export async function rescheduleChecks({ db }: Pick<Storage, 'db'>): Promise<void> {
  await db.execute(sql`
    update checks c set next_run_at = statement_timestamp() + make_interval(secs => interval_seconds)
    where claim is null and next_run_at > statement_timestamp() + make_interval(secs => 2 * interval_seconds)
      and not exists (
        select 1 from jsonb_array_elements(c.maintenance_windows) w
        where (w ->> 'until')::timestamptz + make_interval(secs => c.interval_seconds) >= c.next_run_at
      )`)
}
