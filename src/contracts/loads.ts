/** Loads: a file becomes a table of a managed database, with vectors, words and indexes. */
import * as z from 'zod'
import { SearchConfiguration } from './data-sources.ts'
import { databaseName } from './databases.ts'
import { field } from './field.ts'
import { Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { LOAD_COLUMN_NAME_CHARACTERS, LOAD_COLUMNS_MAX, LOAD_MAX_BYTES, LOAD_PART_BYTES } from './limits.ts'
import { LOAD_FORMATS, LOAD_TYPES, type LoadType as Type } from './load-formats.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

const LoadType = z.enum(Object.keys(LOAD_TYPES) as [Type, ...Type[]])

const LOAD_STATES = ['uploading', 'running', 'succeeded', 'failed', 'canceled'] as const
export type LoadState = (typeof LOAD_STATES)[number]

/** In this order. */
const LOAD_PHASES = ['reading', 'checking', 'embedding', 'indexing', 'finishing'] as const
export type LoadPhase = (typeof LOAD_PHASES)[number]

/** Why a load failed, in our own words: those of a database may hold values of its rows. */
export const LOAD_FAILURES = {
  file: 'The file has problems. Nothing was loaded.',
  digest: 'What was uploaded does not have the SHA-256 of the file. Nothing was loaded. Upload it again.',
  version: 'Another version of the documents was published meanwhile. Nothing was changed. Sync them again.',
  table_exists: 'A table of that name was made meanwhile. Nothing was loaded.',
  rows_exist: 'Rows with these ids were added meanwhile. Nothing was loaded.',
  table_changed: 'The table does not take these rows, or was changed meanwhile. Nothing was loaded.',
  not_allowed: 'Whoever started it may no longer change this database. Nothing was loaded.',
  disk_quota: 'The databases of the organization are over their disk quota. Nothing was loaded.',
  staging_lost: 'What was staged in the database is gone. Nothing was loaded.',
  model: 'The embedding model could not be used for a day. Nothing was loaded.',
  database: 'The database failed, or could not be reached for a day. Nothing was loaded.',
  configuration:
    'The table was loaded, but its search configuration could not be saved. Save it on the page of the data source.',
} as const
export type LoadFailure = keyof typeof LOAD_FAILURES

/** What a load that runs waits for. */
export const LOAD_WAITS = {
  allowance: 'Today’s embedding tokens of the organization are used up.',
  model: 'The embedding model cannot be used now.',
  database: 'The database cannot be reached now.',
} as const
/** It is not its turn: those of others, or of the same organization, are worked on. */
export const LOAD_WAITS_BEHIND = 'Other loads are ahead of it.'
export type LoadWait = keyof typeof LOAD_WAITS

/** As Postgres takes it without quotes, so that people can type it. */
const TableName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,62}$/, 'must be a lowercase letter, then up to 62 of a-z, 0-9 and _')

const ColumnName = z.string().min(1).max(LOAD_COLUMN_NAME_CHARACTERS)

/** How a file is read. */
const howToRead = {
  sheet: z.string().min(1).max(200).optional().describe('Of an XLSX file. Default: the first.'),
  delimiter: z
    .string()
    .regex(/^[\x21\x23-\x7e\t ]$/, 'must be one character of ASCII, and no quote')
    .optional()
    .describe('Of a CSV file. Default: what its `sep=` line or its header shows.'),
}

const LoadPlan = {
  ...howToRead,
  types: z
    .record(ColumnName, LoadType)
    .optional()
    .describe(
      `By column, how its values are written. Default: what all of them fit. ${Object.entries(LOAD_TYPES)
        .map(([type, example]) => `\`${type}\`: ${example}`)
        .join('; ')}.`,
    ),
  table: field(TableName, { maxLength: 63 }).optional().describe('Default: the name of the database.'),
  id_column: field(
    ColumnName.optional().describe('Whose values are unique. Default: the number of the row.'),
    { label: 'ID', hint: 'Different in every row.' },
  ),
  title_column: field(
    ColumnName.optional().describe('Default: the first column that is neither id nor embedded.'),
    { label: 'Title of a hit' },
  ),
  embed_columns: z
    .array(ColumnName)
    .max(LOAD_COLUMNS_MAX)
    .default([])
    .describe('Whose text is embedded, in this order. None: rows are found by words and filters only.'),
  filter_columns: z
    .array(ColumnName)
    .max(LOAD_COLUMNS_MAX)
    .optional()
    .describe(
      'That the search configuration may filter on. Default: those of numbers, dates, lists, and of true and false.',
    ),
  model: z.string().min(1).max(100).optional().describe('Default: the built-in model.'),
  language: z
    .string()
    .regex(/^[a-z_]{1,40}$/, 'must be a text search configuration of Postgres, such as english')
    .default('english')
    .describe('Of its words: a text search configuration of Postgres, such as `german` or `simple`.'),
  append: field(z.boolean().default(false).describe('Add the rows to a table that an earlier load made.'), {
    label: 'Add to a table that was loaded before',
  }),
  upsert: field(
    z.boolean().default(false).describe('By the id: change the rows that the table has, and add the others.'),
    { label: 'Change the rows of a table by their ID' },
  ),
  replace: field(
    z
      .boolean()
      .default(false)
      .describe('Put the file in the place of a table that an earlier load made, in one moment.'),
    { label: 'Replace a table that was loaded before' },
  ),
  delete_missing: field(
    z.boolean().default(false).describe('With `upsert`: delete the rows that the file does not have.'),
    { label: 'Delete rows that the file does not have' },
  ),
  dry_run: field(
    z.boolean().default(false).describe('Change nothing, and tell how many rows would change.'),
    { label: 'Only show what would change' },
  ),
  save_configuration: z
    .boolean()
    .default(false)
    .describe('Add the table to the search configuration of the data source.'),
}

export const Load = z.object({
  id: z.string(),
  source_id: z.string().describe('`db_` and the name of the database.'),
  filename: z.string(),
  format: z.enum([...LOAD_FORMATS, 'documents']).describe('`documents`: a sync of files.'),
  bytes: z.int(),
  received: z.int().describe('Bytes that were uploaded so far.'),
  state: z.enum(LOAD_STATES),
  phase: z.enum(LOAD_PHASES).nullable(),
  table: z.string().nullable(),
  append: z.boolean(),
  dry_run: z.boolean(),
  changes: z
    .object({ added: z.int(), changed: z.int(), gone: z.int() })
    .nullable()
    .describe('Rows of a table that was there, once they are compared.'),
  long_rows: z
    .int()
    .nullable()
    .describe(
      'Rows whose text is longer than the model reads: it is divided into passages, and each of them finds the row. null: not known.',
    ),
  undo_until: Time.nullable().describe('So long the version before of the table is kept.'),
  undone: z.boolean().describe('The version before is back.'),
  choices: z
    .object({
      id_column: z.string().nullable(),
      title_column: z.string().nullable(),
      embed_columns: z.array(z.string()),
      filter_columns: z.array(z.string()).nullable(),
      types: z.record(z.string(), LoadType),
      sheet: z.string().nullable(),
      delimiter: z.string().nullable(),
      model: z.string(),
      language: z.string(),
      upsert: z.boolean(),
      delete_missing: z.boolean(),
    })
    .nullable()
    .describe('What it was started with, for a reload.'),
  rows: z.int().describe('Rows that were read so far.'),
  embedded: z.int().describe('Rows that have their vector.'),
  read_bytes: z.int(),
  waits_for: z.string().nullable().describe('Why it does not go on now.'),
  waits_until: Time.nullable(),
  problems: z.array(z.string()).describe('What is wrong with the file, each with its line.'),
  problem_count: z.int().describe('Of all problems; the first hundred are listed.'),
  failure: z.string().nullable(),
  configuration: SearchConfiguration.nullable().describe(
    'Once the table is there: the search configuration of the data source with it, to be saved.',
  ),
  configuration_saved: z.boolean(),
  created_by: z.string(),
  created_at: Time,
  finished_at: Time.nullable(),
})

const load = { load_id: Id('lod') }
const loading = { service: 'api-gateway', access: 'developer' } as const
/** It would outlast a support session. */
const writing = { ...loading, closedToSupport: true } as const

export const createLoad = creating({
  ...writing,
  name: 'createLoad',
  summary: 'Begin to load a file into a managed database. The same file again continues its unfinished load.',
  input: z.object({
    ...databaseName,
    filename: z
      .string()
      .trim()
      .max(200)
      .refine((text) => !/[\p{Cc}\p{Cf}]/u.test(text), 'must not contain control characters')
      .default(''),
    format: z.enum(LOAD_FORMATS),
    bytes: z.int().min(1).max(LOAD_MAX_BYTES),
    sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the file in hex'),
  }),
  output: Load,
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'post', path: '/api/wf/databases/{name}/loads', success: 201 },
})

export const uploadLoadPart = updating({
  ...writing,
  name: 'uploadLoadPart',
  summary: 'Upload the next part of the file of a load.',
  input: z.object({
    ...load,
    offset: z.coerce.number().int().min(0).describe('How many bytes were uploaded before: `received`.'),
    body: z.instanceof(Uint8Array),
  }),
  output: Load,
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED', 'TIMEOUT'],
  http: {
    method: 'put',
    path: '/api/wf/loads/{load_id}/content',
    takes: { type: 'application/octet-stream', maxBytes: LOAD_PART_BYTES },
  },
})

export const previewLoad = reading({
  ...loading,
  name: 'previewLoad',
  summary: 'Retrieve the columns and first rows of an uploaded file, and a choice of columns to start from.',
  input: z.object({ ...load, ...howToRead }),
  output: z.object({
    sheets: z.array(z.string()).describe('Of an XLSX file, those that people see.'),
    sheet: z.string().nullable().describe('Whose rows these are.'),
    columns: z.array(
      z.object({
        name: z.string().describe('In the table.'),
        header: z.string().describe('In the file.'),
        type: LoadType.nullable().describe(
          'How the first rows write its values; when it is loaded, all must fit or it is a text. null: lists.',
        ),
        note: z.string().nullable().describe('What should be chosen by a person.'),
      }),
    ),
    rows: z.array(z.array(z.string())).describe('Long values are cut.'),
    problems: z.array(z.string()).describe('Of the first rows.'),
    suggestion: z.object({
      table: z.string(),
      id_column: z.string().nullable(),
      title_column: z.string().nullable(),
      embed_columns: z.array(z.string()),
    }),
  }),
  closedToSupport: true,
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED', 'TIMEOUT'],
  http: { method: 'get', path: '/api/wf/loads/{load_id}/preview' },
})

export const startLoad = updating({
  ...writing,
  name: 'startLoad',
  summary: 'Start a load whose file was uploaded.',
  input: z.object({ ...load, ...LoadPlan }),
  output: Load,
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED', 'TIMEOUT'],
  http: { method: 'post', path: '/api/wf/loads/{load_id}/start' },
})

export const showLoad = reading({
  ...loading,
  name: 'showLoad',
  summary: 'Retrieve a load: how far it is, and what is wrong with its file.',
  input: z.object(load),
  output: Load,
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/wf/loads/{load_id}' },
})

export const listLoads = reading({
  ...loading,
  name: 'listLoads',
  summary: 'List the loads of a managed database, newest first.',
  input: z.object({ ...databaseName, ...pageInput }),
  output: z.object({ loads: z.array(Load), ...pageOutput }),
  errors: ['NOT_FOUND'],
  command: {
    path: 'db loads',
    summary: 'List the loads of a database, newest first, or cancel one',
    table: 'LOAD=id, FILE=filename, table, state:phase, rows, SIZE=bytes:size, BY=created_by, created_at',
    listedBy: 'db list',
    examples: ['svc db loads handbook', 'svc db loads handbook --cancel lod_0mi1x2'],
  },
  http: { method: 'get', path: '/api/wf/databases/{name}/loads' },
})

export const undoLoad = updating({
  ...writing,
  name: 'undoLoad',
  summary: 'Bring the version of a table before a load back, or with `undone: false` the load’s again.',
  input: z.object({ ...load, undone: z.boolean().default(true) }),
  output: Load,
  errors: ['NOT_FOUND', 'CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/wf/loads/{load_id}/undo' },
})

export const cancelLoad = removing({
  ...writing,
  name: 'cancelLoad',
  summary: 'Cancel a load that has not finished, and delete what it staged.',
  input: z.object(load),
  output: Nothing,
  errors: ['NOT_FOUND', 'CONFLICT'],
  http: { method: 'delete', path: '/api/wf/loads/{load_id}', success: 204 },
})
