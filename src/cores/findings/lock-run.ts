/** The row of a run that writes: its findings and its proposal are counted one after the other. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { maintenanceRuns } from '../../../db/schema.ts'
import { Fenced, isRun, type Run, type RunKey } from '../maintenance/index.ts'

/** After the lease, which whoever turns the agent off waits for. */
export async function lockRun(tx: Transaction, { orgId, executionId, fence }: RunKey): Promise<Run> {
  const [run] = await tx
    .select()
    .from(maintenanceRuns)
    .where(
      and(
        isRun({ orgId, id: executionId }),
        eq(maintenanceRuns.status, 'running'),
        eq(maintenanceRuns.fence, fence),
      ),
    )
    .for('update')
  if (!run) throw new Fenced()
  return run
}
