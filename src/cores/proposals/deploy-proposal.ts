/** Hands the revision of a proposal to the deployment that any other change would take. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { revisions } from '../../../db/schema.ts'
import { decisionRefused, explainReason } from '../../contracts/proposal-decisions.ts'
import type { App } from '../apps/index.ts'
import { lockQueue, queueDeployment } from '../deployments/index.ts'
import type { Clock } from '../dependencies.ts'
import type { MemberPrincipal } from '../principal.ts'
import type { Proposal } from './proposal-rows.ts'

/** Returns the id of the deployment. */
export async function deployProposal(
  tx: Transaction,
  clock: Clock,
  app: App,
  { newRevisionId }: Proposal,
  by: MemberPrincipal,
): Promise<string> {
  await lockQueue(tx, app)
  // Held until the deployment is there: what waits to be deployed is not removed.
  const [revision] = await tx
    .select({ id: revisions.id })
    .from(revisions)
    .where(and(eq(revisions.orgId, app.orgId), eq(revisions.appId, app.id), eq(revisions.id, newRevisionId)))
    .for('key share')
  if (!revision) throw decisionRefused([explainReason('STALE')])
  return (await queueDeployment(tx, clock, app, { revisionId: newRevisionId, by })).id
}
