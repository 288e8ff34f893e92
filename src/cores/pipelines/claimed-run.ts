/** The run that a worker reports about, and its pipeline: locked, in that order, as everywhere. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { pipelineRuns } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { App } from '../apps/index.ts'
import { hasRunKey, lockPipeline, type Pipeline, type PipelineRun } from './pipeline-rows.ts'

export async function requireClaimedRun(
  tx: Transaction,
  app: App,
  { run_id, fence }: { run_id: string; fence: number },
): Promise<{ pipeline: Pipeline; run: PipelineRun }> {
  const isInApp = and(hasRunKey({ orgId: app.orgId, id: run_id }), eq(pipelineRuns.appId, app.id))
  const [found] = await tx.select({ id: pipelineRuns.pipelineId }).from(pipelineRuns).where(isInApp)
  const pipeline = found && (await lockPipeline(tx, { orgId: app.orgId, id: found.id }))
  if (!pipeline) throw notFound()
  const [run] = await tx.select().from(pipelineRuns).where(isInApp)
  if (!run) throw notFound()
  if (run.fence !== fence) throw notClaimed('Another worker has claimed this run')
  return { pipeline, run }
}

export const notClaimed = (message: string) =>
  new ServiceError('CONFLICT', message, { hint: 'Stop the job, and claim the next run.' })
