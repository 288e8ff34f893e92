/** What somebody may do with a proposal now, and why not: the one rule behind the API, console, client and MCP. Pure. */
import type { McpDecisions, ProposalState } from '../../contracts/outcomes.ts'
import {
  DECIDING_ROLES,
  explainReason,
  type DecisionReason,
  type ProposalAction,
} from '../../contracts/proposal-decisions.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'

export type Decider = {
  readonly userId: string | null
  /** The users of the machine agents they could have asked through. */
  readonly machineUserIds: ReadonlySet<string>
  readonly role: Role | null
  /** By an agent's grant or token, at an MCP endpoint. */
  readonly isAgent: boolean
  readonly isSupport: boolean
}

export type Decidable = {
  readonly state: ProposalState
  readonly authorId: string
  /** Who started the run, and who changed its settings within a day before. Nobody: the schedule. */
  readonly requesterIds: readonly string[]
  /** Upstream. It waits for a push that has its lines, which may never come. */
  readonly isMerged: boolean
}

/** Of the organization's settings. */
export type DecisionRules = { readonly isOn: boolean; readonly mcpDecisions: McpDecisions }

/** All of them, so that nobody has to ask again for the next one. */
export function reasonsAgainst(
  action: ProposalAction,
  proposal: Decidable,
  who: Decider,
  { isOn, mcpDecisions }: DecisionRules,
): DecisionReason[] {
  const reasons: DecisionReason[] = []
  if (who.isSupport) reasons.push('SUPPORT_SESSION')
  if (who.role === null || !atLeast(who.role, 'admin')) reasons.push('ROLE')
  if (who.userId === proposal.authorId) reasons.push('AUTHOR')
  if (deploys(action, proposal) && hasAsked(who, proposal)) reasons.push('REQUESTER')
  if (who.isAgent && mcpDecisions !== 'direct') reasons.push('AGENT')
  if (!isOn) reasons.push('MAINTENANCE_OFF')
  const wrongState = action === 'retry' ? againstRetry(proposal) : againstDeciding(action, proposal)
  return wrongState === undefined ? reasons : [...reasons, wrongState]
}

const hasAsked = ({ userId, machineUserIds }: Decider, { requesterIds }: Decidable): boolean =>
  requesterIds.some((id) => id === userId || machineUserIds.has(id))

/** Denying, and applying a change anew that somebody else is then to approve, need no second person. */
const deploys = (action: ProposalAction, proposal: Decidable): boolean =>
  action === 'approve' || (action === 'retry' && (proposal.state === 'failed' || isWaiting(proposal)))

/** Nothing of ours may end its waiting: a person may. */
const isWaiting = ({ state, isMerged }: Decidable): boolean => state === 'deploying' && isMerged

const againstRetry = (proposal: Decidable): DecisionReason | undefined =>
  proposal.state === 'stale' || proposal.state === 'failed' || isWaiting(proposal)
    ? undefined
    : 'NOTHING_TO_RETRY'

function againstDeciding(action: ProposalAction, proposal: Decidable): DecisionReason | undefined {
  const { state } = proposal
  if (state === 'ready') return undefined
  if (state === 'preparing') return 'NOT_READY'
  // What nobody wants any more may be denied whatever it would be applied to.
  if (state === 'stale') return action === 'deny' ? undefined : 'STALE'
  return action === 'deny' && isWaiting(proposal) ? undefined : 'ALREADY_DECIDED'
}

export function decisionFor(proposal: Decidable, who: Decider, rules: DecisionRules) {
  const against = (action: ProposalAction) => reasonsAgainst(action, proposal, who, rules).map(explainReason)
  const reasons = { approve: against('approve'), deny: against('deny'), retry: against('retry') }
  const can = {
    approve: reasons.approve.length === 0,
    deny: reasons.deny.length === 0,
    retry: reasons.retry.length === 0,
  }
  return { eligible: can.approve, can, reasons, required_roles: [...DECIDING_ROLES] }
}
