/**
 * Leases of processes that answer calls. They commit locally: a standby that hangs must not end them, because without its lease
 * a process answers nobody.
 */
import type { SQL } from 'drizzle-orm'
import { keptLocally } from '../../db/commit-locally.ts'
import type { Handle } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import { REMOTE_ANSWER_SECONDS } from '../contracts/limits.ts'

/** Longer than a failover takes: calls that wait for one are answered. */
export const PROCESS_LEASE_MS = 30_000

export const secondsFromNow = (seconds: number): SQL =>
  sql`clock_timestamp() + make_interval(secs => ${String(seconds)}::double precision)`

/** Of every kind. */
const LONGEST_SECONDS = Math.max(PROCESS_LEASE_MS / 1000, REMOTE_ANSWER_SECONDS)

/** The database has gone back, and may lack leases that were given before: no receipt is final until they are over. */
export async function waitForLostLeases(db: Handle): Promise<void> {
  await db.execute(sql`
    insert into processes (name, until, is_remote)
    values ('before the database went back', ${keptLocally(secondsFromNow(LONGEST_SECONDS))}, false)
    on conflict (name) do update set until = excluded.until`)
}
