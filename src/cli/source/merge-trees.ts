/**
 * What changed between two revisions, brought into the files of a folder: all of it, or nothing. A file that nobody changed
 * here becomes that of the head; in another one the changed lines are looked for, and one that is not found is a problem.
 */
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { applyPatch, structuredPatch } from 'diff'
import { ServiceError } from '../../contracts/errors.ts'
import type { ArchivedFile } from '../../contracts/read-tar.ts'
import { shownPath } from '../../contracts/source-paths.ts'
import type { SourceFile } from './read-folder.ts'

export type PulledFile = {
  readonly path: string
  readonly change: 'added' | 'changed' | 'removed'
  /** Null: the file goes. */
  readonly content: Uint8Array | null
  readonly isExecutable: boolean
}

/** Of the list. */
const PROBLEMS_MAX = 100

export function mergeTrees(
  base: readonly ArchivedFile[],
  head: readonly ArchivedFile[],
  folder: readonly SourceFile[],
): PulledFile[] {
  const [before, after, here] = [byPath(base), byPath(head), byPath(folder)]
  const changes: PulledFile[] = []
  const problems: string[] = []
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const merged = mergeFile(before.get(path), after.get(path), here.get(path))
    if (merged === undefined) continue
    if ('problem' in merged) problems.push(`${shownPath(path)}: ${merged.problem}`)
    else changes.push({ path, ...merged })
  }
  if (problems.length === 0) return changes
  const more = problems.length - PROBLEMS_MAX
  throw new ServiceError('CONFLICT', 'The head does not fit this folder; nothing was changed', {
    problems: more > 0 ? [...problems.slice(0, PROBLEMS_MAX), `and ${more} more`] : problems,
    hint: 'Change these places by hand as the head has them, then push with --replace.',
  })
}

const byPath = <File extends { readonly path: string }>(files: readonly File[]) =>
  new Map(files.map((file) => [file.path, file]))

type Content = { readonly content: Uint8Array; readonly isExecutable: boolean } | undefined
type Merged = Omit<PulledFile, 'path'> | { readonly problem: string } | undefined

/** Undefined: it is as it should be. */
function mergeFile(base: Content, head: Content, here: Content): Merged {
  if (isSame(base, head) || isSame(here, head)) return undefined
  if (isSame(here, base)) return replaced(here, head)
  if (here === undefined) return { problem: 'was changed in the head, and is not here' }
  if (head === undefined) return { problem: 'was removed in the head, and is changed here' }
  if (base === undefined) return { problem: 'was added in the head, and here with other content' }
  const texts = [base, head, here].map(({ content }) => textOf(content))
  const [old, now, own] = texts
  if (typeof old !== 'string' || typeof now !== 'string' || typeof own !== 'string') {
    return { problem: 'is not text, and is changed both here and in the head' }
  }
  return mergeTexts(old, now, own, head.isExecutable)
}

const replaced = (here: Content, head: Content): Merged => ({
  change: here === undefined ? 'added' : head === undefined ? 'removed' : 'changed',
  content: head?.content ?? null,
  isExecutable: head?.isExecutable ?? false,
})

function mergeTexts(old: string, now: string, own: string, isExecutable: boolean): Merged {
  let text = own
  const { hunks, ...patch } = structuredPatch('', '', old, now)
  for (const hunk of hunks) {
    const merged = applyPatch(text, { ...patch, hunks: [hunk] })
    if (merged === false) {
      const { oldStart, oldLines, newStart, newLines } = hunk
      return { problem: `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@ does not apply` }
    }
    text = merged
  }
  if (text === own) return undefined
  return { change: 'changed', content: Buffer.from(text), isExecutable }
}

const isSame = (one: Content, other: Content): boolean =>
  one === undefined || other === undefined
    ? one === other
    : one.isExecutable === other.isExecutable && hashOf(one.content) === hashOf(other.content)

const hashOf = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')

function textOf(content: Uint8Array): string | null {
  if (content.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return null
  }
}

/** Each file is replaced in one step. Nothing is written through a link, which may lead anywhere. */
export function writeChanges(folder: string, changes: readonly PulledFile[]): void {
  const linked = changes.filter(({ path }) => liesBehindLink(folder, path))
  if (linked.length > 0) {
    throw new ServiceError('CONFLICT', 'Files lie behind a symbolic link; nothing was changed', {
      problems: linked.map(({ path }) => `${shownPath(path)}: lies behind a symbolic link`),
    })
  }
  for (const { path, content, isExecutable } of changes) {
    const file = join(folder, path)
    if (content === null) {
      rmSync(file, { force: true })
      continue
    }
    mkdirSync(dirname(file), { recursive: true })
    const temporary = `${file}.svc-pull`
    writeFileSync(temporary, content, { mode: isExecutable ? 0o755 : 0o644 })
    renameSync(temporary, file)
  }
}

function liesBehindLink(folder: string, path: string): boolean {
  const names = path.split('/')
  return names.some((_, n) =>
    lstatSync(join(folder, ...names.slice(0, n + 1)), { throwIfNoEntry: false })?.isSymbolicLink(),
  )
}
