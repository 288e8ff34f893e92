/** A maintenance run as the tools show it, and as a task of the protocol. */
import type * as z from 'zod'
import type { showMaintenanceRun, listMaintenanceRuns } from '../../src/contracts/maintenance.ts'
import { RUN_REASONS, type TerminalCode } from '../../src/contracts/outcomes.ts'
import { fitHits } from '../answer-size.ts'

type Run = z.output<typeof listMaintenanceRuns.output>['runs'][number]
type WholeRun = z.output<typeof showMaintenanceRun.output>

/** For a list: how it ended, when, and what it cost. */
export const runLine = ({
  execution_id,
  status,
  outcome,
  reason,
  mode,
  tokens,
  created_at,
  proposal_id,
}: Run) => ({
  run_id: execution_id,
  status,
  outcome,
  mode,
  tokens,
  created_at,
  ...(proposal_id !== undefined && { proposal_id }),
  ...(reason && { reason: RUN_REASONS[reason] }),
})

export const showRun = (run: Run) => ({
  ...runLine(run),
  meaning: run.chip,
  model: run.model,
  summary: run.summary,
  fingerprint: run.fingerprint,
  ended_at: run.ended_at,
})

/** With what it read, as far as that fits. */
export const showWholeRun = (run: WholeRun): object =>
  fitHits(run.evidence, (evidence, leftOut) => ({
    ...showRun(run),
    steps: run.steps.length,
    findings: run.findings.map(({ id }) => id),
    evidence: evidence.map(({ ref, kind }) => ref ?? kind),
    ...(leftOut > 0 && { truncated: `References left out: ${leftOut}.` }),
  }))

/** Runs take minutes. */
const POLL_INTERVAL_MS = 5_000

/** SEP-2663. Its id names the app and the run, so that nothing has to be kept about it. */
export const taskOf = ({ app, execution_id, created_at, started_at, ended_at, ...run }: Run) => ({
  taskId: `${app}.${execution_id}`,
  status: taskStatus(run),
  ...(run.reason && { statusMessage: RUN_REASONS[run.reason] }),
  createdAt: created_at,
  lastUpdatedAt: ended_at ?? started_at ?? created_at,
  // The history of runs stays.
  ttlMs: null,
  pollIntervalMs: POLL_INTERVAL_MS,
})

/** What somebody turned off in the middle has no result. */
function taskStatus({ status, terminal_code }: Pick<Run, 'status' | 'terminal_code'>) {
  if (status !== 'ended') return 'working'
  return terminal_code === ('fenced_disabled' satisfies TerminalCode) ? 'cancelled' : 'completed'
}
