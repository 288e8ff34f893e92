/**
 * What a push would take away again: approved proposals, and what was pushed since the revision that it was made from. By
 * lines, so that other changes of the same files neither hide nor cause it.
 */
import type { Transaction } from '../../../db/connect.ts'
import { and, desc, eq, inArray } from '../../../db/drizzle.ts'
import { proposals, type ManifestEntry } from '../../../db/schema.ts'
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
  type ChangedLines,
  type TextLines,
} from './undone-lines.ts'

/** The newest: nobody waits for older ones. */
const PROPOSALS_LOOKED_AT = 100
/** Of all texts together: beyond it a file that is not as it is in the head counts as undone. */
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

export type Undone = {
  readonly proposals: readonly UndoneProposal[]
  /** Changed by others since the base. */
  readonly files: readonly string[]
  /** Proposals that an earlier push had undone, and whose change is all there again. */
  readonly restored: readonly RestoredProposal[]
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
  for (const { id, fingerprint, state, diff, files, undoneBy } of await readApproved(tx, key)) {
    const parts = splitDiff(diff)
    const changes = files.map(({ path }, n) => ({ path, blocks: changedLines(parts[n] ?? '') }))
    if (undoneBy !== null) {
      if (await areAllThere(changes, trees.pushed, read))
        restored.push({ id, fingerprint, isDeployed: state === 'deployed' })
      continue
    }
    const paths = await findTakenAway(changes, trees, read)
    if (paths.length > 0) undone.push({ id, fingerprint, files: paths })
  }
  const files = base === undefined ? [] : await findLost(treeOf(base), trees, read)
  return { proposals: undone, restored, files }
}

type Change = { readonly path: string; readonly blocks: readonly ChangedLines[] }
type Trees = { readonly head: Tree; readonly pushed: Tree }

async function findTakenAway(
  changes: readonly Change[],
  { head, pushed }: Trees,
  read: ReadLines,
): Promise<string[]> {
  const paths: string[] = []
  for (const { path, blocks } of changes) {
    const [before, now] = [head.files.get(path), pushed.files.get(path)]
    if (isKept(before, now, pushed)) continue
    const lines = { head: await read(before), pushed: await read(now) }
    const isUndone =
      lines.head === undefined ||
      lines.pushed === undefined ||
      blocks.some((block) => isTakenAway(block, { head: lines.head!, pushed: lines.pushed! }))
    if (isUndone) paths.push(path)
  }
  return paths
}

async function areAllThere(changes: readonly Change[], { files }: Tree, read: ReadLines): Promise<boolean> {
  for (const { path, blocks } of changes) {
    const lines = await read(files.get(path))
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
    })
    .from(proposals)
    .where(
      and(
        eq(proposals.orgId, orgId),
        eq(proposals.appId, appId),
        inArray(proposals.state, ['approved', 'deploying', 'deployed', 'failed']),
      ),
    )
    .orderBy(desc(proposals.id))
    .limit(PROPOSALS_LOOKED_AT)

type Tree = { readonly files: ReadonlyMap<string, string>; readonly contents: ReadonlySet<string> }

function treeOf(manifest: Manifest): Tree {
  const files = new Map(manifest.map(([path, sha256]) => [path, sha256]))
  return { files, contents: new Set(files.values()) }
}

/** Undefined: it is not text, has too many lines, or too much was read already. A file that is not there has no lines. */
type ReadLines = (sha256: string | undefined) => Promise<TextLines | undefined>

function lineReader(tx: Transaction, orgId: string, manifest: Manifest): ReadLines {
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
