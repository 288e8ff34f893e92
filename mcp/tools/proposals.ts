/** A proposal as the tools show it. */
import type * as z from 'zod'
import type { showProposal, listProposals } from '../../src/contracts/proposals.ts'

type Proposal = z.output<typeof listProposals.output>['proposals'][number]
export type ProposalDetails = z.output<typeof showProposal.output>

/** From the configuration only: a Host header must not choose where agents send people. */
export const proposalUrl = (appUrl: URL, { app, id }: Pick<Proposal, 'app' | 'id'>): string =>
  new URL(`/console/apps/${encodeURIComponent(app)}/proposals/${encodeURIComponent(id)}`, appUrl).href

export const proposalLine = (appUrl: URL, proposal: Proposal) => ({
  proposal_id: proposal.id,
  app: proposal.app,
  state: proposal.state,
  title: proposal.title,
  files: proposal.files_changed,
  added_lines: proposal.added_lines,
  removed_lines: proposal.removed_lines,
  created_at: proposal.created_at,
  url: proposalUrl(appUrl, proposal),
})
