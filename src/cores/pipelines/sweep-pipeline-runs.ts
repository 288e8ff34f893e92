/** Runs beyond those that are kept of each pipeline, and workers that were not heard from for a week. */
import { lt, sql } from '../../../db/drizzle.ts'
import { pipelineWorkers } from '../../../db/schema.ts'
import { PIPELINE_RUNS } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'

const WEEK_MS = 7 * 24 * 60 * 60 * 1000

export async function sweepPipelineRuns({ db, clock }: Storage): Promise<void> {
  await db.execute(sql`
    delete from pipeline_runs r using (
      select org_id, id, row_number() over (partition by org_id, pipeline_id order by id desc) as place
      from pipeline_runs
    ) old
    where old.place > ${sql.raw(String(PIPELINE_RUNS.kept))} and r.org_id = old.org_id and r.id = old.id
      and r.ended_at is not null`)
  await db
    .delete(pipelineWorkers)
    .where(lt(pipelineWorkers.lastSeenAt, new Date(clock().getTime() - WEEK_MS)))
}
