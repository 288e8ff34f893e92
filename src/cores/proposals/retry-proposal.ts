/**
 * decisions, 14: a stale proposal is applied to the new head, and is then to be decided again; a failed one is deployed again, or
 * opened again where the app has a remote, or becomes stale when somebody has changed the source since it was approved. One
 * that is merged upstream is looked for in what was pushed, and waits anew.
 */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { maintenanceRuns } from '../../../db/schema.ts'
import { ToolRefused } from '../../contracts/agent-tools.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Principal } from '../../contracts/operation.ts'
import { requireApp } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireMember } from '../principal.ts'
import { findPullRequest, watchAgain } from '../remotes/index.ts'
import { findHead, lockStorage, requireRevision } from '../revisions/index.ts'
import { writeInSteps, type InSteps, type Verb } from '../verb.ts'
import { carryOut } from './carry-out.ts'
import { deployProposal } from './deploy-proposal.ts'
import { prepareChange, type PreparedChange } from './prepare-change.ts'
import { readChangeRules } from './read-change-rules.ts'
import { lockDecider, refuseUnlessAllowed, type Deciding } from './proposal-access.ts'
import {
  changeProposal,
  lockProposal,
  presentOne,
  requireProposal,
  setFinding,
  type Proposal,
} from './proposal-rows.ts'
import { findTwin, storeChange, type ProposalDeps } from './propose-change.ts'
import { auditDecision } from './record-decision.ts'

type RetryDeps = ProposalDeps & WithDirectory
type Asked = { readonly alias: string; readonly proposal_id: string; readonly diff_sha256: string }

export const retryProposal: Verb<'retryProposal', RetryDeps> = writeInSteps(
  { by: 'principal', audit: 'proposal.retried' },
  async (context, asked) => {
    const { clock, principal, transaction } = context
    const applied = await applyToHead(context, principal, asked)
    return transaction(async ({ tx }) => {
      const deciding = await lockDecider(tx, context, principal, asked.alias)
      await lockStorage(tx, deciding.app.orgId)
      const proposal = await lockProposal(tx, deciding.app, asked.proposal_id)
      await refuseUnlessAllowed(tx, 'retry', proposal, deciding.viewing, asked.diff_sha256)
      const retried =
        proposal.state === 'stale'
          ? await saveApplied(tx, context, deciding, proposal, applied)
          : await deployAgain(tx, context, deciding, proposal)
      await auditDecision(tx, clock, 'retried', {
        alias: asked.alias,
        principal: deciding.principal,
        proposal: retried,
      })
      return presentOne(tx, retried, deciding.viewing)
    })
  },
)

type Applied = { readonly head: string; readonly change: PreparedChange }

/** Before the transaction, because comparing takes its time. Undefined: it is not stale, or whoever asks may not retry it. */
async function applyToHead(
  deps: RetryDeps & InSteps<{ readonly by: 'principal'; readonly audit: 'proposal.retried' }>,
  principal: Principal,
  { alias, proposal_id, diff_sha256 }: Asked,
): Promise<Applied | undefined> {
  const { app } = await requireApp(deps.directory, deps.db, requireMember(principal), alias)
  const proposal = await requireProposal(deps.db, app, proposal_id)
  if (proposal.state !== 'stale') return undefined
  // Everything that would refuse it does so now: nobody who may not retry makes us compare.
  await deps.transaction(async ({ tx }) => {
    const { viewing } = await lockDecider(tx, deps, principal, alias)
    await refuseUnlessAllowed(tx, 'retry', proposal, viewing, diff_sha256)
  })
  const key = { orgId: app.orgId, appId: app.id }
  const head = await findHead(deps.db, key)
  if (head === undefined) return undefined
  const { manifest } = await requireRevision(deps.db, key, head)
  const rules = await readChangeRules(deps.db, key)
  try {
    return { head, change: await prepareChange(deps, app.orgId, manifest, { ...proposal, rules }) }
  } catch (error) {
    throw error instanceof ToolRefused ? doesNotApply(error) : error
  }
}

const doesNotApply = ({ message, problems }: ToolRefused): ServiceError =>
  new ServiceError('CONFLICT', 'The change cannot be applied to the source as it is now', {
    problems: problems.length > 0 ? problems : [message],
    hint: 'Deny it: the next run looks at the new source.',
  })

async function saveApplied(
  tx: Transaction,
  deps: RetryDeps,
  { app }: Deciding,
  proposal: Proposal,
  applied: Applied | undefined,
): Promise<Proposal> {
  const key = { orgId: app.orgId, appId: app.id }
  if (applied === undefined || (await findHead(tx, key)) !== applied.head) {
    throw new ServiceError('CONFLICT', 'The source changed in the meantime', { hint: 'Retry it once more.' })
  }
  const stored = await storeChange(tx, deps, key, applied.head, applied.change)
  const twin = await findTwin(tx, key, stored.treeSha256, proposal.id)
  if (twin !== undefined) throw new ServiceError('CONFLICT', `The same change is in proposal ${twin}`)
  await setFinding(tx, proposal, 'proposed')
  await tx
    .update(maintenanceRuns)
    .set({ undoneBy: null })
    .where(and(eq(maintenanceRuns.orgId, proposal.orgId), eq(maintenanceRuns.proposalId, proposal.id)))
  return changeProposal(tx, proposal, {
    ...stored,
    state: 'ready',
    undoneBy: null,
    renamedFiles: {},
    changedAt: deps.clock(),
  })
}

async function deployAgain(
  tx: Transaction,
  { clock }: RetryDeps,
  { app, principal }: Deciding,
  proposal: Proposal,
): Promise<Proposal> {
  const head = await findHead(tx, { orgId: app.orgId, appId: app.id })
  if (head === proposal.newRevisionId) {
    const deploymentId = await deployProposal(tx, clock, app, proposal, principal)
    await setFinding(tx, proposal, 'proposed')
    return changeProposal(tx, proposal, { state: 'approved', deploymentId, changedAt: clock() })
  }
  const pullRequest = await findPullRequest(tx, proposal)
  if (pullRequest?.state === 'merged') {
    // It is upstream: what it waits for is a push, and its deployment.
    await setFinding(tx, proposal, 'proposed')
    await watchAgain(tx, clock, proposal)
    return changeProposal(tx, proposal, { state: 'deploying', deploymentId: null, changedAt: clock() })
  }
  if (pullRequest && head === proposal.baseRevisionId) {
    await setFinding(tx, proposal, 'proposed')
    return carryOut(tx, clock, app, proposal, principal)
  }
  // The approval was of a change to a source that is not there any more.
  return changeProposal(tx, proposal, {
    state: 'stale',
    deploymentId: null,
    decidedById: null,
    decidedBy: null,
    decidedVia: null,
    decidedTokenId: null,
    decidedToken: null,
    decidedGrantId: null,
    decidedAgent: null,
    decidedAt: null,
    decisionNote: null,
    changedAt: clock(),
  })
}
