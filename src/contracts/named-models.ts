/** What the settings EMBEDDING_MODELS and MAINTENANCE_MODELS have in common: JSON text, an object of model names. */
import * as z from 'zod'
import { readJsonObject } from './read-json.ts'

/** The base, to which a path is added. A text that is no URL has its own error. */
export const ModelBase = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .refine((text) => {
    const url = URL.parse(text)
    return !url || (url.username === '' && url.password === '' && url.search === '' && url.hash === '')
  }, 'must be an address without user, query and fragment')
  .transform((text) => new URL(text))

/** Checked here because whoever sends a header quotes the value that it cannot send. */
export const ModelKey = z
  .string('must be text')
  .regex(/^[\x21-\x7e]{1,4096}$/, 'must be visible ASCII characters without blanks')

/** What the provider calls the model, where that differs from our name. */
export const RemoteName = z.string('must be text').min(1, 'must not be empty').max(200, 'is too long')

export function whole(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`
  return z.int(error).min(min, error).max(max, error)
}

/** The error of a strict object of settings. */
export const settingsError =
  (least: string) =>
  (issue: z.core.$ZodRawIssue): string =>
    issue.code === 'unrecognized_keys'
      ? `does not know ${issue.keys.join(', ')}`
      : `must be an object with at least ${least}`

/** Messages never quote a value, for one of them is a key. `problem`: names the model, too. */
export const modelsSetting = <Model extends z.ZodType>(
  model: Model,
  builtIn: { readonly name: string; readonly problem: string },
  problemOf: (name: string, issue: z.core.$ZodIssue) => string,
) =>
  z
    .string()
    // A map, because a model may be called like a property that every object has.
    .transform((text, { issues }): ReadonlyMap<string, z.output<Model>> => {
      const refuse = (message: string) => issues.push({ code: 'custom', input: undefined, message })
      const models = new Map<string, z.output<Model>>()
      const named = readJsonObject(text)
      if (!named) refuse('must be JSON: an object with an object of settings for each model name')
      for (const [name, settings] of Object.entries(named ?? {})) {
        if (!/^[^\p{C}\p{Z}]{1,100}$/u.test(name)) {
          refuse('a model name must have 1 to 100 visible characters and no blanks')
          continue
        }
        if (name === builtIn.name) {
          refuse(`${name} ${builtIn.problem}`)
          continue
        }
        const read = model.safeParse(settings)
        if (read.success) models.set(name, read.data)
        else for (const issue of read.error.issues) refuse(problemOf(name, issue))
      }
      return models
    })
    .default(() => new Map())
