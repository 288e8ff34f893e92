import { isUniqueViolation, type Handle } from '../../../db/connect.ts'
import { and, asc, eq, gt, sql } from '../../../db/drizzle.ts'
import { pipelineRuns, pipelines } from '../../../db/schema.ts'
import { FAIR_QUEUES } from '../../contracts/fair-queues.ts'
import { PIPELINE_LEASE_SECONDS } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireAppWriter, type App } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { claimFirst, createWaits, onTimeline } from '../work/index.ts'
import { countOpenRuns } from './open-runs.ts'
import {
  hasPipelineKey,
  hasRunKey,
  isRunOf,
  lockPipeline,
  minutesAfter,
  presentRun,
  type PipelineKey,
  type PipelineRun,
} from './pipeline-rows.ts'
import { runLease } from './run-lease.ts'
import { notePresence } from './worker-presence.ts'

export const claimPipelineRun = (deps: Storage & WithDirectory): Handler<'claimPipelineRun'> => {
  const { db, clock, directory } = deps
  return async (principal, { alias, worker, pipelines: names, claim_id, wait_seconds }) => {
    const app = await requireAppWriter(directory, db, principal, alias)
    const { orgId, id: appId } = app
    await notePresence(db, { orgId, appId, name: worker, pipelines: [...new Set(names)] }, clock())
    // Not for a worker that is gone: nobody would run it.
    if (principal.signal?.aborted) return NOTHING
    const claimed = await claimOnce(deps, app, { name: worker, claimId: claim_id ?? null }, names)
    if (claimed) return claimed
    // Whoever waited has perhaps hung up meanwhile, or lost the right to claim: they claim with their next call.
    const wait = { seconds: wait_seconds, signal: principal.signal }
    await waitForRun(db, { orgId, key: appId }, wait, async () => {
      return (await findClaimable(db, app, names, clock())).length > 0
    })
    return NOTHING
  }
}

/** Whoever asks without waiting is answered. */
const waitForRun = createWaits(FAIR_QUEUES.pipelineWaits, 'pipelines')

type ClaimingWorker = { readonly name: string; readonly claimId: string | null }

/** Repeated by its id, it gives the same run. */
async function claimOnce(deps: Storage, app: App, worker: ClaimingWorker, names: readonly string[]) {
  const { claimId } = worker
  if (claimId === null) return claimNext(deps, app, worker, names)
  try {
    return (await findClaim(deps.db, app, claimId)) ?? (await claimNext(deps, app, worker, names))
  } catch (error) {
    // The first one was still being made.
    if (!isUniqueViolation(error, 'pipeline_runs_by_claim')) throw error
    return findClaim(deps.db, app, claimId)
  }
}

async function findClaim(db: Handle, { orgId, id: appId }: App, claimId: string) {
  const run = await runLease.renew(
    db,
    and(
      eq(pipelineRuns.orgId, orgId),
      eq(pipelineRuns.appId, appId),
      eq(pipelineRuns.state, 'running'),
      eq(pipelineRuns.claimId, claimId),
    ),
  )
  if (!run) return undefined
  const [pipeline] = await db
    .select({ name: pipelines.name })
    .from(pipelines)
    .where(hasPipelineKey({ orgId, id: run.pipelineId }))
  return pipeline && answer({ run, name: pipeline.name, fence: run.fence! })
}

const NOTHING = { run: null, fence: null, lease_seconds: PIPELINE_LEASE_SECONDS }

async function claimNext({ db, clock }: Storage, app: App, worker: ClaimingWorker, names: readonly string[]) {
  const claimable = await findClaimable(db, app, names, clock())
  const claimed = await claimFirst(db, claimable, async (tx, key) => {
    const pipeline = await lockPipeline(tx, key)
    if (!pipeline) return undefined
    const now = clock()
    const { running } = await countOpenRuns(tx, pipeline)
    if (running > 0 && pipeline.concurrency !== 'allow') return undefined
    const [next] = await tx
      .select()
      .from(pipelineRuns)
      .where(and(isRunOf(pipeline), gt(pipelineRuns.claimableUntil, now)))
      .orderBy(asc(pipelineRuns.dueAt), asc(pipelineRuns.id))
      .limit(1)
    if (!next) return undefined
    const fence = await onTimeline(tx, pipeline.fence + 1)
    await tx.update(pipelines).set({ fence }).where(hasPipelineKey(pipeline))
    const [run] = await tx
      .update(pipelineRuns)
      .set({
        state: 'running',
        code: null,
        claimableUntil: null,
        startedAt: now,
        timesOutAt: minutesAfter(now, pipeline.timeoutMinutes),
        worker: worker.name,
        claimId: worker.claimId,
        fence,
        ...runLease.taken(),
      })
      .where(hasRunKey(next))
      .returning()
    return { run: run!, name: pipeline.name, fence }
  })
  return claimed && answer(claimed)
}

const answer = ({ run, name, fence }: { run: PipelineRun; name: string; fence: number }) => ({
  run: presentRun(run, name, { withMessage: true }),
  fence,
  lease_seconds: PIPELINE_LEASE_SECONDS,
})

/** The pipelines with a run to claim, the oldest first. Whether it is still there is asked again under the lock. */
function findClaimable(
  db: Handle,
  app: App,
  names: readonly string[],
  now: Date,
): Promise<readonly PipelineKey[]> {
  return db.execute<PipelineKey>(sql`
    select p.org_id as "orgId", p.id
    from pipeline_runs r join pipelines p on p.org_id = r.org_id and p.id = r.pipeline_id
    where r.org_id = ${app.orgId} and r.app_id = ${app.id} and r.claimable_until > ${now.toISOString()}::timestamptz
      and ${JSON.stringify(names)}::text::jsonb @> to_jsonb(p.name)
      and (p.concurrency = 'allow' or not exists (
        select from pipeline_runs o
        where o.org_id = p.org_id and o.pipeline_id = p.id and o.state = 'running'))
    group by p.org_id, p.id
    order by min(r.due_at), p.id limit 20`)
}
