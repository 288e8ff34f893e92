/** An app with source, logs and a check that the maintenance agent looks at, and an agent-runner with a scripted model. */
import { randomUUID } from 'node:crypto'
import { agentClient, type CallAgent } from '../../src/client/agent-client.ts'
import { drainRuns, type AgentRunnerDeps } from '../../src/agent-runner/agent-runner.ts'
import type { AskModel } from '../../src/agent-runner/do-run.ts'
import type { ClaimedRun } from '../../src/contracts/agent-calls.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { pushLogs } from '../../src/contracts/logs.ts'
import {
  startMaintenanceRun,
  showMaintenanceRun,
  updateAppMaintenance,
  updateMaintenanceSettings,
} from '../../src/contracts/maintenance.ts'
import type { ModelAnswer, ModelRequest } from '../../src/contracts/model-port.ts'
import { MaintenanceModelsSetting, type MaintenanceModels } from '../../src/contracts/model-settings.ts'
import { pushRevision } from '../../src/contracts/revisions.ts'
import { agentRunnerTokens } from '../../src/trust/agent-runner-token.ts'
import { makeOrganization, unique, type Org } from './make.ts'
import { archiveOf, type Tree } from './source.ts'
import type { TestSystem } from './system.ts'

export const AGENT_RUNNER_SECRET = 'a5'.repeat(32)
export const MODEL = 'scripted'
/** As the operator writes it, for the whole system and for what plays the agent-runner. */
export const MODELS_SETTING = JSON.stringify({
  [MODEL]: { wire: 'openai-chat', url: 'http://127.0.0.1:1/v1', max_output_tokens: 1_000 },
})
const MODELS: MaintenanceModels = MaintenanceModelsSetting.parse(MODELS_SETTING)

export type MaintainedApp = {
  readonly org: Org
  readonly alias: string
  readonly call: Org['owner']['call']
  /** Starts a run; it waits for an agent-runner. */
  readonly start: () => Promise<string>
  readonly show: (executionId: string) => Promise<Awaited<ReturnType<typeof showRun>>>
}

const showRun = (call: Org['owner']['call'], alias: string, execution_id: string) =>
  call(showMaintenanceRun, { alias, execution_id })

const TREE: Tree = {
  'src/orders.js': 'export function total(order) {\n  return order.items.length * order.price\n}\n',
  'src/main.js': "import { total } from './orders.js'\n\nserve(total)\n",
  '.env': 'TOKEN=not-for-anybody\n',
}

/** Of an app with which all is well. */
export const QUIET_LINES = [{ level: 'info', message: 'order 1 taken' }]
const LOG_LINES = [
  ...QUIET_LINES,
  {
    level: 'error',
    message: 'TypeError: Cannot read properties of undefined (reading length) at src/orders.js:2',
  },
  {
    level: 'error',
    message: 'TypeError: Cannot read properties of undefined (reading length) at src/orders.js:2',
  },
]

export async function makeMaintainedApp(
  system: TestSystem,
  {
    model = MODEL,
    tree = TREE,
    lines = LOG_LINES,
    allowance = 200_000,
    org: given,
  }: {
    model?: string
    tree?: Tree | null
    lines?: readonly object[]
    allowance?: number
    /** Left out: one of its own. */
    org?: Org
  } = {},
): Promise<MaintainedApp> {
  const org = given ?? (await makeOrganization(system))
  const { call } = org.owner
  const alias = unique('app')
  await call(createApp, { alias, name: 'Shop' })
  if (tree) await call(pushRevision, { alias, body: archiveOf(tree) })
  const body = lines.map((line) => JSON.stringify({ time: system.clock.now().toISOString(), ...line }))
  if (body.length > 0) await call(pushLogs, { alias, body: Buffer.from(body.join('\n')) })
  await call(updateMaintenanceSettings, {
    org_id: org.id,
    enabled: true,
    model,
    cooldown_hours: 0,
    token_allowance: allowance,
  })
  await call(updateAppMaintenance, { alias, enabled: true })
  return {
    org,
    alias,
    call,
    start: async () => (await call(startMaintenanceRun, { alias })).execution_id,
    show: (executionId) => showRun(call, alias, executionId),
  }
}

export type ScriptedCall = readonly [tool: string, input: unknown]

/** A turn of a model that makes these calls, or says this. */
export const turnOf = (said: string | readonly ScriptedCall[], tokens: number | null = 500): ModelAnswer => ({
  kind: 'turn',
  turn: {
    text: typeof said === 'string' ? said : '',
    calls: (typeof said === 'string' ? [] : said).map(([name, input], at) => ({
      id: `call_${at}`,
      name,
      arguments: typeof input === 'string' ? input : JSON.stringify(input),
    })),
    echo: [],
    ending: typeof said === 'string' ? 'stop' : 'tool_calls',
    tokens,
  },
})

export type Script = (request: ModelRequest, asked: number) => ModelAnswer | Promise<ModelAnswer>

/** Does every run that waits for the scripted model; returns how many. */
export const runScript = (system: TestSystem, script: Script): Promise<number> => {
  let asked = 0
  return drainRuns(agentRunner(system, async (_name, _settings, request) => script(request, asked++)))
}

export const agentRunner = (system: TestSystem, askModel: AskModel): AgentRunnerDeps => ({
  log: system.system.log,
  clock: () => system.clock.now(),
  call: toolHost(system),
  agentRunnerTokens: agentRunnerTokens(AGENT_RUNNER_SECRET),
  models: MODELS,
  askModel,
  rules: async () => ({ kind: 'failed', reason: 'UNEXPECTED' }),
  runsAtOnce: 1,
})

export const toolHost = (system: TestSystem): CallAgent =>
  agentClient(system.system.services.get('deploy-api')!)

/** Claims the next run without doing it: for calls that no analyst of ours would make. */
export async function claimRun(system: TestSystem): Promise<ClaimedRun> {
  const token = await agentRunnerTokens(AGENT_RUNNER_SECRET).sign('tool-host', system.clock.now())
  const asked = { claim_id: randomUUID(), models: [MODEL], wait_seconds: 0 }
  const { run } = await toolHost(system)('claimRun', asked, { token })
  if (!run) throw new Error('no run waits')
  return run
}

/** The answers of tools that a model has heard, newest last. */
export const heardBy = ({ messages }: ModelRequest): Record<string, unknown>[] =>
  messages.flatMap((message) =>
    message.role === 'tools'
      ? message.results.map(({ text }) => JSON.parse(text) as Record<string, unknown>)
      : [],
  )
