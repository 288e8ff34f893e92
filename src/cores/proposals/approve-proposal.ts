/** Approves a proposal: what follows, decision, audit and event in one transaction, compared with what was looked at. */
import { decisionRefused, explainReason } from '../../contracts/proposal-decisions.ts'
import type { WithDirectory } from '../directory/index.ts'
import { findHead, lockStorage } from '../revisions/index.ts'
import { write, type Verb } from '../verb.ts'
import { carryOut } from './carry-out.ts'
import { lockDecider, refuseUnlessAllowed } from './proposal-access.ts'
import { lockProposal, presentOne } from './proposal-rows.ts'
import { announceDecision, auditDecision, decidedBy } from './record-decision.ts'

export const approveProposal: Verb<'approveProposal', WithDirectory> = write(
  { by: 'principal', audit: 'proposal.approved', events: 'application.maintenance.proposal.approved' },
  async (context, { alias, proposal_id, diff_sha256, note }) => {
    const { tx, clock, principal } = context
    const { app, principal: member, viewing } = await lockDecider(tx, context, principal, alias)
    // As whoever pushes: the head is the same until the end.
    await lockStorage(tx, app.orgId)
    const proposal = await lockProposal(tx, app, proposal_id)
    await refuseUnlessAllowed(tx, 'approve', proposal, viewing, diff_sha256)
    const key = { orgId: app.orgId, appId: app.id }
    if ((await findHead(tx, key)) !== proposal.baseRevisionId) throw decisionRefused([explainReason('STALE')])
    const decidedNow = await decidedBy(tx, clock, member, note)
    const approved = await carryOut(tx, clock, app, proposal, member, decidedNow)
    const decided = { alias, principal: member, proposal: approved }
    await auditDecision(tx, clock, 'approved', decided)
    await announceDecision(tx, clock, 'approved', decided)
    return presentOne(tx, approved, viewing)
  },
)
