/** The setting EMBEDDING_MODELS: which embedding models there are beside the built-in one, and where they answer. */
import * as z from 'zod'

export const BUILT_IN_MODEL = { name: 'minilm-l6-v2', dimensions: 384 } as const

/** pgvector: a column of type vector has at most 16,000 dimensions. */
const DIMENSIONS_MAX = 16_000

/** RFC 9110, 5.6.2: a token. */
const HeaderName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'must be the name of a header')
/** Headers that the client sets itself. */
const OWN_HEADERS =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer|accept-encoding)$/i

/** Fields of the body that have a setting of their own. */
const OWN_FIELDS = ['model', 'input', 'dimensions']

const FurtherFields = z.record(
  z.string().refine((name) => !OWN_FIELDS.includes(name), 'has a setting of its own'),
  z.json(),
  'must be an object of JSON values',
)

const RemoteModel = z
  .strictObject(
    {
      /** The base, to which `/embeddings` is added. */
      url: z
        .url({ protocol: /^https?$/, error: 'must be an http or https address' })
        .refine(isPlainBase, 'must be an address without user, query and fragment')
        .transform((text) => new URL(text)),
      /** Checked here because whoever sends a header quotes the value that it cannot send. */
      key: z
        .string('must be text')
        .regex(/^[\x21-\x7e]{1,4096}$/, 'must be visible ASCII characters without blanks')
        .optional(),
      dimensions: whole(1, DIMENSIONS_MAX),
      /** What the provider calls the model, where that differs from our name. */
      remote_model: z.string('must be text').min(1, 'must not be empty').max(200, 'is too long').optional(),
      /** The header of the key; without it the key is a bearer in `authorization`. */
      header: HeaderName.optional(),
      headers: z
        .record(
          HeaderName.refine((name) => !OWN_HEADERS.test(name), 'is a header the client sets itself'),
          z.string('must be text').regex(/^[\x20-\x7e]{0,4096}$/, 'must be visible ASCII characters'),
          'must be an object of headers',
        )
        .optional(),
      /** For models that tell questions from passages by their first words (e5, bge). */
      query_prefix: z.string('must be text').max(2000, 'must have at most 2000 characters').optional(),
      /**
       * Further fields of the body, such as `"input_type": "query"`. `"encoding_format": null` takes out the one that
       * is sent otherwise: Voyage refuses `float`, although that is what it answers with.
       */
      extra: FurtherFields.optional(),
      /** The same two for texts in bulk, which are passages. */
      passage_prefix: z.string('must be text').max(2000, 'must have at most 2000 characters').optional(),
      passage_extra: FurtherFields.optional(),
      /** Opens it to whoever fills a table: the embeddings endpoint and loads. Closed by default, because it costs money. */
      bulk: z.boolean('must be true or false').optional(),
      /** Asks for vectors of this length; for models that can shorten theirs. */
      send_dimensions: z.boolean('must be true or false').optional(),
      timeout_ms: whole(100, 60_000).optional(),
    },
    {
      error: (issue) =>
        issue.code === 'unrecognized_keys'
          ? `does not know ${issue.keys.join(', ')}`
          : 'must be an object with at least url and dimensions',
    },
  )
  .refine(({ header, key }) => header === undefined || key !== undefined, {
    path: ['header'],
    error: 'is of no use without key',
  })
  .refine(({ header, key, headers = {} }) => key === undefined || !has(headers, header ?? 'authorization'), {
    path: ['headers'],
    error: 'must not hold the header of the key',
  })

export type RemoteModelSettings = z.output<typeof RemoteModel>
/** A map, because a model may be called like a property that every object has. */
export type EmbeddingSettings = ReadonlyMap<string, RemoteModelSettings>

/** JSON text: an object of model names. Messages never quote a value, for one of them is a key. */
export const EmbeddingModelsSetting = z
  .string()
  .transform((text, { issues }): EmbeddingSettings => {
    const refuse = (message: string) => issues.push({ code: 'custom', input: undefined, message })
    const models = new Map<string, RemoteModelSettings>()
    const named = readObject(text)
    if (!named) refuse('must be JSON: an object with an object of settings for each model name')
    for (const [name, settings] of Object.entries(named ?? {})) {
      if (!/^[^\p{C}\p{Z}]{1,100}$/u.test(name)) {
        refuse('a model name must have 1 to 100 visible characters and no blanks')
        continue
      }
      if (name === BUILT_IN_MODEL.name) {
        refuse(`${name} is the built-in model and cannot be another one`)
        continue
      }
      const read = RemoteModel.safeParse(settings)
      if (read.success) models.set(name, read.data)
      else for (const problem of read.error.issues) refuse(`${name}: ${sentence(problem)}`)
    }
    return models
  })
  .default(() => new Map())

function whole(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`
  return z.int(error).min(min, error).max(max, error)
}

/** A text that is no URL has its own error. */
function isPlainBase(text: string): boolean {
  const url = URL.parse(text)
  return !url || (url.username === '' && url.password === '' && url.search === '' && url.hash === '')
}

const has = (headers: Record<string, string>, wanted: string): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === wanted.toLowerCase())

function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    // The message of the parser quotes the text.
    return undefined
  }
}

function sentence(problem: z.core.$ZodIssue): string {
  const where = problem.path.join('.')
  const what =
    problem.code === 'invalid_key' ? (problem.issues[0]?.message ?? problem.message) : problem.message
  return where === '' ? what : `${where} ${what}`
}
