/** The setting MAINTENANCE_MODELS: the language models that maintenance runs and judge checks may use. */
import * as z from 'zod'
import { MODEL_WIRES } from './model-port.ts'
import { RULES_MODEL } from './outcomes.ts'

const text = (max: number) => z.string('must be text').min(1, 'must not be empty').max(max, 'is too long')

const MaintenanceModel = z.strictObject(
  {
    wire: z.enum(MODEL_WIRES, `must be one of ${MODEL_WIRES.join(', ')}`),
    /** The base, to which the path of the wire is added. */
    url: z
      .url({ protocol: /^https?$/, error: 'must be an http or https address' })
      .refine(isPlainBase, 'must be an address without user, query and fragment')
      .transform((address) => new URL(address)),
    /** Checked here because whoever sends a header quotes the value that it cannot send. */
    key: z
      .string('must be text')
      .regex(/^[\x21-\x7e]{1,4096}$/, 'must be visible ASCII characters without blanks')
      .optional(),
    /** What the provider calls the model, where that differs from our name. */
    remote_model: text(200).optional(),
    /** Of `openai-chat`; most local servers know only the older name. */
    output_limit_field: z
      .enum(['max_tokens', 'max_completion_tokens'], 'must be max_tokens or max_completion_tokens')
      .optional(),
    /** The ceilings: of one answer, and of all requests of one run. */
    max_output_tokens: whole(256, 200_000).default(4_096),
    max_run_tokens: whole(1_000, 100_000_000).default(150_000),
    timeout_ms: whole(1_000, 600_000).default(120_000),
  },
  {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `does not know ${issue.keys.join(', ')}`
        : 'must be an object with at least wire and url',
  },
)

export type MaintenanceModelSettings = z.output<typeof MaintenanceModel>
/** A map, because a model may be called like a property that every object has. */
export type MaintenanceModels = ReadonlyMap<string, MaintenanceModelSettings>

/** JSON text: an object of model names. Messages never quote a value, for one of them is a key. */
export const MaintenanceModelsSetting = z
  .string()
  .transform((json, { issues }): MaintenanceModels => {
    const refuse = (message: string) => issues.push({ code: 'custom', input: undefined, message })
    const models = new Map<string, MaintenanceModelSettings>()
    const named = readObject(json)
    if (!named) refuse('must be JSON: an object with an object of settings for each model name')
    for (const [name, settings] of Object.entries(named ?? {})) {
      if (!/^[^\p{C}\p{Z}]{1,100}$/u.test(name)) {
        refuse('a model name must have 1 to 100 visible characters and no blanks')
        continue
      }
      if (name === RULES_MODEL) {
        refuse(`${name} is the built-in analyst and cannot be a model`)
        continue
      }
      const read = MaintenanceModel.safeParse(settings)
      if (read.success) models.set(name, read.data)
      else
        for (const { path, message } of read.error.issues) refuse(`${[name, ...path].join(': ')} ${message}`)
    }
    return models
  })
  .default(() => new Map())

function whole(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`
  return z.int(error).min(min, error).max(max, error)
}

/** A text that is no URL has its own error. */
function isPlainBase(address: string): boolean {
  const url = URL.parse(address)
  return !url || (url.username === '' && url.password === '' && url.search === '' && url.hash === '')
}

function readObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    // The message of the parser quotes the text.
    return undefined
  }
}
