/** Data sources: what an organization lets agents ask, how it is searched, and the questions themselves. */
import * as z from 'zod'
import { DisplayName, Time } from './fields.ts'
import { idPattern } from './ids.ts'
import { ENTRIES_MAX, FILTER_VALUES_MAX, HITS_DEFAULT, HITS_MAX, QUESTION_MAX_CHARACTERS } from './limits.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'
import { GrantableRole } from './roles.ts'

/** decisions, section 5: the name of a managed database. */
export const DATABASE_NAME = /^[a-z][a-z0-9_]{0,40}$/

/** Either id of a data source; one of another shape names nothing. */
export const SourceId = z
  .string()
  .refine(
    (id) => idPattern('ds').test(id) || (id.startsWith('db_') && DATABASE_NAME.test(id.slice(3))),
    'must look like ds_… or db_<database name>',
  )
  .describe('`ds_…`, or `db_` and the name of the database.')

/** Every path takes either. */
const sourceId = { source_id: SourceId }

export const METRICS = ['cosine', 'l2', 'inner_product'] as const
export type Metric = (typeof METRICS)[number]

/** Postgres cuts names at 63 bytes; what is longer cannot be one. */
const Name = z.string().min(1).max(63)

/** One searchable table. */
export const SearchEntry = z.strictObject({
  label: z
    .string()
    .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,59}$/u, 'must be 1 to 60 letters, digits, spaces, dots or dashes')
    .describe('The name by which a question can be put to this table alone.'),
  table: z.string().min(1).max(127).describe('`name` or `schema.name`; the schema is `public` unless said.'),
  columns: z.array(Name).max(5).default(['embedding']).describe('The vector column; exactly one.'),
  model: z.string().min(1).max(100).describe('The model that filled the column.'),
  dimensions: z.int().min(1).max(16_000),
  content_columns: z
    .string()
    .min(1)
    .max(2_000)
    .describe('Columns returned per hit, separated by commas: the first is its id, the second its title.'),
  distance_metric: z.enum(METRICS).default('cosine'),
  hybrid: z
    .boolean()
    .optional()
    .describe('Full text beside vectors, fused by rank; for questions with names and numbers in them.'),
  text_search_language: z
    .string()
    .regex(/^[a-z_]{1,40}$/, 'must be a text search configuration of Postgres, such as english')
    .optional()
    .describe('With `hybrid`: how words are stemmed. Default english.'),
  text_search_column: Name.optional().describe(
    'With `hybrid`: a tsvector column that holds the words; without it they are read off the content columns.',
  ),
  fetchable: z
    .boolean()
    .optional()
    .describe('Hits carry a signed `_handle` with which the whole row can be fetched for a day.'),
})
export type SearchEntry = z.output<typeof SearchEntry>

export const FILTER_TYPES = ['string', 'number', 'boolean'] as const
export type FilterType = (typeof FILTER_TYPES)[number]
export const FilterSchema = z
  .record(Name, z.enum(FILTER_TYPES))
  .describe('Columns that may be filtered on, with their types.')
export type FilterSchema = z.output<typeof FilterSchema>

const ConnectionConfig = z.strictObject({
  embedding_configs: z.array(SearchEntry).max(ENTRIES_MAX).describe('A table left out is not searchable.'),
})

export const SearchConfiguration = z.object({
  connection_config: ConnectionConfig,
  filter_schema: FilterSchema.default({}),
})
export type SearchConfiguration = z.output<typeof SearchConfiguration>

export const SOURCE_KINDS = ['embedded', 'postgres', 'attached'] as const
export type SourceKind = (typeof SOURCE_KINDS)[number]

export const DataSource = z.object({
  id: z.string(),
  source_id: z.string().describe('`db_` and the name of the database.'),
  name: z.string(),
  description: z.string(),
  kind: z.enum(SOURCE_KINDS),
  ready: z.boolean().describe('False while its database is being made.'),
  enabled: z.boolean().describe('Switched on as a data source.'),
  exposed: z.boolean(),
  minimum_role: GrantableRole,
  connection_config: ConnectionConfig.nullable().describe('null: no search configuration was saved.'),
  filter_schema: FilterSchema,
  configured_at: Time.nullable(),
  created_at: Time,
})

const sources = {
  service: 'api-gateway',
  scope: null,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
} as const
const reads = { readOnly: true, destructive: false, idempotent: true } as const
const sets = { readOnly: false, destructive: false, idempotent: true } as const

const search = z.string().trim().max(120).optional().describe('Only those whose name contains this.')

export const listDataSources = operation({
  ...sources,
  ...reads,
  name: 'dataSources.list',
  summary: 'List every managed database of the organization and what it is as a data source.',
  input: z.object({ search, ...pageInput }),
  output: z.object({ data_sources: z.array(DataSource), ...pageOutput }),
  who: 'developer',
  http: { method: 'get', path: '/api/wf/data-sources' },
})

export const showDataSource = operation({
  ...sources,
  ...reads,
  name: 'dataSources.show',
  summary: 'Show one data source with its search configuration.',
  input: z.object(sourceId),
  output: DataSource,
  who: 'developer',
  http: { method: 'get', path: '/api/wf/data-sources/{source_id}' },
})

export const saveSearchConfiguration = operation({
  ...sources,
  ...sets,
  name: 'dataSources.configure',
  summary: 'Replace the search configuration; saved only if all of it fits the database.',
  input: z.object({ ...sourceId, ...SearchConfiguration.shape }),
  output: DataSource.extend({
    notes: z.array(z.string()).describe('What would make it faster: missing indexes, mostly.'),
  }),
  who: 'developer',
  errors: [...sources.errors, 'INVALID_SEARCH_CONFIGURATION', 'TIMEOUT'],
  http: { method: 'put', path: '/api/wf/data-sources/{source_id}' },
})

export const describeDataSource = operation({
  ...sources,
  ...sets,
  name: 'dataSources.describe',
  summary: 'Change the name and the description that people and agents read.',
  input: z.object({
    ...sourceId,
    name: DisplayName.optional(),
    description: z.string().trim().max(1_000).optional(),
  }),
  output: DataSource,
  who: 'developer',
  http: { method: 'patch', path: '/api/wf/data-sources/{source_id}' },
})

export const setDataSourceState = operation({
  ...sources,
  ...sets,
  name: 'dataSources.setState',
  summary: 'Switch a database on or off as a data source; off also ends its exposure.',
  input: z.object({ ...sourceId, enabled: z.boolean() }),
  output: DataSource,
  who: 'admin',
  errors: [...sources.errors, 'CONFLICT'],
  http: { method: 'put', path: '/api/wf/data-sources/{source_id}/state' },
})

export const setExposure = operation({
  ...sources,
  ...sets,
  name: 'dataSources.setExposure',
  summary: 'Expose a data source to members at or above a role, or hide it.',
  input: z.object({ ...sourceId, exposed: z.boolean(), minimum_role: GrantableRole.optional() }),
  output: DataSource,
  who: 'admin',
  errors: [...sources.errors, 'CONFLICT', 'EXPOSURE_LIMIT'],
  http: { method: 'put', path: '/api/wf/data-sources/{source_id}/exposure' },
})

/** What somebody who may ask gets to see of a source. */
export const AskableSource = z.object({
  id: z.string().describe('`db_` and the name of the database.'),
  name: z.string(),
  minimum_role: GrantableRole,
  filters: FilterSchema,
  targets: z.array(z.string()).describe('Labels that a question can be put to.'),
  description: z.string(),
})

const asking = { ...reads, service: 'api-gateway', who: 'viewer', scope: 'data:read' } as const

export const listAskableSources = operation({
  ...asking,
  name: 'dataSources.listAskable',
  summary: 'List the data sources you may ask.',
  input: z.object({ search, ...pageInput }),
  output: z.object({ data_sources: z.array(AskableSource), ...pageOutput }),
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/wf/slim/data-sources', answers: 'yaml' },
})

const FilterValue = z.union([z.string(), z.number(), z.boolean()])

export const Hit = z.object({
  id: z.string().describe('Text of the first content column.'),
  title: z.string().nullable().describe('Text of the second content column.'),
  metadata: z
    .record(z.string(), z.unknown())
    .describe(
      'The other content columns, `_score` (higher is better), `_target`, and where configured `_mode` and `_handle`.',
    ),
})
export type Hit = z.output<typeof Hit>

export const QueryResult = z.object({
  count: z.int(),
  results: z.array(Hit),
  truncated: z.string().optional().describe('Present when the answer was shortened: what was cut.'),
})
export type QueryResult = z.output<typeof QueryResult>

const questionErrors = [
  'INVALID_REQUEST',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NOT_FOUND',
  'RATE_LIMITED',
  'QUOTA_EXCEEDED',
  'NO_SEMANTIC_SEARCH',
  'INVALID_SEARCH_CONFIGURATION',
  'TIMEOUT',
] as const

export const queryDataSource = operation({
  ...asking,
  name: 'dataSources.query',
  summary: 'Ask one exposed data source a question by semantic search.',
  input: z.object({
    ...sourceId,
    query: z
      .string()
      .max(QUESTION_MAX_CHARACTERS)
      .refine((text) => text.trim() !== '', 'must not be empty')
      .describe('The question.'),
    filters: z
      .record(
        z.string(),
        z.union([FilterValue, z.array(FilterValue).min(1).max(FILTER_VALUES_MAX)], {
          error: `must be text, a number, true or false, or a list of 1 to ${FILTER_VALUES_MAX} of them`,
        }),
      )
      .default({})
      .describe('Column to value, or to an array of values of which one must match.'),
    top_k: z.int().min(1).max(HITS_MAX).default(HITS_DEFAULT),
    target: z.string().max(60).optional().describe('Label of one searchable table.'),
  }),
  output: QueryResult,
  errors: [...questionErrors, 'FILTER_NOT_ALLOWED', 'EMBEDDING_UNAVAILABLE'],
  http: { method: 'post', path: '/api/wf/slim/data-sources/{source_id}/query', answers: 'yaml' },
})

const SEARCH_HITS_MAX = 10

export const searchEverywhere = operation({
  ...asking,
  name: 'dataSources.search',
  summary: 'Ask every data source you may ask at once; what is found can be fetched by its id.',
  input: z.object({
    query: queryDataSource.input.shape.query,
    sources: z.array(z.string().max(60)).min(1).max(100).optional().describe('Only these: `db_…` or `ds_…`.'),
    top_k: z.int().min(1).max(SEARCH_HITS_MAX).default(SEARCH_HITS_MAX),
  }),
  output: QueryResult.extend({
    unavailable: z
      .array(z.string())
      .optional()
      .describe('Sources that could not be asked now; what the others know is answered all the same.'),
  }),
  errors: [...questionErrors, 'EMBEDDING_UNAVAILABLE'],
  http: { method: 'post', path: '/api/wf/slim/search', answers: 'yaml' },
})

export const fetchFound = operation({
  ...asking,
  name: 'dataSources.fetchFound',
  summary: 'Return the whole row behind an id that a search over all sources, or a handle of a hit, gave.',
  input: z.object({ id: z.string().min(1).max(2_000) }),
  output: z.object({
    source_id: z.string(),
    target: z.string(),
    hit: Hit,
    truncated: z.string().optional(),
  }),
  errors: questionErrors,
  http: { method: 'post', path: '/api/wf/slim/fetch', answers: 'yaml' },
})

const Allowance = z.object({ limit: z.int(), left: z.int(), resets_at: Time })

export const showQuota = operation({
  ...reads,
  service: 'api-gateway',
  who: 'viewer',
  scope: 'any',
  name: 'dataSources.quota',
  summary: 'Say how many questions the organization may still ask in this minute and on this day.',
  input: z.object({}),
  output: z.object({ minute: Allowance, day: Allowance }),
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/wf/quota' },
})

export const fetchHit = operation({
  ...asking,
  name: 'dataSources.fetch',
  summary: 'Return the whole row behind the handle of a hit.',
  input: z.object({ ...sourceId, handle: z.string().min(1).max(2_000) }),
  output: z.object({ hit: Hit, truncated: z.string().optional() }),
  errors: questionErrors,
  http: { method: 'post', path: '/api/wf/slim/data-sources/{source_id}/fetch', answers: 'yaml' },
})
