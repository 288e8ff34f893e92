/** Does one claimed run: chooses its analyst, bounds it, and reports how it ended. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallAgent } from '../client/agent-client.ts'
import type { ClaimedRun } from '../contracts/agent-calls.ts'
import { AGENT_LIMITS, type Analyst, type AnalystEnding } from '../contracts/agent-tools.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { ModelAnswer, ModelRequest } from '../contracts/model-port.ts'
import type { MaintenanceModels, MaintenanceModelSettings } from '../contracts/model-settings.ts'
import { RULES_MODEL } from '../contracts/outcomes.ts'
import type { Logger } from '../observe/log.ts'
import { holdRun, RunOver, type HeldRun } from './held-run.ts'
import { modelAnalyst } from './model-analyst.ts'

export type AskModel = (
  name: string,
  settings: MaintenanceModelSettings,
  request: ModelRequest,
  signal: AbortSignal,
) => Promise<ModelAnswer>

export type RunDeps = {
  readonly log: Logger
  readonly call: CallAgent
  readonly models: MaintenanceModels
  readonly askModel: AskModel
  readonly rules: Analyst
  /** Left out: AGENT_LIMITS.seconds. */
  readonly runSeconds?: number
}

export async function doRun(deps: RunDeps, run: ClaimedRun, stopping: AbortSignal): Promise<void> {
  const held = holdRun(deps.call, run)
  const late = AbortSignal.timeout((deps.runSeconds ?? AGENT_LIMITS.seconds) * 1000)
  try {
    const signal = AbortSignal.any([held.over, late, stopping])
    const ending = await analyze(deps, run, held, signal).catch((error: unknown) =>
      endingOf(error, { late, stopping }, (cause) =>
        deps.log.warn('a maintenance run broke', { execution: run.execution_id, error: cause }),
      ),
    )
    if (ending) await held.end(ending)
  } catch (error) {
    // Its lease ends by itself, and with it the run.
    if (!(error instanceof RunOver))
      deps.log.warn('a maintenance run could not be ended', { execution: run.execution_id, error })
  } finally {
    held.release()
  }
}

function analyze(
  { models, askModel, rules }: RunDeps,
  run: ClaimedRun,
  held: HeldRun,
  signal: AbortSignal,
): Promise<AnalystEnding> {
  const settings = models.get(run.model)
  if (run.model !== RULES_MODEL && !settings)
    return Promise.resolve({ kind: 'failed', reason: 'MODEL_NOT_CONFIGURED' })
  const analyst = settings
    ? modelAnalyst({
        ask: (request, until) => askModel(run.model, settings, request, until),
        tokens: held.tokens,
        maxOutputTokens: settings.max_output_tokens,
        maxRunTokens: settings.max_run_tokens,
        usedTokens: run.tokens,
        sleep: (ms, until) => sleep(ms, undefined, { signal: until }),
      })
    : rules
  return untilAborted(analyst(agentRunOf(run), held.tools, signal), signal)
}

const agentRunOf = (run: ClaimedRun) => ({
  executionId: run.execution_id,
  model: run.model,
  appAlias: run.app_alias,
  appName: run.app_name,
  baseRevision: run.base_revision,
  startedAt: new Date(run.started_at),
})

/** An analyst that does not listen is left behind: whatever it still calls is refused. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Undefined: it is over already. */
function endingOf(
  error: unknown,
  { late, stopping }: { late: AbortSignal; stopping: AbortSignal },
  warn: (cause: unknown) => void,
): AnalystEnding | undefined {
  if (error instanceof RunOver) return undefined
  if (stopping.aborted) return { kind: 'failed', reason: 'RUNNER_STOPPED' }
  if (late.aborted) return { kind: 'failed', reason: 'TIME_LIMIT' }
  // The tool host counts as well.
  if (error instanceof ServiceError && error.code === 'CONFLICT')
    return { kind: 'failed', reason: 'STEP_LIMIT' }
  warn(error)
  return { kind: 'failed', reason: 'UNEXPECTED' }
}
