/** What a deploy command wrote, for whoever may read the app's logs. */
import { and, asc, eq, gt } from '../../../db/drizzle.ts'
import { deploymentOutput } from '../../../db/schema.ts'
import { requireSourceReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { requireDeployment } from './deployment-rows.ts'

/** Each of at most 64 KiB. */
const ROWS_MAX = 8

export const readDeploymentOutput: Verb<'readDeploymentOutput', WithDirectory> = read(
  'principal',
  async ({ db, principal, directory }, { alias, deployment_id, after }) => {
    const app = await requireSourceReader(directory, db, principal, alias)
    // Before its output: what came in between is read by the next call, which this one must not say is none.
    const deployment = await requireDeployment(db, app, deployment_id)
    const rows = await db
      .select()
      .from(deploymentOutput)
      .where(
        and(
          eq(deploymentOutput.orgId, app.orgId),
          eq(deploymentOutput.deploymentId, deployment.id),
          gt(deploymentOutput.until, after),
        ),
      )
      .orderBy(asc(deploymentOutput.position))
      .limit(ROWS_MAX)
    const isAll = rows.length < ROWS_MAX
    return {
      text: rows.map(({ text }) => text).join(''),
      next: rows.at(-1)?.until ?? after,
      ended: isAll && deployment.endedAt !== null,
      dropped_bytes: deployment.droppedBytes,
    }
  },
)
