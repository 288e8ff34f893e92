/** The setting EMBEDDING_MODELS: which embedding models there are beside the built-in one, and where they answer. */
import * as z from 'zod'
import { ModelBase, ModelKey, modelsSetting, RemoteName, settingsError, whole } from './named-models.ts'

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
      /** `/embeddings` is added. */
      url: ModelBase,
      key: ModelKey.optional(),
      dimensions: whole(1, DIMENSIONS_MAX),
      remote_model: RemoteName.optional(),
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
    { error: settingsError('url and dimensions') },
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
export const EmbeddingModelsSetting = modelsSetting(
  RemoteModel,
  { name: BUILT_IN_MODEL.name, problem: 'is the built-in model and cannot be another one' },
  (name, problem) => `${name}: ${sentence(problem)}`,
)
export type EmbeddingSettings = z.output<typeof EmbeddingModelsSetting>

const has = (headers: Record<string, string>, wanted: string): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === wanted.toLowerCase())

function sentence(problem: z.core.$ZodIssue): string {
  const where = problem.path.join('.')
  const what =
    problem.code === 'invalid_key' ? (problem.issues[0]?.message ?? problem.message) : problem.message
  return where === '' ? what : `${where} ${what}`
}
