/** One step of one load. What goes wrong for a while is tried again; what would go wrong again ends the load. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, ne, sql } from '../../../db/drizzle.ts'
import { dataSources, loads } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOAD_GIVE_UP_SECONDS, LOAD_LEASE_SECONDS } from '../../contracts/limits.ts'
import type { LoadFailure, LoadPhase, LoadWait } from '../../contracts/loads.ts'
import { notifyChange } from '../changes/index.ts'
import { recordAudit } from '../record-audit.ts'
import {
  isOverDiskQuota,
  readWithOwnLogin,
  sourceIdOf,
  writeToDatabase,
  writeWithOwnLogin,
  type Queries,
  type SourceRow,
} from '../databases/index.ts'
import { databaseFailureOf } from '../search/index.ts'
import { withTransaction } from '../transaction.ts'
import { whileRenewed } from '../work/index.ts'
import { checkStep } from './check-step.ts'
import {
  claimLoad,
  releaseLoad,
  renewLease,
  saveStep,
  workOf,
  type ClaimedLoad,
  type Work,
} from './claim-load.ts'
import { embedPassagesStep } from './embed-passages-step.ts'
import { embedStep } from './embed-step.ts'
import { finishStep, succeed, undoUntil } from './finish-step.ts'
import { indexStep } from './index-step.ts'
import type { LoadDeps } from './load-deps.ts'
import type { LoadRow } from './load-rows.ts'
import { publishStep } from './publish-step.ts'
import { readDocumentsStep } from './read-documents-step.ts'
import { readStep } from './read-step.ts'
import { requireRights } from './require-rights.ts'
import { hasBefore, isFinished, removeStaging } from './staging.ts'
import { isNewestSync, readUndoUntil, removeVersionBefore } from './version-before.ts'
import { LoadFailed, type Step } from './step.ts'

const FILE_STEPS: Record<LoadPhase, Step> = {
  reading: readStep,
  checking: checkStep,
  embedding: embedStep,
  indexing: indexStep,
  finishing: finishStep,
}
/** A sync of documents has no phases but these. */
const DOCUMENT_STEPS: Record<LoadPhase, Step> = {
  ...FILE_STEPS,
  reading: readDocumentsStep,
  embedding: embedPassagesStep,
  finishing: publishStep,
}
const stepOf = ({ format, phase }: LoadRow): Step =>
  (format === 'documents' ? DOCUMENT_STEPS : FILE_STEPS)[phase!]

/** Then it is the turn of whoever waits. */
const TURN_MS = 2_000
/** Doubling, as long as the same goes wrong. */
const RETRY_SECONDS = 15
const RETRY_MAX_SECONDS = 10 * 60

/** Whoever takes steps measures how long a database takes. */
type AroundQuery = <T>(query: () => Promise<T>) => Promise<T>

type Options = {
  /** Left out: all. */
  readonly work?: Work
  /** Organizations whose loads are not taken. */
  readonly except?: readonly string[]
  readonly aroundQuery?: AroundQuery
  /** Of which organization it was, when it is over. */
  readonly onTurn?: (orgId: string) => void
  /** There is something to do: perhaps more of it, or from now on something of another kind. */
  readonly onWork?: (work: Work) => void
  /** Of which organization it is, as soon as that is known. */
  readonly onClaim?: (orgId: string) => void
}

/** False: there is nothing to do. */
export async function takeLoadStep(
  deps: LoadDeps,
  stopping: AbortSignal,
  {
    work,
    except,
    onClaim = () => {},
    onWork = () => {},
    onTurn = () => {},
    aroundQuery = (query) => query(),
  }: Options = {},
): Promise<boolean> {
  const load = await claimLoad(deps, { work, except })
  if (!load) return false
  onClaim(load.orgId)
  onWork(workOf(load))
  const renewing = {
    seconds: LOAD_LEASE_SECONDS,
    renew: () => renewLease(deps, load),
    onError: (error: unknown) => deps.log.warn('a lease was not renewed', { load: load.id, error }),
  }
  try {
    // Steps may take minutes, and then say that they live. One that was canceled ends.
    await whileRenewed(renewing, async (lost) => {
      const signal = AbortSignal.any([stopping, lost])
      try {
        const now = await takeSteps(deps, load, signal, aroundQuery)
        if (now && workOf(now) !== workOf(load)) onWork(workOf(now))
      } catch (error) {
        if (!signal.aborted) await handleFailure(deps, load, error)
      }
    })
  } finally {
    onTurn(load.orgId)
    await releaseLoad(deps, load).catch(() => {})
  }
  return true
}

/** As it is afterwards, while it goes on. */
async function takeSteps(
  deps: LoadDeps,
  load: ClaimedLoad,
  signal: AbortSignal,
  aroundQuery: AroundQuery,
): Promise<ClaimedLoad | undefined> {
  const source = await findSource(deps, load)
  if (!source) return undefined
  if (load.state === 'uploading') {
    const ended = await saveStep(deps, load, { state: 'canceled', finishedAt: deps.clock() })
    return ended && takeSteps(deps, ended, signal, aroundQuery)
  }
  // Then its people may not connect.
  const isOver = await isOverDiskQuota(deps.db, load.orgId, source.kind)
  if (load.state !== 'running') {
    const write = isOver ? writeWithOwnLogin : writeToDatabase
    const isNewest =
      load.format === 'documents' && load.state === 'succeeded' && (await isNewestSync(deps, load))
    // An undo since then has published a version, which can be undone for as long as any other.
    const look = (queries: Queries) => readUndoUntil(watched(queries, aroundQuery), deps.clock())
    const read = isOver ? readWithOwnLogin : writeToDatabase
    const undoUntil = isNewest ? await read(deps, source, look, { signal }) : null
    await write(
      deps,
      source,
      async (unwatched) => {
        const queries = watched(unwatched, aroundQuery)
        await removeStaging(queries, load.id)
        if (isNewest && undoUntil === null) await removeVersionBefore(queries, load.id)
      },
      { signal },
    )
    await saveStep(
      deps,
      load,
      undoUntil === null ? { isStaged: false, waitsUntil: null } : { waitsUntil: new Date(undoUntil) },
    )
    return undefined
  }
  if (isOver) return endOverQuota(deps, load, source, signal, aroundQuery)
  // The table may be in its place already: the step looks before it asks who may.
  if (load.phase !== 'finishing') await requireRights({ deps, source, plan: load.plan! }, load)
  const work = workOf(load)
  // Many short statements: it has a turn of its own, and none of them the time of long ones.
  const isDigest = work === 'long' && load.phase === 'reading'
  return writeToDatabase(
    deps,
    source,
    async (unwatched) => {
      const queries = watched(unwatched, aroundQuery)
      const endsAt = deps.clock().getTime() + (isDigest ? 0 : TURN_MS)
      let now: ClaimedLoad | undefined = load
      do {
        const context = { deps, source, queries, plan: now.plan!, signal }
        now = await save(deps, now, source, await stepOf(now)(context, now))
        if (now?.state !== 'running') return undefined
      } while (!signal.aborted && deps.clock().getTime() < endsAt && workOf(now) === work)
      return now
    },
    { signal, isLong: work === 'long' && !isDigest },
  )
}

const watched = (queries: Queries, aroundQuery: AroundQuery): Queries => ({
  query: (text, parameters) => aroundQuery(() => queries.query(text, parameters)),
})

/** Nothing more is written. But the table may be in its place already. */
async function endOverQuota(
  deps: LoadDeps,
  load: ClaimedLoad,
  source: SourceRow,
  signal: AbortSignal,
  aroundQuery: AroundQuery,
): Promise<undefined> {
  const look = async (unwatched: Queries) => {
    const queries = watched(unwatched, aroundQuery)
    return { isInPlace: await isFinished(queries, load.id), canUndo: await hasBefore(queries, load.id) }
  }
  const found = load.phase === 'finishing' && (await readWithOwnLogin(deps, source, look, { signal }))
  if (!found || !found.isInPlace) throw new LoadFailed('disk_quota')
  const waitsUntil = found.canUndo ? undoUntil(deps) : null
  await save(deps, load, source, await succeed({ deps, source, plan: load.plan! }, load, waitsUntil))
}

/** A change and its audit row are one transaction. */
async function save(
  deps: LoadDeps,
  load: ClaimedLoad,
  source: SourceRow,
  values: Partial<LoadRow>,
): Promise<ClaimedLoad | undefined> {
  const all = { waitsFor: null, waitsUntil: null, failingSince: null, ...values }
  if (values.state === undefined) return saveStep(deps, load, all)
  return withTransaction(deps.db, async (tx) => {
    const saved = await saveStep({ ...deps, db: tx }, load, all)
    await notifyChange(tx, 'loads', load)
    // Nothing was changed, so there is nothing to tell.
    if (!saved?.plan || saved.plan.dryRun) return saved
    if (saved.state === 'succeeded') await giveUpVersionsBefore(tx, saved)
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

/** Of the same table: only its last load can be undone, and what others replaced is removed at once. */
async function giveUpVersionsBefore(
  tx: Handle,
  { orgId, sourceId, id, plan, format }: LoadRow,
): Promise<void> {
  if (format === 'documents') return
  await tx
    .update(loads)
    .set({ waitsUntil: null })
    .where(
      and(
        eq(loads.orgId, orgId),
        eq(loads.sourceId, sourceId),
        eq(loads.state, 'succeeded'),
        eq(loads.isStaged, true),
        ne(loads.id, id),
        ne(loads.format, 'documents'),
        sql`${loads.plan} ->> 'table' = ${plan!.table}`,
      ),
    )
}

async function findSource({ db }: LoadDeps, { orgId, sourceId }: LoadRow): Promise<SourceRow | undefined> {
  const [row] = await db
    .select()
    .from(dataSources)
    .where(and(eq(dataSources.orgId, orgId), eq(dataSources.id, sourceId)))
  return row
}

async function handleFailure(deps: LoadDeps, load: ClaimedLoad, error: unknown): Promise<void> {
  const now = deps.clock()
  const current = await saveStep(deps, load, {})
  if (!current) return
  if (error instanceof LoadFailed) return end(deps, current, error.failure, error.values)
  const { waitsFor, seconds: toldSeconds, failure } = reactionTo(error)
  // Who waits for tomorrow's tokens does not fail, and another trouble begins anew.
  const isNew = current.waitsFor !== waitsFor || current.failingSince === null
  const since = (!isNew && current.failingSince) || now
  if (waitsFor !== 'allowance' && (isNew || failure)) {
    // By its code: what a database says may hold values of rows.
    const code = error instanceof ServiceError ? undefined : databaseFailureOf(error)?.code
    deps.log.warn('a step of a load failed', {
      load: load.id,
      org: load.orgId,
      phase: current.phase,
      waits_for: waitsFor,
      ...(code === undefined ? { error } : { code }),
    })
  }
  const isHopeless = waitsFor !== 'allowance' && isGivenUp(since, now)
  if (current.state === 'running' && (failure || (isHopeless && isDecided(current, error)))) {
    return end(deps, current, failure ?? (waitsFor === 'model' ? 'model' : 'database'))
  }
  const failingSeconds = Math.round((now.getTime() - since.getTime()) / 1000)
  const seconds = toldSeconds ?? Math.min(Math.max(RETRY_SECONDS, failingSeconds), RETRY_MAX_SECONDS)
  await saveStep(deps, current, {
    waitsFor,
    waitsUntil: new Date(now.getTime() + seconds * 1000),
    failingSince: waitsFor === 'allowance' ? null : since,
  })
}

const isGivenUp = (since: Date, now: Date): boolean =>
  now.getTime() - since.getTime() > LOAD_GIVE_UP_SECONDS * 1000

/** Whether nothing was loaded: in the end that is known only where the database has said so. */
function isDecided({ phase }: LoadRow, error: unknown): boolean {
  if (phase !== 'finishing') return true
  return !(error instanceof ServiceError) && databaseFailureOf(error)?.kind !== 'unreachable'
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

type Reaction = {
  readonly waitsFor: LoadWait
  readonly seconds?: number | undefined
  readonly failure?: LoadFailure
}

/** Who waits for the model, or for tomorrow's tokens, is told for how long. */
function reactionTo(error: unknown): Reaction {
  if (error instanceof ServiceError) {
    const seconds = error.retryAfterSeconds
    if (error.code === 'QUOTA_EXCEEDED') return { waitsFor: 'allowance', seconds }
    if (error.code === 'TIMEOUT') return { waitsFor: 'database', seconds }
    return { waitsFor: 'model', seconds }
  }
  const { kind, code = '' } = databaseFailureOf(error) ?? {}
  const retried: Reaction = { waitsFor: 'database' }
  if (STAGING_GONE.has(code)) return { ...retried, failure: 'staging_lost' }
  if (PASSING.test(code)) return retried
  return kind === 'changed' || kind === 'failed' ? { ...retried, failure: 'database' } : retried
}

/** undefined_table, invalid_schema_name */
const STAGING_GONE = new Set(['42P01', '3F000'])
/**
 * Another statement was in the way: a transaction that was rolled back, an object in use, a row of a catalog that was made
 * at the same moment. And insufficient_privilege: whoever is over their disk quota may not connect, and is told so by the
 * next step.
 */
const PASSING = /^(40|55|23505$|42501$)/
