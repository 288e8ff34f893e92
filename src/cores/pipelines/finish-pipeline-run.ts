import type { Transaction } from '../../../db/connect.ts'
import { and, gt, inArray } from '../../../db/drizzle.ts'
import { pipelineRuns } from '../../../db/schema.ts'
import { maskSecrets } from '../../contracts/mask-secrets.ts'
import { PIPELINE_TROUBLES } from '../../contracts/pipeline-states.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { notClaimed, requireClaimedRun } from './claimed-run.ts'
import { endRun } from './end-run.ts'
import { isRunOf, presentRun, type PipelineRun } from './pipeline-rows.ts'
import { TROUBLE_EVENTS } from './pipeline-trouble.ts'
import { refreshPresence } from './worker-presence.ts'

export const finishPipelineRun: Verb<'finishPipelineRun', WithDirectory> = write(
  { by: 'principal', events: TROUBLE_EVENTS },
  async ({ tx, clock, principal, directory }, { alias, succeeded, message, ...claim }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    const { pipeline, run } = await requireClaimedRun(tx, app, claim)
    // Taken for lost, it was only not heard from: how the job ended its worker knows.
    const isLost = run.state === 'failed' && run.code === 'WORKER_LOST'
    if (run.state !== 'running' && !isLost) {
      // The answer to the first report was lost, and it is made again.
      if (isReportedAs(run, succeeded)) return presentRun(run, pipeline.name, { withMessage: true })
      throw notClaimed('This run has ended')
    }
    await refreshPresence(tx, { orgId: app.orgId, appId: app.id, name: run.worker! }, clock())
    const ended = await endRun(tx, clock, pipeline, run, {
      state: succeeded ? 'succeeded' : 'failed',
      code: succeeded ? null : 'REPORTED',
      message: readableMessage(message),
      counts: !isLost || !(await hasLaterOutcome(tx, run)),
    })
    return presentRun(ended, pipeline.name, { withMessage: true })
  },
)

/** The word of an old run changes nothing about what was told of a later one. */
async function hasLaterOutcome(tx: Transaction, run: PipelineRun): Promise<boolean> {
  const [later] = await tx
    .select({ id: pipelineRuns.id })
    .from(pipelineRuns)
    .where(
      and(
        isRunOf({ orgId: run.orgId, id: run.pipelineId }),
        gt(pipelineRuns.dueAt, run.dueAt),
        inArray(pipelineRuns.state, ['succeeded', ...PIPELINE_TROUBLES]),
      ),
    )
    .limit(1)
  return later !== undefined
}

const isReportedAs = ({ state, code }: PipelineRun, succeeded: boolean): boolean =>
  succeeded ? state === 'succeeded' : state === 'failed' && code === 'REPORTED'

/** First what cannot be seen: in the midst of a secret it would hide it from the mask. */
function readableMessage(text = ''): string | null {
  const line = text.replaceAll(/[\r\n\t\p{Zl}\p{Zp}]+/gu, ' ').replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '')
  return maskSecrets(line).trim() || null
}
