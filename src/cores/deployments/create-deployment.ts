import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { revisions } from '../../../db/schema.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { requireAppWriter, type App } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { isOnlyProposed } from '../revisions/index.ts'
import { write, type Verb } from '../verb.ts'
import { lockQueue, presentDeployment } from './deployment-rows.ts'
import { queueDeployment } from './queue-deployment.ts'

export const createDeployment: Verb<'createDeployment', WithDirectory> = write(
  { by: 'principal', audit: 'deployment.requested' },
  async ({ tx, clock, principal, directory, audit }, { alias, revision_id }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    await lockQueue(tx, app)
    await requireRevision(tx, app, revision_id)
    const deployment = await queueDeployment(tx, clock, app, { revisionId: revision_id, by: principal })
    await audit('deployment.requested', `${alias}: ${deployment.id}, ${revision_id}`)
    return presentDeployment(deployment)
  },
)

/** Held until the deployment is there: what waits to be deployed is not removed. */
async function requireRevision(tx: Transaction, { orgId, id: appId }: App, id: string): Promise<void> {
  const [revision] = await tx
    .select({ id: revisions.id })
    .from(revisions)
    .where(and(eq(revisions.orgId, orgId), eq(revisions.appId, appId), eq(revisions.id, id)))
    .for('key share')
  if (!revision) throw notFound()
  // Whoever could deploy it here would need nobody's approval.
  if (await isOnlyProposed(tx, orgId, id)) {
    throw new ServiceError('CONFLICT', 'This revision is only proposed', {
      hint: 'It is deployed when somebody approves the proposal.',
    })
  }
}
