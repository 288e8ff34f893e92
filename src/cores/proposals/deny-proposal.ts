/** Denies a proposal. The live app is untouched, and the matter stays quiet until its source lines change. */
import type { WithDirectory } from '../directory/index.ts'
import { unwatch } from '../remotes/index.ts'
import { write, type Verb } from '../verb.ts'
import { lockDecider, refuseUnlessAllowed } from './proposal-access.ts'
import { changeProposal, lockProposal, presentOne, setFinding } from './proposal-rows.ts'
import { announceDecision, auditDecision, decidedBy } from './record-decision.ts'

export const denyProposal: Verb<'denyProposal', WithDirectory> = write(
  { by: 'principal', audit: 'proposal.denied', events: 'application.maintenance.proposal.denied' },
  async (context, { alias, proposal_id, diff_sha256, note }) => {
    const { tx, clock, principal } = context
    const { app, principal: member, viewing } = await lockDecider(tx, context, principal, alias)
    const proposal = await lockProposal(tx, app, proposal_id)
    await refuseUnlessAllowed(tx, 'deny', proposal, viewing, diff_sha256)
    const denied = await changeProposal(tx, proposal, {
      state: 'denied',
      changedAt: clock(),
      ...(await decidedBy(tx, clock, member, note)),
    })
    await setFinding(tx, denied, 'quiet')
    await unwatch(tx, denied)
    const decided = { alias, principal: member, proposal: denied }
    await auditDecision(tx, clock, 'denied', decided)
    await announceDecision(tx, clock, 'denied', decided)
    return presentOne(tx, denied, viewing)
  },
)
