import { PIPELINE_LEASE_SECONDS } from '../../contracts/limits.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { notClaimed, requireClaimedRun } from './claimed-run.ts'
import { runLease } from './run-lease.ts'
import { refreshPresence } from './worker-presence.ts'

export const keepPipelineRun: Verb<'keepPipelineRun', WithDirectory> = write(
  { by: 'principal' },
  async ({ tx, clock, principal, directory }, { alias, ...claim }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    const { run } = await requireClaimedRun(tx, app, claim)
    if (run.state !== 'running') throw notClaimed('This run has ended')
    await runLease.renew(tx, runLease.isHeld(run))
    await refreshPresence(tx, { orgId: app.orgId, appId: app.id, name: run.worker! }, clock())
    return { lease_seconds: PIPELINE_LEASE_SECONDS }
  },
)
