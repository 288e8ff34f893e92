import { pipelineRuns, pipelines } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireAppWriter } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { withTransaction } from '../transaction.ts'
import { hasPipelineKey, isRunOf, requireLocked } from './pipeline-rows.ts'

/** A worker that runs it learns of it when it reports: the run does not exist any more. */
export const removePipeline =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'removePipeline'> =>
  (principal, { alias, pipeline_id }) =>
    withTransaction(db, async (tx) => {
      const app = await requireAppWriter(directory, tx, principal, alias)
      const pipeline = await requireLocked(tx, app, pipeline_id)
      await tx.delete(pipelineRuns).where(isRunOf(pipeline))
      await tx.delete(pipelines).where(hasPipelineKey(pipeline))
      const subject = `${alias}: ${pipeline.name}`
      await recordAudit(tx, clock, principal, { orgId: app.orgId, action: 'pipeline.removed', subject })
      return {}
    })
