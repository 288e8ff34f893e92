/** Data sources: how they are configured, exposed and queried. */
import * as z from 'zod'
import { field } from './field.ts'
import { DisplayName, Time } from './fields.ts'
import { GroupMemberId } from './groups.ts'
import { idPattern } from './ids.ts'
import { ENTRIES_MAX, FILTER_VALUES_MAX, HITS_DEFAULT, HITS_MAX, QUESTION_MAX_CHARACTERS } from './limits.ts'
import { reading, updating } from './operation.ts'
import { countedPageInput, countedPageOutput, pageInput, pageOutput } from './paging.ts'
import { GrantableRole } from './roles.ts'
import { SourceHealth } from './source-health.ts'

/** decisions, section 5: the name of a managed database. */
export const DATABASE_NAME = /^[a-z][a-z0-9_]{0,40}$/

/** Either id of a data source. */
export const SourceId = z
  .string()
  .refine(
    (id) => idPattern('ds').test(id) || (id.startsWith('db_') && DATABASE_NAME.test(id.slice(3))),
    'must look like ds_… or db_<database name>',
  )
  .describe('`ds_…`, or `db_` and the name of the database.')

/** Every path takes either. */
export const sourceId = {
  source_id: field(SourceId, {
    client: { summary: 'db_… or ds_…, from `svc datasource list`', values: 'sources' },
  }),
}

export const METRICS = ['cosine', 'l2', 'inner_product'] as const
export type Metric = (typeof METRICS)[number]

/** Postgres truncates names at 63 bytes. */
const Name = z.string().min(1).max(63)

/** One searchable table. */
export const SearchEntry = z.strictObject({
  label: z
    .string()
    .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,59}$/u, 'must be 1 to 60 letters, digits, spaces, dots or dashes')
    .describe('The `target` that searches only this table.'),
  table: z.string().min(1).max(127).describe('`name` or `schema.name`; without a schema, `public`.'),
  columns: z
    .array(Name)
    .max(5)
    .default(['embedding'])
    .describe('Exactly one vector column; or none, with `hybrid`: then rows are found by words alone.'),
  model: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('The model that created the vectors; left out where there are none.'),
  dimensions: z.int().min(1).max(16_000).optional(),
  content_columns: z
    .string()
    .min(1)
    .max(2_000)
    .describe('Columns returned per hit, separated by commas: the first is its id, the second its title.'),
  distance_metric: z.enum(METRICS).default('cosine'),
  hybrid: z
    .boolean()
    .optional()
    .describe('Combine full text and vectors; for questions with names and numbers in them.'),
  text_search_language: z
    .string()
    .regex(/^[a-z_]{1,40}$/, 'must be a text search configuration of Postgres, such as english')
    .optional()
    .describe('With `hybrid`: the text search configuration. Default `english`.'),
  text_search_column: Name.optional().describe(
    'With `hybrid`: a stored tsvector column. Up to 2,000 rows it is built from the content columns without one.',
  ),
  fetchable: z
    .boolean()
    .optional()
    .describe('Hits carry a signed `_handle` that fetches the whole row for a day.'),
  url_template: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe(
      'Where a row is found elsewhere: an http or https address with content columns in braces, as in `https://wiki.example.com/pages/{id}`. Values are percent-encoded; `{+path}` keeps slashes. Without it a hit links to its page here.',
    ),
})
export type SearchEntry = z.output<typeof SearchEntry>

export const FILTER_TYPES = ['string', 'number', 'boolean', 'date'] as const
export type FilterType = (typeof FILTER_TYPES)[number]
export const FilterSchema = z
  .record(Name, z.enum(FILTER_TYPES))
  .describe('Columns that may be filtered on, with their types.')
export type FilterSchema = z.output<typeof FilterSchema>

const ConnectionConfig = z.strictObject({
  embedding_configs: z
    .array(SearchEntry)
    .max(ENTRIES_MAX)
    .describe('Only tables in this list are searchable.'),
})

const AccessColumn = Name.nullable().describe(
  'The column, `text` or `text[]`, that names who sees a row: `user:<email>`, `group:<name>`, `role:<role>` or `everyone`. null: every row is seen.',
)

export const SearchConfiguration = z.object({
  connection_config: ConnectionConfig,
  filter_schema: FilterSchema.default({}),
  access_column: AccessColumn.optional(),
})
export type SearchConfiguration = z.output<typeof SearchConfiguration>

/** What BM25 compares a row with: how many rows there are, and how many words one has on average. */
export type WordStatistics = { readonly rows: number; readonly meanLength: number }
/** By the label of the entry. */
export type AllWordStatistics = Readonly<Record<string, WordStatistics>>

export const SOURCE_KINDS = ['embedded', 'postgres', 'attached'] as const
export type SourceKind = (typeof SOURCE_KINDS)[number]

export const DataSource = z.object({
  id: z.string(),
  source_id: z.string().describe('`db_` and the name of the database.'),
  name: z.string(),
  description: z.string(),
  kind: z.enum(SOURCE_KINDS),
  documents: z.boolean().describe('Whether it holds documents, and has no connection string.'),
  ready: z.boolean().describe('False while its database is being created.'),
  enabled: z.boolean().describe('Whether it can be exposed.'),
  exposed: z.boolean(),
  minimum_role: GrantableRole,
  connection_config: ConnectionConfig.nullable().describe('null without a search configuration.'),
  filter_schema: FilterSchema,
  access_column: AccessColumn,
  configured_at: Time.nullable(),
  created_at: Time,
})

/** As whoever may configure it sees it. */
export const DataSourceWithHealth = DataSource.extend({ health: SourceHealth })

const search = z.string().trim().max(120).optional().describe('Part of the name.')

export const SOURCE_TABLE =
  'ID=source_id, name, kind, ready, enabled, exposed, MIN ROLE=minimum_role, description'

export const listDataSources = reading({
  service: 'api-gateway',
  name: 'listDataSources',
  summary: 'List all data sources of the organization.',
  input: z.object({ search, ...countedPageInput }),
  output: z.object({ data_sources: z.array(DataSourceWithHealth), ...countedPageOutput }),
  access: 'developer',
  errors: ['NOT_FOUND'],
  command: {
    path: 'db list',
    summary: 'List managed databases (developer or higher)',
    table: `${SOURCE_TABLE}, health:health`,
    examples: ['svc db list', 'svc db list --all --json'],
  },
  http: { method: 'get', path: '/api/wf/data-sources' },
})

export const showDataSource = reading({
  service: 'api-gateway',
  name: 'showDataSource',
  summary: 'Retrieve a data source, its search configuration and its health.',
  input: z.object({
    source_id: field(SourceId, {
      client: {
        flag: 'name',
        summary: 'From `svc db list`, without db_',
        values: 'databases',
        prefix: 'db_',
      },
    }),
  }),
  output: DataSourceWithHealth,
  access: 'developer',
  errors: ['NOT_FOUND'],
  command: {
    path: 'db show',
    summary: 'Show a database and what is wrong with it, if anything',
    fields: [
      'id=source_id, name, description, kind, ready, enabled, exposed, minimum role=minimum_role',
      'health=health:health, checked=health.checked_at',
      'last error={health.last_error.at} {health.last_error.cause}',
    ],
    notes: [{ of: 'health.problems', text: '{text}', in: 'table' }],
    listedBy: 'db list',
    examples: ['svc db show handbook', 'svc db show handbook --json'],
  },
  http: { method: 'get', path: '/api/wf/data-sources/{source_id}' },
})

const TABLE_KINDS = ['table', 'view', 'foreign'] as const

const VectorColumn = z.object({
  name: z.string(),
  dimensions: z.int().nullable().describe('null: of any size, which cannot be searched.'),
  models: z
    .array(z.string())
    .describe('The configured models of this size; one of them must have made the vectors.'),
  index: z.string().nullable().describe('Method of the index on it, such as `hnsw`.'),
  metric: z.enum(METRICS).nullable().describe('What that index measures.'),
  without_vector: z.int().nullable().describe('Rows without one, which are never found; null: not counted.'),
})

const SourceTable = z.object({
  table: z.string().describe('`name`, or `schema.name` outside of `public`.'),
  kind: z.enum(TABLE_KINDS),
  rows: z.int().nullable().describe('null: not counted.'),
  is_estimated: z.boolean().describe('Whether `rows` is an estimate.'),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  vectors: z.array(VectorColumn),
  configured: z.boolean().describe('Whether the saved configuration searches it.'),
})

export const listTables = reading({
  service: 'api-gateway',
  name: 'listTables',
  summary:
    'List the tables of a data source, what in them can be searched, and the configuration that would.',
  input: z.object(sourceId),
  output: z.object({
    tables: z.array(SourceTable).describe('Those with vectors first.'),
    more: z.boolean().describe('Whether there are more tables than are listed.'),
    suggestion: SearchConfiguration.nullable().describe(
      'What is saved, and every table that could be added. null: nothing can be searched.',
    ),
  }),
  access: 'developer',
  errors: ['NOT_FOUND', 'CONFLICT', 'SOURCE_FAILED', 'TIMEOUT'],
  http: { method: 'get', path: '/api/wf/data-sources/{source_id}/tables' },
})

export const saveSearchConfiguration = updating({
  service: 'api-gateway',
  name: 'saveSearchConfiguration',
  summary: 'Replace the search configuration of a data source. It is saved only if it fits the database.',
  input: z.object({
    ...sourceId,
    ...SearchConfiguration.shape,
    access_column: AccessColumn.optional().describe(
      'The column that names who sees a row; null removes it. Only owners and admins change it, and where one is saved it must be repeated.',
    ),
  }),
  output: DataSource.extend({
    notes: z.array(z.string()).describe('Suggestions, such as missing indexes.'),
  }),
  access: 'developer',
  errors: ['NOT_FOUND', 'INVALID_SEARCH_CONFIGURATION', 'SOURCE_FAILED', 'TIMEOUT'],
  http: { method: 'put', path: '/api/wf/data-sources/{source_id}' },
})

export const updateDataSource = updating({
  service: 'api-gateway',
  name: 'updateDataSource',
  summary: 'Update the name or description of a data source.',
  input: z.object({
    ...sourceId,
    name: DisplayName.optional(),
    description: field(z.string().trim().max(1_000), {
      hint: 'What it contains, and what it does not.',
      rows: 3,
    }).optional(),
  }),
  output: DataSource,
  access: 'developer',
  errors: ['NOT_FOUND'],
  http: { method: 'patch', path: '/api/wf/data-sources/{source_id}' },
})

export const setDataSourceState = updating({
  service: 'api-gateway',
  name: 'setDataSourceState',
  summary: 'Enable or disable a data source. Disabling also hides it.',
  input: z.object({ ...sourceId, enabled: z.boolean() }),
  output: DataSource,
  access: 'admin',
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'put', path: '/api/wf/data-sources/{source_id}/state' },
})

export const setDataSourceExposure = updating({
  service: 'api-gateway',
  name: 'setDataSourceExposure',
  summary: 'Expose a data source to members with at least a role, or hide it.',
  input: z.object({ ...sourceId, exposed: z.boolean(), minimum_role: GrantableRole.optional() }),
  output: DataSource,
  access: 'admin',
  errors: ['NOT_FOUND', 'CONFLICT', 'EXPOSURE_LIMIT'],
  http: { method: 'put', path: '/api/wf/data-sources/{source_id}/exposure' },
})

export const previewDataSource = reading({
  service: 'api-gateway',
  name: 'previewDataSource',
  summary: 'List the rows of a table that a member or a machine agent would see, by id and title. Audited.',
  input: z.object({
    ...sourceId,
    member_id: field(GroupMemberId, {
      client: { flag: 'as', value: 'member', summary: 'Email address or usr_… of a member, or mch_…' },
    }),
    target: field(
      z.string().max(60).optional().describe('Label of a searchable table. Default: the first.'),
      {
        client: { value: 'label', summary: 'Rows of the table with this label (default: the first)' },
      },
    ),
    ...pageInput,
  }),
  output: z.object({
    member: z.object({ id: z.string(), name: z.string(), email: z.string().nullable() }),
    may_query: z.boolean().describe('Whether it is exposed to their role; otherwise they see no row of it.'),
    target: z.string(),
    rows: z.array(z.object({ id: z.string(), title: z.string().nullable() })),
    total: z.int().describe('Rows they would see, of all pages; 100,000 may be more.'),
    ...pageOutput,
  }),
  access: 'admin',
  // Who looked, and as whom, must not be lost.
  durability: 'standby',
  closedToSupport: true,
  errors: ['NOT_FOUND', 'NO_SEMANTIC_SEARCH', 'INVALID_SEARCH_CONFIGURATION', 'SOURCE_FAILED', 'TIMEOUT'],
  command: {
    path: 'datasource preview',
    summary: 'List the rows that somebody would see (admin or higher)',
    arguments: ['source_id'],
    table: 'id, title',
    rows: 'rows',
    examples: ['svc datasource preview db_handbook --as ann@example.com'],
  },
  http: { method: 'get', path: '/api/wf/data-sources/{source_id}/preview' },
})

/** A data source as whoever may query it sees it. */
export const AskableSource = z.object({
  id: z.string().describe('`db_` and the name of the database.'),
  name: z.string(),
  minimum_role: GrantableRole,
  filters: FilterSchema,
  targets: z.array(z.string()).describe('Labels of its searchable tables.'),
  description: z.string(),
})

const querying = { service: 'api-gateway', access: 'viewer', scope: 'data:read' } as const

export const listAskableDataSources = reading({
  ...querying,
  name: 'listAskableDataSources',
  summary: 'List the data sources you can query.',
  input: z.object({ search, ...countedPageInput }),
  output: z.object({ data_sources: z.array(AskableSource), ...countedPageOutput }),
  command: {
    path: 'datasource list',
    summary: 'List data sources you can query',
    table: 'id, name, MIN ROLE=minimum_role, filters:types, description',
    examples: ['svc datasource list', 'svc datasource list --search handbook --json'],
  },
  http: { method: 'get', path: '/api/wf/slim/data-sources', answers: 'yaml' },
})

const FilterValue = z.union([z.string(), z.number(), z.boolean()])

/** The ends of a range: before, up to, after, from. */
export const RANGE_ENDS = ['lt', 'lte', 'gt', 'gte'] as const
export type RangeEnd = (typeof RANGE_ENDS)[number]
const RangeValue = z.union([z.string(), z.number()]).optional()
const FilterRange = z.strictObject({ lt: RangeValue, lte: RangeValue, gt: RangeValue, gte: RangeValue })
const hits = (max: number) => field(z.int().min(1).max(max), { client: 'Number of hits' })

const HitPassage = z.object({
  id: z.string(),
  heading: z.string().describe('Title and headings above it.'),
  passage: z.string(),
  url: z.string().optional(),
})
export type HitPassage = z.output<typeof HitPassage>

export const Hit = z.object({
  id: z.string().describe('Text of the first content column.'),
  title: z.string().nullable().describe('Text of the second content column.'),
  url: z.string().optional().describe('Opens exactly this row or passage.'),
  digest: z
    .string()
    .optional()
    .describe('SHA-256 of the file of a passage; of the values of a row its first 32 digits.'),
  as_of: Time.optional().describe(
    'Since when a document has been published like this; of a table, when it was read.',
  ),
  matched: z
    .array(z.string())
    .optional()
    .describe('Words in `metadata.passage` that match words of the question, as they stand there.'),
  passages: z
    .array(HitPassage)
    .optional()
    .describe(
      'Of a document: in an answer its further passages, shortened, best first; of a fetch those around this one, in their order.',
    ),
  metadata: z
    .record(z.string(), z.unknown())
    .describe(
      'The other content columns, `_score` (higher is better), `_target`, where configured `_mode`, `_found_by` (`meaning`, `words` or both) and `_handle`, and of a row whose text is longer than the model reads `_passage`, the part of it that is nearest.',
    ),
})
export type Hit = z.output<typeof Hit>

export const QueryResult = z.object({
  count: z.int(),
  results: z.array(Hit),
  weak: z
    .literal(true)
    .optional()
    .describe('No hit reaches the threshold of its data source: probably none of them answers the question.'),
  truncated: z.string().optional().describe('Present when the answer was shortened: what is missing.'),
})
export type QueryResult = z.output<typeof QueryResult>

const questionErrors = [
  'NOT_FOUND',
  'RATE_LIMITED',
  'QUOTA_EXCEEDED',
  'NO_SEMANTIC_SEARCH',
  'INVALID_SEARCH_CONFIGURATION',
  'SOURCE_FAILED',
  'TIMEOUT',
] as const

export const queryDataSource = reading({
  ...querying,
  name: 'queryDataSource',
  recordsActivity: true,
  summary: 'Query a data source by semantic search.',
  input: z.object({
    ...sourceId,
    query: field(
      z
        .string()
        .max(QUESTION_MAX_CHARACTERS)
        .refine((text) => text.trim() !== '', 'must not be empty')
        .describe('The question.'),
      {
        label: 'Question',
        rows: 2,
        client: {
          flag: 'question',
          summary: 'Question in plain language, or - to read it from stdin',
          stdin: 'the question',
        },
      },
    ),
    filters: field(
      z
        .record(
          z.string(),
          z.union([FilterValue, z.array(FilterValue).min(1).max(FILTER_VALUES_MAX), FilterRange], {
            error: `must be text, a number, true or false, a list of 1 to ${FILTER_VALUES_MAX} of them, or a range such as {"gte": 10, "lt": 20}`,
          }),
        )
        .default({})
        .describe(
          'Column to value, to an array of values to match any of, or to a range `{lt, lte, gt, gte}` of numbers, dates or texts. A column that holds lists matches when one of its values does.',
        ),
      {
        client: {
          flag: 'filter',
          value: 'column=value',
          summary: 'Exact match, or a range with <, <=, > or >=; repeat a column to match any of its values',
        },
      },
    ),
    top_k: hits(HITS_MAX).default(HITS_DEFAULT),
    target: field(z.string().max(60).optional().describe('Label of one searchable table.'), {
      client: { value: 'label', summary: 'Search only the table with this label' },
    }),
  }),
  output: QueryResult,
  errors: [...questionErrors, 'FILTER_NOT_ALLOWED', 'EMBEDDING_UNAVAILABLE'],
  command: {
    path: 'datasource query',
    summary: 'Query a data source',
    arguments: ['source_id', 'query'],
    table: 'id, title, SCORE=metadata._score:scalar, TARGET=metadata._target:scalar, URL=url',
    rows: 'results',
    notes: [
      {
        if: 'weak',
        text: 'The answer is weak: probably none of these hits answers the question',
        in: 'table',
      },
      {
        if: 'truncated',
        text: 'The result was truncated: narrow the question, or request fewer hits with --top-k',
        in: 'table',
      },
    ],
    format: 'yaml',
    examples: [
      'svc datasource query db_handbook "How many days of holiday do I have?"',
      'svc datasource query db_handbook "parental leave" --filter team=people --filter year=2026 -o json',
      'svc datasource query db_products "a light tent" --filter "price<300" --filter "since>=2026-03-01"',
      'svc datasource query db_products "a quiet keyboard" --top-k 3 --target products',
    ],
  },
  http: { method: 'post', path: '/api/wf/slim/data-sources/{source_id}/query', answers: 'yaml' },
})

const SEARCH_HITS_MAX = 10

export const searchDataSources = reading({
  ...querying,
  name: 'searchDataSources',
  recordsActivity: true,
  summary: 'Search all data sources you can query.',
  input: z.object({
    query: queryDataSource.input.shape.query,
    sources: field(
      z.array(z.string().max(60)).min(1).max(100).optional().describe('Only these: `db_…` or `ds_…`.'),
      { client: { value: 'source_id', summary: 'Search only this one', values: 'sources' } },
    ),
    top_k: hits(SEARCH_HITS_MAX).default(SEARCH_HITS_MAX),
  }),
  output: QueryResult.extend({
    unavailable: z
      .array(z.object({ source_id: z.string(), reason: z.string() }))
      .optional()
      .describe('Sources that could not be searched now; the results are from the others.'),
  }),
  errors: [...questionErrors, 'EMBEDDING_UNAVAILABLE'],
  command: {
    path: 'datasource search',
    arguments: ['query'],
    table:
      'SOURCE=metadata._source:scalar, title, SCORE=metadata._score:scalar, TARGET=metadata._target:scalar, URL=url',
    rows: 'results',
    notes: [
      { if: 'unavailable', text: '{unavailable:unavailable}' },
      { if: 'weak', text: 'The answer is weak: probably none of these hits answers the question' },
    ],
    format: 'yaml',
    examples: [
      'svc datasource search "parental leave"',
      'svc datasource search "parental leave" --source db_handbook --source db_wiki -o json',
    ],
  },
  http: { method: 'post', path: '/api/wf/slim/search', answers: 'yaml' },
})

const document = z
  .boolean()
  .default(false)
  .describe(
    'Of a passage: its document from the beginning, as far as there is room, and not only what is around it.',
  )

export const fetchSearchResult = reading({
  ...querying,
  name: 'fetchSearchResult',
  recordsActivity: true,
  summary: 'Fetch a row by the id of a search result or the handle of a hit.',
  input: z.object({ id: z.string().min(1).max(2_000), document }),
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

export const showQuota = reading({
  service: 'api-gateway',
  access: 'viewer',
  scope: 'any',
  name: 'showQuota',
  summary: 'Retrieve the remaining questions of the organization for this minute and day.',
  input: z.object({}),
  output: z.object({ minute: Allowance, day: Allowance }),
  http: { method: 'get', path: '/api/wf/quota' },
})

export const fetchDataSourceRow = reading({
  ...querying,
  name: 'fetchDataSourceRow',
  recordsActivity: true,
  summary: 'Fetch a row by the handle of a hit, or by the end of its `url`.',
  input: z.object({ ...sourceId, handle: z.string().min(1).max(2_000), document }),
  output: z.object({ hit: Hit, truncated: z.string().optional() }),
  errors: questionErrors,
  http: { method: 'post', path: '/api/wf/slim/data-sources/{source_id}/fetch', answers: 'yaml' },
})
