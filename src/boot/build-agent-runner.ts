/** The agent-runner of a process. */
import { startAgentRunner } from '../agent-runner/agent-runner.ts'
import { createAgentRunnerApp } from '../agent-runner/app.ts'
import { rulesAnalyst } from '../agent-runner/rules/analyst.ts'
import { agentClient } from '../client/agent-client.ts'
import { modelAsker } from './maintenance-models.ts'
import { asService, type Running } from './running.ts'
import type { Shared } from './shared.ts'

export function buildAgentRunner(shared: Shared): Running {
  const { config, overrides } = shared
  const deps = {
    ...shared.observation,
    agentRunnerTokens: shared.runnerTokens!,
    models: config.MAINTENANCE_MODELS,
    askModel: overrides.askModel ?? modelAsker(shared.fetch),
    call: agentClient(shared.deploy),
    runsAtOnce: config.MAINTENANCE_RUNS_AT_ONCE,
    rules: rulesAnalyst,
  }
  return { ...asService(createAgentRunnerApp(deps)), startJobs: () => startAgentRunner(deps) }
}
