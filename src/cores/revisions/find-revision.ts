/** Finds revisions of an app, and says what they are. */
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, lt, sql } from '../../../db/drizzle.ts'
import {
  appHeads,
  proposedRevisions,
  revisions,
  sourceBlobs,
  type ManifestEntry,
} from '../../../db/schema.ts'
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

type RevisionWithFiles = RevisionRow & { readonly manifest: readonly ManifestEntry[] }

export async function findRevision(
  db: Handle,
  app: AppKey,
  id: string,
): Promise<RevisionWithFiles | undefined> {
  const [row] = await db
    .select({ ...REVISION, manifest: revisions.manifest })
    .from(revisions)
    .where(and(isOfApp(app), eq(revisions.id, id)))
  return row
}

export async function requireRevision(db: Handle, app: AppKey, id: string): Promise<RevisionWithFiles> {
  const row = await findRevision(db, app, id)
  if (!row) throw notFound()
  return row
}

/** One file of a revision, without the list of all of them. */
export async function findFile(
  db: Handle,
  { orgId, appId }: AppKey,
  revisionId: string,
  path: string,
): Promise<{ readonly sha256: string } | undefined> {
  const [file] = await db.execute<{ sha256: string }>(sql`
    select file ->> 1 as sha256 from ${revisions}, jsonb_array_elements(${revisions.manifest}) as file
    where ${revisions.orgId} = ${orgId} and ${revisions.appId} = ${appId} and ${revisions.id} = ${revisionId}
      and file ->> 0 = ${path}`)
  return file
}

/** It has been the head. What is only proposed is nobody's: not gone on from, not listed, and not deployed. */
export const isPushedOrApproved = sql`not exists (select from ${proposedRevisions}
  where ${proposedRevisions.orgId} = ${revisions.orgId} and ${proposedRevisions.revisionId} = ${revisions.id})`

export async function isOnlyProposed(db: Handle, orgId: string, id: string): Promise<boolean> {
  const [row] = await db
    .select({ id: proposedRevisions.revisionId })
    .from(proposedRevisions)
    .where(and(eq(proposedRevisions.orgId, orgId), eq(proposedRevisions.revisionId, id)))
  return row !== undefined
}

/** Its content, in one statement: neither the list of all files nor its hash has to come here first. */
export async function readFileOf(
  db: Handle,
  { orgId, appId }: AppKey,
  revisionId: string,
  path: string,
): Promise<Buffer | undefined> {
  // What the database cannot even be asked for is no file of it.
  if (path.includes('\0') || !path.isWellFormed()) return undefined
  const [row] = await db
    .select({ content: sourceBlobs.content })
    .from(sourceBlobs)
    .where(
      and(
        eq(sourceBlobs.orgId, orgId),
        sql`${sourceBlobs.sha256} = (
          select file ->> 1 from revisions r, jsonb_array_elements(r.manifest) as file
          where r.org_id = ${orgId} and r.app_id = ${appId} and r.id = ${revisionId} and file ->> 0 = ${path} limit 1)`,
      ),
    )
  return row?.content
}

export async function findPrevious(db: Handle, app: AppKey, id: string): Promise<string | undefined> {
  const [row] = await db
    .select({ id: revisions.id })
    .from(revisions)
    .where(and(isOfApp(app), lt(revisions.id, id), isPushedOrApproved))
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
