import type { Handle } from '../../../db/connect.ts'
import type { WithDirectory } from '../directory/index.ts'
import { readEvidence } from '../findings/index.ts'
import { read, type Verb } from '../verb.ts'
import { diffFlags } from './diff-flags.ts'
import { presentFile } from './find-proposal.ts'
import { presentHours } from './present-effect.ts'
import { viewProposals } from './proposal-access.ts'
import { presentOne, requireProposal, type Proposal } from './proposal-rows.ts'

export const showProposal: Verb<'showProposal', WithDirectory> = read(
  'principal',
  async (context, { alias, proposal_id }) => {
    const { db, principal } = context
    const { app, ...viewing } = await viewProposals(context, principal, alias)
    const proposal = await requireProposal(db, app, proposal_id)
    const { readsSource } = viewing
    const paths = proposal.files.map(({ path }) => path)
    return {
      ...(await presentOne(db, proposal, viewing)),
      rationale: readsSource ? proposal.rationale : null,
      diff: readsSource ? proposal.diff : null,
      files: readsSource ? proposal.files.map(presentFile) : null,
      flags: readsSource ? diffFlags(proposal.diff, paths) : null,
      effect_hours: presentHours(proposal.effect),
      undone: proposal.undoneBy !== null,
      evidence: (await readCited(db, proposal)).map(({ ref, kind, sha256 }) => ({
        ref: readsSource ? ref : null,
        kind,
        sha256,
      })),
    }
  },
)

/** In the order in which it cites them. */
async function readCited(db: Handle, { orgId, executionId, evidence }: Proposal) {
  const rows = await readEvidence(db, { orgId, executionId }, evidence)
  return rows.toSorted((a, b) => evidence.indexOf(a.ref) - evidence.indexOf(b.ref))
}
