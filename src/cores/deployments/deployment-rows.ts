/** Deployments as the operations find and return them. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { apps, deployments } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import type { App } from '../apps/index.ts'

export type Deployment = typeof deployments.$inferSelect

export const isDeployment = ({ orgId, id }: { orgId: string; id: string }) =>
  and(eq(deployments.orgId, orgId), eq(deployments.id, id))

const isDeploymentOf = ({ orgId, id: appId }: App, id: string) =>
  and(isDeployment({ orgId, id }), eq(deployments.appId, appId))

export async function requireDeployment(db: Handle, app: App, id: string): Promise<Deployment> {
  const [found] = await db.select().from(deployments).where(isDeploymentOf(app, id))
  if (!found) throw notFound()
  return found
}

/** Everything that changes a deployment holds its row: each finds the state that the one before has left. */
export async function lockDeployment(tx: Transaction, app: App, id: string): Promise<Deployment> {
  const [found] = await tx.select().from(deployments).where(isDeploymentOf(app, id)).for('update')
  if (!found) throw notFound()
  return found
}

/** Whoever adds to the queue of an app or claims from it waits for each other here. */
export async function lockQueue(tx: Transaction, { orgId, id }: App): Promise<void> {
  await tx
    .select({ id: apps.id })
    .from(apps)
    .where(and(eq(apps.orgId, orgId), eq(apps.id, id)))
    .for('no key update')
}

/** Its runner vanished, and nobody has said yet that its command has ended. */
export const isLost = ({ code, releasedAt }: Deployment): boolean =>
  code === 'RUNNER_LOST' && releasedAt === null

/** A late report of another deployment's runner. No secret: whoever may report for the app may report for each of its runners. */
export function requireFence(deployment: Deployment, fence: number): void {
  if (deployment.startedAt === null || deployment.fence !== fence) throw notHeld()
}

export const notHeld = () =>
  new ServiceError('CONFLICT', 'This runner does not hold the deployment any more', {
    hint: 'Stop its command, and report when it has ended.',
  })

export const presentDeployment = (row: Deployment) => ({
  id: row.id,
  revision_id: row.revisionId,
  state: row.state,
  code: row.code,
  exit_code: row.exitCode,
  runner: row.runner,
  requested_by: row.requestedBy,
  requested_at: row.requestedAt.toISOString(),
  started_at: row.startedAt?.toISOString() ?? null,
  ended_at: row.endedAt?.toISOString() ?? null,
  cancel_requested: row.cancelRequestedAt !== null,
  blocks_next: isLost(row),
})
