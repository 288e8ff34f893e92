import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { pipelineRuns } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { atLeast } from '../../contracts/roles.ts'
import { requireApp } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireMember } from '../principal.ts'
import { isRunOf, presentRun, requirePipeline } from './pipeline-rows.ts'

export const listPipelineRuns =
  ({ db, directory }: Storage & WithDirectory): Handler<'listPipelineRuns'> =>
  async (principal, { alias, pipeline_id, state, limit, cursor }) => {
    const member = requireMember(principal)
    const before = readCursor(cursor, 1)?.[0]
    const { app, appRole } = await requireApp(directory, db, member, alias)
    const readsLogs =
      member.supportSessionId === undefined && (appRole !== null || atLeast(member.role, 'developer'))
    const pipeline = await requirePipeline(db, app, pipeline_id)
    const rows = await db
      .select()
      .from(pipelineRuns)
      .where(
        and(
          isRunOf(pipeline),
          state && eq(pipelineRuns.state, state),
          before === undefined ? undefined : lt(pipelineRuns.id, before),
        ),
      )
      .orderBy(desc(pipelineRuns.id))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.id])
    return {
      runs: page.rows.map((row) => presentRun(row, pipeline.name, { withMessage: readsLogs })),
      next_cursor: page.next_cursor,
    }
  }
