import { requireAppReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { presentDeployment, requireDeployment } from './deployment-rows.ts'

export const showDeployment: Verb<'showDeployment', WithDirectory> = read(
  'principal',
  async ({ db, principal, directory }, { alias, deployment_id }) => {
    const app = await requireAppReader(directory, db, principal, alias)
    return presentDeployment(await requireDeployment(db, app, deployment_id))
  },
)
