import { pipelineRuns } from '../../../db/schema.ts'
import { PIPELINE_LEASE_SECONDS } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { withTransaction } from '../transaction.ts'
import { notClaimed, requireClaimedRun } from './claimed-run.ts'
import { hasRunKey } from './pipeline-rows.ts'
import { leaseEnd } from './run-lease.ts'
import { refreshPresence } from './worker-presence.ts'

export const keepPipelineRun =
  ({ db, clock, directory }: Storage & WithDirectory): Handler<'keepPipelineRun'> =>
  (principal, { alias, ...claim }) =>
    withTransaction(db, async (tx) => {
      const app = await requireAppWriter(directory, tx, principal, alias)
      const { run } = await requireClaimedRun(tx, app, claim)
      if (run.state !== 'running') throw notClaimed('This run has ended')
      await tx.update(pipelineRuns).set({ leaseUntil: leaseEnd() }).where(hasRunKey(run))
      await refreshPresence(tx, { orgId: app.orgId, appId: app.id, name: run.worker! }, clock())
      return { lease_seconds: PIPELINE_LEASE_SECONDS }
    })
