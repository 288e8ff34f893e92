import { and, eq } from '../../../db/drizzle.ts'
import { deployments } from '../../../db/schema.ts'
import { requireAppReader } from '../apps/index.ts'
import { list, type Verb } from '../list.ts'
import type { WithDirectory } from '../directory/index.ts'
import { presentDeployment } from './deployment-rows.ts'

export const listDeployments: Verb<'listDeployments', WithDirectory> = list(
  { by: 'principal', rows: 'deployments', desc: [deployments.fence] },
  async ({ db, principal, directory, page }, { alias, state }) => {
    const app = await requireAppReader(directory, db, principal, alias)
    return page({
      from: () => db.select().from(deployments),
      where: and(
        eq(deployments.orgId, app.orgId),
        eq(deployments.appId, app.id),
        state && eq(deployments.state, state),
      ),
      key: (row) => [String(row.fence)],
      present: (rows) => rows.map(presentDeployment),
    })
  },
)
