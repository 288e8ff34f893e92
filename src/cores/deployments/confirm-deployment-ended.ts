/** A person's word that the command of a lost runner does not run any more: the next deployment may begin. */
import { deployments } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireAppWriter } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { withTransaction } from '../transaction.ts'
import { isDeployment, isLost, lockDeployment, presentDeployment } from './deployment-rows.ts'

export const confirmDeploymentEnded =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'confirmDeploymentEnded'> =>
  (principal, { alias, deployment_id }) =>
    withTransaction(db, async (tx) => {
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
      await recordAudit(tx, clock, principal, {
        orgId: app.orgId,
        action: 'deployment.ended_confirmed',
        subject: `${alias}: ${deployment.id}`,
      })
      return presentDeployment(released!)
    })
