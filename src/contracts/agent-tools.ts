/**
 * The tools of a maintenance run: what an analyst (a language model, or the rules) may ask of the tool host, and what it
 * gets. Nothing else of the product can be reached from a run.
 */
import * as z from 'zod'
import { CHECK_REASONS, CHECK_RESULTS, type CheckReason } from './check-results.ts'
import { DEPLOYMENT_CODES, DEPLOYMENT_STATES, type DeploymentCode } from './deployment-states.ts'
import { Time } from './fields.ts'
import { Id } from './ids.ts'
import { SOURCE_PATH_MAX_BYTES } from './limits.ts'
import { LOG_LEVELS } from './log-levels.ts'
import { FINDING_STATES, type EvidenceKind, type RunReason } from './outcomes.ts'

/** Of one run, and of what one call may ask and get. */
export const AGENT_LIMITS = {
  toolCalls: 40,
  /** Of JSON text, for the analyst: of arguments, and of a result. */
  argumentBytes: 128 * 1024,
  resultBytes: 16 * 1024,
  seconds: 15 * 60,
  findings: 3,
  evidence: 20,
  /** Prose in place of a call, or a call that cannot be read, so often in a row. */
  mistakes: 3,
  /** Of what a model says in a turn, as the transcript keeps it. */
  saidCharacters: 64 * 1024,
}

/** Of one proposal. */
export const CHANGE_LIMITS = { files: 10, lines: 400, bytes: 64 * 1024, lineCharacters: 500 }

/** Closed, so that pages and fingerprints need no text of an analyst. */
export const FINDING_KINDS = [
  'error',
  'regression',
  'performance',
  'availability',
  'security',
  'configuration',
  'other',
] as const
export type FindingKind = (typeof FINDING_KINDS)[number]

/**
 * `file:<path>#L<first>-L<last>` of the run's base revision, `log:lgl_…`, `check:chr_…` (a run of a check),
 * `deployment:dep_…`. Lines within a range that was read may be cited, too.
 */
const EvidenceRef = z
  .string()
  .max(SOURCE_PATH_MAX_BYTES + 40)
  .regex(
    /^(?:file:.+#L[1-9]\d{0,6}-L[1-9]\d{0,6}|(?:log:lgl|check:chr|deployment:dep)_[0-9a-z]{25})$/su,
    'must be a reference as a tool returned it',
  )

export const fileRef = (path: string, first: number, last: number): string =>
  `file:${path}#L${first}-L${last}`

/** The others only read: done twice, they change nothing. */
export const WRITING_TOOLS: readonly string[] = ['record_finding', 'propose_change']

/** What a tool has shown, as it is recorded with the run: only this can be cited. */
export type EvidenceRead = {
  readonly ref: string
  readonly kind: EvidenceKind
  /** A path, or the id of a line, a check's run or a deployment. */
  readonly location: string
  /** Of a file; null otherwise. */
  readonly fromLine: number | null
  readonly toLine: number | null
  /** Exactly the lines, joined by line feeds. */
  readonly text: string
}

const Path = z.string().min(1).max(SOURCE_PATH_MAX_BYTES)
const Glob = z.string().min(1).max(200)
const Moment = z.iso.datetime({ offset: true })
const Line = z.int().min(1).max(9_999_999)
const Truncated = z.boolean().describe('There is more than fits.')
const Level = z.enum(LOG_LEVELS)
const CheckReasonName = z.enum(Object.keys(CHECK_REASONS) as [CheckReason, ...CheckReason[]])
const Code = z.enum(Object.keys(DEPLOYMENT_CODES) as [DeploymentCode, ...DeploymentCode[]])
/** Shown as plain text everywhere. */
const Text = (max: number) => z.string().trim().min(1).max(max)
const Evidence = z
  .array(EvidenceRef)
  .min(1)
  .max(AGENT_LIMITS.evidence)
  .describe('References (`ref`) that tools of this run returned.')

const Edit = z.union([
  z.strictObject({
    path: Path,
    old_text: z.string().min(1).describe('Stands exactly once in the file.'),
    new_text: z.string(),
  }),
  z.strictObject({ path: Path, create: z.string().describe('The content of a new file.') }),
  z.strictObject({ path: Path, delete: z.literal(true) }),
])
export type Edit = z.output<typeof Edit>

type Tool<I extends z.ZodObject, O extends z.ZodObject> = {
  /** For the model. */
  readonly description: string
  readonly input: I
  readonly output: O
}

const tool = <I extends z.ZodObject, O extends z.ZodObject>(declared: Tool<I, O>): Tool<I, O> => declared

export const AGENT_TOOLS = {
  list_files: tool({
    description: 'List the files of the app’s source.',
    input: z.object({
      dir: z.string().max(SOURCE_PATH_MAX_BYTES).optional().describe('Only below this folder.'),
      glob: Glob.optional().describe('Such as `src/**/*.ts`.'),
    }),
    output: z.object({
      files: z.array(z.object({ path: z.string(), bytes: z.int() })),
      truncated: Truncated,
    }),
  }),
  read_file: tool({
    description: 'Read lines of a source file.',
    input: z.object({ path: Path, start: Line.default(1), end: Line.optional() }),
    output: z.object({
      ref: z.string(),
      path: z.string(),
      start: z.int(),
      end: z.int(),
      total_lines: z.int(),
      lines: z.array(z.string()),
      truncated: Truncated,
    }),
  }),
  grep: tool({
    description: 'Find lines of the source by a regular expression (RE2), or by a text with `literal`.',
    input: z.object({
      pattern: z.string().min(1).max(500),
      path_glob: Glob.optional(),
      literal: z.boolean().default(false),
    }),
    output: z.object({
      matches: z.array(z.object({ ref: z.string(), path: z.string(), line: z.int(), text: z.string() })),
      truncated: Truncated,
    }),
  }),
  log_groups: tool({
    description: 'Groups of similar log lines, the most severe and frequent first. Read this before lines.',
    input: z.object({
      since: Moment.optional().describe('Default: a day ago.'),
      level: Level.optional().describe('This level and more severe ones.'),
      offset: z.int().min(0).max(1_000).default(0).describe('How many to skip, to read on.'),
    }),
    output: z.object({
      since: Time,
      groups: z.array(
        z.object({
          id: z.string(),
          template: z.string(),
          level: Level,
          count: z.int(),
          first_at: Time,
          last_at: Time,
        }),
      ),
      truncated: Truncated,
    }),
  }),
  read_logs: tool({
    description: 'Log lines, newest first: of a group, or of a time.',
    input: z.object({
      group: Id('lgr').optional(),
      from: Moment.optional(),
      to: Moment.optional(),
      level: Level.optional().describe('This level and more severe ones.'),
      limit: z.int().min(1).max(200).default(50),
    }),
    output: z.object({
      lines: z.array(
        z.object({ ref: z.string(), group: z.string(), at: Time, level: Level, text: z.string() }),
      ),
      truncated: Truncated,
    }),
  }),
  check_history: tool({
    description: 'The checks of the app, each with its state and its last runs, newest first.',
    input: z.object({
      check: Id('chk').optional(),
      from: Moment.optional(),
      to: Moment.optional(),
    }),
    output: z.object({
      checks: z.array(
        z.object({
          id: z.string(),
          name: z.string(),
          kind: z.enum(['http', 'logs', 'judge']),
          state: z.enum(CHECK_RESULTS).nullable(),
          state_since: Time.nullable(),
          runs: z.array(
            z.object({
              ref: z.string(),
              at: Time,
              result: z.enum(CHECK_RESULTS),
              reason: CheckReasonName.nullable(),
              status: z.int().nullable(),
              ms: z.int().nullable(),
              detail: z.string().nullable(),
            }),
          ),
        }),
      ),
      truncated: Truncated,
    }),
  }),
  recent_deployments: tool({
    description: 'The last deployments of the app, newest first.',
    input: z.object({}),
    output: z.object({
      base_revision: z.string().nullable().describe('The revision that this run reads.'),
      deployments: z.array(
        z.object({
          ref: z.string(),
          id: z.string(),
          revision_id: z.string(),
          state: z.enum(DEPLOYMENT_STATES),
          code: Code.nullable(),
          requested_at: Time,
          ended_at: Time.nullable(),
        }),
      ),
      truncated: Truncated,
    }),
  }),
  prior_findings: tool({
    description: 'Findings of earlier runs. Do not report again what is open or was denied.',
    input: z.object({}),
    output: z.object({
      findings: z.array(
        z.object({
          id: z.string(),
          fingerprint: z.string(),
          kind: z.enum(FINDING_KINDS),
          summary: z.string(),
          location: z.string().nullable(),
          state: z.enum(FINDING_STATES),
          decision: z
            .object({ approved: z.boolean(), note: z.string() })
            .nullable()
            .describe('What a person wrote when they decided on its last proposal.'),
          fix: z
            .object({ deployed_at: Time, text: z.string(), came_back_at: Time.nullable() })
            .nullable()
            .describe('What became of its error after its last proposal was deployed.'),
        }),
      ),
      truncated: Truncated,
    }),
  }),
  record_finding: tool({
    description: `Record a finding with its evidence. At most ${AGENT_LIMITS.findings} in a run.`,
    input: z.object({
      kind: z.enum(FINDING_KINDS),
      summary: Text(600),
      evidence: Evidence,
      location: z
        .object({ path: Path, line: Line })
        .optional()
        .describe('Where in the source, in lines that were read.'),
    }),
    output: z.object({
      finding_id: z.string(),
      fingerprint: z.string(),
      is_known: z.boolean().describe('It was recorded before; people are not told again.'),
    }),
  }),
  propose_change: tool({
    description: `Propose one change of the source, which a person decides about. At most ${CHANGE_LIMITS.files} files and ${CHANGE_LIMITS.lines} changed lines.`,
    input: z.object({
      title: Text(120),
      rationale: Text(4_000),
      evidence: Evidence,
      edits: z.array(Edit).min(1).max(100),
    }),
    output: z.object({ proposal_id: z.string(), fingerprint: z.string() }),
  }),
  finish: tool({
    description:
      'End the run. `nothing_found` needs that log groups or lines, and the check history, were read, that there was something in them, and that a line of every group of errors of the last day was read; `unsure` if you could not tell.',
    input: z.object({ conclusion: z.enum(['nothing_found', 'unsure']) }),
    output: z.object({}),
  }),
} as const

export type AgentToolName = keyof typeof AGENT_TOOLS
export const AGENT_TOOL_NAMES = Object.keys(AGENT_TOOLS) as [AgentToolName, ...AgentToolName[]]

/** As an analyst may write them: what has a default may be left out. */
export type ToolArguments<Name extends AgentToolName> = z.input<(typeof AGENT_TOOLS)[Name]['input']>
/** As the tool host has read them. */
export type ToolInput<Name extends AgentToolName> = z.output<(typeof AGENT_TOOLS)[Name]['input']>
export type ToolOutput<Name extends AgentToolName> = z.output<(typeof AGENT_TOOLS)[Name]['output']>

/** Why a call has no result: the analyst may go on. Never with text that somebody else wrote. */
export const TOOL_REFUSALS = {
  UNKNOWN_TOOL: 'There is no such tool',
  INVALID_ARGUMENTS: 'The arguments are not valid',
  NOT_FOUND: 'Not found in this app',
  NOT_TEXT: 'The file is not text',
  SECRET_FILE: 'Files with secrets are not read',
  INVALID_PATTERN: 'The pattern cannot be read, or would take too long',
  TOO_SLOW: 'It took too long; ask for less',
  EVIDENCE_NOT_READ: 'A reference was not read in this run',
  ERRORS_NOT_READ: 'There are groups of errors of which no line was read',
  TOO_MANY_FINDINGS: 'No more findings in this run',
  PROTECTED_PATH: 'A protected path may not be changed',
  EDIT_DOES_NOT_APPLY: 'An edit does not apply to the file',
  CHANGE_TOO_LARGE: 'The change is too large',
  NO_CHANGE: 'The change changes nothing',
  DUPLICATE: 'There is such a proposal already, or it was denied',
  PROPOSAL_LIMIT: 'There is a proposal of this app today already',
  PROPOSALS_NOT_ALLOWED: 'This analyst records findings only',
  NO_SOURCE: 'The app has no source',
} as const
export type ToolRefusal = keyof typeof TOOL_REFUSALS

/** What an analyst gets for a call. */
export type ToolAnswer<Name extends AgentToolName = AgentToolName> =
  | { readonly kind: 'result'; readonly result: ToolOutput<Name> }
  | {
      readonly kind: 'refused'
      readonly code: ToolRefusal
      readonly message: string
      readonly problems: readonly string[]
    }

/** Thrown by tools, also by those that write; becomes `refused`. `problems` are our own words. */
export class ToolRefused extends Error {
  override readonly name = 'ToolRefused'
  readonly code: ToolRefusal
  readonly problems: readonly string[]

  constructor(code: ToolRefusal, problems: readonly string[] = []) {
    super(TOOL_REFUSALS[code])
    this.code = code
    this.problems = problems
  }
}

/** The port of an analyst. It rejects when the run is over: fenced, lost, or out of calls and time. */
export type AgentTools = {
  call<Name extends AgentToolName>(name: Name, input: ToolArguments<Name>): Promise<ToolAnswer<Name>>
}

/** What an analyst is told about its run. */
export type AgentRun = {
  readonly executionId: string
  /** As the organization chose it; RULES_MODEL is the analyst without a language model. */
  readonly model: string
  readonly appAlias: string
  readonly appName: string
  /** Null: nothing was pushed yet. */
  readonly baseRevision: string | null
  readonly startedAt: Date
}

/** Why an analyst ended without a conclusion. */
export const ANALYST_FAILURES = [
  'NO_CONCLUSION',
  'UNSURE',
  'STEP_LIMIT',
  'TIME_LIMIT',
  'MODEL_NOT_CONFIGURED',
  'MODEL_REFUSED',
  'MODEL_RATE_LIMITED',
  'MODEL_UNAVAILABLE',
  'MODEL_TIMEOUT',
  'MODEL_OUTAGE',
  'MODEL_INVALID_ANSWER',
  'RUNNER_STOPPED',
  'UNEXPECTED',
] as const satisfies readonly RunReason[]
export type AnalystFailure = (typeof ANALYST_FAILURES)[number]

/**
 * How an analyst ends; the tool host makes the terminal code of it, by what the run really did: a proposal before a finding
 * before a finish, and `finished` without any of them is a failure.
 */
export type AnalystEnding =
  | { readonly kind: 'finished' }
  /** `RUN_CEILING`: of what one run may use. */
  | { readonly kind: 'budget_exhausted'; readonly reason: 'ALLOWANCE_USED' | 'RUN_CEILING' }
  | { readonly kind: 'failed'; readonly reason: AnalystFailure }

export type Analyst = (run: AgentRun, tools: AgentTools, signal: AbortSignal) => Promise<AnalystEnding>
