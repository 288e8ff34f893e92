/**
 * The tool `proposal_decide`. A model can be talked into anything, so by default it gets no further than a link: a person
 * decides on the page of the proposal, signed in. Only where an owner chose so does the call itself decide; the gateway
 * decides which it is, and refuses an agent otherwise.
 */
import * as z from 'zod'
import { appAlias } from '../../src/contracts/apps.ts'
import { notFound } from '../../src/contracts/errors.ts'
import { idPattern } from '../../src/contracts/ids.ts'
import {
  decisionRefused,
  explainReason,
  PROPOSAL_ACTIONS,
  type ProposalAction,
} from '../../src/contracts/proposal-decisions.ts'
import { approveProposal, denyProposal, showProposal, retryProposal } from '../../src/contracts/proposals.ts'
import { LINK } from '../client-abilities.ts'
import { ProtocolAnswer } from '../protocol-answer.ts'
import { hidePattern, tool, type ToolContext } from '../tool.ts'
import { proposalLine, proposalUrl, type ProposalDetails } from './proposals.ts'

const OPERATIONS = { approve: approveProposal, deny: denyProposal, retry: retryProposal } as const

export const proposalDecide = tool({
  name: 'proposal_decide',
  resource: 'platform',
  title: 'Decide a proposal',
  description:
    'Approve (deploys it), deny or retry. Show the user the diff first. May answer with a url for them.',
  operations: [showProposal, ...Object.values(OPERATIONS)],
  minimumRole: 'admin',
  isDestructive: true,
  input: z.strictObject({
    app: hidePattern(appAlias.alias),
    proposal_id: z.string().max(60),
    decision: z.enum(PROPOSAL_ACTIONS),
    diff_sha256: hidePattern(approveProposal.input.shape.diff_sha256).describe('From proposal_show.'),
  }),
  isUntrusted: true,
  notFoundText: 'No such app or proposal. Call proposal_show.',
  async run({ app, proposal_id, decision, diff_sha256 }, context) {
    // An invalid id is answered like an unknown one.
    if (!idPattern('pr').test(proposal_id)) throw notFound()
    const proposal = await context.call(showProposal, { alias: app, proposal_id })
    const reasons = proposal.decision.reasons[decision]
    const others = reasons.filter(({ code }) => code !== 'AGENT')
    if (others.length === reasons.length) {
      const decided = await context.call(OPERATIONS[decision], { alias: app, proposal_id, diff_sha256 })
      return proposalLine(context.appUrl, decided)
    }
    if (context.client.link !== undefined) return afterLink(context, proposal, decision)
    // In the words of the server, which would say the same: nobody is sent to a page on which they can do nothing.
    if (others.length > 0) throw decisionRefused(others, SHOW_AGAIN)
    if (diff_sha256 !== proposal.diff_sha256) {
      throw decisionRefused([explainReason('DIFF_CHANGED')], SHOW_AGAIN)
    }
    return linkFor(context, proposal, decision)
  },
})

const SHOW_AGAIN = 'Call proposal_show again.'

function linkFor({ appUrl, client }: ToolContext, proposal: ProposalDetails, decision: ProposalAction) {
  const url = proposalUrl(appUrl, proposal)
  if (!client.opensLinks) return needsConfirmation(proposal, url)
  const message = `Review the proposal ${proposal.id} of ${proposal.app}, and ${decision} it there if you agree.`
  return new ProtocolAnswer({
    resultType: 'input_required',
    inputRequests: { [LINK]: { method: 'elicitation/create', params: { mode: 'url', message, url } } },
  })
}

const needsConfirmation = ({ state }: ProposalDetails, url: string) => ({
  status: 'needs_confirmation',
  state,
  url,
  next: 'Nothing has changed yet. Give the user this url: they decide there, signed in. Then call proposal_show.',
})

/** That the link was opened says nothing about what was decided: the proposal does. */
function afterLink({ appUrl, client }: ToolContext, proposal: ProposalDetails, decision: ProposalAction) {
  if (client.link !== 'accept') {
    return {
      status: 'not_decided',
      state: proposal.state,
      next: 'The user did not open the link. Do not ask again unless they want to.',
    }
  }
  return isDone(proposal, decision)
    ? { status: 'decided', ...proposalLine(appUrl, proposal) }
    : needsConfirmation(proposal, proposalUrl(appUrl, proposal))
}

/** One that failed was decided on before, so that this says nothing about its retry: as long as it can be retried, nobody has. */
const isDone = ({ state, decided }: ProposalDetails, decision: ProposalAction): boolean =>
  decision === 'retry' ? state !== 'failed' && state !== 'stale' : decided !== null
