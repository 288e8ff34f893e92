/**
 * What the edits of an agent make of a revision: the new tree and the diff to it, or why not. Nothing is stored. The diff is
 * the server's own, so a reviewer sees what would be deployed, whatever the agent says it does.
 */
import { createHash } from 'node:crypto'
import type { Handle } from '../../../db/connect.ts'
import type { ManifestEntry, ProposalEdit, ProposedFile } from '../../../db/schema.ts'
import { CHANGE_LIMITS, ToolRefused } from '../../contracts/agent-tools.ts'
import { readDiffLines, splitDiff } from '../../contracts/read-diff.ts'
import { collisionsIn, problemOnWindows, problemWithPath, shownPath } from '../../contracts/source-paths.ts'
import type { Clock } from '../dependencies.ts'
import {
  diffTrees,
  readBlob,
  readBlobs,
  textOf,
  type EditedTexts,
  type NamedFile,
  type WithSourceThread,
} from '../revisions/index.ts'
import { executedFiles, isManifest } from './executed-files.ts'
import { protectedAmong, type PathRules } from './protected-paths.ts'

export type PreparedChange = {
  /** Of the whole tree. */
  readonly tree: readonly NamedFile[]
  /** Of the files that it adds or changes. */
  readonly contents: readonly { readonly sha256: string; readonly content: Buffer }[]
  readonly diff: string
  readonly diffSha256: string
  readonly files: readonly ProposedFile[]
}

type PrepareDeps = WithSourceThread & { readonly db: Handle; readonly clock: Clock }

export async function prepareChange(
  deps: PrepareDeps,
  orgId: string,
  base: readonly ManifestEntry[],
  { edits, rules }: { edits: readonly ProposalEdit[]; rules: ChangeRules },
): Promise<PreparedChange> {
  const { globs, allowed } = rules
  refuseByPaths(edits, {
    globs,
    allowed,
    executed: await findExecuted(deps.db, orgId, base, { edits, rules }),
  })
  const texts = await readTexts(deps.db, orgId, base, edits)
  const edited = await deps.sourceThread.edit(orgId, { edits, texts })
  if (edited === undefined) throw new ToolRefused('TOO_SLOW')
  const { files, problems } = edited
  if (problems.length > 0) throw new ToolRefused('EDIT_DOES_NOT_APPLY', problems)
  const contents = contentsOf(files)
  const tree = editTree(base, contents)
  refuseCollisions(tree)
  return {
    tree,
    contents: [...contents.values()].filter((one) => one !== null),
    ...(await compare(deps, orgId, base, tree, contents)),
  }
}

/** What an organization and its app say about paths. */
export type ChangeRules = Omit<PathRules, 'executed'> & {
  /** Of the app's runners. */
  readonly runnerCommands: readonly string[]
}

/** More manifests than an app has; each is small, or is not looked into. */
const MANIFESTS = { count: 50, bytes: 256 * 1024 }

async function findExecuted(
  db: Handle,
  orgId: string,
  base: readonly ManifestEntry[],
  { edits, rules }: { readonly edits: readonly ProposalEdit[]; readonly rules: ChangeRules },
): Promise<ReadonlySet<string>> {
  const entries = base
    .filter(([path, , bytes]) => isManifest(path) && bytes <= MANIFESTS.bytes)
    // That of the root first.
    .toSorted(([a], [b]) => a.split('/').length - b.split('/').length)
    .slice(0, MANIFESTS.count)
  const blobs = await readBlobs(
    db,
    orgId,
    entries.map(([, sha256]) => sha256),
  )
  const manifests = entries.map(([path, sha256]) => ({ path, text: blobs.get(sha256)?.toString() ?? '' }))
  return executedFiles(
    [...new Set([...base.map(([path]) => path), ...edits.map(({ path }) => path)])],
    rules.runnerCommands,
    manifests,
  )
}

function refuseByPaths(edits: readonly ProposalEdit[], rules: PathRules): void {
  const paths = [...new Set(edits.map(({ path }) => path))]
  if (paths.length > CHANGE_LIMITS.files) {
    throw new ToolRefused('CHANGE_TOO_LARGE', [`It changes more than ${CHANGE_LIMITS.files} files`])
  }
  const wrong = paths.flatMap((path) => {
    const problem = problemWithPath(path) ?? problemOnWindows(path)
    return problem === undefined ? [] : [`${shownPath(path)}: ${problem}`]
  })
  if (wrong.length > 0) throw new ToolRefused('EDIT_DOES_NOT_APPLY', wrong)
  const closed = protectedAmong(paths, rules)
  if (closed.length > 0) throw new ToolRefused('PROTECTED_PATH', closed.map(shownPath))
  const bytes = edits.reduce((sum, edit) => sum + sizeOf(edit), 0)
  if (bytes > CHANGE_LIMITS.bytes) throw tooLarge()
}

const sizeOf = (edit: ProposalEdit): number =>
  'old_text' in edit
    ? Buffer.byteLength(edit.old_text) + Buffer.byteLength(edit.new_text)
    : 'create' in edit
      ? Buffer.byteLength(edit.create)
      : 0

const tooLarge = () =>
  new ToolRefused('CHANGE_TOO_LARGE', [`It has more than ${CHANGE_LIMITS.bytes / 1024} KiB`])

async function readTexts(
  db: Handle,
  orgId: string,
  base: readonly ManifestEntry[],
  edits: readonly ProposalEdit[],
): Promise<ReadonlyMap<string, string | null>> {
  const edited = new Set(edits.map(({ path }) => path))
  const entries = base.filter(([path]) => edited.has(path))
  const blobs = await readBlobs(
    db,
    orgId,
    entries.map(([, sha256]) => sha256),
  )
  return new Map(
    entries.map(([path, sha256]) => {
      const content = blobs.get(sha256)
      return [path, content === undefined ? null : textOf(content)]
    }),
  )
}

type Contents = ReadonlyMap<string, { readonly sha256: string; readonly content: Buffer } | null>

const contentsOf = (files: EditedTexts['files']): Contents =>
  new Map(
    [...files].map(([path, text]) => {
      if (text === null) return [path, null]
      const content = Buffer.from(text)
      return [path, { content, sha256: createHash('sha256').update(content).digest('hex') }]
    }),
  )

/** What is edited keeps its mode; nothing comes to be executable. */
function editTree(base: readonly ManifestEntry[], contents: Contents): NamedFile[] {
  const kept = base.flatMap(([path, sha256, , executable]) => {
    const edited = contents.get(path)
    if (edited === null) return []
    return [{ path, sha256: edited?.sha256 ?? sha256, isExecutable: executable === 1 }]
  })
  const before = new Set(base.map(([path]) => path))
  const created = [...contents].flatMap(([path, content]) =>
    content === null || before.has(path) ? [] : [{ path, sha256: content.sha256, isExecutable: false }],
  )
  return [...kept, ...created]
}

function refuseCollisions(tree: readonly NamedFile[]): void {
  if (tree.length === 0) throw new ToolRefused('EDIT_DOES_NOT_APPLY', ['Nothing would be left of the source'])
  const problems = collisionsIn(tree.map(({ path }) => path))
  if (problems.length > 0) throw new ToolRefused('EDIT_DOES_NOT_APPLY', problems)
}

async function compare(
  { db, clock, sourceThread }: PrepareDeps,
  orgId: string,
  base: readonly ManifestEntry[],
  tree: readonly NamedFile[],
  contents: Contents,
): Promise<Pick<PreparedChange, 'diff' | 'diffSha256' | 'files'>> {
  const edited = new Map([...contents.values()].flatMap((one) => (one ? [[one.sha256, one.content]] : [])))
  const before = base.map(([path, sha256, , executable]) => ({
    path,
    sha256,
    isExecutable: executable === 1,
  }))
  const { diff, files, omitted } = await diffTrees(before, tree, {
    read: async ({ sha256 }) => edited.get(sha256) ?? readBlob(db, orgId, sha256),
    compare: (texts, isLate) => sourceThread.compare(orgId, texts, isLate),
    clock,
  })
  if (files.length === 0) throw new ToolRefused('NO_CHANGE')
  if (omitted > 0) throw new ToolRefused('TOO_SLOW')
  const lines = files.reduce((sum, { addedLines, removedLines }) => sum + addedLines + removedLines, 0)
  if (lines > CHANGE_LIMITS.lines) {
    throw new ToolRefused('CHANGE_TOO_LARGE', [`It changes more than ${CHANGE_LIMITS.lines} lines`])
  }
  if (Buffer.byteLength(diff) > DIFF_MAX_BYTES) throw tooLarge()
  refuseLongLines(diff)
  const [old, now] = [shasOf(before), shasOf(tree)]
  return {
    diff,
    diffSha256: createHash('sha256').update(diff).digest('hex'),
    files: files.map(({ path, addedLines, removedLines }) => ({
      path,
      before: old.get(path) ?? null,
      after: now.get(path) ?? null,
      added: addedLines,
      removed: removedLines,
    })),
  }
}

/** Nobody who approves it would see their end. */
function refuseLongLines(diff: string): void {
  const most = CHANGE_LIMITS.lineCharacters
  const isLong = splitDiff(diff)
    .flatMap(readDiffLines)
    .some(({ kind, text }) => kind === 'added' && text.length > most)
  if (isLong) throw new ToolRefused('CHANGE_TOO_LARGE', [`It adds a line of more than ${most} characters`])
}

/** With the lines around what is changed, which the agent did not write. */
const DIFF_MAX_BYTES = 4 * CHANGE_LIMITS.bytes

const shasOf = (files: readonly NamedFile[]): ReadonlyMap<string, string> =>
  new Map(files.map(({ path, sha256 }) => [path, sha256]))
