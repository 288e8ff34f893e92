/** Reads the file at a path before anything is written there, and whether it can be replaced. */
import { constants } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, describeFsError, type FileSystem } from './file-system.ts'

export type FoundFile = {
  readonly is: 'file'
  readonly bytes: Buffer
  readonly mode: number
  readonly uid: number
  readonly gid: number
}
export type Found =
  | FoundFile
  | { readonly is: 'missing' }
  /** Not a file that svc may replace. `why` completes a sentence that begins with the path. */
  | { readonly is: 'blocked'; readonly why: string }

/** A skill has some 100 KB; a larger file was not written for an agent. */
const BYTES_MAX = 16 * 1024 * 1024
const TOO_LARGE = { is: 'blocked', why: 'is larger than 16 MiB' } as const

/** `real` has its links resolved, so a link found now was created since. */
export async function readExistingFile(fs: FileSystem, real: string): Promise<Found> {
  try {
    const seen = await fs.lstat(real)
    if (seen.isDirectory()) return { is: 'blocked', why: 'is a folder, not a file' }
    if (!seen.isFile()) return { is: 'blocked', why: 'is not a regular file' }
    if (seen.size > BYTES_MAX) return TOO_LARGE
    return await readFile(fs, real)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { is: 'missing' }
    return { is: 'blocked', why: `cannot be read: ${describeFsError(error)}` }
  }
}

async function readFile(fs: FileSystem, real: string): Promise<Found> {
  // Replaced since lstat by a link, which must not be followed, or a FIFO, which would block.
  const handle = await fs.open(real, constants.O_RDONLY | flag('O_NOFOLLOW') | flag('O_NONBLOCK'))
  try {
    const seen = await handle.stat()
    if (!seen.isFile()) return { is: 'blocked', why: 'is not a regular file' }
    if (seen.size > BYTES_MAX) return TOO_LARGE
    const bytes = await handle.readFile()
    return { is: 'file', bytes, mode: seen.mode & 0o777, uid: seen.uid, gid: seen.gid }
  } finally {
    await handle.close()
  }
}

/** Windows has neither. */
export const flag = (name: 'O_NOFOLLOW' | 'O_NONBLOCK'): number => constants[name] ?? 0

/** Checked before the first write, so that a refused install has written nothing. */
export async function whyNotWritable(
  fs: FileSystem,
  real: string,
  found: Found,
): Promise<string | undefined> {
  if (found.is === 'blocked') return found.why
  if (found.is === 'file' && !(await isWritable(fs, real, found.mode, constants.W_OK))) return 'is read-only'
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    const seen = await fs.stat(folder).catch(() => undefined)
    if (!seen && dirname(folder) !== folder) continue
    const may = seen && (await isWritable(fs, folder, seen.mode, constants.W_OK | constants.X_OK))
    return may ? undefined : 'is in a folder that is not writable'
  }
}

/** The mode is checked too, because root can write everything: a file without write bits is meant to stay. */
async function isWritable(fs: FileSystem, path: string, mode: number, access: number): Promise<boolean> {
  if ((mode & 0o222) === 0) return false
  return fs.access(path, access).then(
    () => true,
    () => false,
  )
}

export const isSame = (one: Found, other: Found): boolean =>
  one.is === 'file' && other.is === 'file' ? one.bytes.equals(other.bytes) : one.is === other.is
