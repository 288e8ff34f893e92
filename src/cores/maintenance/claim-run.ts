/**
 * An agent runner takes the next run: of the organization of which the fewest run, the one that waited longest. With it the
 * run takes the lease of its app.
 */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { appHeads, appLeases, apps, maintenanceRuns } from '../../../db/schema.ts'
import { AGENT_LIMITS } from '../../contracts/agent-tools.ts'
import { MAINTENANCE_LEASE_SECONDS } from '../../contracts/limits.ts'
import { notifyChange } from '../changes/index.ts'
import type { Storage } from '../dependencies.ts'
import { claimFirst, fewestFirst, onTimeline } from '../work/index.ts'
import { appLease, isLeaseOf, type RunKey } from './lease.ts'
import { isRun, type Run } from './run-rows.ts'

export type ClaimedRun = {
  readonly run: Run
  readonly key: RunKey
  readonly app: { readonly alias: string; readonly name: string }
  readonly leaseSeconds: number
}

/** What an agent runner can do now. */
type Capacity = {
  /** Those that it can ask. */
  readonly models: readonly string[]
  /** Organizations that have their share of it already. */
  readonly except?: readonly string[]
}

type Claim = Capacity & {
  /** Repeating a claim whose answer was lost gives the same run. */
  readonly claimId: string
}

/** Looked at in one claim: others may be taking the first ones. */
const CANDIDATES = 20

export async function claimRun({ db, clock }: Storage, claim: Claim): Promise<ClaimedRun | undefined> {
  const repeated = await findClaimed({ db, clock }, claim.claimId)
  if (repeated) return repeated
  const queued = await findQueued(db, claim)
  return claimFirst(db, queued, (tx, candidate) => take({ db, clock }, tx, candidate, claim.claimId))
}

export async function hasQueuedRun(db: Handle, capacity: Capacity): Promise<boolean> {
  const found = await db.execute(sql`select 1 from maintenance_runs q where ${isFor(capacity)} limit 1`)
  return found.length > 0
}

const isFor = ({ models, except = [] }: Capacity) => sql`
  q.status = 'queued'
  and q.model in (select name from json_array_elements_text(${JSON.stringify(models)}::text::json) as m(name))
  and q.org_id not in (select id from json_array_elements_text(${JSON.stringify(except)}::text::json) as o(id))`

type Candidate = { readonly orgId: string; readonly id: string; readonly appId: string }

/** Models that this runner does not know wait for another one that does. */
async function findQueued(db: Handle, capacity: Capacity): Promise<Candidate[]> {
  return db.execute<Candidate>(
    fewestFirst({
      rows: sql`select q.org_id as "orgId", q.id, q.app_id as "appId", q.created_at as place
        from maintenance_runs q where ${isFor(capacity)}`,
      underWay: sql`app_leases where execution_id is not null`,
      candidates: CANDIDATES,
    }),
  )
}

async function take(
  { clock }: Storage,
  tx: Transaction,
  { orgId, id, appId }: Candidate,
  claimId: string,
): Promise<ClaimedRun | undefined> {
  // Another runner is at it, or somebody turns it off.
  const [free] = await tx
    .select({ executionId: appLeases.executionId, fence: appLeases.fence })
    .from(appLeases)
    .where(isLeaseOf({ orgId, appId }))
    .for('update', { skipLocked: true })
  if (!free || free.executionId !== null) return undefined
  const [head] = await tx
    .select({ revisionId: appHeads.revisionId })
    .from(appHeads)
    .where(and(eq(appHeads.orgId, orgId), eq(appHeads.appId, appId)))
  const [lease] = await tx
    .update(appLeases)
    .set({ ...appLease.taken(id), fence: await onTimeline(tx, free.fence + 1) })
    .where(isLeaseOf({ orgId, appId }))
    .returning({ fence: appLeases.fence })
  const [run] = await tx
    .update(maintenanceRuns)
    .set({
      status: 'running',
      startedAt: clock(),
      fence: lease!.fence,
      claimId,
      baseRevisionId: head?.revisionId ?? null,
    })
    .where(and(isRun({ orgId, id }), eq(maintenanceRuns.status, 'queued')))
    .returning()
  if (!run) {
    // It ended while it was looked for, and holds nothing.
    await appLease.release(tx, isLeaseOf({ orgId, appId }))
    return undefined
  }
  await notify(tx, 'maintenance', run.id)
  await notifyChange(tx, 'maintenance', { orgId })
  return present(tx, run, MAINTENANCE_LEASE_SECONDS)
}

/** Not for longer than a run may take: a runner that cannot read the answer would hold the app for ever. */
async function findClaimed({ db, clock }: Storage, claimId: string): Promise<ClaimedRun | undefined> {
  const [run] = await db
    .select()
    .from(maintenanceRuns)
    .where(and(eq(maintenanceRuns.claimId, claimId), eq(maintenanceRuns.status, 'running')))
  if (!run || clock().getTime() - run.startedAt!.getTime() > AGENT_LIMITS.seconds * 1000) return undefined
  return (await appLease.renew(db, appLease.isHeld(keyOf(run))))
    ? present(db, run, MAINTENANCE_LEASE_SECONDS)
    : undefined
}

const keyOf = ({ orgId, appId, id, fence }: Run): RunKey => ({
  orgId,
  appId,
  executionId: id,
  fence: fence!,
})

async function present(db: Handle, run: Run, leaseSeconds: number): Promise<ClaimedRun> {
  const [app] = await db
    .select({ alias: apps.alias, name: apps.name })
    .from(apps)
    .where(and(eq(apps.orgId, run.orgId), eq(apps.id, run.appId)))
  return { run, key: keyOf(run), app: app!, leaseSeconds }
}
