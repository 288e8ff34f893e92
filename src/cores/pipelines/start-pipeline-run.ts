import { pipelineRuns } from '../../../db/schema.ts'
import { notify } from '../../../db/listen.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { PIPELINE_RUNS } from '../../contracts/limits.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { countOpenRuns } from './open-runs.ts'
import { minutesAfter, presentRun, requireLocked } from './pipeline-rows.ts'

/** Also of a pipeline that is off or has no schedule: it says when, a person says now. */
export const startPipelineRun: Verb<'startPipelineRun', WithDirectory> = write(
  { by: 'principal', audit: 'pipeline.run_started' },
  async ({ tx, clock, principal, directory, audit }, { alias, pipeline_id }) => {
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
    await notify(tx, 'pipelines', app.id)
    await audit('pipeline.run_started', `${alias}: ${pipeline.name}`)
    return presentRun(run!, pipeline.name, { withMessage: true })
  },
)
