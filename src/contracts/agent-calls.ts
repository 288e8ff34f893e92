/**
 * What the agent-runner asks of the tool host in the deploy-api, and what others ask of the agent-runner. Not operations:
 * no person and no token of theirs can call them, and no public address leads to them.
 */
import * as z from 'zod'
import { AGENT_LIMITS, ANALYST_FAILURES, TOOL_REFUSALS, type ToolRefusal } from './agent-tools.ts'
import { ClaimId, Time } from './fields.ts'
import { Id } from './ids.ts'
import { MODEL_OUTCOMES } from './model-port.ts'
import { TERMINAL_CODES } from './outcomes.ts'

/**
 * Who may call: `runner`, whoever holds AGENT_RUNNER_SECRET; `run`, whoever holds the identity of a run, which ends with
 * its lease. A run that is over is answered with UNAUTHENTICATED.
 */
export type AgentCall<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> = {
  readonly as: 'runner' | 'run'
  readonly input: I
  readonly output: O
}

const agentCall = <I extends z.ZodType, O extends z.ZodType>(declared: AgentCall<I, O>): AgentCall<I, O> =>
  declared

const ModelName = z.string().min(1).max(100)

/** Below the time that services wait for each other. */
export const CLAIM_WAIT_MAX_SECONDS = 15

const ClaimedRun = z.object({
  identity: z.string(),
  lease_seconds: z.int(),
  execution_id: z.string(),
  org_id: z.string(),
  app_alias: z.string(),
  app_name: z.string(),
  model: z.string(),
  base_revision: z.string().nullable(),
  started_at: Time,
  /** Used at an earlier attempt: the ceiling of a run is one for all of them. */
  tokens: z.int().min(0),
})
export type ClaimedRun = z.output<typeof ClaimedRun>

const Ending = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('finished') }),
  z.object({ kind: z.literal('budget_exhausted'), reason: z.enum(['ALLOWANCE_USED', 'RUN_CEILING']) }),
  z.object({ kind: z.literal('failed'), reason: z.enum(ANALYST_FAILURES) }),
])

const Answer = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('result'), result: z.record(z.string(), z.unknown()) }),
  z.object({
    kind: z.literal('refused'),
    code: z.enum(Object.keys(TOOL_REFUSALS) as [ToolRefusal, ...ToolRefusal[]]),
    message: z.string(),
    problems: z.array(z.string()),
  }),
])

export const AGENT_CALLS = {
  /** Takes the next run, fairly between organizations; null: there was none in time. */
  claimRun: agentCall({
    as: 'runner',
    input: z.object({
      claim_id: ClaimId,
      models: z.array(ModelName).min(1).max(200).describe('Those that this runner can ask.'),
      except: z
        .array(Id('org'))
        .max(200)
        .default([])
        .describe('Organizations that have their share of this runner already.'),
      wait_seconds: z.int().min(0).max(CLAIM_WAIT_MAX_SECONDS),
    }),
    output: z.object({ run: ClaimedRun.nullable() }),
  }),
  /** Keeps the lease, and gives the identity for its rest. */
  renewRun: agentCall({
    as: 'run',
    input: z.object({}),
    output: z.object({ identity: z.string(), lease_seconds: z.int() }),
  }),
  callTool: agentCall({
    as: 'run',
    input: z.object({
      tool: z.string().max(200),
      /** As the analyst wrote them: they may not be JSON. */
      arguments: z.string().max(AGENT_LIMITS.argumentBytes),
    }),
    output: Answer,
  }),
  /** Before every request to a model. Null: there is not so much left today, or the model is left alone. */
  reserveTokens: agentCall({
    as: 'run',
    input: z.object({ amount: z.int().min(1).max(100_000_000) }),
    output: z.object({
      reservation_id: z.string().nullable(),
      /** Nothing may be sent to the model now, because its provider is down. A deploy-api of the version before does not say it. */
      is_left_alone: z.boolean().default(false),
    }),
  }),
  /** What the request really used, null if nobody knows; and what the model said, for the transcript. */
  settleTokens: agentCall({
    as: 'run',
    input: z.object({
      reservation_id: Id('tkr'),
      tokens: z.int().min(0).max(10_000_000_000_000).nullable(),
      /** An agent-runner of the version before does not say it. */
      outcome: z.enum(MODEL_OUTCOMES).optional(),
      ms: z.int().min(0).max(3_600_000),
      said: z.string().max(AGENT_LIMITS.saidCharacters),
      /** Of what the model was asked, which is too long to be sent along. */
      request_sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
    output: z.object({}),
  }),
  endRun: agentCall({
    as: 'run',
    input: z.object({ ending: Ending }),
    /** Null: it has written nothing, its runner was stopped, and another one does it. */
    output: z.object({ terminal_code: z.enum(TERMINAL_CODES).nullable() }),
  }),
} as const

export type AgentCallName = keyof typeof AGENT_CALLS
export type AgentCallInput<Name extends AgentCallName> = z.output<(typeof AGENT_CALLS)[Name]['input']>
export type AgentCallOutput<Name extends AgentCallName> = z.output<(typeof AGENT_CALLS)[Name]['output']>

/** Outside of `/api`, which is the gateway's. */
export const AGENT_CALL_PATH = '/agent-runs'
/** The longest is what a model said, or a change, written out. */
export const AGENT_CALL_MAX_BYTES = 1024 * 1024

/** Where the agent-runner answers those who hold no model key; and as much evidence as a judge may get, written out. */
export const ASK_MODEL_PATH = '/agent-runner/ask'
export const ASK_MODEL_MAX_BYTES = 1024 * 1024

const Call = z.object({ id: z.string(), name: z.string(), arguments: z.string() })

/** What that one answers: a ModelAnswer. */
export const AnsweredModel = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('turn'),
    turn: z.object({
      text: z.string(),
      calls: z.array(Call),
      echo: z.array(z.unknown()),
      ending: z.enum(['stop', 'tool_calls', 'length', 'other']),
      tokens: z.int().nullable(),
    }),
  }),
  z.object({
    kind: z.literal('failed'),
    reason: z.enum(['refused', 'rate_limited', 'unavailable', 'timeout', 'invalid_answer']),
    isSent: z.boolean(),
    retryAfterSeconds: z.number().optional(),
  }),
])
