/** Proposals for tests, made as the tool host makes them: a run that has read what it cites. */
import { eq, sql } from '../../db/drizzle.ts'
import { maintenanceRuns } from '../../db/schema.ts'
import { createSourceThread } from '../../src/adapters/source-thread/index.ts'
import type { Call } from '../../src/client/http-client.ts'
import { fileRef, type EvidenceRead, type ToolInput } from '../../src/contracts/agent-tools.ts'
import { startMaintenanceRun } from '../../src/contracts/maintenance.ts'
import { evidenceInsert, recordFinding } from '../../src/cores/findings/index.ts'
import type { RunKey } from '../../src/cores/maintenance/index.ts'
import { proposeChange, type ProposalDeps } from '../../src/cores/proposals/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { claimNextRun, endAs, storageOf } from './maintenance.ts'
import type { TestSystem } from './system.ts'

export const MODEL = 'sonnet'
/** Of the system: a model that may propose. */
export const MODELS = {
  MAINTENANCE_MODELS: JSON.stringify({ [MODEL]: { wire: 'anthropic', url: 'https://models.test' } }),
}

export const agentOf = (system: TestSystem): ProposalDeps & { close(): Promise<void> } => {
  const sourceThread = createSourceThread()
  return {
    ...storageOf(system),
    sourceThread,
    sourceStorageBytes: 1024 * 1024 * 1024,
    dataKeys: dataKeys(system.system.config.DATA_KEY!),
    close: () => sourceThread.close(),
  }
}
export type Agent = ReturnType<typeof agentOf>

/** `by` starts it, or nobody: then it is as one of the schedule. */
export async function startRun(
  system: TestSystem,
  call: Call,
  alias: string,
  by?: Call,
): ReturnType<typeof claimNextRun> {
  const { execution_id } = await (by ?? call)(startMaintenanceRun, { alias })
  const run = await claimNextRun(system, [MODEL])
  if (run.executionId !== execution_id) throw new Error('another run was waiting')
  if (by === undefined) {
    await system.db
      .update(maintenanceRuns)
      .set({ requestedById: null, requestedBy: null })
      .where(eq(maintenanceRuns.id, execution_id))
  }
  return run
}

export const linesRead = (path: string, text: string, from = 1): EvidenceRead => {
  const to = from + text.split('\n').length - 1
  return { ref: fileRef(path, from, to), kind: 'file', location: path, fromLine: from, toLine: to, text }
}

export const logRead = (id: string, text: string): EvidenceRead => ({
  ref: `log:${id}`,
  kind: 'log',
  location: id,
  fromLine: null,
  toLine: null,
  text,
})

export const read = (agent: Agent, run: RunKey, ...reads: EvidenceRead[]) =>
  agent.db.execute(evidenceInsert(agent, run, reads, sql`true`))

export const find = (agent: Agent, run: RunKey, finding: ToolInput<'record_finding'>) =>
  withTransaction(agent.db, (tx) => recordFinding(tx, agent, run, finding))

type Proposed = Partial<ToolInput<'propose_change'>> & Pick<ToolInput<'propose_change'>, 'edits' | 'evidence'>

export const propose = (agent: Agent, run: RunKey, change: Proposed) =>
  proposeChange(agent, run, { title: 'Repair the sum', rationale: 'Because of the log.', ...change })

/** A run that reads one file and replaces a text of it, and has ended. */
export async function makeProposal(
  system: TestSystem,
  agent: Agent,
  given: { call: Call; alias: string; by?: Call; path: string; text: string; old: string; now: string },
): Promise<{ id: string; run: RunKey; fingerprint: string }> {
  const run = await startRun(system, given.call, given.alias, given.by)
  const lines = linesRead(given.path, given.text.replace(/\n$/, ''))
  await read(agent, run, lines)
  const made = await propose(agent, run, {
    evidence: [lines.ref],
    edits: [{ path: given.path, old_text: given.old, new_text: given.now }],
  })
  await endAs(system, run, 'proposed', { proposalId: made.proposal_id })
  return { id: made.proposal_id, run, fingerprint: made.fingerprint }
}
