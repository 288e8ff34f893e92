/**
 * Ends a run by what it really did: a proposal before a finding before everything else. What its analyst says of itself
 * counts only where it is no better than that.
 */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, gt, isNotNull } from '../../../db/drizzle.ts'
import { runSteps } from '../../../db/schema.ts'
import type { AnalystEnding } from '../../contracts/agent-tools.ts'
import type { TerminalCode } from '../../contracts/outcomes.ts'
import type { Clock, Storage } from '../dependencies.ts'
import { readConclusion, resolveGone, type Conclusion } from '../findings/index.ts'
import { endRun, STOPPED_STEP, type RunEnding, type RunKey } from '../maintenance/index.ts'
import { readTokenPool } from '../token-pool/index.ts'
import { withTransaction } from '../transaction.ts'
import { lastStopped } from './record-step.ts'
import { unreadErrors } from './unread-errors.ts'

type StartedRun = RunKey & { readonly startedAt: Date }

/** Null: it waits for another agent runner. */
export const concludeRun = (
  { db, clock }: Storage,
  key: StartedRun,
  ending: AnalystEnding,
): Promise<TerminalCode | null> =>
  withTransaction(db, async (tx) => {
    const ended = await endRun(tx, clock, key, async () => {
      const conclusion = await readConclusion(tx, key)
      return isToRunAgain(ending, conclusion) && !(await wasStopped(tx, key))
        ? 'again'
        : honest(tx, clock, key, endingOf(ending, conclusion, await readSteps(tx, key)))
    })
    if (ended) await resolveGone(tx, ended)
    return ended?.terminalCode ?? null
  })

/** What was not read may be broken, also where other things are known; and a day without tokens after an outage is no success. */
async function honest(tx: Transaction, clock: Clock, key: StartedRun, ending: RunEnding): Promise<RunEnding> {
  if (ending.code === 'found_nothing' && (await unreadErrors(tx, key)).length > 0)
    return { code: 'agent_error', reason: 'ERRORS_NOT_READ' }
  if (ending.code !== 'budget_exhausted' || ending.reason !== 'ALLOWANCE_USED') return ending
  const { outage } = await readTokenPool(tx, { orgId: key.orgId, now: clock(), allowance: 0 })
  return outage > 0 ? { code: 'agent_error', reason: 'OUTAGE_USED_ALLOWANCE' } : ending
}

/** A roll-out at night is no failure of the app's: another agent runner does it from the start. */
const isToRunAgain = (ending: AnalystEnding, { proposal, finding, known }: Conclusion): boolean =>
  ending.kind === 'failed' && ending.reason === STOPPED_STEP && !proposal && !finding && known === 0

/** Once: a runner that is stopped again and again would spend the tokens of everybody. */
async function wasStopped(tx: Transaction, { orgId, executionId }: RunKey): Promise<boolean> {
  const [step] = await tx
    .select({ number: runSteps.number })
    .from(runSteps)
    .where(
      and(
        eq(runSteps.orgId, orgId),
        eq(runSteps.executionId, executionId),
        eq(runSteps.result, STOPPED_STEP),
      ),
    )
    .limit(1)
  return step !== undefined
}

type StepSeen = { readonly tool: string | null; readonly result: string }

const readSteps = (tx: Transaction, { orgId, executionId }: RunKey): Promise<StepSeen[]> =>
  tx
    .select({ tool: runSteps.tool, result: runSteps.result })
    .from(runSteps)
    .where(
      and(
        eq(runSteps.orgId, orgId),
        eq(runSteps.executionId, executionId),
        isNotNull(runSteps.tool),
        gt(runSteps.number, lastStopped(orgId, executionId)),
      ),
    )

const LOOKS = ['log_groups', 'read_logs', 'check_history']

export function endingOf(
  ending: AnalystEnding,
  { proposal, finding, known }: Conclusion,
  steps: readonly StepSeen[],
): RunEnding {
  if (proposal) {
    const { id, title, fingerprint } = proposal
    return { code: 'proposed', proposalId: id, summary: title, fingerprint }
  }
  if (finding) {
    const { summary, fingerprint } = finding
    return { code: 'finding_recorded', summary, fingerprint }
  }
  if (ending.kind === 'budget_exhausted') return { code: 'budget_exhausted', reason: ending.reason }
  const did = (tool: string, result = 'ok') =>
    steps.some((step) => step.tool === tool && step.result === result)
  if (ending.kind === 'failed') {
    const isUnread = ending.reason === 'NO_CONCLUSION' && did('finish', 'ERRORS_NOT_READ')
    return { code: 'agent_error', reason: isUnread ? 'ERRORS_NOT_READ' : ending.reason }
  }
  const hasSeen = LOOKS.some((tool) => did(tool))
  const hasLooked = (tool: string) => did(tool) || did(tool, 'NOTHING_THERE')
  const isCompleteLook = (hasLooked('log_groups') || hasLooked('read_logs')) && hasLooked('check_history')
  // Silence is not health, whatever the analyst makes of it.
  if (isCompleteLook && !hasSeen) return { code: 'agent_error', reason: 'NOTHING_TO_READ' }
  if (did('finish', 'UNSURE')) return { code: 'agent_error', reason: 'UNSURE' }
  // What it found again is known to people, or was denied: nothing new, and not nothing.
  const isKnown = known > 0 || did('record_finding', 'DUPLICATE') || did('propose_change', 'DUPLICATE')
  if (!did('finish') && known === 0) return { code: 'agent_error', reason: 'NO_CONCLUSION' }
  if (!isCompleteLook) return { code: 'agent_error', reason: 'INCOMPLETE_LOOK' }
  return isKnown ? { code: 'found_nothing', reason: 'ONLY_KNOWN' } : { code: 'found_nothing' }
}
