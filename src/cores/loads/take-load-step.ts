/** One step of one load. What goes wrong for a while is tried again; what would go wrong again ends the load. */
import { and, eq, isNotNull } from '../../../db/drizzle.ts'
import { dataSources, diskUse } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOAD_GIVE_UP_SECONDS, LOAD_LEASE_SECONDS } from '../../contracts/limits.ts'
import type { LoadFailure, LoadPhase, LoadWait } from '../../contracts/loads.ts'
import { recordAudit } from '../audit/index.ts'
import { sourceIdOf, writeToDatabase, type SourceRow } from '../databases/index.ts'
import { databaseFailureOf } from '../search/index.ts'
import { withTransaction } from '../transaction.ts'
import { checkStep } from './check-step.ts'
import { claimLoad, releaseLoad, renewLease, saveStep, type ClaimedLoad } from './claim-load.ts'
import { embedStep } from './embed-step.ts'
import { finishStep } from './finish-step.ts'
import { indexStep } from './index-step.ts'
import type { LoadDeps } from './load-deps.ts'
import type { LoadRow } from './load-rows.ts'
import { readStep } from './read-step.ts'
import { removeStaging } from './staging.ts'
import { LoadFailed, type Step } from './step.ts'

const STEPS: Record<LoadPhase, Step> = {
  reading: readStep,
  checking: checkStep,
  embedding: embedStep,
  indexing: indexStep,
  finishing: finishStep,
}

/** Then it is the turn of whoever waits. */
const TURN_MS = 2_000
const RETRY_SECONDS = 15

/** False: there is nothing to do. `onClaimed`: there is, and perhaps more of it. */
export async function takeLoadStep(
  deps: LoadDeps,
  stopping: AbortSignal,
  onClaimed: () => void = () => {},
): Promise<boolean> {
  const load = await claimLoad(deps)
  if (!load) return false
  onClaimed()
  // Steps may take minutes, and then say that they live.
  const renewing = setInterval(
    () => void renewLease(deps, load).catch(() => {}),
    (LOAD_LEASE_SECONDS * 1000) / 3,
  )
  try {
    await takeSteps(deps, load, stopping)
  } catch (error) {
    if (!stopping.aborted) await handleFailure(deps, load, error)
  } finally {
    clearInterval(renewing)
    await releaseLoad(deps, load).catch(() => {})
  }
  return true
}

async function takeSteps(deps: LoadDeps, load: ClaimedLoad, stopping: AbortSignal): Promise<void> {
  const source = await findSource(deps, load)
  if (!source) return
  if (load.state === 'uploading') {
    const ended = await saveStep(deps, load, { state: 'canceled', finishedAt: deps.clock() })
    if (ended) await takeSteps(deps, ended, stopping)
    return
  }
  if (load.state === 'running' && (await isOverQuota(deps, source))) throw new LoadFailed('disk_quota')
  await writeToDatabase(
    deps,
    source,
    async (queries) => {
      if (load.state !== 'running') {
        await removeStaging(queries, load.id)
        await saveStep(deps, load, { isStaged: false, waitsUntil: null })
        return
      }
      const endsAt = deps.clock().getTime() + TURN_MS
      let now: ClaimedLoad | undefined = load
      while (now?.state === 'running' && !stopping.aborted) {
        const context = { deps, source, queries, plan: now.plan!, signal: stopping }
        now = await save(deps, now, source, await STEPS[now.phase!](context, now))
        if (deps.clock().getTime() >= endsAt) return
      }
    },
    stopping,
  )
}

/** A change and its audit row are one transaction. */
async function save(
  deps: LoadDeps,
  load: ClaimedLoad,
  source: SourceRow,
  values: Partial<LoadRow>,
): Promise<ClaimedLoad | undefined> {
  const all = { ...values, waitsFor: null, waitsUntil: null, failingSince: null }
  if (values.state === undefined) return saveStep(deps, load, all)
  return withTransaction(deps.db, async (tx) => {
    const saved = await saveStep({ ...deps, db: tx }, load, all)
    if (!saved?.plan) return saved
    const { userId, userName, kind, requestId } = saved.plan.author
    await recordAudit(
      tx,
      deps.clock,
      { kind, userId, userName, requestId },
      {
        orgId: load.orgId,
        action: saved.state === 'succeeded' ? 'load.succeeded' : 'load.failed',
        subject: `${load.filename || load.id} into ${sourceIdOf(source.name)}, table ${saved.plan.table}`,
      },
    )
    return saved
  })
}

async function findSource({ db }: LoadDeps, { orgId, sourceId }: LoadRow): Promise<SourceRow | undefined> {
  const [row] = await db
    .select()
    .from(dataSources)
    .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, sourceId)))
  return row
}

async function isOverQuota({ db }: LoadDeps, { orgId, kind }: SourceRow): Promise<boolean> {
  if (kind !== 'postgres') return false
  const over = await db
    .select({ orgId: diskUse.orgId })
    .from(diskUse)
    .where(and(eq(diskUse.orgId, orgId), isNotNull(diskUse.overSince)))
  return over.length > 0
}

async function handleFailure(deps: LoadDeps, load: ClaimedLoad, error: unknown): Promise<void> {
  const now = deps.clock()
  const current = await saveStep(deps, load, {})
  if (!current) return
  if (error instanceof LoadFailed) return end(deps, current, error.failure, error.values)
  const { waitsFor, seconds, failure } = reactionTo(error)
  // By its code: what a database says may hold values of rows.
  const code = databaseFailureOf(error)?.code
  if (!(error instanceof ServiceError)) {
    deps.log.warn('a step of a load failed', {
      load: load.id,
      ...(code === undefined ? { error } : { code }),
    })
  }
  const since = current.failingSince ?? now
  const isHopeless = now.getTime() - since.getTime() > LOAD_GIVE_UP_SECONDS * 1000
  if (current.state === 'running' && (failure || (isHopeless && waitsFor !== 'allowance'))) {
    return end(deps, current, failure ?? (waitsFor === 'model' ? 'model' : 'database'))
  }
  await saveStep(deps, current, {
    waitsFor,
    waitsUntil: new Date(now.getTime() + seconds * 1000),
    failingSince: since,
  })
}

async function end(
  deps: LoadDeps,
  load: ClaimedLoad,
  failure: LoadFailure,
  values: Partial<LoadRow> = {},
): Promise<void> {
  const source = await findSource(deps, load)
  if (source)
    await save(deps, load, source, { ...values, state: 'failed', failure, finishedAt: deps.clock() })
}

type Reaction = { readonly waitsFor: LoadWait; readonly seconds: number; readonly failure?: LoadFailure }

/** Who waits for the model, or for tomorrow's tokens, is told for how long. */
function reactionTo(error: unknown): Reaction {
  if (error instanceof ServiceError) {
    const seconds = error.retryAfterSeconds ?? RETRY_SECONDS
    if (error.code === 'QUOTA_EXCEEDED') return { waitsFor: 'allowance', seconds }
    if (error.code === 'TIMEOUT') return { waitsFor: 'database', seconds }
    return { waitsFor: 'model', seconds }
  }
  const { kind, code } = databaseFailureOf(error) ?? {}
  // Whoever is over their disk quota may not connect, and is told so by the next step.
  if (kind === 'changed' && code !== '42501')
    return { waitsFor: 'database', seconds: RETRY_SECONDS, failure: 'staging_lost' }
  if (kind === 'failed') return { waitsFor: 'database', seconds: RETRY_SECONDS, failure: 'database' }
  return { waitsFor: 'database', seconds: RETRY_SECONDS }
}
