/**
 * The tool host: reads the arguments of a call, does it within the run's organization, app and base revision, and records
 * it under the run's lease. Whatever an analyst sends is answered with a result or a refusal from a closed list.
 */
import type * as z from 'zod'
import {
  AGENT_TOOLS,
  TOOL_REFUSALS,
  ToolRefused,
  WRITING_TOOLS,
  type AgentToolName,
  type ToolAnswer,
  type ToolInput,
  type ToolOutput,
} from '../../contracts/agent-tools.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { RULES_MODEL } from '../../contracts/outcomes.ts'
import { readJson } from '../../contracts/read-json.ts'
import { recordFinding } from '../findings/index.ts'
import { Fenced } from '../maintenance/index.ts'
import { proposeChange, type ProposalDeps } from '../proposals/index.ts'
import { withTransaction } from '../transaction.ts'
import { checkHistory } from './check-history.ts'
import { grep } from './grep.ts'
import { listFiles } from './list-files.ts'
import { logGroups } from './log-groups.ts'
import { priorFindings } from './prior-findings.ts'
import { readFile } from './read-file.ts'
import { readLogs } from './read-logs.ts'
import { recentDeployments } from './recent-deployments.ts'
import { recordCall, type StepDeps, type StepResult } from './record-step.ts'
import { requireCallsLeft, requireInTime } from './require-run.ts'
import type { Shown, ToolDeps, ToolRun } from './tool.ts'
import { unreadErrors } from './unread-errors.ts'

export type ToolHostDeps = ToolDeps & StepDeps & ProposalDeps

type Tools = {
  readonly [Name in AgentToolName]: (deps: ToolHostDeps, run: ToolRun, input: never) => Promise<Shown<Name>>
}

const TOOLS: Tools = {
  list_files: listFiles,
  read_file: readFile,
  grep,
  log_groups: logGroups,
  read_logs: readLogs,
  check_history: checkHistory,
  recent_deployments: recentDeployments,
  prior_findings: priorFindings,
  record_finding: async (deps, run, input) => ({
    result: await withTransaction(deps.db, (tx) => recordFinding(tx, deps, run, input)),
    evidence: [],
  }),
  propose_change: async (deps, run, input) => {
    if (run.model === RULES_MODEL) throw new ToolRefused('PROPOSALS_NOT_ALLOWED')
    if (run.baseRevisionId === null) throw new ToolRefused('NO_SOURCE')
    return { result: await proposeChange(deps, run, input), evidence: [] }
  },
  finish: async (deps, run, { conclusion }: ToolInput<'finish'>) => {
    const unread = conclusion === 'nothing_found' ? await unreadErrors(deps.db, run) : []
    if (unread.length > 0) throw new ToolRefused('ERRORS_NOT_READ', [`read_logs of: ${unread.join(', ')}`])
    return { result: {}, evidence: [] }
  },
}

export async function callTool(
  deps: ToolHostDeps,
  run: ToolRun,
  call: { readonly tool: string; readonly arguments: string },
): Promise<ToolAnswer> {
  const began = deps.clock().getTime()
  requireInTime(deps.clock, run)
  // One that only reads may be one too many: recording it is refused, and with it the answer.
  if (WRITING_TOOLS.includes(call.tool)) await requireCallsLeft(deps, run)
  const { answer, result, evidence } = await answerOf(deps, run, call)
  const step = {
    tool: Object.hasOwn(AGENT_TOOLS, call.tool) ? call.tool : 'unknown',
    result,
    request: JSON.stringify(call),
    answer: JSON.stringify(answer),
    ms: Math.max(0, deps.clock().getTime() - began),
  }
  await recordCall(deps.db, deps, run, step, evidence)
  return answer
}

type Answered = {
  readonly answer: ToolAnswer
  readonly result: StepResult
  readonly evidence: Shown<AgentToolName>['evidence']
}

async function answerOf(
  deps: ToolHostDeps,
  run: ToolRun,
  { tool, arguments: written }: { tool: string; arguments: string },
): Promise<Answered> {
  try {
    if (!Object.hasOwn(AGENT_TOOLS, tool)) throw new ToolRefused('UNKNOWN_TOOL')
    const name = tool as AgentToolName
    const input = readArguments(AGENT_TOOLS[name].input, written)
    const shown = await TOOLS[name](deps, run, input as never)
    return {
      answer: { kind: 'result', result: shown.result },
      result: resultOf(name, input, shown.result),
      evidence: shown.evidence,
    }
  } catch (error) {
    const { code, problems } = asRefusal(error)
    const answer = { kind: 'refused', code, message: TOOL_REFUSALS[code], problems } as const
    return { answer, result: code, evidence: [] }
  }
}

/** How a run ends is decided by this: also by whether there was anything to look at. */
function resultOf(name: AgentToolName, input: unknown, shown: object): StepResult {
  if (name === 'finish') return (input as ToolInput<'finish'>).conclusion === 'unsure' ? 'UNSURE' : 'ok'
  const isEmpty = EMPTY[name]?.(shown as never) ?? false
  return isEmpty ? 'NOTHING_THERE' : 'ok'
}

const EMPTY: { readonly [Name in AgentToolName]?: (shown: ToolOutput<Name>) => boolean } = {
  log_groups: ({ groups }) => groups.length === 0,
  read_logs: ({ lines }) => lines.length === 0,
  check_history: ({ checks }) => checks.every(({ runs }) => runs.length === 0),
}

/** Names and rules of ours only: what was written is not repeated. */
function readArguments(schema: z.ZodObject, written: string): unknown {
  const read = schema.safeParse(withoutNulls(readJson(written)))
  if (read.success) return read.data
  const problems = read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`.slice(0, 200))
  throw new ToolRefused('INVALID_ARGUMENTS', problems.slice(0, PROBLEMS_MAX))
}

const PROBLEMS_MAX = 10

/** Models write `null` for what they leave out. */
const withoutNulls = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null))
    : value

/** What is over, or broken, is not the analyst's to hear of. */
function asRefusal(error: unknown): ToolRefused {
  if (error instanceof ToolRefused) return error
  if (error instanceof Fenced) throw error
  if (error instanceof ServiceError && ['RATE_LIMITED', 'TIMEOUT'].includes(error.code))
    return new ToolRefused('TOO_SLOW')
  if (error instanceof ServiceError && error.code === 'NOT_FOUND') return new ToolRefused('NOT_FOUND')
  const code = databaseCode(error)
  // By its statement's time-out.
  if (code === '57014') return new ToolRefused('TOO_SLOW')
  // Class 22: what passed the rules above and still is no value for the database, such as a text with a null in it.
  if (code.startsWith('22')) return new ToolRefused('INVALID_ARGUMENTS')
  throw error
}

function databaseCode(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string' && !(at instanceof ServiceError)) return at.code
  }
  return ''
}
