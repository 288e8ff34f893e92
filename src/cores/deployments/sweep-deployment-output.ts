/** Output of long ago. The deployment itself stays. */
import { sql } from '../../../db/drizzle.ts'
import { DEPLOYMENT_OUTPUT } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'

/** Rows in one statement, each of at most 64 KiB, so that nobody waits long behind it. */
const BATCH = 1_000

export async function sweepDeploymentOutput({ db, clock }: Storage): Promise<void> {
  const before = new Date(clock().getTime() - DEPLOYMENT_OUTPUT.days * 24 * 60 * 60 * 1000)
  for (let deleted = BATCH; deleted === BATCH;) {
    const rows = await db.execute(sql`
      delete from deployment_output where (org_id, deployment_id, "position") in (
        select org_id, deployment_id, "position" from deployment_output
        where at < ${before.toISOString()}::timestamptz limit ${sql.raw(String(BATCH))})
      returning "position"`)
    deleted = rows.length
  }
}
