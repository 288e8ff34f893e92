import type { Handler } from '../../contracts/operations.ts'
import { requireAppReader } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { presentWithRuns, requirePipeline } from './pipeline-rows.ts'

export const showPipeline =
  ({ db, directory }: Storage & WithDirectory): Handler<'showPipeline'> =>
  async (principal, { alias, pipeline_id }) => {
    const app = await requireAppReader(directory, db, principal, alias)
    return presentWithRuns(db, await requirePipeline(db, app, pipeline_id))
  }
