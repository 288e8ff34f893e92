/** How the command ended, in the word of the runner that ran it. */
import type { Transaction } from '../../../db/connect.ts'
import { notify } from '../../../db/listen.ts'
import { deployments } from '../../../db/schema.ts'
import type { DeploymentCode } from '../../contracts/deployment-states.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { Clock } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import {
  isDeployment,
  isLost,
  lockDeployment,
  presentDeployment,
  requireFence,
  type Deployment,
} from './deployment-rows.ts'
import { failDeployment } from './fail-deployment.ts'
import { followDeployment } from './follow-deployment.ts'
import { runnerLease } from './lease.ts'

type Ending = { readonly exitCode: number | null; readonly code: DeploymentCode | undefined }

export const finishDeployment: Verb<'finishDeployment', WithDirectory> = write(
  { by: 'principal', events: 'deploy.failed' },
  async ({ tx, clock, principal, directory }, { alias, deployment_id, fence, exit_code, code }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    const deployment = await lockDeployment(tx, app, deployment_id)
    requireFence(deployment, fence)
    const ended = await finish(tx, clock, deployment, { exitCode: exit_code, code })
    return presentDeployment(ended)
  },
)

async function finish(
  tx: Transaction,
  clock: Clock,
  deployment: Deployment,
  ending: Ending,
): Promise<Deployment> {
  const { exitCode } = ending
  if (isLost(deployment)) {
    // It stays failed, as everybody was told; but now the next one may begin.
    return change(tx, deployment, { exitCode, releasedAt: clock() })
  }
  // A repeated report.
  if (deployment.state !== 'running') return deployment
  const outcome = outcomeOf(deployment, ending)
  if (outcome === 'succeeded' || outcome === 'cancelled') {
    const now = clock()
    const ended = await change(tx, deployment, {
      state: outcome,
      exitCode,
      endedAt: now,
      releasedAt: now,
      ...runnerLease.given,
    })
    await followDeployment(tx, clock, ended)
    return ended
  }
  const failed = await failDeployment(tx, clock, deployment, { code: outcome, exitCode, actorId: null })
  return failed!
}

function outcomeOf({ cancelRequestedAt }: Deployment, { exitCode, code }: Ending) {
  // It was done before the request to stop arrived.
  if (exitCode === 0 && code === undefined) return 'succeeded'
  if (cancelRequestedAt !== null) return 'cancelled'
  return code ?? 'BUILD_FAILED'
}

async function change(
  tx: Transaction,
  deployment: Deployment,
  values: Partial<Deployment>,
): Promise<Deployment> {
  const [changed] = await tx.update(deployments).set(values).where(isDeployment(deployment)).returning()
  await notify(tx, 'deployments', deployment.appId)
  return changed!
}
