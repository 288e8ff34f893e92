/** Reads the source files of a folder, without what git ignores, and says everything that could not be pushed. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, type Dirent } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { ServiceError } from '../../contracts/errors.ts'
import { SOURCE_FILE_MAX_BYTES, SOURCE_FILES_MAX, SOURCE_MAX_BYTES } from '../../contracts/limits.ts'
import { collisionsIn, problemWithPath, shownPath } from '../../contracts/source-paths.ts'
import { usageError } from '../usage-error.ts'
import { isIgnored, readIgnoreFile, type IgnoreFile } from './ignore-rules.ts'
import { APP_FILE } from './pushed-revision.ts'

export type SourceFile = {
  readonly path: string
  readonly sha256: string
  readonly content: Buffer
  readonly isExecutable: boolean
}

type Found = { readonly path: string; readonly bytes: number; readonly isExecutable: boolean }
type Walk = { readonly root: string; readonly found: Found[]; readonly problems: string[] }

/** Of the list; the rest is counted. */
const PROBLEMS_MAX = 100

export function readSourceFolder(folder: string): SourceFile[] {
  const root = resolve(folder)
  if (!existsSync(root) || !statSync(root).isDirectory()) {
    throw usageError(`There is no folder ${folder}`, 'Name the folder to push, or change to it')
  }
  const walk: Walk = { root, found: [], problems: [] }
  readFolder(walk, '', ignoreFilesAbove(root))
  const { found, problems } = walk
  const bytes = found.reduce((sum, file) => sum + file.bytes, 0)
  if (found.length === 0 && problems.length === 0) problems.push('There are no files in this folder')
  if (found.length > SOURCE_FILES_MAX) problems.unshift(`There are more than ${SOURCE_FILES_MAX} files`)
  if (bytes > SOURCE_MAX_BYTES)
    problems.unshift(`The files are larger than ${mib(SOURCE_MAX_BYTES)} MiB together`)
  problems.push(...collisionsIn(found.map(({ path }) => path)))
  if (problems.length > 0) throw refused(problems)
  return found.map(({ path, isExecutable }) => {
    const content = readFileSync(join(root, path))
    return { path, isExecutable, content, sha256: createHash('sha256').update(content).digest('hex') }
  })
}

function readFolder(walk: Walk, folder: string, above: readonly IgnoreFile[]): void {
  const place = join(walk.root, folder)
  const entries = readdirSync(place, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const own = entries.some((entry) => entry.name === '.gitignore' && entry.isFile())
    ? [readIgnoreFile(folder, readFileSync(join(place, '.gitignore'), 'utf8'))]
    : []
  const ignoring = [...above, ...own]
  for (const entry of entries) {
    if (entry.name === '.git') continue
    const path = folder + entry.name
    if (path === APP_FILE) continue
    if (isIgnored(ignoring, path, entry.isDirectory())) continue
    if (entry.isDirectory()) readFolder(walk, `${path}/`, ignoring)
    else addFile(walk, path, entry)
    // Counted to the limit: a mistyped folder may be a whole disk.
    if (walk.found.length > SOURCE_FILES_MAX) return
  }
}

function addFile({ root, found, problems }: Walk, path: string, entry: Dirent): void {
  const kind = entry.isSymbolicLink() ? 'is a symbolic link' : entry.isFile() ? undefined : 'is not a file'
  const { size, mode } = kind === undefined ? statSync(join(root, path)) : { size: 0, mode: 0 }
  const problem =
    kind ??
    problemWithPath(path) ??
    (size > SOURCE_FILE_MAX_BYTES ? `is larger than ${mib(SOURCE_FILE_MAX_BYTES)} MiB` : undefined)
  if (problem === undefined) found.push({ path, bytes: size, isExecutable: (mode & 0o100) !== 0 })
  else problems.push(`${shownPath(path)}: ${problem}`)
}

/** Of the folders between the repository's root and this one, whose rules git applies to it as well. */
function ignoreFilesAbove(root: string): IgnoreFile[] {
  const repository = repositoryOf(root)
  if (repository === undefined || repository === root) return []
  const files: IgnoreFile[] = []
  for (let folder = dirname(root); ; folder = dirname(folder)) {
    const file = join(folder, '.gitignore')
    if (existsSync(file)) {
      const above = `${relative(folder, root).split(sep).join('/')}/`
      files.unshift({ ...readIgnoreFile('', readFileSync(file, 'utf8')), above })
    }
    if (folder === repository) return files
  }
}

function repositoryOf(root: string): string | undefined {
  for (let folder = root; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder
    if (dirname(folder) === folder) return undefined
  }
}

const mib = (bytes: number): number => bytes / 1024 / 1024

function refused(problems: readonly string[]): ServiceError {
  const more = problems.length - PROBLEMS_MAX
  return new ServiceError('INVALID_REQUEST', 'This folder cannot be pushed', {
    hint: 'Add what does not belong to the source to .gitignore.',
    problems: more > 0 ? [...problems.slice(0, PROBLEMS_MAX), `and ${more} more`] : problems,
  })
}
