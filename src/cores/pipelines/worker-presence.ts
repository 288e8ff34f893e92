/** Which workers are connected: those that were heard from within a minute. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, count, eq, gte, lte, sql } from '../../../db/drizzle.ts'
import { pipelineWorkers } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { PIPELINE_PRESENCE_SECONDS, PIPELINE_WORKERS_PER_APP } from '../../contracts/limits.ts'
import { withTransaction } from '../transaction.ts'
import type { Pipeline } from './pipeline-rows.ts'

type Worker = typeof pipelineWorkers.$inferSelect
type WorkerKey = Pick<Worker, 'orgId' | 'appId' | 'name'>

const seconds = (n: number): number => n * 1000
const PRESENCE_MS = seconds(PIPELINE_PRESENCE_SECONDS)
/** Written again after so long: a worker may call many times a second. */
const REFRESH_MS = seconds(5)

const before = (time: Date, ms: number): Date => new Date(time.getTime() - ms)

/** After a clock was set back, a time in the far future says nothing. */
export const isConnected = ({ lastSeenAt }: Pick<Worker, 'lastSeenAt'>, now: Date): boolean =>
  Math.abs(now.getTime() - lastSeenAt.getTime()) <= PRESENCE_MS

export async function notePresence(db: Handle, worker: Omit<Worker, 'lastSeenAt'>, now: Date): Promise<void> {
  const { name, pipelines: names, ...app } = worker
  const [known] = await db.select().from(pipelineWorkers).where(hasWorkerKey(worker))
  const isFresh = known && Math.abs(now.getTime() - known.lastSeenAt.getTime()) < REFRESH_MS
  if (isFresh && JSON.stringify(known.pipelines) === JSON.stringify(names)) return
  await withTransaction(db, async (tx) => {
    if (!known) await makeRoom(tx, app, now)
    await tx
      .insert(pipelineWorkers)
      .values({ ...app, name, pipelines: names, lastSeenAt: now })
      .onConflictDoUpdate({
        target: [pipelineWorkers.orgId, pipelineWorkers.appId, pipelineWorkers.name],
        set: { pipelines: names, lastSeenAt: now },
      })
  })
}

/** Its claim is kept, or it has reported: it is there, while it cannot ask for more. */
export async function refreshPresence(tx: Transaction, worker: WorkerKey, now: Date): Promise<void> {
  await tx.update(pipelineWorkers).set({ lastSeenAt: now }).where(hasWorkerKey(worker))
}

/** A name is the worker's own choice, for example of its pod: those that are gone make room. */
async function makeRoom(tx: Transaction, app: Omit<WorkerKey, 'name'>, now: Date): Promise<void> {
  const [known] = await tx.select({ n: count() }).from(pipelineWorkers).where(isOfApp(app))
  if (known!.n < PIPELINE_WORKERS_PER_APP) return
  const gone = await tx
    .delete(pipelineWorkers)
    .where(
      and(isOfApp(app), sql`not (${isSeenBetween(before(now, PRESENCE_MS), before(now, -PRESENCE_MS))})`),
    )
    .returning({ name: pipelineWorkers.name })
  if (gone.length > 0) return
  throw new ServiceError('CONFLICT', `At most ${PIPELINE_WORKERS_PER_APP} workers of an app may be connected`)
}

/** Whether one was connected at the time that can run it. */
export async function hadWorker(tx: Transaction, pipeline: Pipeline, at: Date, now: Date): Promise<boolean> {
  const [found] = await tx
    .select({ name: pipelineWorkers.name })
    .from(pipelineWorkers)
    .where(
      and(
        isOfApp(pipeline),
        isSeenBetween(before(at, PRESENCE_MS), before(now, -PRESENCE_MS)),
        sql`${pipelineWorkers.pipelines} @> ${JSON.stringify([pipeline.name])}::text::jsonb`,
      ),
    )
    .limit(1)
  return found !== undefined
}

export const readWorkers = (db: Handle, app: Omit<WorkerKey, 'name'>): Promise<Worker[]> =>
  db.select().from(pipelineWorkers).where(isOfApp(app)).orderBy(pipelineWorkers.name)

const isOfApp = ({ orgId, appId }: Omit<WorkerKey, 'name'>) =>
  and(eq(pipelineWorkers.orgId, orgId), eq(pipelineWorkers.appId, appId))

const hasWorkerKey = ({ name, ...app }: WorkerKey) => and(isOfApp(app), eq(pipelineWorkers.name, name))

const isSeenBetween = (from: Date, to: Date) =>
  and(gte(pipelineWorkers.lastSeenAt, from), lte(pipelineWorkers.lastSeenAt, to))
