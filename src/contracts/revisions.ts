/** The source of an app: revisions that never change, made of files that are stored once. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { Time } from './fields.ts'
import { Id } from './ids.ts'
import { DIFF_FILES_MAX, SOURCE_FILES_MAX, SOURCE_MAX_BYTES, SOURCE_PATH_MAX_BYTES } from './limits.ts'
import { creating, reading } from './operation.ts'
import { ageOutput, pageInput, pageOutput } from './paging.ts'

/** As many files as a tree may have, each with its hash and a path of ordinary length. */
const TREE_MAX_BYTES = 4 * 1024 * 1024
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lowercase hex')
const Path = z.string().min(1).max(SOURCE_PATH_MAX_BYTES)
const revisionId = { ...appAlias, revision_id: Id('rev') }

const Revision = z.object({
  id: z.string(),
  tree_sha256: z.string().describe('Of all paths, modes and contents: the same tree is the same revision.'),
  files: z.int(),
  bytes: z.int(),
  pushed_by: z.string().describe('Name of whoever pushed it.'),
  pushed_at: Time,
  is_head: z.boolean().describe('The newest pushed or approved one.'),
})

const PushedRevision = Revision.extend({
  created: z.boolean().describe('False: the same tree was pushed before.'),
  undoes: z
    .array(z.string())
    .describe('Approved proposals whose change is in this one no longer. Their patches bring it back.'),
})

const SourceFile = z.object({
  path: z.string(),
  sha256: z.string(),
  bytes: z.int(),
  executable: z.boolean(),
})

const baseRevision = Id('rev')
  .optional()
  .describe(
    'The head that it was made from. What was changed since, and is missing, is 409. Default: only approved proposals are compared.',
  )
const REPLACE = 'Push it although it undoes what is in the head.'

/** Source is readable from developer, or by whoever builds or maintains the app; changing it has no scope. */
const source = { service: 'deploy-api', access: 'viewer', errors: ['NOT_FOUND'] } as const
/** What is stored may not fit; archives and comparisons wait for their turn, and take their time. */
const errors = {
  storing: ['NOT_FOUND', 'CONFLICT', 'HEAD_MOVED'],
  inTurn: ['NOT_FOUND', 'RATE_LIMITED', 'TIMEOUT'],
  storingInTurn: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED', 'TIMEOUT'],
} as const

export const pushRevision = creating({
  ...source,
  name: 'pushRevision',
  summary: 'Push a revision of an app’s source as a tar.gz archive.',
  input: z.object({
    ...appAlias,
    base_revision: baseRevision,
    replace: z.stringbool().default(false).describe(REPLACE),
    body: z.instanceof(Uint8Array),
  }),
  output: PushedRevision,
  errors: [...errors.storingInTurn, 'HEAD_MOVED'],
  closedToSupport: true,
  http: {
    method: 'post',
    path: '/api/deploy/apps/{alias}/revisions',
    success: 201,
    takes: { type: 'application/gzip', maxBytes: SOURCE_MAX_BYTES },
  },
})

export const findMissingFiles = reading({
  ...source,
  name: 'findMissingFiles',
  summary: 'Find out which files of a tree the app has not stored yet.',
  input: z.object({ ...appAlias, sha256: z.array(Sha256).min(1).max(SOURCE_FILES_MAX) }),
  output: z.object({ missing: z.array(z.string()) }),
  closedToSupport: true,
  http: { method: 'post', path: '/api/deploy/apps/{alias}/files/missing', maxBytes: TREE_MAX_BYTES },
})

export const uploadFiles = creating({
  ...source,
  name: 'uploadFiles',
  summary: 'Upload files for the next revision: a tar.gz archive of files named by their SHA-256.',
  input: z.object({ ...appAlias, body: z.instanceof(Uint8Array) }),
  output: z.object({ stored: z.int() }),
  errors: errors.storingInTurn,
  closedToSupport: true,
  http: {
    method: 'post',
    path: '/api/deploy/apps/{alias}/files',
    takes: { type: 'application/gzip', maxBytes: SOURCE_MAX_BYTES },
  },
})

export const createRevision = creating({
  ...source,
  name: 'createRevision',
  summary: 'Create a revision from files that were uploaded, or that earlier revisions of the app have.',
  input: z.object({
    ...appAlias,
    base_revision: baseRevision,
    replace: z.boolean().default(false).describe(REPLACE),
    files: z
      .array(z.object({ path: Path, sha256: Sha256, executable: z.boolean().default(false) }))
      .min(1)
      .max(SOURCE_FILES_MAX),
  }),
  output: PushedRevision,
  errors: errors.storing,
  closedToSupport: true,
  http: {
    method: 'post',
    path: '/api/deploy/apps/{alias}/revisions/from-files',
    success: 201,
    maxBytes: TREE_MAX_BYTES,
  },
})

export const listRevisions = reading({
  ...source,
  name: 'listRevisions',
  scope: 'maintenance:read',
  summary: 'List the revisions of an app, newest first.',
  input: z.object({ ...appAlias, ...pageInput }),
  output: z.object({
    revisions: z.array(Revision),
    head_id: z
      .string()
      .nullable()
      .describe('The head, on whatever page it is. null: nothing was pushed yet.'),
    ...pageOutput,
  }),
  closedToSupport: true,
  command: {
    path: 'apps revisions',
    table: 'REVISION=id, HEAD=is_head, files, SIZE=bytes:size, pushed_by, pushed_at',
    examples: ['svc apps revisions shop', 'svc apps revisions shop --all --json'],
  },
  http: { method: 'get', path: '/api/deploy/apps/{alias}/revisions' },
})

export const showRevision = reading({
  ...source,
  name: 'showRevision',
  scope: 'maintenance:read',
  summary: 'Retrieve a revision and the list of its files.',
  input: z.object(revisionId),
  output: Revision.extend({ tree: z.array(SourceFile) }),
  closedToSupport: true,
  http: { method: 'get', path: '/api/deploy/apps/{alias}/revisions/{revision_id}' },
})

export const readSourceFile = reading({
  ...source,
  name: 'readSourceFile',
  scope: 'maintenance:read',
  summary: 'Read one file of a revision.',
  input: z.object({ ...revisionId, path: Path }),
  output: SourceFile.extend({ text: z.string().nullable().describe('null: not text.') }),
  closedToSupport: true,
  http: { method: 'get', path: '/api/deploy/apps/{alias}/revisions/{revision_id}/file' },
})

export const downloadRevision = reading({
  ...source,
  name: 'downloadRevision',
  summary: 'Download a revision as a tar.gz archive. A runner may download what it has claimed.',
  input: z.object(revisionId),
  output: z.object({ body: z.instanceof(Uint8Array), ...ageOutput }),
  errors: errors.inTurn,
  mayBeOld: true,
  scope: 'apps:run',
  closedToSupport: true,
  http: {
    method: 'get',
    path: '/api/deploy/apps/{alias}/revisions/{revision_id}/archive',
    gives: 'application/gzip',
    filename: '{alias}-{revision_id}.tar.gz',
  },
})

const ChangedFile = z.object({
  path: z.string(),
  change: z.enum(['added', 'removed', 'changed']),
  added_lines: z.int(),
  removed_lines: z.int(),
})

export const diffRevisions = reading({
  ...source,
  name: 'diffRevisions',
  scope: 'maintenance:read',
  summary: 'Compare two revisions, as git would.',
  input: z.object({
    ...revisionId,
    base: Id('rev').optional().describe('Default: the revision before it.'),
  }),
  output: z.object({
    base: z.string().nullable(),
    diff: z.string(),
    diff_sha256: z
      .string()
      .nullable()
      .describe('null: something was left out, which may be something else the next time.'),
    files: z.array(ChangedFile).max(DIFF_FILES_MAX),
    truncated: z.string().optional().describe('What was left out, if anything.'),
  }),
  errors: errors.inTurn,
  closedToSupport: true,
  http: { method: 'get', path: '/api/deploy/apps/{alias}/revisions/{revision_id}/diff' },
})
