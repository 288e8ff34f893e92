/** What a gateway answers about maintenance: one app, one run of it, and one proposal. */
import type * as z from 'zod'
import {
  startMaintenanceRun,
  showAppMaintenance,
  showMaintenanceRun,
  showRunEvidence,
  listAppMaintenance,
  listMaintenanceRuns,
  updateAppMaintenance,
} from '../../src/contracts/maintenance.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import {
  explainReason,
  type DecisionReason,
  type ProposalAction,
} from '../../src/contracts/proposal-decisions.ts'
import {
  approveProposal,
  denyProposal,
  showProposal,
  listProposalQueue,
  listProposals,
  retryProposal,
} from '../../src/contracts/proposals.ts'

export const ORG_ID = `org_${'1'.repeat(25)}`
export const RUN_ID = `exec_${'1'.repeat(25)}`
export const PROPOSAL_ID = `pr_${'1'.repeat(25)}`

export const MAINTENANCE_OPERATIONS: readonly Operation[] = [
  listAppMaintenance,
  showAppMaintenance,
  updateAppMaintenance,
  startMaintenanceRun,
  listMaintenanceRuns,
  showMaintenanceRun,
  showRunEvidence,
  listProposals,
  listProposalQueue,
  showProposal,
  approveProposal,
  denyProposal,
  retryProposal,
]

export const fakeRun = (changes: Partial<z.input<typeof showMaintenanceRun.output>> = {}) => ({
  execution_id: RUN_ID,
  app: 'shop',
  status: 'ended' as const,
  terminal_code: 'finding_recorded',
  outcome: 'finding_recorded' as const,
  chip: 'Finding recorded',
  exit_code: 11,
  reason: null,
  mode: 'manual' as const,
  requested_by: { user_id: 'usr_1', name: 'Ada' },
  via: 'mcp' as const,
  model: 'rules',
  tokens: 120,
  evidence_read: 1,
  base_revision: null,
  summary: 'The total is NaN',
  fingerprint: 'fp_1',
  created_at: '2026-11-15T03:00:00.000Z',
  started_at: '2026-11-15T03:00:01.000Z',
  ended_at: '2026-11-15T03:02:00.000Z',
  steps: [],
  evidence: [],
  findings: [],
  ...changes,
})

/** As a run is before its end. */
export const RUNNING = {
  status: 'running',
  terminal_code: null,
  outcome: null,
  chip: null,
  exit_code: null,
  summary: null,
  fingerprint: null,
  ended_at: null,
} as const

export const fakeProposal = (changes: Partial<z.input<typeof showProposal.output>> = {}) => ({
  id: PROPOSAL_ID,
  app: 'shop',
  state: 'ready' as const,
  title: 'Count the items',
  author: 'maintenance agent (scripted)',
  execution_id: RUN_ID,
  requested_by: null,
  fingerprint: 'fp_1',
  base_revision_id: 'rev_1',
  new_revision_id: 'rev_2',
  tree_sha256: 'a'.repeat(64),
  diff_sha256: 'b'.repeat(64),
  files_changed: 1,
  added_lines: 1,
  removed_lines: 1,
  decided: null,
  settings_changed_by: [],
  deployment_id: null,
  pull_request: null,
  effect: null,
  undone_by: null,
  undone: false,
  created_at: '2026-11-15T03:02:00.000Z',
  decision: {
    eligible: true,
    can: { approve: true, deny: true, retry: false },
    reasons: { approve: [], deny: [], retry: [explainReason('NOTHING_TO_RETRY')] },
    required_roles: ['owner' as const, 'admin' as const],
  },
  effect_hours: [],
  rationale: 'The log says so',
  diff: '--- a/total.js\n+++ b/total.js\n@@ -1 +1 @@\n-NaN\n+count\n',
  files: [{ path: 'total.js', change: 'changed' as const, added_lines: 1, removed_lines: 1 }],
  flags: [],
  evidence: [{ ref: 'file:total.js#L1-L1', kind: 'file' as const, sha256: 'c'.repeat(64) }],
  ...changes,
})

/** What the gateway says to an agent where no owner chose `direct`: of a proposal that is ready, or for other reasons too. */
export const linkOnly = (
  more: Partial<Record<ProposalAction, readonly DecisionReason[]>> = { retry: ['NOTHING_TO_RETRY'] },
) => {
  const reasons = (action: ProposalAction) => ['AGENT' as const, ...(more[action] ?? [])].map(explainReason)
  return {
    eligible: false,
    can: { approve: false, deny: false, retry: false },
    reasons: { approve: reasons('approve'), deny: reasons('deny'), retry: reasons('retry') },
    required_roles: ['owner' as const, 'admin' as const],
  }
}

const fakeStatus = (enabled = true) => ({
  app: 'shop',
  settings: { enabled },
  model: 'rules',
  nightly_cron: '0 3 * * *',
  timezone: 'UTC',
  cooldown_hours: 24,
  next_run_at: enabled ? '2026-11-16T03:00:00.000Z' : null,
  manual_run_from: null,
  latest_run: fakeRun(),
  open_findings: 1,
  open_proposals: 1,
})

export const maintenanceAnswers = (): Record<string, (input: Record<string, unknown>) => object> => ({
  [listAppMaintenance.name]: () => ({
    apps: [
      {
        app: 'shop',
        name: 'The shop',
        enabled: true,
        latest_run: fakeRun(),
        open_findings: 1,
        open_proposals: 1,
      },
    ],
  }),
  [showAppMaintenance.name]: () => fakeStatus(),
  [updateAppMaintenance.name]: ({ enabled }) => fakeStatus(enabled === true),
  [startMaintenanceRun.name]: () => ({ ...fakeRun(RUNNING), replayed: false }),
  [listMaintenanceRuns.name]: () => ({ runs: [fakeRun()] }),
  [showMaintenanceRun.name]: () => fakeRun(),
  [showRunEvidence.name]: ({ ref }) => ({
    ref,
    kind: 'file',
    location: 'total.js',
    from_line: 1,
    to_line: 1,
    sha256: 'c'.repeat(64),
    pinned: true,
    text: 'NaN',
  }),
  [listProposals.name]: () => ({ proposals: [fakeProposal()] }),
  [listProposalQueue.name]: () => ({ proposals: [fakeProposal()] }),
  [showProposal.name]: () => fakeProposal(),
  [approveProposal.name]: () => fakeProposal({ state: 'approved' }),
  [denyProposal.name]: () => fakeProposal({ state: 'denied' }),
  [retryProposal.name]: () => fakeProposal(),
})
