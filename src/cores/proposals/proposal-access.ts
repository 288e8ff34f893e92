/** Who asks, and what they may see and do. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import type { Principal } from '../../contracts/operation.ts'
import { decisionRefused, explainReason, type ProposalAction } from '../../contracts/proposal-decisions.ts'
import { atLeast, type Role } from '../../contracts/roles.ts'
import { requireApp, type App } from '../apps/index.ts'
import type { Storage } from '../dependencies.ts'
import type { WithDirectory } from '../directory/index.ts'
import { lockAuthor } from '../lock-author.ts'
import { readMachineUsersBehind } from '../machine-agents/index.ts'
import {
  lockSettings,
  maintenanceOff,
  mayReadQuotes,
  requireAppMaintenance,
  type Settings,
} from '../maintenance/index.ts'
import { requireMember, type MemberPrincipal } from '../principal.ts'
import { findPullRequest } from '../remotes/index.ts'
import { reasonsAgainst, type Decider, type DecisionRules } from './decide.ts'
import { decidableOf, type Proposal, type Viewing } from './proposal-rows.ts'

export const readDecider = async (
  db: Handle,
  orgId: string,
  principal: Principal,
  role: Role | null,
): Promise<Decider> => ({
  userId: principal.userId,
  machineUserIds:
    principal.userId === null ? new Set() : await readMachineUsersBehind(db, orgId, principal.userId),
  role,
  isAgent: principal.kind === 'actor' || principal.entryPoint === 'mcp',
  isSupport: principal.supportSessionId !== undefined,
})

export const rulesOf = ({ enabled, mcpDecisions }: Settings): DecisionRules => ({
  isOn: enabled,
  mcpDecisions,
})

/** Of one app, for whoever belongs to the organization. */
export async function viewProposals(
  deps: Storage & WithDirectory,
  principal: Principal,
  alias: string,
): Promise<Viewing & { readonly app: App }> {
  const { app, settings, role, readsSource } = await requireAppMaintenance(deps, deps.db, principal, alias, {
    history: true,
  })
  const who = await readDecider(deps.db, app.orgId, principal, role)
  return { app, alias, who, readsSource, rules: rulesOf(settings) }
}

export type Deciding = {
  readonly app: App
  readonly principal: MemberPrincipal
  readonly viewing: Viewing
}

/** In the transaction of a decision: the role is that of this moment, and stays so until the end. */
export async function lockDecider(
  tx: Transaction,
  { clock, directory }: Storage & WithDirectory,
  principal: Principal,
  alias: string,
): Promise<Deciding> {
  const member = requireMember(principal)
  const { app } = await requireApp(directory, tx, member, alias)
  // Turning it off waits for the decision, or comes before it.
  const settings = await lockSettings(tx, app.orgId, 'share')
  if (!settings.enabled) throw maintenanceOff()
  const { role } = await lockAuthor(tx, clock, member, 'viewer')
  const who = await readDecider(tx, app.orgId, principal, role)
  const viewing = {
    alias,
    who,
    readsSource: mayReadQuotes(principal) && atLeast(role, 'developer'),
    rules: rulesOf(settings),
  }
  return { app, principal: member, viewing }
}

/** With all reasons: the decision object would say the same. */
export async function refuseUnlessAllowed(
  tx: Transaction,
  action: ProposalAction,
  proposal: Proposal,
  { who, rules }: Viewing,
  diffSha256: string,
): Promise<void> {
  const decidable = decidableOf(proposal, await findPullRequest(tx, proposal))
  const reasons = reasonsAgainst(action, decidable, who, rules)
  if (reasons.length === 0 && proposal.diffSha256 !== diffSha256) reasons.push('DIFF_CHANGED')
  if (reasons.length > 0) throw decisionRefused(reasons.map(explainReason))
}
