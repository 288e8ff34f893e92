/** Runs as the operations find and return them. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { maintenanceRuns, runEvidence } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { outcomeOf } from '../../contracts/outcomes.ts'

export type Run = typeof maintenanceRuns.$inferSelect

export const isRun = ({ orgId, id }: { orgId: string; id: string }) =>
  and(eq(maintenanceRuns.orgId, orgId), eq(maintenanceRuns.id, id))

export const isRunOfApp = ({ orgId, id: appId }: { orgId: string; id: string }) =>
  and(eq(maintenanceRuns.orgId, orgId), eq(maintenanceRuns.appId, appId))

/** Those of another app do not exist in this one. */
export async function requireRun(
  db: Handle,
  app: { orgId: string; id: string },
  executionId: string,
): Promise<Run> {
  const [run] = await db
    .select()
    .from(maintenanceRuns)
    .where(and(isRunOfApp(app), eq(maintenanceRuns.id, executionId)))
  if (!run) throw notFound()
  return run
}

/** How many references each of them read; all are of one organization. Those of an ended run are not kept for good. */
export async function countEvidence(db: Handle, runs: readonly Run[]): Promise<ReadonlyMap<string, number>> {
  const counts = new Map(runs.map(({ id, evidenceRead }) => [id, evidenceRead]))
  const open = runs.filter(({ status }) => status === 'running')
  if (open.length === 0) return counts
  const rows = await db.execute<{ id: string; n: number }>(sql`
    select execution_id as id, count(*)::int as n from ${runEvidence}
    where org_id = ${open[0]!.orgId} and execution_id in (
      select id from json_array_elements_text(${JSON.stringify(open.map(({ id }) => id))}::text::json) as e(id))
    group by execution_id`)
  for (const { id, n } of rows) counts.set(id, n)
  return counts
}

type Shown = {
  readonly alias: string
  readonly evidenceRead: number
  /** Whether whoever asks may read source and logs: a summary may quote them. */
  readonly readsSource: boolean
}

export function presentRun(run: Run, { alias, evidenceRead, readsSource }: Shown) {
  const ended = run.terminalCode === null ? null : outcomeOf(run.terminalCode, run.model)
  return {
    execution_id: run.id,
    app: alias,
    status: run.status,
    terminal_code: run.terminalCode,
    outcome: ended?.outcome ?? null,
    chip: ended?.chip ?? null,
    exit_code: ended?.exitCode ?? null,
    reason: run.reason,
    mode: run.mode,
    requested_by: run.requestedBy === null ? null : { user_id: run.requestedById, name: run.requestedBy },
    via: run.via,
    model: run.model,
    tokens: run.tokens,
    evidence_read: evidenceRead,
    base_revision: run.baseRevisionId,
    summary: readsSource ? run.summary : null,
    fingerprint: run.fingerprint,
    ...(run.proposalId !== null && { proposal_id: run.proposalId, undone_by: run.undoneBy }),
    created_at: run.createdAt.toISOString(),
    started_at: run.startedAt?.toISOString() ?? null,
    ended_at: run.endedAt?.toISOString() ?? null,
  }
}
