/** What the agent-runner answers: one question to a model, for those who hold no model key. */
import * as z from 'zod'
import { ASK_MODEL_MAX_BYTES, ASK_MODEL_PATH } from '../contracts/agent-calls.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { ModelAnswer } from '../contracts/model-port.ts'
import type { MaintenanceModels } from '../contracts/model-settings.ts'
import { readJson } from '../contracts/read-json.ts'
import { answer } from '../http/answer.ts'
import { bearerOf } from '../http/authenticate.ts'
import { readBytes } from '../http/read-body.ts'
import { createServiceApp, type Observation, type ServiceApp } from '../http/service-app.ts'
import type { AgentRunnerTokens } from '../trust/agent-runner-token.ts'
import type { AskModel } from './do-run.ts'

export type AskDeps = Observation & {
  readonly agentRunnerTokens: AgentRunnerTokens
  readonly models: MaintenanceModels
  readonly askModel: AskModel
}

/** Longer than a judge waits for its model. */
const DEADLINE_MS = 100_000

/** Questions of one kind only: a text, and tools to answer with. */
const Asked = z.object({
  model: z.string().max(100),
  request: z.object({
    system: z.string(),
    messages: z
      .array(z.object({ role: z.literal('user'), text: z.string() }))
      .min(1)
      .max(10),
    tools: z
      .array(
        z.object({
          name: z.string().max(100),
          description: z.string(),
          parameters: z.record(z.string(), z.unknown()),
        }),
      )
      .max(20),
    maxOutputTokens: z.int().min(1).max(200_000),
  }),
})

export function createAgentRunnerApp(deps: AskDeps): ServiceApp {
  const app = createServiceApp('agent-runner', { ...deps, deadlineMs: DEADLINE_MS })
  app.post(ASK_MODEL_PATH, async (c) => {
    c.set('route', 'askModel')
    const token = bearerOf(c)
    if (token === undefined || !(await deps.agentRunnerTokens.isValid('agent-runner', token, deps.clock())))
      throw new ServiceError('UNAUTHENTICATED')
    const { model, request } = await readAsked(c.req.raw)
    const settings = deps.models.get(model)
    const answered: ModelAnswer = settings
      ? await deps.askModel(model, settings, request, c.req.raw.signal)
      : { kind: 'failed', reason: 'refused', isSent: false }
    return answer(c, answered, 200, 'json')
  })
  return app
}

async function readAsked(request: Request): Promise<z.output<typeof Asked>> {
  const bytes = await readBytes(request, ASK_MODEL_MAX_BYTES)
  const asked = Asked.safeParse(readJson(Buffer.from(bytes).toString()))
  if (!asked.success) throw new ServiceError('INVALID_REQUEST')
  return asked.data
}
