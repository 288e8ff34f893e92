/** The proposals that a deployment carries out, and the findings behind them, stand as the deployment does. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray } from '../../../db/drizzle.ts'
import { proposals } from '../../../db/schema.ts'
import type { DeploymentState } from '../../contracts/deployment-states.ts'
import type { FindingState, ProposalState } from '../../contracts/outcomes.ts'
import type { Clock } from '../dependencies.ts'
import { moveFindings } from '../move-findings.ts'
import { landMerged } from '../revisions/index.ts'
import { notifyChange } from '../changes/index.ts'
import type { Deployment } from './deployment-rows.ts'

/** Cancelled: it can be deployed again, as one that failed. */
const STATES = {
  queued: 'approved',
  running: 'deploying',
  succeeded: 'deployed',
  failed: 'failed',
  cancelled: 'failed',
} as const satisfies Record<DeploymentState, ProposalState>

type FindingChange = { readonly from: readonly FindingState[]; readonly to: FindingState }

/** What was not deployed after all is open again: the next run that finds it says so. */
const FAILED: FindingChange = { from: ['proposed', 'resolved'], to: 'open' }
const FINDING_CHANGES: Partial<Record<DeploymentState, FindingChange>> = {
  succeeded: { from: ['open', 'proposed'], to: 'resolved' },
  failed: FAILED,
  cancelled: FAILED,
}

/** In the transaction of every change of a deployment's state. */
export async function followDeployment(
  tx: Transaction,
  clock: Clock,
  {
    orgId,
    id,
    appId,
    revisionId,
    state,
    endedAt,
  }: Pick<Deployment, 'orgId' | 'id' | 'appId' | 'revisionId' | 'state' | 'endedAt'>,
): Promise<void> {
  await notifyChange(tx, 'deployments', { orgId })
  if (state === 'succeeded') await landMerged(tx, clock, { orgId, appId }, { revisionId, deploymentId: id })
  const followed = await tx
    .update(proposals)
    .set({
      state: STATES[state],
      changedAt: clock(),
      ...(state === 'succeeded' && { deployedAt: endedAt ?? clock(), restoredAt: null }),
    })
    .where(
      and(
        eq(proposals.orgId, orgId),
        eq(proposals.deploymentId, id),
        inArray(proposals.state, ['approved', 'deploying', 'deployed', 'failed']),
      ),
    )
    .returning({ fingerprint: proposals.fingerprint, undoneBy: proposals.undoneBy })
  if (followed.length > 0) await notifyChange(tx, 'proposals', { orgId })
  const change = FINDING_CHANGES[state]
  if (change === undefined) return
  // What runs now is gone with the next deployment: a push has taken it away.
  const meant = followed.filter(({ undoneBy }) => change.to !== 'resolved' || undoneBy === null)
  await moveFindings(
    tx,
    { orgId, appId },
    meant.map(({ fingerprint }) => fingerprint),
    change,
  )
}
