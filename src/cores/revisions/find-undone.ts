/**
 * What a push would take away again: approved proposals, and what was pushed since the revision that it was made from. By
 * lines, so that other changes of the same files neither hide nor cause it.
 */
import { extname } from 'node:path/posix'
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, desc, eq, inArray, isNotNull, isNull, or } from '../../../db/drizzle.ts'
import { proposals, pullRequests, type ManifestEntry } from '../../../db/schema.ts'
import { splitDiff } from '../../contracts/read-diff.ts'
import { textOf } from './diff-trees.ts'
import type { AppKey } from './find-revision.ts'
import { readBlob } from './read-blobs.ts'
import {
  changedLines,
  isTakenAway,
  isThere,
  losesChanges,
  NO_LINES,
  readLines,
  sharedLines,
  type ChangedLines,
  type TextLines,
} from './undone-lines.ts'

/** The newest: nobody waits for older ones. */
const PROPOSALS_LOOKED_AT = 100
/** Of all texts of a reader together: beyond it a file that is not as it is in the head counts as undone. */
const READ_BYTES_MAX = 4 * 1024 * 1024

type Manifest = readonly ManifestEntry[]

export type UndoneProposal = {
  readonly id: string
  readonly fingerprint: string
  /** Those of its files whose change is taken away. */
  readonly files: readonly string[]
}

export type RestoredProposal = {
  readonly id: string
  readonly fingerprint: string
  readonly isDeployed: boolean
}

export type RenamedFiles = {
  readonly id: string
  readonly files: Readonly<Record<string, string>>
}

export type Undone = {
  readonly proposals: readonly UndoneProposal[]
  /** Changed by others since the base. */
  readonly files: readonly string[]
  /** Proposals that an earlier push had undone, and whose change is all there again. */
  readonly restored: readonly RestoredProposal[]
  /** Proposals with files that this push calls by another name. */
  readonly renamed: readonly RenamedFiles[]
}

/** `base`: where it is another one than the head. */
export async function findUndone(
  tx: Transaction,
  key: AppKey,
  manifests: { readonly base: Manifest | undefined; readonly head: Manifest; readonly pushed: Manifest },
): Promise<Undone> {
  const { base, head, pushed } = manifests
  const read = lineReader(tx, key.orgId, [...(base ?? []), ...head, ...pushed])
  const trees = { head: treeOf(head), pushed: treeOf(pushed) }
  const undone: UndoneProposal[] = []
  const restored: RestoredProposal[] = []
  const renamed: RenamedFiles[] = []
  for (const proposal of await readApproved(tx, key)) {
    const { id, fingerprint, state, undoneBy } = proposal
    const changes = changesOf(proposal)
    if (undoneBy !== null) {
      if (await areAllThere(changes, trees.pushed, read))
        restored.push({ id, fingerprint, isDeployed: state === 'deployed' })
      continue
    }
    const { taken, moved } = await findTakenAway(changes, trees, read)
    if (taken.length > 0) undone.push({ id, fingerprint, files: taken })
    if (moved.length > 0)
      renamed.push({ id, files: { ...proposal.renamedFiles, ...Object.fromEntries(moved) } })
  }
  const files = base === undefined ? [] : await findLost(treeOf(base), trees, read)
  return { proposals: undone, restored, renamed, files }
}

type Proposed = Pick<typeof proposals.$inferSelect, 'diff' | 'files' | 'renamedFiles'>

function changesOf({ diff, files, renamedFiles }: Proposed): Change[] {
  const parts = splitDiff(diff)
  return files.map(({ path }, n) => ({
    path,
    at: renamedFiles[path] ?? path,
    blocks: changedLines(parts[n] ?? ''),
  }))
}

/** Whether all of a change stands in a revision. Each has its own room to read: no other one makes it wait. */
export function changeHolder(
  db: Handle,
  orgId: string,
  manifest: Manifest,
): (proposed: Proposed) => Promise<boolean> {
  const tree = treeOf(manifest)
  return (proposed) => areAllThere(changesOf(proposed), tree, lineReader(db, orgId, manifest))
}

/** `at`: what the file is called by now. */
type Change = { readonly path: string; readonly at: string; readonly blocks: readonly ChangedLines[] }
type Trees = { readonly head: Tree; readonly pushed: Tree }

async function findTakenAway(
  changes: readonly Change[],
  { head, pushed }: Trees,
  read: ReadLines,
): Promise<{ readonly taken: readonly string[]; readonly moved: readonly (readonly [string, string])[] }> {
  const taken: string[] = []
  const moved: (readonly [string, string])[] = []
  for (const { path, at, blocks } of changes) {
    const before = head.files.get(at)
    const to =
      before === undefined || pushed.files.has(at)
        ? undefined
        : await findRenamed(at, before, { head, pushed }, read)
    if (to !== undefined) moved.push([path, to])
    const now = pushed.files.get(to ?? at)
    if (isKept(before, now, pushed)) continue
    const lines = { head: await read(before), pushed: await read(now) }
    const isUndone =
      lines.head === undefined ||
      lines.pushed === undefined ||
      blocks.some((block) => isTakenAway(block, { head: lines.head!, pushed: lines.pushed! }))
    if (isUndone) taken.push(path)
  }
  return { taken, moved }
}

/** Files that are looked into for one that is gone: of the same kind, about as long, and new. */
const RENAMED_LOOKED_AT = 20

/** By its content: the same, or that which has most of its lines, and at least half of them. */
async function findRenamed(
  path: string,
  sha256: string,
  { head, pushed }: Trees,
  read: ReadLines,
): Promise<string | undefined> {
  const isNew = ([other]: readonly [string, string]) => !head.files.has(other)
  const added = [...pushed.files].filter(isNew)
  const same = added.find(([, content]) => content === sha256)
  if (same) return same[0]
  const lines = await read(sha256)
  if (!lines) return undefined
  const bytes = head.sizes.get(sha256)!
  const near = added
    .filter(([other, content]) => {
      const ratio = pushed.sizes.get(content)! / Math.max(bytes, 1)
      return extname(other) === extname(path) && ratio > 0.5 && ratio < 2
    })
    .slice(0, RENAMED_LOOKED_AT)
  let best: { readonly path: string; readonly share: number } | undefined
  for (const [other, content] of near) {
    const theirs = await read(content)
    const share = theirs ? sharedLines(lines, theirs) : 0
    if (share >= 0.5 && share > (best?.share ?? 0)) best = { path: other, share }
  }
  return best?.path
}

async function areAllThere(changes: readonly Change[], { files }: Tree, read: ReadLines): Promise<boolean> {
  for (const { path, at, blocks } of changes) {
    const lines = await read(files.get(at) ?? files.get(path))
    if (lines === undefined || !blocks.every((block) => isThere(block, lines))) return false
  }
  return true
}

async function findLost(base: Tree, { head, pushed }: Trees, read: ReadLines): Promise<string[]> {
  const lost: string[] = []
  for (const path of new Set([...base.files.keys(), ...head.files.keys()])) {
    const [was, is, will] = [base.files.get(path), head.files.get(path), pushed.files.get(path)]
    if (was === is || isKept(is, will, pushed)) continue
    const [old, now, own] = [await read(was), await read(is), await read(will)]
    if (!old || !now || !own || losesChanges(old, now, own)) lost.push(path)
  }
  return lost
}

/** A file that was only renamed is all there. */
const isKept = (before: string | undefined, now: string | undefined, { contents }: Tree): boolean =>
  before === now || (now === undefined && before !== undefined && contents.has(before))

const readApproved = (tx: Transaction, { orgId, appId }: AppKey) =>
  tx
    .select({
      id: proposals.id,
      fingerprint: proposals.fingerprint,
      state: proposals.state,
      diff: proposals.diff,
      files: proposals.files,
      undoneBy: proposals.undoneBy,
      renamedFiles: proposals.renamedFiles,
    })
    .from(proposals)
    .leftJoin(pullRequests, and(eq(pullRequests.orgId, proposals.orgId), eq(pullRequests.id, proposals.id)))
    .where(
      and(
        eq(proposals.orgId, orgId),
        eq(proposals.appId, appId),
        inArray(proposals.state, ['approved', 'deploying', 'deployed', 'failed']),
        // What is in a pull request is in no head before a push brings it.
        or(isNull(pullRequests.id), isNotNull(pullRequests.landedBy)),
      ),
    )
    .orderBy(desc(proposals.id))
    .limit(PROPOSALS_LOOKED_AT)

type Tree = {
  readonly files: ReadonlyMap<string, string>
  readonly contents: ReadonlySet<string>
  readonly sizes: ReadonlyMap<string, number>
}

function treeOf(manifest: Manifest): Tree {
  const files = new Map(manifest.map(([path, sha256]) => [path, sha256]))
  const sizes = new Map(manifest.map(([, sha256, bytes]) => [sha256, bytes]))
  return { files, contents: new Set(files.values()), sizes }
}

/** Undefined: it is not text, has too many lines, or too much was read already. A file that is not there has no lines. */
type ReadLines = (sha256: string | undefined) => Promise<TextLines | undefined>

function lineReader(tx: Handle, orgId: string, manifest: Manifest): ReadLines {
  const sizes = new Map(manifest.map(([, sha256, bytes]) => [sha256, bytes]))
  const known = new Map<string, TextLines | undefined>()
  let room = READ_BYTES_MAX
  return async (sha256) => {
    if (sha256 === undefined) return NO_LINES
    if (known.has(sha256)) return known.get(sha256)
    const bytes = sizes.get(sha256)!
    if (bytes > room) return undefined
    room -= bytes
    const text = textOf(await readBlob(tx, orgId, sha256))
    const lines = text === null ? undefined : readLines(text)
    known.set(sha256, lines)
    return lines
  }
}
