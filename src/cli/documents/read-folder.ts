/** The documents of a folder, each with its digest, and the files that are left out, each with the reason. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { byteSize } from '../../contracts/byte-size.ts'
import {
  DOCUMENT_EXTENSIONS,
  documentFormatOf,
  isAccessFile,
  isMeantAsAccessFile,
} from '../../contracts/document-formats.ts'
import { DOCUMENT_MAX_BYTES, DOCUMENTS_MAX } from '../../contracts/limits.ts'
import { problemWithPath, shownPath } from '../../contracts/source-paths.ts'
import { digestOf } from '../load/upload-file.ts'
import { usageError } from '../usage-error.ts'

export type Document = { readonly path: string; readonly sha256: string; readonly bytes: number }
export type LeftOut = { readonly path: string; readonly reason: string }
export type Folder = { readonly files: readonly Document[]; readonly leftOut: readonly LeftOut[] }

/** Of a list of what git tracks. */
const GIT_OUTPUT_BYTES = 256 * 1024 * 1024
/** Deeper is a folder within itself. */
const DEPTH_MAX = 100

export async function readDocuments(root: string, { git = false } = {}): Promise<Folder> {
  const leftOut: LeftOut[] = []
  const files: Document[] = []
  for (const path of git ? trackedFiles(root) : walk(root, '', 0)) {
    const found = lstatSync(join(root, path), { throwIfNoEntry: false })
    // Tracked, and deleted.
    if (!found) continue
    const reason = reasonAgainst(path, found)
    if (reason !== undefined && isMeantAsAccessFile(path)) {
      throw usageError(
        `${shownPath(path)} would say who sees its folder, and cannot be read. ${reason}`,
        'Make it a file of the name access.yaml.',
      )
    }
    if (reason !== undefined) {
      leftOut.push({ path, reason })
      continue
    }
    if (files.length === DOCUMENTS_MAX) {
      throw usageError(
        `There are more than ${DOCUMENTS_MAX.toLocaleString('en')} documents in ${root}`,
        'Sync its folders to sources of their own.',
      )
    }
    files.push({
      path,
      bytes: found.size,
      sha256: shortDigestOf(join(root, path)) ?? (await digestOf(join(root, path))),
    })
  }
  return { files, leftOut }
}

const SHORT_BYTES = 64 * 1024
const room = Buffer.alloc(SHORT_BYTES)

/** Undefined of a longer file. Most are short, and opening a stream for each takes longer than all the rest. */
function shortDigestOf(file: string): string | undefined {
  const opened = openSync(file, 'r')
  try {
    let length = 0
    for (;;) {
      const taken = readSync(opened, room, length, SHORT_BYTES - length, null)
      length += taken
      if (taken === 0) return createHash('sha256').update(room.subarray(0, length)).digest('hex')
      if (length === SHORT_BYTES) return undefined
    }
  } finally {
    closeSync(opened)
  }
}

type Found = { readonly size: number; isFile(): boolean; isSymbolicLink(): boolean }

function reasonAgainst(path: string, found: Found): string | undefined {
  if (found.isSymbolicLink()) return 'It is a symbolic link.'
  if (!found.isFile()) return 'It is not a file.'
  if (documentFormatOf(path) === undefined && !isAccessFile(path))
    return `Only ${DOCUMENT_EXTENSIONS} are read.`
  if (found.size > DOCUMENT_MAX_BYTES) return `It is larger than ${byteSize(DOCUMENT_MAX_BYTES)}.`
  const problem = problemWithPath(path)
  return problem === undefined ? undefined : `Its name ${problem}.`
}

/** In the same order on every machine. Names that begin with a dot are not for readers. */
function* walk(root: string, folder: string, depth: number): Generator<string> {
  const entries = readdirSync(join(root, folder), { withFileTypes: true })
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
    const path = folder + entry.name
    if (!entry.isDirectory()) yield path
    else if (depth < DEPTH_MAX) yield* walk(root, `${path}/`, depth + 1)
  }
}

function trackedFiles(root: string): string[] {
  try {
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--', '.'], {
      cwd: root,
      maxBuffer: GIT_OUTPUT_BYTES,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return listed
      .toString()
      .split('\0')
      .filter((path) => path !== '')
      .toSorted()
  } catch {
    throw usageError(`git tracks nothing in ${root}`, 'Leave out --git to take all files of the folder.')
  }
}
