/** Makes revisions of files that the app has, and moves the head: the one way in which either comes to be. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, isNotNull, ne } from '../../../db/drizzle.ts'
import {
  appBlobs,
  appHeads,
  findings,
  maintenanceRuns,
  proposals,
  proposedRevisions,
  revisions,
} from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import type { Principal } from '../../contracts/operation.ts'
import { shownPath } from '../../contracts/source-paths.ts'
import type { App } from '../apps/index.ts'
import { moveFindings } from '../move-findings.ts'
import { recordAudit } from '../record-audit.ts'
import type { Clock } from '../dependencies.ts'
import {
  findHead,
  findRevision,
  isOnlyProposed,
  presentRevision,
  requireRevision,
  REVISION,
  type AppKey,
  type RevisionRow,
} from './find-revision.ts'
import { findUndone, type Undone } from './find-undone.ts'
import { landMerged } from './land-merged.ts'
import { isOfApp, isOneOf, lockStorage, requireRoom, setStorage, type SourceLimits } from './storage.ts'
import { sourceTree, type NamedFile, type SourceTree } from './source-tree.ts'

/** Of the list of problems. */
const MISSING_SHOWN = 100

type SaveDeps = SourceLimits & { readonly clock: Clock }

/** What the push says of itself. */
export type PushedFrom = {
  /** The head when it was made. Without one only what was approved is compared. */
  readonly base_revision?: string | undefined
  /** Whoever pushes knows what it undoes. */
  readonly replace: boolean
}

export async function saveRevision(
  tx: Transaction,
  deps: SaveDeps,
  principal: Principal,
  app: App,
  { files, from }: { readonly files: readonly NamedFile[]; readonly from: PushedFrom },
) {
  const key = { orgId: app.orgId, appId: app.id }
  const { revision, tree, isNew } = await storeRevision(tx, deps, key, principal, files)
  const head = await findHead(tx, key)
  const undone = await compareWithHead(tx, key, { head, pushed: { id: revision.id, tree }, from, app })
  if (head !== revision.id) {
    await moveHead(tx, deps.clock, key, revision.id)
    await markUndone(tx, deps.clock, key, revision.id, undone)
    await keepNames(tx, key, undone)
    await landMerged(tx, deps.clock, key, { revisionId: revision.id })
    const subject = `${app.alias}: ${revision.id}`
    await recordAudit(tx, deps.clock, principal, { orgId: app.orgId, action: 'revision.pushed', subject })
  }
  return {
    ...presentRevision(revision, revision.id),
    created: isNew,
    undoes: undone.proposals.map(({ id }) => id),
  }
}

const NOTHING: Undone = { proposals: [], files: [], restored: [], renamed: [] }

/** Under the lock of the storage, as everything that moves the head: nothing comes between looking and moving. */
async function compareWithHead(
  tx: Transaction,
  key: AppKey,
  compared: {
    readonly head: string | undefined
    readonly pushed: { readonly id: string; readonly tree: SourceTree }
    readonly from: PushedFrom
    readonly app: App
  },
): Promise<Undone> {
  const { head, pushed, from, app } = compared
  const base = from.base_revision === undefined ? undefined : await requireBase(tx, key, from.base_revision)
  if (head === undefined || head === pushed.id) return NOTHING
  const undone = await findUndone(tx, key, {
    base: base === undefined || base.id === head ? undefined : base.manifest,
    head: (await requireRevision(tx, key, head)).manifest,
    pushed: pushed.tree.manifest,
  })
  // Whoever pushed from the head has seen what others changed; a fix is ended by that word alone.
  if (!from.replace && undone.proposals.length + undone.files.length > 0) throw headMoved(app, head, undone)
  return undone
}

async function requireBase(tx: Transaction, key: AppKey, id: string) {
  const base = await findRevision(tx, key, id)
  if (base !== undefined && !(await isOnlyProposed(tx, key.orgId, id))) return base
  throw new ServiceError('INVALID_REQUEST', 'The app has no such base revision', {
    problems: ['base_revision: is not a revision of this app, or is not kept any more'],
    hint: 'Leave it out: what was approved is compared all the same.',
  })
}

/** Of the list of problems. */
const UNDONE_SHOWN = 100

function headMoved({ alias }: App, head: string, { proposals: undone, files }: Undone): ServiceError {
  const lines = [
    ...undone.map(({ id, files: paths }) => `${id}: would be undone in ${paths.map(shownPath).join(', ')}`),
    ...files.map((path) => `${shownPath(path)}: was changed since, and this push does not have it`),
  ]
  const more = lines.length - UNDONE_SHOWN
  return new ServiceError('HEAD_MOVED', `This push would undo what is in the head, ${head}`, {
    problems: more > 0 ? [...lines.slice(0, UNDONE_SHOWN), `and ${more} more`] : lines,
    hint: `Bring it in with: svc apps pull ${alias}. Or apply the patch: svc apps diff ${alias} --base <revision> --patch. Or undo it: --replace.`,
  })
}

/** The repair is gone, whatever became of its deployment: its finding is open, and says why. */
async function markUndone(
  tx: Transaction,
  clock: Clock,
  key: AppKey,
  revisionId: string,
  { proposals: undone, restored }: Undone,
): Promise<void> {
  const { orgId } = key
  const mark = async (ids: string[], undoneBy: string | null) => {
    await tx
      .update(proposals)
      .set({ undoneBy, changedAt: clock(), ...(undoneBy === null && { restoredAt: clock() }) })
      .where(and(eq(proposals.orgId, orgId), inArray(proposals.id, ids)))
    await tx
      .update(maintenanceRuns)
      .set({ undoneBy })
      .where(and(eq(maintenanceRuns.orgId, orgId), inArray(maintenanceRuns.proposalId, ids)))
  }
  if (restored.length > 0) {
    await mark(
      restored.map(({ id }) => id),
      null,
    )
    await moveFindings(
      tx,
      key,
      restored.flatMap(({ fingerprint, isDeployed }) => (isDeployed ? [fingerprint] : [])),
      { from: ['open'], to: 'resolved', reopenedBy: null, when: isNotNull(findings.reopenedBy) },
    )
  }
  if (undone.length === 0) return
  await mark(
    undone.map(({ id }) => id),
    revisionId,
  )
  await moveFindings(
    tx,
    key,
    undone.map(({ fingerprint }) => fingerprint),
    { from: ['proposed', 'resolved'], to: 'open', reopenedBy: revisionId },
  )
}

/** A later push is compared with the file by the name that it has now. */
async function keepNames(tx: Transaction, { orgId }: AppKey, { renamed }: Undone): Promise<void> {
  for (const { id, files } of renamed) {
    await tx
      .update(proposals)
      .set({ renamedFiles: files })
      .where(and(eq(proposals.orgId, orgId), eq(proposals.id, id)))
  }
}

/** The same tree is the same revision, whoever made it. */
export async function storeRevision(
  tx: Transaction,
  deps: SaveDeps,
  key: AppKey,
  by: Pick<Principal, 'userId' | 'userName'>,
  files: readonly NamedFile[],
): Promise<{ revision: RevisionRow; tree: SourceTree; isNew: boolean }> {
  const { bytes } = await lockStorage(tx, key.orgId)
  const tree = sourceTree(files, await readSizes(tx, key, files))
  const existing = await findByTree(tx, key, tree)
  const revision = existing ?? (await insertRevision(tx, deps, key, by, tree, bytes))
  return { revision, tree, isNew: existing === undefined }
}

/**
 * Under the lock of the storage. What was proposed for another head is stale from this moment on, and what it is about lies
 * before nobody: it is an open finding again, which the next run reports.
 */
export async function moveHead(
  tx: Transaction,
  clock: Clock,
  key: AppKey,
  revisionId: string,
): Promise<void> {
  const now = clock()
  const head = { revisionId, setAt: now }
  await tx
    .insert(appHeads)
    .values({ ...key, ...head })
    .onConflictDoUpdate({ target: [appHeads.orgId, appHeads.appId], set: head })
  await tx
    .delete(proposedRevisions)
    .where(and(eq(proposedRevisions.orgId, key.orgId), eq(proposedRevisions.revisionId, revisionId)))
  const stale = await tx
    .update(proposals)
    .set({ state: 'stale', changedAt: now })
    .where(
      and(
        eq(proposals.orgId, key.orgId),
        eq(proposals.appId, key.appId),
        eq(proposals.state, 'ready'),
        ne(proposals.baseRevisionId, revisionId),
      ),
    )
    .returning({ fingerprint: proposals.fingerprint })
  await moveFindings(
    tx,
    key,
    stale.map(({ fingerprint }) => fingerprint),
    { from: ['proposed'], to: 'open' },
  )
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
  deps: SaveDeps,
  app: AppKey,
  { userId, userName }: Pick<Principal, 'userId' | 'userName'>,
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
