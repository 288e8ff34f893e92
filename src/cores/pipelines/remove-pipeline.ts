import { pipelineRuns, pipelines } from '../../../db/schema.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { hasPipelineKey, isRunOf, requireLocked } from './pipeline-rows.ts'

/** A worker that runs it learns of it when it reports: the run does not exist any more. */
export const removePipeline: Verb<'removePipeline', WithDirectory> = write(
  { by: 'principal', audit: 'pipeline.removed' },
  async ({ tx, principal, directory, audit }, { alias, pipeline_id }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    const pipeline = await requireLocked(tx, app, pipeline_id)
    await tx.delete(pipelineRuns).where(isRunOf(pipeline))
    await tx.delete(pipelines).where(hasPipelineKey(pipeline))
    await audit('pipeline.removed', `${alias}: ${pipeline.name}`)
    return {}
  },
)
