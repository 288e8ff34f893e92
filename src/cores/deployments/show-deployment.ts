import type { Handler } from '../../contracts/operations.ts'
import { requireAppReader } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { presentDeployment, requireDeployment } from './deployment-rows.ts'

export const showDeployment =
  ({ db, directory }: Storage & WithDirectory): Handler<'showDeployment'> =>
  async (principal, { alias, deployment_id }) => {
    const app = await requireAppReader(directory, db, principal, alias)
    return presentDeployment(await requireDeployment(db, app, deployment_id))
  }
