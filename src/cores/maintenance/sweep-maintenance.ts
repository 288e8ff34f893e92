/**
 * What is not kept for good: which times there were, the text of transcripts, and evidence that nothing cites. Runs, their
 * keys, and the digests of their steps stay.
 */
import type { SQL } from 'drizzle-orm'
import { sql } from '../../../db/drizzle.ts'
import { MAINTENANCE_SLOT_DAYS, MAINTENANCE_TRANSCRIPT_DAYS } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'

/** Rows in one statement, so that nobody waits long behind it. */
const BATCH = sql.raw('1000')
const DAY_MS = 24 * 60 * 60 * 1000

export async function sweepMaintenance({ db, clock }: Storage): Promise<void> {
  const before = (days: number) =>
    sql`${new Date(clock().getTime() - days * DAY_MS).toISOString()}::timestamptz`
  await untilDone(
    db,
    sql`delete from maintenance_slots where (org_id, app_id, slot_at) in (
      select org_id, app_id, slot_at from maintenance_slots
      where slot_at < ${before(MAINTENANCE_SLOT_DAYS)} limit ${BATCH}) returning 1`,
  )
  await untilDone(
    db,
    sql`update run_steps set sealed_transcript = null where (org_id, execution_id, number) in (
      select org_id, execution_id, number from run_steps
      where sealed_transcript is not null and at < ${before(MAINTENANCE_TRANSCRIPT_DAYS)} limit ${BATCH}) returning 1`,
  )
  await untilDone(
    db,
    sql`delete from run_evidence where (org_id, execution_id, ref) in (
      select org_id, execution_id, ref from run_evidence
      where not pinned and read_at < ${before(MAINTENANCE_TRANSCRIPT_DAYS)} limit ${BATCH}) returning 1`,
  )
}

async function untilDone(db: Storage['db'], statement: SQL): Promise<void> {
  for (;;) if ((await db.execute(statement)).length === 0) return
}
