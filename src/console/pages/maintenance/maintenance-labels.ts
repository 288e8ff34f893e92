/** Labels and paths of maintenance: runs, findings and proposals. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import type { showFinding, showMaintenanceRun, listMaintenanceRuns } from '../../../contracts/maintenance.ts'
import {
  RUN_REASONS,
  type EvidenceKind,
  type FindingState,
  type ProposalState,
  type RunOutcomeName,
} from '../../../contracts/outcomes.ts'
import type { showProposal, listProposals } from '../../../contracts/proposals.ts'
import { badge } from '../../components.ts'
import { hasRole, type ConsoleSession } from '../../context.ts'
import { cronWords } from '../../cron-words.ts'
import { appPath } from '../apps/app-labels.ts'
import { visibleWords } from '../apps/source-text.ts'
import { titleInWords } from './title-in-words.ts'

export type Run = z.output<typeof listMaintenanceRuns.output>['runs'][number]
export type RunDetails = z.output<typeof showMaintenanceRun.output>
export type Finding = z.output<typeof showFinding.output>
export type Proposal = z.output<typeof listProposals.output>['proposals'][number]
export type ProposalDetails = z.output<typeof showProposal.output>

/** With the expression behind its words. */
export function cronPhrase(expression: string) {
  const words = cronWords(expression)
  return words === undefined
    ? html`<code>${expression}</code>`
    : html`<span title="${expression}">${words}</span>`
}

/** Where its summary may not be read. */
const KIND_WORDS: Readonly<Record<string, string>> = {
  error: 'Error',
  regression: 'Regression',
  performance: 'Slower than before',
  availability: 'Not available',
  security: 'Security',
  configuration: 'Configuration',
}

/** In words, as plain text with nothing invisible. */
export const findingTitle = (one: Pick<Finding, 'summary' | 'location' | 'kind'>): string =>
  visibleWords(titleInWords(one) ?? KIND_WORDS[one.kind] ?? 'Finding')

/** What it found; of others, how they came to be. */
export function runTitle(run: Pick<Run, 'outcome' | 'summary' | 'requested_by' | 'mode'>): string {
  const isAbout = run.outcome === 'finding_recorded' || run.outcome === 'proposed'
  const title = isAbout ? titleInWords(run) : undefined
  if (title !== undefined) return visibleWords(title)
  return run.requested_by === null ? 'Nightly run' : 'Manual run'
}

/** Small, behind a title. */
export const smallId = (id: string) => html`<code class="note small-id" title="${id}">${id.slice(-6)}</code>`

export const MAINTENANCE_PATH = '/console/maintenance'
export const QUEUE_PATH = '/console/proposals'
export const tabPathOf = (alias: string): string => `${appPath(alias)}/maintenance`
export const runPath = (alias: string, id: string): string => `${tabPathOf(alias)}/runs/${id}`
export const evidencePath = (alias: string, run: string, ref: string): string =>
  `${runPath(alias, run)}/evidence?${new URLSearchParams({ ref })}`
export const findingPath = (alias: string, id: string): string => `${tabPathOf(alias)}/findings/${id}`
export const proposalPath = (alias: string, id: string): string => `${appPath(alias)}/proposals/${id}`

type BadgeKind = Parameters<typeof badge>[1]

/** Only what ran and found nothing looks well. */
const OUTCOME_BADGES: Record<RunOutcomeName, BadgeKind> = {
  found_nothing: 'on',
  finding_recorded: 'wait',
  proposed: 'wait',
  budget_exhausted: 'off',
  skipped: 'off',
  agent_error: 'bad',
  fenced: 'off',
  unknown: 'bad',
}

/** The words are those of the gateway. What is known and still there does not look well. */
export const runBadge = ({
  status,
  chip,
  outcome,
  reason,
}: Pick<Run, 'status' | 'chip' | 'outcome' | 'reason'>) =>
  status === 'ended'
    ? badge(
        chip ?? 'Unrecognised result',
        reason === 'ONLY_KNOWN' ? 'off' : OUTCOME_BADGES[outcome ?? 'unknown'],
      )
    : badge(status === 'queued' ? 'Queued' : 'Running', 'wait')

/** With the reason, where there is one. */
export const runResult = (run: Pick<Run, 'status' | 'chip' | 'outcome' | 'reason'>) =>
  html`${runBadge(run)} ${run.reason && html`<span class="note">${RUN_REASONS[run.reason]}</span>`}`

export const OUTCOME_LABELS: Record<RunOutcomeName, string> = {
  found_nothing: 'Found nothing',
  finding_recorded: 'Finding recorded',
  proposed: 'Proposal',
  budget_exhausted: 'Budget limited',
  skipped: 'Skipped',
  agent_error: 'Agent error',
  fenced: 'Switched off',
  unknown: 'Unrecognised result',
}

export const PROPOSAL_LABELS: Record<ProposalState, { label: string; badge: BadgeKind }> = {
  preparing: { label: 'Preparing', badge: 'off' },
  ready: { label: 'Needs review', badge: 'wait' },
  approved: { label: 'Approved', badge: 'on' },
  deploying: { label: 'Deploying', badge: 'wait' },
  deployed: { label: 'Deployed', badge: 'on' },
  failed: { label: 'Failed', badge: 'bad' },
  denied: { label: 'Denied', badge: 'off' },
  stale: { label: 'Stale', badge: 'off' },
}
export const proposalBadge = (state: ProposalState) =>
  badge(PROPOSAL_LABELS[state].label, PROPOSAL_LABELS[state].badge)

/** Beside the state of a deployed one: whether it worked. */
export const effectBadge = ({ effect }: Pick<Proposal, 'effect'>) =>
  effect?.came_back_at ? html` ${badge('Came back', 'bad')}` : null

export const FINDING_LABELS: Record<FindingState, { label: string; badge: BadgeKind; about: string }> = {
  open: { label: 'Open', badge: 'wait', about: 'Nothing was done about it yet.' },
  proposed: { label: 'Proposed', badge: 'on', about: 'A proposal wants to change it.' },
  quiet: {
    label: 'Quiet',
    badge: 'off',
    about: 'Its proposal was denied. It is not reported again until the source changes there.',
  },
  resolved: {
    label: 'Resolved',
    badge: 'off',
    about: 'A proposal about it was deployed, or the source has its lines no more.',
  },
}
export const findingBadge = (state: FindingState) =>
  badge(FINDING_LABELS[state].label, FINDING_LABELS[state].badge)

export const EVIDENCE_LABELS: Record<EvidenceKind, string> = {
  file: 'Source',
  log: 'Log',
  check: 'Check',
  deployment: 'Deployment',
}

/** What a model wrote may quote source and logs; whoever may not read them is told so. */
export const HIDDEN_TEXT = 'For people who may read the source and logs of the app.'

/** Owners and admins. Support staff may change nothing, whatever their session was elevated to. */
export const mayMaintain = (session: ConsoleSession): boolean =>
  hasRole(session, 'admin') && session.support === undefined

/** Undefined where the agent is off. */
export const unlessOff = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error: unknown) => {
    if (error instanceof ServiceError && error.code === 'MAINTENANCE_AGENT_NOT_FOUND') return undefined
    throw error
  })

/** Undefined what the reader may not have, and what is no longer there. */
export const unlessRefused = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error: unknown) => {
    if (error instanceof ServiceError && ['FORBIDDEN', 'NOT_FOUND'].includes(error.code)) return undefined
    throw error
  })
