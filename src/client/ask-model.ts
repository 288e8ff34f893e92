/** One question to a model, by way of the agent-runner, which holds the keys. */
import { AnsweredModel, ASK_MODEL_PATH } from '../contracts/agent-calls.ts'
import { ERRORS, ServiceError } from '../contracts/errors.ts'
import type { ModelAnswer, ModelRequest } from '../contracts/model-port.ts'
import { isUnreached } from '../contracts/unreached.ts'
import { postJson } from './agent-client.ts'
import type { Service } from './service.ts'

export const askModelAt =
  (service: Service, token: () => Promise<string>) =>
  async (model: string, request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer> => {
    try {
      const answered = await postJson(
        service,
        ASK_MODEL_PATH,
        { model, request },
        { token: await token(), signal },
      )
      return AnsweredModel.parse(answered)
    } catch (error) {
      // An agent-runner that is down, or refuses, has sent nothing: it must not use up the tokens of a day.
      if (isRefused(error)) return { kind: 'failed', reason: 'runner_failed', isSent: false }
      throw error
    }
  }

function isRefused(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false
  return ERRORS[error.code].status < 500 || isUnreached(error)
}
