import { and, eq } from '../../../db/drizzle.ts'
import { pipelines } from '../../../db/schema.ts'
import { requireAppReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { list, type Verb } from '../list.ts'
import { presentPipeline, readRecentRuns } from './pipeline-rows.ts'
import { isConnected, readWorkers } from './worker-presence.ts'

export const listPipelines: Verb<'listPipelines', WithDirectory> = list(
  { by: 'principal', rows: 'pipelines', asc: [pipelines.name] },
  async ({ db, clock, principal, directory, page }, { alias }) => {
    const app = await requireAppReader(directory, db, principal, alias)
    const { orgId } = app
    const listed = await page({
      from: () => db.select().from(pipelines),
      where: and(eq(pipelines.orgId, orgId), eq(pipelines.appId, app.id)),
      key: (row) => [row.name],
      present: async (rows) => {
        const ids = rows.map(({ id }) => id)
        const recent = await readRecentRuns(db, orgId, ids)
        return rows.map((row) => presentPipeline(row, recent.get(row.id) ?? []))
      },
    })
    const workers = await readWorkers(db, { orgId, appId: app.id })
    const now = clock()
    return {
      ...listed,
      workers: workers.map((worker) => ({
        name: worker.name,
        connected: isConnected(worker, now),
        last_seen_at: worker.lastSeenAt.toISOString(),
        pipelines: [...worker.pipelines],
      })),
    }
  },
)
