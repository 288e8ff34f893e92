import { and, eq } from '../../../db/drizzle.ts'
import { pipelineRuns } from '../../../db/schema.ts'
import { atLeast } from '../../contracts/roles.ts'
import { requireApp } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import { isRunOf, presentRun, requirePipeline } from './pipeline-rows.ts'

export const listPipelineRuns: Verb<'listPipelineRuns', WithDirectory> = list(
  { rows: 'runs', desc: [pipelineRuns.id] },
  async ({ db, member, directory, page }, { alias, pipeline_id, state }) => {
    const { app, appRole } = await requireApp(directory, db, member, alias)
    const readsLogs =
      member.supportSessionId === undefined && (appRole !== null || atLeast(member.role, 'developer'))
    const pipeline = await requirePipeline(db, app, pipeline_id)
    return page({
      from: () => db.select().from(pipelineRuns),
      where: and(isRunOf(pipeline), state && eq(pipelineRuns.state, state)),
      key: (row) => [row.id],
      present: (rows) => rows.map((row) => presentRun(row, pipeline.name, { withMessage: readsLogs })),
    })
  },
)
