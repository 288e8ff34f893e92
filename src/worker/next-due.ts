/**
 * When each loop has something to do next, in one cheap statement: it then takes its turn at that time instead of every
 * second. Leases that are renewed meanwhile are asked for a little too early, which finds nothing.
 */
import type { SQL } from 'drizzle-orm'
import { sql } from '../../db/drizzle.ts'
import { LOAD_GIVE_UP_SECONDS } from '../contracts/limits.ts'
import type { Storage } from '../cores/dependencies.ts'

const checkOf = (kind: string): SQL => sql`(
  select min(next_run_at) from checks
  where (definition ->> 'kind') = ${kind}::text and claim is null and next_run_at is not null)`
const GIVE_UP = sql.raw(`interval '${LOAD_GIVE_UP_SECONDS} seconds'`)

/** `ahead`: of the database's clock, by which leases end, that of this process is so much. */
const EARLIEST = {
  event: () => sql`coalesce(
    (select occurred_at from outbox limit 1),
    (select recorded_at from events where fanned_out_at is null and fan_out_again_at is null limit 1),
    (select min(fan_out_again_at) from events where fanned_out_at is null))`,
  message: () => sql`(
    select next_at from messages where state in ('open', 'pending') and lease_until is null
    order by lease_until, next_at limit 1)`,
  messageLease: (ahead: SQL) =>
    sql`(select min(lease_until) from messages where state in ('claimed', 'sending')) + ${ahead}`,
  recovery: () => sql`(select min(next_at) from recoveries where state = 'running')`,
  check: () => sql`least(${checkOf('http')}, ${checkOf('logs')}, ${checkOf('judge')})`,
  checkLease: (ahead: SQL) => sql`(select min(lease_until) from checks where claim is not null) + ${ahead}`,
  deployment: (ahead: SQL) =>
    sql`(select min(lease_until) from deployments where state = 'running') + ${ahead}`,
  pipeline: (ahead: SQL) => sql`least(
    (select min(next_due_at) from pipelines where next_due_at is not null),
    (select min(claimable_until) from pipeline_runs where claimable_until is not null),
    (select min(least(lease_until + ${ahead}, times_out_at)) from pipeline_runs where state = 'running'))`,
  maintenance: (ahead: SQL) => sql`least(
    (select min(next_slot_at) from maintenance_settings where next_slot_at is not null),
    (select min(expires_at) from app_leases where execution_id is not null) + ${ahead})`,
  pullRequest: (ahead: SQL) => sql`(
    select min(greatest(next_at, lease_until + ${ahead})) from pull_requests where next_at is not null)`,
  trailStream: () => sql`(select min(next_at) from trail_streams)`,
  load: (ahead: SQL) => sql`(
    select min(coalesce(
      greatest(lease_until + ${ahead}, waits_until, case when state = 'uploading' then updated_at + ${GIVE_UP} end),
      created_at))
    from loads where state in ('uploading', 'running') or is_staged)`,
} as const satisfies Record<string, (ahead: SQL) => SQL>

export async function nextDue({ db, clock }: Storage, what: keyof typeof EARLIEST): Promise<Date | null> {
  const ahead = sql`(${clock().toISOString()}::timestamptz - clock_timestamp())`
  const [row] = await db.execute<{ ms: number | null }>(
    sql`select (extract(epoch from ${EARLIEST[what](ahead)}) * 1000)::float8 as ms`,
  )
  return row!.ms === null ? null : new Date(row!.ms)
}
