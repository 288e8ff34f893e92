/** The diff as it is, so that its SHA-256 is that of the proposal. */
import type { Handler } from '../../contracts/operations.ts'
import { requireSourceReader } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { requireAppMaintenance } from '../maintenance/index.ts'
import { requireProposal } from './proposal-rows.ts'

export const downloadProposalPatch =
  (deps: Storage & WithDirectory): Handler<'downloadProposalPatch'> =>
  async (principal, { alias, proposal_id }) => {
    const { db, directory } = deps
    const { app } = await requireAppMaintenance(deps, db, principal, alias, { history: true })
    await requireSourceReader(directory, db, principal, alias)
    const { diff } = await requireProposal(db, app, proposal_id)
    return { body: new Uint8Array(Buffer.from(diff)) }
  }
