/** A deployment that had succeeded turns out to be broken: for a day it may still become failed. */
import { ServiceError } from '../../contracts/errors.ts'
import { ROLLOUT_REPORT_SECONDS } from '../../contracts/limits.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { lockDeployment, presentDeployment } from './deployment-rows.ts'
import { failDeployment } from './fail-deployment.ts'

export const reportBrokenRollout: Verb<'reportBrokenRollout', WithDirectory> = write(
  { by: 'principal', audit: 'deployment.reported_broken', events: 'deploy.failed' },
  async ({ tx, clock, principal, directory, audit }, { alias, deployment_id }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    const deployment = await lockDeployment(tx, app, deployment_id)
    if (deployment.code === 'ROLLOUT_FAILED') return presentDeployment(deployment)
    if (deployment.state !== 'succeeded' || deployment.endedAt === null) {
      throw new ServiceError('CONFLICT', 'Only a deployment that has succeeded can break afterwards')
    }
    if (clock().getTime() - deployment.endedAt.getTime() > ROLLOUT_REPORT_SECONDS * 1000) {
      throw new ServiceError('CONFLICT', 'A deployment can be reported as broken for a day, not later')
    }
    const failed = await failDeployment(tx, clock, deployment, {
      code: 'ROLLOUT_FAILED',
      actorId: principal.userId,
    })
    await audit('deployment.reported_broken', `${alias}: ${deployment.id}`)
    return presentDeployment(failed!)
  },
)
