/**
 * How a maintenance run ends: the one closed function behind chips, exit codes and events. Plain constants: the client
 * `svc` loads this file and no zod.
 */

export const RUN_STATUSES = ['queued', 'running', 'ended'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

export const RUN_MODES = ['nightly', 'manual'] as const
export type RunMode = (typeof RUN_MODES)[number]

/** The built-in analyst: no language model, findings only. */
export const RULES_MODEL = 'rules'

type RunEvent = 'application.maintenance.run.completed' | 'application.maintenance.run.failed'

export type RunOutcome = {
  readonly outcome: string
  /** As the console shows it. */
  readonly chip: string
  /** Of the client. */
  readonly exitCode: number
  /** Null: nobody is told. */
  readonly event: RunEvent | null
}

const COMPLETED = 'application.maintenance.run.completed'
const FAILED = 'application.maintenance.run.failed'
const AGENT_ERROR = { outcome: 'agent_error', chip: 'Agent error', exitCode: 1, event: FAILED } as const

/** Every code that a run may end with. */
const OUTCOMES = {
  found_nothing: {
    outcome: 'found_nothing',
    chip: 'Ran, found nothing',
    exitCode: 0,
    event: COMPLETED,
  },
  finding_recorded: {
    outcome: 'finding_recorded',
    chip: 'Finding recorded',
    exitCode: 11,
    event: COMPLETED,
  },
  proposed: { outcome: 'proposed', chip: 'A proposal in the change queue', exitCode: 0, event: COMPLETED },
  budget_exhausted: {
    outcome: 'budget_exhausted',
    chip: 'Budget limited',
    exitCode: 0,
    event: COMPLETED,
  },
  skipped: { outcome: 'skipped', chip: 'Skipped', exitCode: 0, event: null },
  agent_error: AGENT_ERROR,
  lease_lost: AGENT_ERROR,
  // Somebody turned it off, and knows.
  fenced_disabled: { outcome: 'fenced', chip: 'Stopped: switched off', exitCode: 6, event: null },
} as const satisfies Record<string, RunOutcome>

export type TerminalCode = keyof typeof OUTCOMES
export const TERMINAL_CODES = Object.keys(OUTCOMES) as [TerminalCode, ...TerminalCode[]]

export const RUN_OUTCOMES = [
  'found_nothing',
  'finding_recorded',
  'proposed',
  'budget_exhausted',
  'skipped',
  'agent_error',
  'fenced',
  'unknown',
] as const satisfies readonly ((typeof OUTCOMES)[TerminalCode]['outcome'] | 'unknown')[]
export type RunOutcomeName = (typeof RUN_OUTCOMES)[number]

type KnownOutcome = RunOutcome & { readonly outcome: RunOutcomeName }

/** Never taken for a healthy result. */
const UNKNOWN: KnownOutcome = {
  outcome: 'unknown',
  chip: 'Unrecognised result',
  exitCode: 1,
  event: null,
}

/** `model`: what the built-in analyst did not find is said with its name, because it looks at less. */
export function outcomeOf(code: string, model?: string): KnownOutcome {
  const known: KnownOutcome = Object.hasOwn(OUTCOMES, code) ? OUTCOMES[code as TerminalCode] : UNKNOWN
  return known.outcome === 'found_nothing' && model === RULES_MODEL
    ? { ...known, chip: `${known.chip} (rules only)` }
    : known
}

/** Why a run ended as it did, where its code alone does not say it. */
export const RUN_REASONS = {
  ANOTHER_RUN: 'Another run held the app',
  COOLING_DOWN: 'Another model was chosen while it waited, whose last run was too short ago',
  APP_SWITCHED_OFF: 'The maintenance agent was turned off for the app',
  ORGANIZATION_SWITCHED_OFF: 'The maintenance agent was turned off for the organization',
  NOT_STARTED: 'No agent runner started it within six hours',
  RUNNER_LOST: 'The agent runner stopped responding',
  RUNNER_STOPPED: 'The agent runner was stopped',
  ALLOWANCE_USED: 'The organization’s tokens of the day are used up',
  RUN_CEILING: 'It reached the tokens that one run may use',
  INCOMPLETE_LOOK: 'It ended without having read the logs and the check history',
  ERRORS_NOT_READ: 'It did not read every group of errors of the day before',
  ONLY_KNOWN: 'It found only what is known already',
  NOTHING_TO_READ: 'It found no log lines and no results of checks to look at',
  NO_CONCLUSION: 'The model ended without a conclusion',
  UNSURE: 'It could not tell whether the app works',
  STEP_LIMIT: 'It made as many calls as a run may make',
  TIME_LIMIT: 'It took longer than a run may take',
  MODEL_NOT_CONFIGURED: 'The model is not configured any more',
  MODEL_REFUSED: 'The provider refused the request',
  MODEL_RATE_LIMITED: 'The provider had no capacity',
  MODEL_UNAVAILABLE: 'The provider could not be reached',
  MODEL_TIMEOUT: 'The provider did not answer in time',
  MODEL_OUTAGE: 'The provider of the model is down; it is left alone for half an hour',
  OUTAGE_USED_ALLOWANCE:
    'The organization’s tokens of the day are used up, some of them by an outage of the provider',
  MODEL_INVALID_ANSWER: 'The provider’s answer could not be read',
  NO_SOURCE: 'The app has no source',
  UNEXPECTED: 'An unexpected error; the log has its cause',
} as const
export type RunReason = keyof typeof RUN_REASONS

export const PROPOSAL_STATES = [
  'preparing',
  'ready',
  'approved',
  'deploying',
  'deployed',
  'failed',
  'denied',
  'stale',
] as const
export type ProposalState = (typeof PROPOSAL_STATES)[number]

/** A person can do something about it: decide, or retry. */
export const ACTIONABLE = ['ready', 'stale', 'failed'] as const satisfies readonly ProposalState[]

/** `quiet`: its proposal was denied, and nothing is said again until the cited lines change. */
export const FINDING_STATES = ['open', 'proposed', 'quiet', 'resolved'] as const
export type FindingState = (typeof FINDING_STATES)[number]

export const EVIDENCE_KINDS = ['file', 'log', 'check', 'deployment'] as const
export type EvidenceKind = (typeof EVIDENCE_KINDS)[number]

/** How an agent's approval over MCP is taken: by a link to the console, or at once. */
export const MCP_DECISIONS = ['link', 'direct'] as const
export type McpDecisions = (typeof MCP_DECISIONS)[number]
