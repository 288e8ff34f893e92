import { and, asc, eq, gt } from '../../../db/drizzle.ts'
import { pipelines } from '../../../db/schema.ts'
import type { Handler } from '../../contracts/operations.ts'
import { pageOf, readCursor } from '../../contracts/paging.ts'
import { requireAppReader } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { presentPipeline, readRecentRuns } from './pipeline-rows.ts'
import { isConnected, readWorkers } from './worker-presence.ts'

export const listPipelines =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'listPipelines'> =>
  async (principal, { alias, limit, cursor }) => {
    const after = readCursor(cursor, 1)?.[0]
    const app = await requireAppReader(directory, db, principal, alias)
    const { orgId } = app
    const rows = await db
      .select()
      .from(pipelines)
      .where(
        and(
          eq(pipelines.orgId, orgId),
          eq(pipelines.appId, app.id),
          after === undefined ? undefined : gt(pipelines.name, after),
        ),
      )
      .orderBy(asc(pipelines.name))
      .limit(limit + 1)
    const page = pageOf(rows, limit, (row) => [row.name])
    const ids = page.rows.map(({ id }) => id)
    const [recent, workers] = await Promise.all([
      readRecentRuns(db, orgId, ids),
      readWorkers(db, { orgId, appId: app.id }),
    ])
    const now = clock()
    return {
      pipelines: page.rows.map((row) => presentPipeline(row, recent.get(row.id) ?? [])),
      workers: workers.map((worker) => ({
        name: worker.name,
        connected: isConnected(worker, now),
        last_seen_at: worker.lastSeenAt.toISOString(),
        pipelines: [...worker.pipelines],
      })),
      next_cursor: page.next_cursor,
    }
  }
