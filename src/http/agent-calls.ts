/** The tool host's side of agent calls: whoever calls shows the identity of a run, or that it is the agent-runner. */
import type * as z from 'zod'
import {
  AGENT_CALL_MAX_BYTES,
  AGENT_CALL_PATH,
  AGENT_CALLS,
  type AgentCallInput,
  type AgentCallName,
  type AgentCallOutput,
} from '../contracts/agent-calls.ts'
import { ServiceError } from '../contracts/errors.ts'
import { BEARER_MAX } from '../contracts/limits.ts'
import { readJson } from '../contracts/read-json.ts'
import {
  callTool,
  claimNextRun,
  concludeRun,
  renewRun,
  reserveTurn,
  settleTurn,
  type IdentityDeps,
  type ToolHostDeps,
} from '../cores/agent-tools/index.ts'
import { Fenced } from '../cores/maintenance/index.ts'
import { answerBelongsTo, untilMayAnswer } from '../trust/open-answers.ts'
import type { AgentRunnerTokens } from '../trust/agent-runner-token.ts'
import type { IdentifiedRun } from '../trust/run-identity.ts'
import { answer } from './answer.ts'
import { bearerOf } from './authenticate.ts'
import type { HttpContext } from './context.ts'
import { asksToWait } from './observe-request.ts'
import { readBytes } from './read-body.ts'
import type { ServiceApp } from './service-app.ts'

export type AgentCallDeps = ToolHostDeps &
  IdentityDeps & {
    /** Undefined: this process does not hold AGENT_RUNNER_SECRET, and hands out no runs. */
    readonly agentRunnerTokens: AgentRunnerTokens | undefined
  }

type Handlers = {
  readonly [Name in AgentCallName]: (
    deps: AgentCallDeps,
    input: AgentCallInput<Name>,
    /** Of calls made as a run. */
    run: IdentifiedRun,
    signal: AbortSignal,
  ) => Promise<AgentCallOutput<Name>>
}

const HANDLERS: Handlers = {
  claimRun: async (deps, { claim_id, wait_seconds, ...capacity }, _run, signal) => ({
    run: await claimNextRun(deps, { claimId: claim_id, waitSeconds: wait_seconds, signal, ...capacity }),
  }),
  renewRun: (deps, _input, run) => renewRun(deps, run),
  callTool: async (deps, input, run, signal) => {
    const answered = await callTool({ ...deps, signal }, run, input)
    return answered.kind === 'result' ? answered : { ...answered, problems: [...answered.problems] }
  },
  reserveTokens: async (deps, { amount }, run) => {
    const { id, isLeftAlone } = await reserveTurn(deps, run, amount)
    return { reservation_id: id, is_left_alone: isLeftAlone }
  },
  settleTokens: async (deps, { reservation_id, request_sha256, ...settled }, run) => {
    // What has used no tokens was not answered.
    const outcome = settled.outcome ?? (settled.tokens ? 'answered' : 'refused')
    const turn = { reservationId: reservation_id, requestSha256: request_sha256, ...settled, outcome }
    await settleTurn(deps, run, turn)
    return {}
  },
  endRun: async (deps, { ending }, run) => ({ terminal_code: await concludeRun(deps, run, ending) }),
}

export function mountAgentCalls(app: ServiceApp, deps: AgentCallDeps): void {
  for (const name of Object.keys(AGENT_CALLS) as AgentCallName[]) mountCall(app, deps, name)
}

function mountCall<Name extends AgentCallName>(app: ServiceApp, deps: AgentCallDeps, name: Name): void {
  const { as, input, output } = AGENT_CALLS[name]
  const handle: Handlers[Name] = HANDLERS[name]
  app.post(`${AGENT_CALL_PATH}/${name}`, async (c) => {
    c.set('route', name)
    await untilMayAnswer()
    const run = await authenticateCall(c, deps, as)
    // A run acts for no person.
    answerBelongsTo(run.orgId === '' ? [] : [run.orgId])
    const given = readGiven(input, await readBytes(c.req.raw, AGENT_CALL_MAX_BYTES))
    c.set('isWaiting', asksToWait(given))
    const answered = await handle(deps, given as AgentCallInput<Name>, run, c.req.raw.signal).catch(
      (error: unknown) => {
        throw error instanceof Fenced ? runIsOver(error) : error
      },
    )
    return answer(c, output.parse(answered), 200, 'json')
  })
}

const runIsOver = (cause?: unknown) =>
  new ServiceError('UNAUTHENTICATED', 'This run does not hold the app any more', { cause })

/** Nobody's, for calls that are made before there is a run. */
const NO_RUN: IdentifiedRun = {
  orgId: '',
  appId: '',
  executionId: '',
  fence: 0,
  baseRevisionId: null,
  model: '',
  startedAt: new Date(0),
}

async function authenticateCall(
  c: HttpContext,
  { clock, agentRunnerTokens, runIdentities }: AgentCallDeps,
  as: 'runner' | 'run',
): Promise<IdentifiedRun> {
  const token = bearerOf(c)
  if (token === undefined || token.length > BEARER_MAX) throw new ServiceError('UNAUTHENTICATED')
  if (as === 'run') {
    const run = await runIdentities.verify(token, clock())
    if (!run) throw runIsOver()
    return run
  }
  if (!(await agentRunnerTokens?.isValid('tool-host', token, clock())))
    throw new ServiceError('UNAUTHENTICATED')
  return NO_RUN
}

function readGiven(schema: z.ZodType, bytes: Uint8Array): object {
  const read = schema.safeParse(readJson(Buffer.from(bytes).toString()))
  if (!read.success) throw new ServiceError('INVALID_REQUEST')
  return read.data as object
}
