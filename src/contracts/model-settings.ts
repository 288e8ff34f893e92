/** The setting MAINTENANCE_MODELS: the language models that maintenance runs and judge checks may use. */
import * as z from 'zod'
import { MODEL_WIRES } from './model-port.ts'
import { ModelBase, ModelKey, modelsSetting, RemoteName, settingsError, whole } from './named-models.ts'
import { RULES_MODEL } from './outcomes.ts'

const MaintenanceModel = z.strictObject(
  {
    wire: z.enum(MODEL_WIRES, `must be one of ${MODEL_WIRES.join(', ')}`),
    /** The path of the wire is added. */
    url: ModelBase,
    key: ModelKey.optional(),
    remote_model: RemoteName.optional(),
    /** Of `openai-chat`; most local servers know only the older name. */
    output_limit_field: z
      .enum(['max_tokens', 'max_completion_tokens'], 'must be max_tokens or max_completion_tokens')
      .optional(),
    /** The ceilings: of one answer, and of all requests of one run. */
    max_output_tokens: whole(256, 200_000).default(4_096),
    max_run_tokens: whole(1_000, 100_000_000).default(150_000),
    timeout_ms: whole(1_000, 600_000).default(120_000),
  },
  { error: settingsError('wire and url') },
)

export type MaintenanceModelSettings = z.output<typeof MaintenanceModel>

export const MaintenanceModelsSetting = modelsSetting(
  MaintenanceModel,
  { name: RULES_MODEL, problem: 'is the built-in analyst and cannot be a model' },
  (name, { path, message }) => `${[name, ...path].join(': ')} ${message}`,
)
export type MaintenanceModels = z.output<typeof MaintenanceModelsSetting>
