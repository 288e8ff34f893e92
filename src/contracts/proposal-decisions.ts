/**
 * What may be done with a proposal, why not, and what a reviewer should look at. Closed lists, as plain constants: the client `svc` loads this file and no zod.
 */
import { ServiceError } from './errors.ts'

export const PROPOSAL_ACTIONS = ['approve', 'deny', 'retry'] as const
export type ProposalAction = (typeof PROPOSAL_ACTIONS)[number]

/** Who may decide, besides not being any of those that are named below. */
export const DECIDING_ROLES = ['owner', 'admin'] as const

/**
 * Why something may not be done. `is`: with whoever asks (403), or with the proposal as it stands (409).
 * decisions, 6: author, requester and role are 403; not ready, stale and decided are 409.
 */
export const DECISION_REASONS = {
  AUTHOR: { is: 'person', message: 'The agent that made a proposal may not decide on it' },
  REQUESTER: {
    is: 'person',
    message:
      'Whoever started the run, or changed the agent’s settings within a day before it, may not approve what came of it',
  },
  ROLE: { is: 'person', message: 'Only owners and admins decide on proposals' },
  AGENT: { is: 'person', message: 'An agent may not decide. A person decides, on the page of the proposal' },
  SUPPORT_SESSION: { is: 'person', message: 'Support sessions do not decide on proposals' },
  MAINTENANCE_OFF: { is: 'state', message: 'The maintenance agent is turned off' },
  NOT_READY: { is: 'state', message: 'The proposal is not ready' },
  STALE: { is: 'state', message: 'The source has changed since: retry it, to apply it to the new source' },
  ALREADY_DECIDED: { is: 'state', message: 'The proposal was decided already' },
  NOTHING_TO_RETRY: { is: 'state', message: 'Only a stale or failed proposal can be retried' },
  DIFF_CHANGED: { is: 'state', message: 'The diff is not the one that was looked at' },
} as const satisfies Record<string, { is: 'person' | 'state'; message: string }>
export type DecisionReason = keyof typeof DECISION_REASONS

/** As answers give it. */
type ExplainedReason = { readonly code: DecisionReason; readonly message: string }
type ReasonsByAction = Readonly<Record<ProposalAction, readonly ExplainedReason[]>>

export const explainReason = (code: DecisionReason): ExplainedReason => ({
  code,
  message: DECISION_REASONS[code].message,
})

/** A client may be older than its server, and know fewer. */
const PERSONAL: ReadonlySet<string> = new Set(
  Object.entries(DECISION_REASONS).flatMap(([code, { is }]) => (is === 'person' ? [code] : [])),
)

/** 403 if it is about whoever asks, else 409; with all reasons, at least one. */
export const decisionRefused = (reasons: readonly ExplainedReason[], hint?: string): ServiceError =>
  new ServiceError(
    reasons.some(({ code }) => PERSONAL.has(code)) ? 'FORBIDDEN' : 'CONFLICT',
    reasons[0]!.message,
    {
      problems: reasons.map(({ code, message }) => `${code}: ${message}`),
      ...(hint !== undefined && { hint }),
    },
  )

type ToldReason = ExplainedReason & { readonly actions: readonly ProposalAction[] }

/**
 * What a reader is told: why they may not approve; and why they may not do the others, where the proposal as it stands would let
 * somebody else.
 */
export function reasonsToTell(reasons: ReasonsByAction): ToldReason[] {
  const told = new Map<string, ToldReason>()
  for (const action of PROPOSAL_ACTIONS) {
    if (action !== 'approve' && !reasons[action].every(({ code }) => PERSONAL.has(code))) continue
    for (const reason of reasons[action]) {
      const { actions } = told.get(reason.code) ?? { actions: [] }
      told.set(reason.code, { ...reason, actions: [...actions, action] })
    }
  }
  return [...told.values()]
}

/** What a scanner without any judgment finds in the added lines of a diff. */
export const DIFF_FLAGS = {
  invisible_character: 'Characters that are not seen, or change the direction of text',
  mixed_alphabet: 'Letters of another alphabet that look like Latin ones',
  hidden_by_blanks: 'Text behind many blanks, where it may not be seen',
  new_dependency: 'A new dependency, or another source of one',
  new_host: 'A host that the file did not name before',
  piped_download: 'A download that is run at once',
  dangerous_call: 'A call that runs code, starts programs or opens connections',
  removed_test: 'Lines of a test are removed',
} as const
export type DiffFlag = keyof typeof DIFF_FLAGS

/** `.patch` files, and what `git apply` reads. */
export const PATCH_TYPE = 'text/x-patch'
