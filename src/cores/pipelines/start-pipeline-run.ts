import { pipelineRuns } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { PIPELINE_RUNS } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireAppWriter } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { withTransaction } from '../transaction.ts'
import { countOpenRuns } from './open-runs.ts'
import { minutesAfter, presentRun, requireLocked } from './pipeline-rows.ts'

/** Also of a pipeline that is off or has no schedule: it says when, a person says now. */
export const startPipelineRun =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'startPipelineRun'> =>
  (principal, { alias, pipeline_id }) =>
    withTransaction(db, async (tx) => {
      const app = await requireAppWriter(directory, tx, principal, alias)
      const pipeline = await requireLocked(tx, app, pipeline_id)
      const { running, waiting } = await countOpenRuns(tx, pipeline)
      if (pipeline.concurrency === 'skip' && running + waiting > 0) {
        throw new ServiceError('CONFLICT', 'The run before is not done', {
          hint: 'Wait for it, or set the concurrency of the pipeline to queue or allow.',
        })
      }
      if (waiting >= PIPELINE_RUNS.waiting) {
        throw new ServiceError('CONFLICT', `At most ${PIPELINE_RUNS.waiting} runs of a pipeline may wait`)
      }
      const now = clock()
      const [run] = await tx
        .insert(pipelineRuns)
        .values({
          orgId: app.orgId,
          id: makeId('prn', now.getTime()),
          appId: app.id,
          pipelineId: pipeline.id,
          state: 'queued',
          dueAt: now,
          isScheduled: false,
          claimableUntil: minutesAfter(now, pipeline.graceMinutes),
        })
        .returning()
      const subject = `${alias}: ${pipeline.name}`
      await recordAudit(tx, clock, principal, { orgId: app.orgId, action: 'pipeline.run_started', subject })
      return presentRun(run!, pipeline.name, { withMessage: true })
    })
