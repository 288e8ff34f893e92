/** What every tool of a run has: the app and the revision it may read, and what it shows. */
import type { AgentToolName, EvidenceRead, ToolInput, ToolOutput } from '../../contracts/agent-tools.ts'
import type { Storage } from '../dependencies.ts'
import type { FindLines } from '../checks/index.ts'
import type { LogReads } from '../logs/index.ts'
import type { RunKey } from '../maintenance/index.ts'
import type { Turns } from '../work/index.ts'

export type ToolDeps = Storage & {
  /** Apart from those of people: neither waits for the other. */
  readonly runLogReads: LogReads
  readonly findLines: FindLines
  /** Searches of source at once, in this process. */
  readonly sourceSearches: Turns
  /** Whoever hung up waits no longer. */
  readonly signal?: AbortSignal | undefined
}

/** Everything a tool reads is of this organization and this app: nothing in its arguments can name another. */
export type ToolRun = RunKey & {
  readonly baseRevisionId: string | null
  readonly model: string
  readonly startedAt: Date
}

export type Shown<Name extends AgentToolName> = {
  readonly result: ToolOutput<Name>
  readonly evidence: readonly EvidenceRead[]
}

export type ReadingTool<Name extends AgentToolName> = (
  deps: ToolDeps,
  run: ToolRun,
  input: ToolInput<Name>,
) => Promise<Shown<Name>>

export const appOf = ({ orgId, appId }: RunKey) => ({ orgId, id: appId })
