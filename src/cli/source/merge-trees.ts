/**
 * What changed between two revisions, brought into the files of a folder: all of it, or nothing. A file that nobody changed
 * here becomes that of the head; in another one the changed lines are looked for, and one that is not found is a problem.
 */
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
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
    // Those before it have moved its lines.
    const merged = applyPatch(text, { ...patch, hunks: [{ ...hunk, oldStart: hunk.newStart }] })
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

/**
 * All of it is written beside first, then what goes is removed, then each file is put in its place. Nothing is written through
 * a link, which may lead anywhere, nor over what this folder has and does not push.
 */
export function writeChanges(folder: string, changes: readonly PulledFile[]): void {
  if (changes.length === 0) return
  const problems = changes.flatMap(({ path, change }) => {
    if (liesBehindLink(folder, path)) return [`${shownPath(path)}: lies behind a symbolic link`]
    const isThere = lstatSync(join(folder, path), { throwIfNoEntry: false })?.isFile()
    return change === 'added' && isThere ? [`${shownPath(path)}: is here already, and is not pushed`] : []
  })
  if (problems.length > 0) {
    throw new ServiceError('CONFLICT', 'The head does not fit this folder; nothing was changed', { problems })
  }
  const aside = mkdtempSync(join(folder, '.svc-pull-'))
  try {
    for (const [n, { content, isExecutable }] of changes.entries()) {
      if (content !== null)
        writeFileSync(join(aside, String(n)), content, { mode: isExecutable ? 0o755 : 0o644 })
    }
    for (const { path, content } of changes) if (content === null) removeFile(folder, path)
    for (const [n, { path, content }] of changes.entries()) {
      if (content === null) continue
      const file = join(folder, path)
      mkdirSync(dirname(file), { recursive: true })
      renameSync(join(aside, String(n)), file)
    }
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

/** With the folders that it leaves empty: a file may be to have their name. */
function removeFile(folder: string, path: string): void {
  rmSync(join(folder, path), { force: true })
  for (let above = dirname(path); above !== '.'; above = dirname(above)) {
    const place = join(folder, above)
    if (!existsSync(place) || readdirSync(place).length > 0) return
    rmdirSync(place)
  }
}

function liesBehindLink(folder: string, path: string): boolean {
  const names = path.split('/')
  return names.some((_, n) =>
    lstatSync(join(folder, ...names.slice(0, n + 1)), { throwIfNoEntry: false })?.isSymbolicLink(),
  )
}
