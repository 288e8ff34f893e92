/** The models of MAINTENANCE_MODELS, as the agent-runner asks them and as organizations choose them. */
import type { Handle } from '../../db/connect.ts'
import { answerOfModel } from '../adapters/models/ask-model.ts'
import type { AskModel } from '../agent-runner/do-run.ts'
import type { MaintenanceModels } from '../contracts/model-settings.ts'
import { RULES_MODEL } from '../contracts/outcomes.ts'
import type { ModelAnswer, ModelRequest } from '../contracts/model-port.ts'
import type { JudgePort } from '../cores/checks/index.ts'
import { readSettings, type MaintenanceModel } from '../cores/maintenance/index.ts'

/** OpenAI's own refuses the older name, and most other servers do not know the newer one. */
const newerLimitHosts = ['api.openai.com']

export const modelAsker =
  (fetch: typeof globalThis.fetch): AskModel =>
  (name, settings, request, signal) =>
    answerOfModel(
      {
        wire: settings.wire,
        url: settings.url,
        timeoutMs: settings.timeout_ms,
        model: settings.remote_model ?? name,
        key: settings.key,
        outputLimitField:
          settings.output_limit_field ??
          (newerLimitHosts.includes(settings.url.hostname) ? 'max_completion_tokens' : 'max_tokens'),
      },
      request,
      { fetch, signal },
    )

/** The built-in rules are always there, and never propose. */
export const offeredModels = (models: MaintenanceModels): readonly MaintenanceModel[] => [
  { name: RULES_MODEL, proposes: false },
  ...[...models.keys()].map((name) => ({ name, proposes: true })),
]

type JudgeDeps = {
  /** For the moment of asking, outside of every transaction. */
  readonly db: () => Handle
  readonly models: MaintenanceModels
  readonly ask: (model: string, request: ModelRequest, signal: AbortSignal) => Promise<ModelAnswer>
}

/** Judge checks use the maintenance model of their organization, as long as it is turned on. The rules cannot judge. */
export function judgePort({ db, models, ask }: JudgeDeps): JudgePort | null {
  if (models.size === 0) return null
  const read = async (orgId: string, handle: Handle) => {
    const { enabled, model, tokenAllowance } = await readSettings(handle, orgId)
    return enabled && model !== null && models.has(model) ? { model, tokenAllowance } : null
  }
  return {
    settingsOf: read,
    async ask(orgId, request, signal) {
      const settings = await read(orgId, db())
      // Turned off a moment ago.
      return settings
        ? ask(settings.model, request, signal)
        : { kind: 'failed', reason: 'refused', isSent: false }
    },
  }
}
