/** Makes a revision of files that the app has, and makes it the head: the one way in which revisions come to be. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, isNotNull } from '../../../db/drizzle.ts'
import { appBlobs, appHeads, revisions } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Principal } from '../../contracts/operation.ts'
import type { App } from '../apps/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Clock } from '../dependencies.ts'
import { findHead, presentRevision, REVISION, type AppKey, type RevisionRow } from './find-revision.ts'
import { isOfApp, isOneOf, lockStorage, requireRoom, setStorage, type SourceLimits } from './storage.ts'
import { sourceTree, type NamedFile, type SourceTree } from './source-tree.ts'

/** Of the list of problems. */
const MISSING_SHOWN = 100

export async function saveRevision(
  tx: Transaction,
  deps: SourceLimits & { readonly clock: Clock },
  principal: Principal,
  app: App,
  files: readonly NamedFile[],
) {
  const key = { orgId: app.orgId, appId: app.id }
  const { bytes } = await lockStorage(tx, app.orgId)
  const tree = sourceTree(files, await readSizes(tx, key, files))
  const existing = await findByTree(tx, key, tree)
  const revision = existing ?? (await insertRevision(tx, deps, key, principal, tree, bytes))
  const head = await findHead(tx, key)
  if (head !== revision.id) {
    await setHead(tx, key, revision.id, deps.clock())
    const subject = `${app.alias}: ${revision.id}`
    await recordAudit(tx, deps.clock, principal, { orgId: app.orgId, action: 'revision.pushed', subject })
  }
  return { ...presentRevision(revision, revision.id), created: existing === undefined }
}

/** They are there until the transaction ends, because retention waits for it. */
async function readSizes(
  tx: Transaction,
  app: AppKey,
  files: readonly NamedFile[],
): Promise<ReadonlyMap<string, number>> {
  const named = [...new Set(files.map(({ sha256 }) => sha256))]
  const rows = await tx
    .select({ sha256: appBlobs.sha256, bytes: appBlobs.bytes })
    .from(appBlobs)
    .where(and(isOfApp(app), isOneOf(named)))
  const sizes = new Map(rows.map(({ sha256, bytes }) => [sha256, bytes]))
  const missing = named.filter((sha256) => !sizes.has(sha256))
  if (missing.length === 0) return sizes
  throw new ServiceError('CONFLICT', `${missing.length} of the files were not uploaded`, {
    hint: 'Find out which files are missing, upload them, and try again.',
    problems: missing.slice(0, MISSING_SHOWN).map((sha256) => `${sha256}: is missing`),
  })
}

async function findByTree(
  tx: Transaction,
  { orgId, appId }: AppKey,
  tree: SourceTree,
): Promise<RevisionRow | undefined> {
  const [row] = await tx
    .select(REVISION)
    .from(revisions)
    .where(and(eq(revisions.orgId, orgId), eq(revisions.appId, appId), eq(revisions.treeSha256, tree.sha256)))
  return row
}

async function insertRevision(
  tx: Transaction,
  deps: SourceLimits & { readonly clock: Clock },
  app: AppKey,
  { userId, userName }: Principal,
  { manifest, sha256, bytes }: SourceTree,
  storedBytes: number,
): Promise<RevisionRow> {
  const pushedAt = deps.clock()
  const manifestBytes = Buffer.byteLength(JSON.stringify(manifest))
  requireRoom(storedBytes + manifestBytes, deps)
  await setStorage(tx, app.orgId, storedBytes + manifestBytes)
  const row = {
    id: makeId('rev', pushedAt.getTime()),
    treeSha256: sha256,
    files: manifest.length,
    bytes,
    pushedByName: userName,
    pushedAt,
  }
  await tx.insert(revisions).values({ ...app, ...row, manifest, manifestBytes, pushedById: userId })
  await tx
    .update(appBlobs)
    .set({ unnamedSince: null })
    .where(and(isOfApp(app), isNotNull(appBlobs.unnamedSince), isOneOf(manifest.map((entry) => entry[1]))))
  return row
}

const setHead = (tx: Transaction, app: AppKey, revisionId: string, setAt: Date) =>
  tx
    .insert(appHeads)
    .values({ ...app, revisionId, setAt })
    .onConflictDoUpdate({ target: [appHeads.orgId, appHeads.appId], set: { revisionId, setAt } })
