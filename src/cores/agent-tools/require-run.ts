/** What a run still may do: none is over, late, or out of calls, whatever its agent runner says. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { maintenanceRuns } from '../../../db/schema.ts'
import { AGENT_LIMITS } from '../../contracts/agent-tools.ts'
import type { Clock, Storage } from '../dependencies.ts'
import { Fenced, isRun, type Run, type RunKey } from '../maintenance/index.ts'
import { lastStopped, outOfCalls } from './record-step.ts'

/** For what is on its way when the time is over: the agent runner ends the run itself, a moment before. */
const GRACE_SECONDS = 60

/** By what its identity says: no question to the database. Its lease every statement of it asks for. */
export function requireInTime(clock: Clock, { startedAt }: { readonly startedAt: Date }): void {
  const seconds = (clock().getTime() - startedAt.getTime()) / 1000
  if (seconds > AGENT_LIMITS.seconds + GRACE_SECONDS) throw new Fenced()
}

type Running = Pick<Run, 'baseRevisionId' | 'model' | 'startedAt'> & { readonly calls: number }

/** Without its lease, which every write asks for in its own transaction. */
export async function requireRunning({ db, clock }: Storage, key: RunKey): Promise<Running> {
  const [run] = await findRunning(db, key)
  if (!run) throw new Fenced()
  requireInTime(clock, { startedAt: run.startedAt! })
  return run
}

/** Before a write, which is not undone when its step turns out to be one too many. */
export async function requireCallsLeft(deps: Storage, key: RunKey): Promise<void> {
  const { calls } = await requireRunning(deps, key)
  if (calls >= AGENT_LIMITS.toolCalls) throw outOfCalls()
}

const findRunning = (db: Handle, { orgId, appId, executionId, fence }: RunKey) =>
  db
    .select({
      baseRevisionId: maintenanceRuns.baseRevisionId,
      model: maintenanceRuns.model,
      startedAt: maintenanceRuns.startedAt,
      calls: sql<number>`(select count(*)::int from run_steps where run_steps.org_id = ${orgId}
        and run_steps.execution_id = ${executionId} and tool is not null and number > ${lastStopped(orgId, executionId)})`,
    })
    .from(maintenanceRuns)
    .where(
      and(
        isRun({ orgId, id: executionId }),
        eq(maintenanceRuns.appId, appId),
        eq(maintenanceRuns.status, 'running'),
        eq(maintenanceRuns.fence, fence),
      ),
    )
