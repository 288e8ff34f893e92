/** A person's word that the command of a lost runner does not run any more: the next deployment may begin. */
import { deployments } from '../../../db/schema.ts'
import { notify } from '../../../db/listen.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { isDeployment, isLost, lockDeployment, presentDeployment } from './deployment-rows.ts'

export const confirmDeploymentEnded: Verb<'confirmDeploymentEnded', WithDirectory> = write(
  { by: 'principal', audit: 'deployment.ended_confirmed' },
  async ({ tx, clock, principal, directory, audit }, { alias, deployment_id }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    const deployment = await lockDeployment(tx, app, deployment_id)
    if (deployment.code !== 'RUNNER_LOST') {
      throw new ServiceError('CONFLICT', 'The runner of this deployment was not lost')
    }
    if (!isLost(deployment)) return presentDeployment(deployment)
    const [released] = await tx
      .update(deployments)
      .set({ releasedAt: clock() })
      .where(isDeployment(deployment))
      .returning()
    await notify(tx, 'deployments', app.id)
    await audit('deployment.ended_confirmed', `${alias}: ${deployment.id}`)
    return presentDeployment(released!)
  },
)
