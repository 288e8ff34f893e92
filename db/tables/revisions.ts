/**
 * The source of apps. A revision is a list of files that never changes, and a file's content lies once in its
 * organization, under its own SHA-256. Triggers (db/migrations, immutable-revisions) refuse whatever would change either.
 */
import {
  bytea,
  check,
  index,
  integer,
  bigint,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  uniqueIndex,
} from '../drizzle.ts'
import { instant, orgId } from './columns.ts'

/** Path, SHA-256 of the content, its bytes, and 1 for an executable. Short, because there are ten thousand in a row. */
export type ManifestEntry = readonly [path: string, sha256: string, bytes: number, executable: 0 | 1]

export const revisions = pgTable(
  'revisions',
  {
    orgId: orgId(),
    id: text('id').notNull(),
    appId: text('app_id').notNull(),
    treeSha256: text('tree_sha256').notNull(),
    /** In the order of the paths. */
    manifest: jsonb('manifest').$type<readonly ManifestEntry[]>().notNull(),
    files: integer('files').notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    /** Of the list itself, which counts as storage too. */
    manifestBytes: integer('manifest_bytes').notNull(),
    pushedById: text('pushed_by_id'),
    /** As it was then. */
    pushedByName: text('pushed_by_name').notNull(),
    pushedAt: instant('pushed_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.id] }),
    index('revisions_by_app').on(t.orgId, t.appId, t.id),
    uniqueIndex('revisions_by_tree').on(t.orgId, t.appId, t.treeSha256),
  ],
)

/** The newest pushed or approved revision of an app; pushing an older tree again makes that one the head. */
export const appHeads = pgTable(
  'app_heads',
  {
    orgId: orgId(),
    appId: text('app_id').notNull(),
    revisionId: text('revision_id').notNull(),
    setAt: instant('set_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.appId] })],
)

/**
 * Revisions that only a proposal has made: nobody pushed or approved them, and nobody deploys them. A row goes when its
 * revision becomes the head, or is no longer kept. Beside the revisions, because those do not change.
 */
export const proposedRevisions = pgTable(
  'proposed_revisions',
  {
    orgId: orgId(),
    revisionId: text('revision_id').notNull(),
    appId: text('app_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.revisionId] })],
)

export const sourceBlobs = pgTable(
  'source_blobs',
  {
    orgId: orgId(),
    sha256: text('sha256').notNull(),
    content: bytea('content').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.sha256] }),
    check('source_blobs_by_content', sql`${t.sha256} = encode(sha256(${t.content}), 'hex')`),
  ],
)

/** Which blobs an app has: no answer to one app depends on what another one stored. */
export const appBlobs = pgTable(
  'app_blobs',
  {
    orgId: orgId(),
    appId: text('app_id').notNull(),
    sha256: text('sha256').notNull(),
    bytes: integer('bytes').notNull(),
    /** Null while a revision names it. Retention takes those that nothing has named for a day. */
    unnamedSince: instant('unnamed_since'),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.appId, t.sha256] }),
    index('app_blobs_by_content').on(t.orgId, t.sha256),
    index('app_blobs_unnamed')
      .on(t.unnamedSince)
      .where(sql`unnamed_since is not null`),
  ],
)

/** How much an organization stores. Whoever changes it holds its lock, so pushes and retention wait for each other. */
export const sourceStorage = pgTable(
  'source_storage',
  { orgId: orgId(), bytes: bigint('bytes', { mode: 'number' }).notNull() },
  (t) => [primaryKey({ columns: [t.orgId] }), check('source_storage_not_negative', sql`${t.bytes} >= 0`)],
)
