/**
 * Deploys the newest revision that succeeded before the last attempt and is another one: after a deployment that failed
 * halfway the one before it, after one that succeeded and turned out to be bad the one before that.
 */
import type { Transaction } from '../../../db/connect.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { requireAppWriter, type App } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { lockQueue, presentDeployment, type Deployment } from './deployment-rows.ts'
import { findEarlier } from './find-deployments.ts'
import { queueDeployment } from './queue-deployment.ts'

export const rollBackDeployment: Verb<'rollBackDeployment', WithDirectory> = write(
  { by: 'principal', audit: 'deployment.rolled_back' },
  async ({ tx, clock, principal, directory, audit }, { alias }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    await lockQueue(tx, app)
    const { revisionId } = await requireEarlier(tx, app)
    const deployment = await queueDeployment(tx, clock, app, { revisionId, by: principal })
    await audit('deployment.rolled_back', `${alias}: ${deployment.id}, ${revisionId}`)
    return presentDeployment(deployment)
  },
)

async function requireEarlier(tx: Transaction, app: App): Promise<Deployment> {
  const earlier = await findEarlier(tx, app)
  if (!earlier) throw new ServiceError('CONFLICT', 'No other revision of this app has been deployed before')
  return earlier
}
