import { requireAppReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { presentWithRuns, requirePipeline } from './pipeline-rows.ts'

export const showPipeline: Verb<'showPipeline', WithDirectory> = read(
  'principal',
  async ({ db, principal, directory }, { alias, pipeline_id }) => {
    const app = await requireAppReader(directory, db, principal, alias)
    return presentWithRuns(db, await requirePipeline(db, app, pipeline_id))
  },
)
