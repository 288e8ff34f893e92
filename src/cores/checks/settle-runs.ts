/**
 * Writes what runs found: the run, where the check stands now, and the event if that is one, in one transaction for all of
 * them. Only whoever still has the claim settles a run, so each counts once, whatever becomes of its worker.
 */
import type { Transaction } from '../../../db/connect.ts'
import { sql } from '../../../db/drizzle.ts'
import { CHECK_STRIP } from '../../contracts/check-results.ts'
import { makeId } from '../../contracts/ids.ts'
import { notifyChanges } from '../changes/index.ts'
import type { Clock, Storage } from '../dependencies.ts'
import { recordEvent } from '../outbox.ts'
import { withTransaction } from '../transaction.ts'
import { notAhead } from '../work/index.ts'
import { RESULT_INITIALS, type Check } from './check-rows.ts'
import type { ClaimedCheck } from './claim-checks.ts'
import { openWindowUntil } from './maintenance-window.ts'
import type { Measurement } from './measurement.ts'
import { nextStanding, type CheckEvent, type Standing } from './next-standing.ts'

/** Runs of a check that are kept: a day and a half at one a minute. */
export const RUNS_KEPT = 2_000

/** Null: it was not run, because it is paused. */
export type FinishedRun = { readonly check: ClaimedCheck; readonly measurement: Measurement | null }

type Settled = Standing &
  Pick<
    Check,
    'orgId' | 'id' | 'appId' | 'stateSince' | 'runCount' | 'recent' | 'lastRunAt' | 'maintenanceWindows'
  > &
  Pick<Check, 'failureThreshold' | 'successThreshold' | 'intervalSeconds'>

export async function settleRuns({ db, clock }: Storage, finished: readonly FinishedRun[]): Promise<void> {
  await withTransaction(db, async (tx) => {
    const byKey = new Map(finished.map((run) => [keyOf(run.check), run]))
    const changes = (await lockClaimed(tx, clock, finished)).map((check) =>
      changeOf(check, byKey.get(keyOf(check))!.measurement, check.now),
    )
    if (changes.length === 0) return
    await updateChecks(tx, changes)
    await insertRuns(tx, changes)
    const organizations = changes.map(({ check: { orgId } }) => ({ orgId }))
    await notifyChanges(tx, 'checks', organizations)
    for (const { check, run, event } of changes)
      if (event && run) await recordCheckEvent(tx, clock, check, run.id, event)
  })
}

const keyOf = ({ orgId, id }: { orgId: string; id: string }): string => `${orgId} ${id}`

type Run = Measurement & { readonly id: string; readonly at: Date; readonly slot: number }
type Change = {
  readonly check: Settled
  readonly after: Settled
  readonly nextRunAt: Date
  readonly run: Run | null
  readonly event: CheckEvent | null
}

/** In one order for everybody: two that settle the same checks wait, and do not block each other. */
const lockClaimed = (
  tx: Transaction,
  clock: Clock,
  finished: readonly FinishedRun[],
): Promise<readonly (Settled & { now: Date })[]> =>
  tx
    .execute<Settled & { stateSince: string | null; lastRunAt: string | null; now: string }>(sql`
    select c.org_id as "orgId", c.id, c.app_id as "appId", c.state, c.state_since as "stateSince", c.passes, c.failures,
      c.reported_failed as "reportedFailed", c.reported_error as "reportedError",
      c.reported_indeterminate as "reportedIndeterminate", c.run_count::float8 as "runCount", c.recent,
      c.last_run_at as "lastRunAt", c.maintenance_windows as "maintenanceWindows",
      c.failure_threshold as "failureThreshold", c.success_threshold as "successThreshold",
      c.interval_seconds as "intervalSeconds", ${notAhead(clock())} as now
    from json_to_recordset(${JSON.stringify(
      finished
        .map(({ check: { orgId, id, claim } }) => ({ org_id: orgId, id, claim }))
        .toSorted((a, b) => (`${a.org_id} ${a.id}` < `${b.org_id} ${b.id}` ? -1 : 1)),
    )}::text::json) as f(org_id text, id text, claim text)
    cross join lateral (
      select * from checks where org_id = f.org_id and id = f.id and claim = f.claim limit 1 for update
    ) c`)
    .then((rows) =>
      rows.map((row) => ({
        ...row,
        stateSince: dateOf(row.stateSince),
        lastRunAt: dateOf(row.lastRunAt),
        now: new Date(row.now),
      })),
    )

const dateOf = (text: string | null): Date | null => (text === null ? null : new Date(text))

function changeOf(check: Settled, measurement: Measurement | null, at: Date): Change {
  const windowUntil = openWindowUntil(check.maintenanceWindows, at)
  // Meanwhile a maintenance window has begun: nobody is told of what was found in it.
  if (measurement === null || windowUntil) {
    const nextRunAt = windowUntil
      ? soonAfter(windowUntil, check.intervalSeconds)
      : nextTime(at, check.intervalSeconds)
    return { check, after: check, nextRunAt, run: null, event: null }
  }
  const { standing, event } = nextStanding(check, measurement.result, check)
  return {
    check,
    after: {
      ...check,
      ...standing,
      stateSince: standing.state === check.state ? check.stateSince : at,
      runCount: check.runCount + 1,
      recent: (check.recent + RESULT_INITIALS[measurement.result]).slice(-CHECK_STRIP),
      lastRunAt: at,
    },
    nextRunAt: nextTime(at, check.intervalSeconds),
    run: { ...measurement, id: makeId('chr', at.getTime()), at, slot: check.runCount % RUNS_KEPT },
    event,
  }
}

/** A twentieth earlier or later: checks that were made together do not stay together. */
const JITTER = 0.05
const nextTime = (at: Date, intervalSeconds: number): Date =>
  new Date(at.getTime() + intervalSeconds * 1000 * (1 - JITTER + 2 * JITTER * Math.random()))

/** All checks of a window would come back in the same moment. */
const soonAfter = (until: Date, intervalSeconds: number): Date =>
  new Date(until.getTime() + intervalSeconds * 1000 * 2 * JITTER * Math.random())

const updateChecks = (tx: Transaction, changes: readonly Change[]) =>
  tx.execute(sql`
    update checks c set claim = null, lease_until = null, next_run_at = s.next_run_at, state = s.state,
      state_since = s.state_since, passes = s.passes, failures = s.failures, reported_failed = s.reported_failed,
      reported_error = s.reported_error, reported_indeterminate = s.reported_indeterminate, run_count = s.run_count,
      recent = s.recent, last_run_at = s.last_run_at
    from json_to_recordset(${JSON.stringify(
      changes.map(({ after, nextRunAt }) => ({
        org_id: after.orgId,
        id: after.id,
        next_run_at: nextRunAt,
        state: after.state,
        state_since: after.stateSince,
        passes: after.passes,
        failures: after.failures,
        reported_failed: after.reportedFailed,
        reported_error: after.reportedError,
        reported_indeterminate: after.reportedIndeterminate,
        run_count: after.runCount,
        recent: after.recent,
        last_run_at: after.lastRunAt,
      })),
    )}::text::json) as s(org_id text, id text, next_run_at timestamptz, state text, state_since timestamptz, passes int,
      failures int, reported_failed boolean, reported_error boolean, reported_indeterminate boolean, run_count bigint,
      recent text, last_run_at timestamptz)
    where c.org_id = s.org_id and c.id = s.id`)

/** Over the oldest one that is kept. */
async function insertRuns(tx: Transaction, changes: readonly Change[]): Promise<void> {
  const runs = changes.flatMap(({ check, run }) =>
    run ? [{ ...run, org_id: check.orgId, check_id: check.id }] : [],
  )
  if (runs.length === 0) return
  await tx.execute(sql`
    insert into check_runs (org_id, check_id, slot, id, at, result, ms, status, reason, detail)
    select org_id, check_id, slot, id, at, result, ms, status, reason, detail
    from json_to_recordset(${JSON.stringify(runs)}::text::json) as r(org_id text, check_id text, slot int, id text,
      at timestamptz, result text, ms int, status int, reason text, detail text)
    on conflict (org_id, check_id, slot) do update set id = excluded.id, at = excluded.at, result = excluded.result,
      ms = excluded.ms, status = excluded.status, reason = excluded.reason, detail = excluded.detail`)
}

const recordCheckEvent = (
  tx: Transaction,
  clock: Clock,
  { orgId, id, appId }: Settled,
  runId: string,
  type: CheckEvent,
) =>
  recordEvent(tx, clock, {
    orgId,
    type,
    subject: `checks/${id}`,
    source: 'checks',
    // A run is settled once, and is one event at most.
    dedupKey: runId,
    actorId: null,
    appId,
    data: { check_id: id, run_id: runId },
  })
