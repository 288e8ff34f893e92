/** Runs beyond those that are kept of each pipeline, and workers that were not heard from for a week. */
import { lt, sql } from '../../../db/drizzle.ts'
import { pipelineWorkers } from '../../../db/schema.ts'
import { PIPELINE_RUNS } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import type { PipelineKey } from './pipeline-rows.ts'

const WEEK_MS = 7 * 24 * 60 * 60 * 1000
/** Pipelines in one statement, so that nobody waits long behind it. */
const BATCH = 100

export async function sweepPipelineRuns({ db, clock }: Storage): Promise<void> {
  let last: PipelineKey = { orgId: '', id: '' }
  for (;;) {
    const page: readonly PipelineKey[] = await db.execute<PipelineKey>(sql`
      select org_id as "orgId", id from pipelines where (org_id, id) > (${last.orgId}, ${last.id})
      order by org_id, id limit ${sql.raw(String(BATCH))}`)
    await deleteOldRuns({ db, clock }, page)
    if (page.length < BATCH) break
    last = page.at(-1)!
  }
  await db
    .delete(pipelineWorkers)
    .where(lt(pipelineWorkers.lastSeenAt, new Date(clock().getTime() - WEEK_MS)))
}

async function deleteOldRuns({ db }: Storage, page: readonly PipelineKey[]): Promise<void> {
  await db.execute(sql`
    delete from pipeline_runs r using (
      select p."orgId" as org_id, p.id as pipeline_id, kept.id
      from json_to_recordset(${JSON.stringify(page)}::text::json) as p("orgId" text, id text)
      cross join lateral (
        select id from pipeline_runs
        where org_id = p."orgId" and pipeline_id = p.id
        order by id desc offset ${sql.raw(String(PIPELINE_RUNS.kept - 1))} limit 1
      ) kept
    ) oldest
    where r.org_id = oldest.org_id and r.pipeline_id = oldest.pipeline_id and r.id < oldest.id
      and r.ended_at is not null`)
}
