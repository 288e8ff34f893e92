/**
 * What follows from an approval: the revision becomes the head and is deployed; or, where the app has a remote, a pull request
 * is to be opened there, and the head stays what was pushed.
 */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { pullRequests } from '../../../db/schema.ts'
import type { App } from '../apps/index.ts'
import type { Clock } from '../dependencies.ts'
import type { MemberPrincipal } from '../principal.ts'
import { lockRemote, requestPullRequest } from '../remotes/index.ts'
import { moveHead } from '../revisions/index.ts'
import { deployProposal } from './deploy-proposal.ts'
import { changeProposal, type Proposal } from './proposal-rows.ts'

/** Under the lock of the storage. `decided`: what else the row says from now on. */
export async function carryOut(
  tx: Transaction,
  clock: Clock,
  app: App,
  proposal: Proposal,
  by: MemberPrincipal,
  decided: Partial<Proposal> = {},
): Promise<Proposal> {
  const key = { orgId: app.orgId, appId: app.id }
  const remote = await lockRemote(tx, key, 'share')
  const deploymentId = remote ? null : await deployProposal(tx, clock, app, proposal, by)
  const approved = await changeProposal(tx, proposal, {
    state: 'approved',
    deploymentId,
    changedAt: clock(),
    ...decided,
  })
  if (remote) await requestPullRequest(tx, clock, approved)
  else {
    await moveHead(tx, clock, key, proposal.newRevisionId)
    // Of a remote that was removed since: the head has its lines now.
    await tx
      .update(pullRequests)
      .set({ landedBy: proposal.newRevisionId })
      .where(and(eq(pullRequests.orgId, proposal.orgId), eq(pullRequests.id, proposal.id)))
  }
  return approved
}
