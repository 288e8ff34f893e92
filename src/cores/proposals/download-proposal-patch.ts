/** The diff as it is, so that its SHA-256 is that of the proposal. */
import { requireSourceReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireAppMaintenance } from '../maintenance/index.ts'
import { read, type Verb } from '../verb.ts'
import { requireProposal } from './proposal-rows.ts'

export const downloadProposalPatch: Verb<'downloadProposalPatch', WithDirectory> = read(
  'principal',
  async (context, { alias, proposal_id }) => {
    const { db, old = db, principal, directory } = context
    const { app } = await requireAppMaintenance(context, db, principal, alias, { history: true })
    await requireSourceReader(directory, db, principal, alias)
    const { diff } = await requireProposal(old, app, proposal_id)
    return { body: new Uint8Array(Buffer.from(diff)) }
  },
)
