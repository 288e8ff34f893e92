/** Documents sources: files of people, divided into passages that can be asked. */
import * as z from 'zod'
import { DataSource, SOURCE_TABLE } from './data-sources.ts'
import { createDatabase, databaseName } from './databases.ts'
import { field } from './field.ts'
import { Time } from './fields.ts'
import {
  DOCUMENT_MAX_BYTES,
  DOCUMENT_PATH_MAX_BYTES,
  DOCUMENTS_FOLDERS_SHOWN,
  DOCUMENTS_LEFT_OUT_SHOWN,
  DOCUMENTS_MANIFEST_MAX_BYTES,
  DOCUMENTS_MAX,
} from './limits.ts'
import { Load } from './loads.ts'
import { creating, reading, updating } from './operation.ts'

/** That every version of Postgres with pgvector knows. */
const LANGUAGES = [
  'arabic',
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'greek',
  'hungarian',
  'indonesian',
  'irish',
  'italian',
  'lithuanian',
  'nepali',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'simple',
  'spanish',
  'swedish',
  'tamil',
  'turkish',
] as const

/** The one table of a documents source that is searched. */
export const DOCUMENTS_TABLE = 'passages'

const documents = { service: 'api-gateway', access: 'developer' } as const

export const createDocuments = creating({
  ...documents,
  name: 'createDocuments',
  summary: 'Create a data source for documents: Markdown, HTML, text, PDF and DOCX.',
  input: z.object({
    ...createDatabase.input.shape,
    model: field(z.string().min(1).max(100), { client: 'Embedding model (default: the built-in one)' })
      .optional()
      .describe('Default: the built-in model.'),
    language: field(z.enum(LANGUAGES).default('english'), { client: 'Language of the text' }).describe(
      'Of its words; `simple` takes those of any language as they are.',
    ),
  }),
  output: DataSource,
  errors: ['CONFLICT', 'TIMEOUT'],
  command: {
    path: 'docs create',
    arguments: ['name'],
    table: SOURCE_TABLE,
    notes: ['Fill it with: svc docs sync {name} <folder>'],
    examples: ['svc docs create handbook', 'svc docs create handbuch --language german'],
  },
  http: { method: 'post', path: '/api/wf/documents', success: 201 },
})

const ManifestFile = z.object({
  path: z
    .string()
    .min(1)
    .max(DOCUMENT_PATH_MAX_BYTES)
    .describe('From the folder on, with `/` between names.'),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the file in hex'),
  bytes: z.int().min(0).max(DOCUMENT_MAX_BYTES),
})

export const syncDocuments = creating({
  ...documents,
  name: 'syncDocuments',
  summary:
    'Begin to bring a documents source to a list of files. The same list again continues its unfinished sync.',
  input: z.object({
    ...databaseName,
    files: z.array(ManifestFile).max(DOCUMENTS_MAX).describe('All of them, each once.'),
    keep: z.boolean().default(false).describe('Keep documents that are not in the list.'),
  }),
  output: z.object({
    sync: Load.nullable().describe(
      'null: nothing has changed. Otherwise upload what is missing as the content of this load: the files one behind the other. It then starts by itself.',
    ),
    missing: z.array(z.string()).describe('Paths of the files to be sent, in this order.'),
    added: z.int(),
    changed: z.int(),
    removed: z.int(),
    unchanged: z.int(),
  }),
  // It would outlast a support session.
  closedToSupport: true,
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED', 'TIMEOUT'],
  http: {
    method: 'post',
    path: '/api/wf/documents/{name}/syncs',
    success: 201,
    maxBytes: DOCUMENTS_MANIFEST_MAX_BYTES,
  },
})

const LeftOut = z.object({ path: z.string(), reason: z.string() })

const DocumentsStatus = z.object({
  source_id: z.string().describe('`db_` and the name of the database.'),
  version: z.int().describe('0: nothing was published yet.'),
  published_at: Time.nullable(),
  documents: z.int().describe('That can be found.'),
  passages: z.int(),
  folders: z
    .array(z.string())
    .max(DOCUMENTS_FOLDERS_SHOWN)
    .describe('The outermost folders of its files; the first thousand.'),
  left_out: z.array(LeftOut).max(DOCUMENTS_LEFT_OUT_SHOWN).describe('Files that could not be read.'),
  left_out_count: z.int().describe('Of all of them; the first hundred are listed.'),
  undo_until: Time.nullable().describe('Until when the version before can be brought back.'),
  sync: Load.nullable().describe('The newest: under way, or ended.'),
})

export const showDocuments = reading({
  ...documents,
  name: 'showDocuments',
  summary: 'Retrieve what a documents source holds, which files could not be read, and the sync under way.',
  input: z.object(databaseName),
  output: DocumentsStatus,
  errors: ['NOT_FOUND', 'CONFLICT', 'TIMEOUT'],
  command: {
    path: 'docs status',
    summary: 'Show what a documents source holds, and which files could not be read',
    fields:
      'source_id, version, published_at, documents, passages, LEFT OUT=left_out_count, undo_until, SYNC=sync.state?, PHASE=sync.phase?, failure=sync.failure?',
    notes: [{ of: 'left_out', text: '{path}: {reason}' }],
    listedBy: 'db list',
    examples: ['svc docs status handbook', 'svc docs status handbook --json'],
  },
  http: { method: 'get', path: '/api/wf/documents/{name}' },
})

export const undoDocuments = updating({
  ...documents,
  name: 'undoDocuments',
  summary: 'Bring the version before of a documents source back. Once more, and the newer one is back.',
  input: z.object({
    ...databaseName,
    version: z.int().min(1).describe('The version to be undone: the one that is published.'),
  }),
  output: DocumentsStatus,
  closedToSupport: true,
  errors: ['NOT_FOUND', 'CONFLICT', 'TIMEOUT'],
  http: { method: 'post', path: '/api/wf/documents/{name}/undo' },
})
