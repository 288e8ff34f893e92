/** A waiting deployment is cancelled at once; the runner of a running one is asked to stop its command. */
import { deployments } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { isDeployment, lockDeployment, presentDeployment } from './deployment-rows.ts'
import { followDeployment } from './follow-deployment.ts'

export const cancelDeployment: Verb<'cancelDeployment', WithDirectory> = write(
  { by: 'principal', audit: 'deployment.cancelled' },
  async ({ tx, clock, principal, directory, audit }, { alias, deployment_id, only_queued }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    const deployment = await lockDeployment(tx, app, deployment_id)
    if (deployment.state === 'cancelled' || deployment.cancelRequestedAt !== null) {
      return presentDeployment(deployment)
    }
    if (deployment.state !== 'queued' && deployment.state !== 'running') {
      throw new ServiceError('CONFLICT', 'This deployment has ended')
    }
    if (only_queued && deployment.state === 'running') {
      throw new ServiceError('CONFLICT', 'A runner has taken this deployment')
    }
    const now = clock()
    const [cancelled] = await tx
      .update(deployments)
      .set({
        cancelRequestedAt: now,
        ...(deployment.state === 'queued' && { state: 'cancelled' as const, endedAt: now }),
      })
      .where(isDeployment(deployment))
      .returning()
    await followDeployment(tx, clock, cancelled!)
    await audit('deployment.cancelled', `${alias}: ${deployment.id}`)
    return presentDeployment(cancelled!)
  },
)
