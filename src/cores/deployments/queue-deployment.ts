/** Puts a deployment at the end of the queue of its app. */
import type { Transaction } from '../../../db/connect.ts'
import { and, count, eq, max } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { deployments } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { DEPLOYMENTS_QUEUED_MAX } from '../../contracts/limits.ts'
import type { App } from '../apps/index.ts'
import { notifyChange } from '../changes/index.ts'
import type { Clock } from '../dependencies.ts'
import type { Deployment } from './deployment-rows.ts'

/** Under the lock of the queue. */
export async function queueDeployment(
  tx: Transaction,
  clock: Clock,
  app: App,
  requested: { revisionId: string; by: { userId: string | null; userName: string } },
): Promise<Deployment> {
  const { orgId, id: appId } = app
  const ofApp = and(eq(deployments.orgId, orgId), eq(deployments.appId, appId))
  const [queued] = await tx
    .select({ count: count() })
    .from(deployments)
    .where(and(ofApp, eq(deployments.state, 'queued')))
  if (queued!.count >= DEPLOYMENTS_QUEUED_MAX) {
    throw new ServiceError('CONFLICT', `${DEPLOYMENTS_QUEUED_MAX} deployments of this app wait already`, {
      hint: 'Start a runner, or cancel some of them.',
    })
  }
  const [last] = await tx
    .select({ fence: max(deployments.fence) })
    .from(deployments)
    .where(ofApp)
  const now = clock()
  const [deployment] = await tx
    .insert(deployments)
    .values({
      orgId,
      id: makeId('dep', now.getTime()),
      appId,
      revisionId: requested.revisionId,
      fence: (last?.fence ?? 0) + 1,
      state: 'queued',
      requestedById: requested.by.userId,
      requestedBy: requested.by.userName,
      requestedAt: now,
    })
    .returning()
  await notify(tx, 'deployments', appId)
  await notifyChange(tx, 'deployments', { orgId })
  return deployment!
}
