/** The ways in which runs end: by themselves, turned off, lost, or never started. Each with its event, in one transaction. */
import { createHash } from 'node:crypto'
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, ne, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { appLeases, maintenanceRuns } from '../../../db/schema.ts'
import { MAINTENANCE_LATE_SECONDS } from '../../contracts/limits.ts'
import { outcomeOf, type RunReason, type TerminalCode } from '../../contracts/outcomes.ts'
import { notifyChange } from '../changes/index.ts'
import type { Clock, Log, Storage } from '../dependencies.ts'
import { recordEvent } from '../outbox.ts'
import { handleInTurns } from '../work/index.ts'
import { appLease, Fenced, isLeaseOf, type RunKey } from './lease.ts'
import type { Run } from './run-rows.ts'
import { closeRunTokens, tokensOf } from './run-tokens.ts'

export type RunEnding = {
  readonly code: TerminalCode
  readonly reason?: RunReason | null
  readonly summary?: string | null
  readonly fingerprint?: string | null
  readonly proposalId?: string | null
}

/** Asked for once the lease is the ending's own: whatever the run was still writing is done, or refused, by then. */
type Conclude = () => Promise<RunEnding | 'again'>

/**
 * By the run itself; refused as fenced when it does not hold the app any more. `again`: it waits for the next agent runner,
 * as if this one had never taken it. Null: so it does.
 */
export async function endRun(
  tx: Transaction,
  clock: Clock,
  run: RunKey,
  ending: RunEnding | Conclude,
): Promise<Run | null> {
  // Every later write of it is refused.
  if (!(await appLease.release(tx, appLease.isHeld(run)))) throw new Fenced()
  const concluded = typeof ending === 'function' ? await ending() : ending
  if (concluded === 'again') return queueAgain(tx, clock, run)
  const [ended] = await settleEnded(tx, clock, run.orgId, [run.executionId], concluded)
  return ended!
}

/**
 * What it has spent stays on it, and its steps stay behind a mark: those of the next attempt are counted from there. What it
 * has read does not: nothing cites it, and the next one may read another revision.
 */
async function queueAgain(tx: Transaction, clock: Clock, { orgId, executionId }: RunKey): Promise<null> {
  await closeRunTokens(tx, orgId, [executionId])
  await tx.execute(sql`delete from run_evidence where org_id = ${orgId} and execution_id = ${executionId}`)
  await tx.execute(sql`
    insert into run_steps (org_id, execution_id, number, tool, result, request_sha256, result_sha256, tokens, ms, at)
    select ${orgId}, ${executionId}, coalesce(max(number), 0) + 1, null, ${STOPPED_STEP}, ${EMPTY_SHA256}, ${EMPTY_SHA256},
      -- Of a question whose answer nobody has waited for.
      (select coalesce(sum(actual), 0) from token_reservations where org_id = ${orgId} and purpose = ${executionId}
        and state in ('settled', 'released')) - coalesce(sum(tokens), 0),
      0, ${clock().toISOString()}::timestamptz
    from run_steps where org_id = ${orgId} and execution_id = ${executionId}`)
  await tx
    .update(maintenanceRuns)
    .set({
      status: 'queued',
      startedAt: null,
      fence: null,
      claimId: null,
      baseRevisionId: null,
      tokens: tokensOf(orgId),
    })
    .where(and(eq(maintenanceRuns.orgId, orgId), eq(maintenanceRuns.id, executionId)))
  await notify(tx, 'maintenance')
  await notify(tx, 'maintenance', executionId)
  await notifyChange(tx, 'maintenance', { orgId })
  return null
}

/** Of the step that ends an attempt. */
export const STOPPED_STEP = 'RUNNER_STOPPED' satisfies RunReason
const EMPTY_SHA256 = createHash('sha256').digest('hex')

type StoppedApps = { readonly orgId: string; readonly appId?: string; readonly reason: RunReason }

/**
 * Turned off: whatever holds the app, or apps, holds it no longer, and what waited does not start. The switch itself is
 * off already in this transaction, so nothing new begins.
 */
export async function stopRuns(
  tx: Transaction,
  clock: Clock,
  { orgId, appId, reason }: StoppedApps,
): Promise<number> {
  const ofApps = appId === undefined ? eq(appLeases.orgId, orgId) : isLeaseOf({ orgId, appId })
  // In one order, as everybody who locks several of them.
  await tx
    .select({ appId: appLeases.appId })
    .from(appLeases)
    .where(ofApps)
    .orderBy(appLeases.appId)
    .for('update')
  await tx.update(appLeases).set(appLease.cutOff).where(ofApps)
  const open = await tx
    .select({ id: maintenanceRuns.id })
    .from(maintenanceRuns)
    .where(
      and(
        eq(maintenanceRuns.orgId, orgId),
        appId === undefined ? undefined : eq(maintenanceRuns.appId, appId),
        ne(maintenanceRuns.status, 'ended'),
      ),
    )
  const ids = open.map(({ id }) => id)
  return (await settleCutOff(tx, clock, orgId, ids, { code: 'fenced_disabled', reason })).length
}

/** Those whose agent runner is not heard from any more, and those that none has started. Returns how many. */
export function expireRuns({ db, clock, log }: Storage & Log, stopping?: AbortSignal): Promise<number> {
  const waitedSince = new Date(clock().getTime() - MAINTENANCE_LATE_SECONDS * 1000).toISOString()
  return handleInTurns<Expired>(
    { db, log },
    {
      rows: sql`
        select org_id as "orgId", app_id as "appId", execution_id as id, fence::float8 as fence, execution_id as place
        from app_leases where execution_id is not null and ${appLease.isOver()}
        union all
        select org_id, app_id, id, null, id from maintenance_runs
        where status = 'queued' and created_at < ${waitedSince}::timestamptz`,
      warning: 'maintenance: a run was not expired',
      named: 'execution',
      stopping,
      handle: (tx, one) => expireRun(tx, clock, one),
    },
  )
}

/** While processes are replaced one after the other, some know a model already that others do not. */
const UNKNOWN_SECONDS = 60

/** Those that wait for a model that is not configured any more: no agent runner would ever take them. */
export function endUnconfigured(
  { db, clock, log }: Storage & Log,
  models: readonly string[],
): Promise<number> {
  const since = new Date(clock().getTime() - UNKNOWN_SECONDS * 1000).toISOString()
  return handleInTurns<Expired>(
    { db, log },
    {
      rows: sql`
        select org_id as "orgId", app_id as "appId", id, null as fence, created_at as place from maintenance_runs
        where status = 'queued' and created_at < ${since}::timestamptz and model not in (
          select name from json_array_elements_text(${JSON.stringify(models)}::text::json) as m(name))`,
      warning: 'maintenance: a run without its model was not ended',
      named: 'execution',
      handle: (tx, one) => expireRun(tx, clock, one, 'MODEL_NOT_CONFIGURED'),
    },
  )
}

type Expired = {
  readonly orgId: string
  readonly appId: string
  readonly id: string
  /** Of the lease that ran out; null: it waits, and nobody has started it. */
  readonly fence: number | null
}

async function expireRun(
  tx: Transaction,
  clock: Clock,
  { orgId, appId, id: executionId, fence }: Expired,
  reason: RunReason = fence === null ? 'NOT_STARTED' : 'RUNNER_LOST',
): Promise<boolean> {
  const [lease] = await tx
    .select({ fence: appLeases.fence, executionId: appLeases.executionId, isOver: appLease.isOver() })
    .from(appLeases)
    .where(isLeaseOf({ orgId, appId }))
    .for('update', { skipLocked: true })
  if (!lease) return false
  if (fence === null) {
    // Claimed in the meantime.
    if (lease.executionId === executionId) return false
    return (await settleEnded(tx, clock, orgId, [executionId], { code: 'agent_error', reason })).length === 1
  }
  // Renewed, or ended, in the meantime.
  if (lease.executionId !== executionId || lease.fence !== fence || !lease.isOver) return false
  await tx.update(appLeases).set(appLease.cutOff).where(isLeaseOf({ orgId, appId }))
  return (await settleCutOff(tx, clock, orgId, [executionId], { code: 'lease_lost', reason })).length === 1
}

/**
 * Cut off before they could say how they end: what they wrote is theirs all the same. Nobody was told of their findings, so
 * whoever finds those next reports them.
 */
async function settleCutOff(
  tx: Transaction,
  clock: Clock,
  orgId: string,
  executionIds: readonly string[],
  ending: RunEnding,
): Promise<Run[]> {
  const ended = await settleEnded(tx, clock, orgId, executionIds, ending)
  const ids = ended.map(({ id }) => id)
  if (ids.length === 0) return []
  await tx.execute(sql`
    update maintenance_runs r set proposal_id = w.proposal_id, summary = w.summary, fingerprint = w.fingerprint
    from (
      select distinct on (execution_id) * from (
        select execution_id, id as proposal_id, title as summary, fingerprint, 1 as rank from proposals
        where org_id = ${orgId} and ${isAmong('execution_id', ids)}
        union all
        select execution_id, null, summary, fingerprint, 2 from findings
        where org_id = ${orgId} and ${isAmong('execution_id', ids)} and reported_in = execution_id
      ) written order by execution_id, rank
    ) w where r.org_id = ${orgId} and r.id = w.execution_id`)
  await tx.execute(sql`
    update findings set reported_at = null, reported_in = null
    where org_id = ${orgId} and ${isAmong('execution_id', ids)} and reported_in = execution_id`)
  return ended
}

const isAmong = (column: string, ids: readonly string[]) =>
  sql`${sql.raw(column)} in (select id from json_array_elements_text(${JSON.stringify(ids)}::text::json) as i(id))`

/** Each once: one that has ended already is left as it is. Their leases are no longer theirs. */
async function settleEnded(
  tx: Transaction,
  clock: Clock,
  orgId: string,
  executionIds: readonly string[],
  { code, reason = null, summary, fingerprint, proposalId }: RunEnding,
): Promise<Run[]> {
  if (executionIds.length === 0) return []
  await closeRunTokens(tx, orgId, executionIds)
  const ended = await tx
    .update(maintenanceRuns)
    .set({
      status: 'ended',
      terminalCode: code,
      reason,
      endedAt: clock(),
      tokens: tokensOf(orgId),
      evidenceRead: sql`(select count(*) from run_evidence
        where run_evidence.org_id = ${orgId} and execution_id = maintenance_runs.id)`,
      ...(summary !== undefined && { summary }),
      ...(fingerprint !== undefined && { fingerprint }),
      // What a run proposed before it was stopped or lost waits all the same.
      proposalId: proposalId ?? proposalOf(orgId),
    })
    .where(
      and(
        eq(maintenanceRuns.orgId, orgId),
        inArray(maintenanceRuns.id, [...executionIds]),
        ne(maintenanceRuns.status, 'ended'),
      ),
    )
    .returning()
  if (ended.length > 0) await notifyChange(tx, 'maintenance', { orgId })
  for (const run of ended) {
    await notify(tx, 'maintenance', run.id)
    await recordEnd(tx, clock, run)
  }
  return ended
}

const proposalOf = (orgId: string) => sql<string | null>`(
  select p.id from proposals p where p.org_id = ${orgId} and p.execution_id = maintenance_runs.id limit 1)`

/** Codes only: nothing that a model wrote leaves by an event. */
async function recordEnd(tx: Transaction, clock: Clock, run: Run): Promise<void> {
  const { outcome, event } = outcomeOf(run.terminalCode!, run.model)
  if (event === null) return
  await recordEvent(tx, clock, {
    orgId: run.orgId,
    type: event,
    subject: `maintenance-runs/${run.id}`,
    source: 'maintenance',
    // Nothing leads out of ended.
    dedupKey: `${run.id}:ended`,
    actorId: run.requestedById,
    appId: run.appId,
    data: { execution_id: run.id, outcome },
  })
}
