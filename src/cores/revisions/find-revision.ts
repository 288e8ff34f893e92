/** Finds revisions of an app, and says what they are. */
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, lt } from '../../../db/drizzle.ts'
import { appHeads, revisions, type ManifestEntry } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'

export type AppKey = { readonly orgId: string; readonly appId: string }

/** Without the list of files, which may be a megabyte. */
export const REVISION = {
  id: revisions.id,
  treeSha256: revisions.treeSha256,
  files: revisions.files,
  bytes: revisions.bytes,
  pushedByName: revisions.pushedByName,
  pushedAt: revisions.pushedAt,
}
export type RevisionRow = Omit<
  typeof revisions.$inferSelect,
  'orgId' | 'appId' | 'manifest' | 'manifestBytes' | 'pushedById'
>

const isOfApp = ({ orgId, appId }: AppKey) => and(eq(revisions.orgId, orgId), eq(revisions.appId, appId))

export async function requireRevision(
  db: Handle,
  app: AppKey,
  id: string,
): Promise<RevisionRow & { manifest: readonly ManifestEntry[] }> {
  const [row] = await db
    .select({ ...REVISION, manifest: revisions.manifest })
    .from(revisions)
    .where(and(isOfApp(app), eq(revisions.id, id)))
  if (!row) throw notFound()
  return row
}

export async function findPrevious(db: Handle, app: AppKey, id: string): Promise<string | undefined> {
  const [row] = await db
    .select({ id: revisions.id })
    .from(revisions)
    .where(and(isOfApp(app), lt(revisions.id, id)))
    .orderBy(desc(revisions.id))
    .limit(1)
  return row?.id
}

export async function findHead(db: Handle, { orgId, appId }: AppKey): Promise<string | undefined> {
  const [head] = await db
    .select({ id: appHeads.revisionId })
    .from(appHeads)
    .where(and(eq(appHeads.orgId, orgId), eq(appHeads.appId, appId)))
  return head?.id
}

export const presentRevision = (row: RevisionRow, head: string | undefined) => ({
  id: row.id,
  tree_sha256: row.treeSha256,
  files: row.files,
  bytes: row.bytes,
  pushed_by: row.pushedByName,
  pushed_at: row.pushedAt.toISOString(),
  is_head: row.id === head,
})
