/** Keeps what a command wrote: whole lines, masked, the beginning and the end of it; and prolongs the lease. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, gte, lte } from '../../../db/drizzle.ts'
import { deploymentOutput } from '../../../db/schema.ts'
import { DEPLOYMENT_OUTPUT } from '../../contracts/limits.ts'
import { maskSecrets } from '../../contracts/mask-secrets.ts'
import { plainText } from '../../contracts/plain-text.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { lockDeployment, notHeld, requireFence, type Deployment } from './deployment-rows.ts'
import { runnerLease } from './lease.ts'
import { completeLength, withoutBytes } from './output-text.ts'

export const reportDeploymentOutput: Verb<'reportDeploymentOutput', WithDirectory> = write(
  { by: 'principal' },
  async ({ tx, clock, principal, directory }, { alias, deployment_id, fence, text, position, last }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    const deployment = await lockDeployment(tx, app, deployment_id)
    requireFence(deployment, fence)
    if (deployment.state !== 'running') throw notHeld()
    const received = deployment.outputBytes
    // A repeated request brings again what was taken from the first one.
    const fresh = withoutBytes(text.toWellFormed(), Math.max(0, received - position))
    const start = Math.max(received, position)
    const taken = fresh.slice(0, last ? undefined : completeLength(fresh))
    const until = taken === '' && fresh !== '' ? received : start + Buffer.byteLength(taken)
    if (taken !== '') {
      await tx.insert(deploymentOutput).values({
        orgId: app.orgId,
        deploymentId: deployment.id,
        position: start,
        until,
        text: maskSecrets(plainText(taken)),
        at: clock(),
      })
    }
    const gap = until > received ? start - received : 0
    const trimmed = await trimMiddle(tx, deployment, until)
    const droppedBytes = deployment.droppedBytes + gap + trimmed
    await runnerLease.renew(tx, runnerLease.isHeld(deployment), { outputBytes: until, droppedBytes })
    return { position: until, cancelled: deployment.cancelRequestedAt !== null }
  },
)

/** Bytes that are kept no longer, because so much has followed. */
async function trimMiddle(tx: Transaction, { orgId, id }: Deployment, until: number): Promise<number> {
  const { headBytes, tailBytes } = DEPLOYMENT_OUTPUT
  if (until <= headBytes + tailBytes) return 0
  const trimmed = await tx
    .delete(deploymentOutput)
    .where(
      and(
        eq(deploymentOutput.orgId, orgId),
        eq(deploymentOutput.deploymentId, id),
        gte(deploymentOutput.position, headBytes),
        lte(deploymentOutput.until, until - tailBytes),
      ),
    )
    .returning({ position: deploymentOutput.position, until: deploymentOutput.until })
  return trimmed.reduce((sum, row) => sum + row.until - row.position, 0)
}
