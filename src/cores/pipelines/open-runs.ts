/** The runs of a pipeline that are not done: one runs, or waits to be claimed. */
import type { Transaction } from '../../../db/connect.ts'
import { and, count, eq, isNotNull } from '../../../db/drizzle.ts'
import { pipelineRuns } from '../../../db/schema.ts'
import { isRunOf, type Pipeline } from './pipeline-rows.ts'

export type OpenRuns = { readonly running: number; readonly waiting: number }

/** Two questions: each is a few entries of an index of its own. */
export async function countOpenRuns(tx: Transaction, pipeline: Pipeline): Promise<OpenRuns> {
  const [running] = await tx
    .select({ n: count() })
    .from(pipelineRuns)
    .where(and(isRunOf(pipeline), eq(pipelineRuns.state, 'running')))
  const [waiting] = await tx
    .select({ n: count() })
    .from(pipelineRuns)
    .where(
      and(isRunOf(pipeline), eq(pipelineRuns.appId, pipeline.appId), isNotNull(pipelineRuns.claimableUntil)),
    )
  return { running: running!.n, waiting: waiting!.n }
}
