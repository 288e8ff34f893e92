/** The one way into failed: the state and its event in one transaction. */
import type { SQL } from 'drizzle-orm'
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { deployments } from '../../../db/schema.ts'
import type { DeploymentCode } from '../../contracts/deployment-states.ts'
import type { Clock } from '../dependencies.ts'
import { recordEvent } from '../outbox.ts'
import { isDeployment, type Deployment } from './deployment-rows.ts'
import { followDeployment } from './follow-deployment.ts'
import { runnerLease } from './lease.ts'

type Failure = {
  readonly code: DeploymentCode
  readonly exitCode?: number | null
  readonly actorId: string | null
  /** What else must still hold at this moment, such as that the lease is over. */
  readonly when?: SQL | undefined
}

/** Undefined: it has left the state that it was found in, and whoever moved it has recorded that. */
export async function failDeployment(
  tx: Transaction,
  clock: Clock,
  deployment: Pick<Deployment, 'orgId' | 'id' | 'state'>,
  { code, exitCode, actorId, when }: Failure,
): Promise<Deployment | undefined> {
  const now = clock()
  const [failed] = await tx
    .update(deployments)
    .set({
      state: 'failed',
      code,
      ...runnerLease.given,
      ...(exitCode !== undefined && { exitCode }),
      // One that had succeeded ended then.
      ...(deployment.state !== 'succeeded' && { endedAt: now }),
      // The command of a lost runner may live on.
      ...(code !== 'RUNNER_LOST' && { releasedAt: now }),
    })
    .where(and(isDeployment(deployment), eq(deployments.state, deployment.state), when))
    .returning()
  if (!failed) return undefined
  await notify(tx, 'deployments', failed.appId)
  await followDeployment(tx, clock, failed)
  await recordEvent(tx, clock, {
    orgId: failed.orgId,
    type: 'deploy.failed',
    subject: `deployments/${failed.id}`,
    source: 'deployments',
    // Nothing leads out of failed, so there is one for each deployment.
    dedupKey: `${failed.id}:failed`,
    actorId,
    appId: failed.appId,
    data: { deployment_id: failed.id, code },
  })
  return failed
}
