/** What lies at a place before anything is written there, and whether it may be replaced. */
import { constants } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, sentenceFor, type Disk } from './disk.ts'

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
  /** Nothing that svc may take for its own or for text: said as the end of a sentence that begins with the path. */
  | { readonly is: 'blocked'; readonly why: string }

/** A skill is some 100 KB; whatever is larger than this was not meant to be read by an agent. */
const BYTES_MAX = 16 * 1024 * 1024
const TOO_LARGE = { is: 'blocked', why: 'is larger than 16 MiB, which svc does not touch' } as const

/** `real` has no links in it, so one that is found now was put there meanwhile. */
export async function readPlace(disk: Disk, real: string): Promise<Found> {
  try {
    const seen = await disk.lstat(real)
    if (seen.isDirectory()) return { is: 'blocked', why: 'is a folder where a file should be' }
    if (!seen.isFile()) return { is: 'blocked', why: 'is not a regular file' }
    if (seen.size > BYTES_MAX) return TOO_LARGE
    return await readFile(disk, real)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { is: 'missing' }
    return { is: 'blocked', why: `cannot be read: ${sentenceFor(error)}` }
  }
}

async function readFile(disk: Disk, real: string): Promise<Found> {
  // Swapped since the look for a link or a FIFO: the one must not be followed, the other would wait for ever.
  const handle = await disk.open(real, constants.O_RDONLY | flag('O_NOFOLLOW') | flag('O_NONBLOCK'))
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

/** Windows knows neither. */
export const flag = (name: 'O_NOFOLLOW' | 'O_NONBLOCK'): number => constants[name] ?? 0

/** Why the place cannot be written, asked before the first write so that a refused install has written nothing. */
export async function reasonNotToWrite(disk: Disk, real: string, found: Found): Promise<string | undefined> {
  if (found.is === 'blocked') return found.why
  if (found.is === 'file' && !(await mayWrite(disk, real, found.mode, constants.W_OK))) return 'is read-only'
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    const seen = await disk.stat(folder).catch(() => undefined)
    if (!seen && dirname(folder) !== folder) continue
    const may = seen && (await mayWrite(disk, folder, seen.mode, constants.W_OK | constants.X_OK))
    return may ? undefined : 'lies in a folder that cannot be written to'
  }
}

/** The mode is asked as well, because root may write everything: what nobody may write was meant to stay. */
async function mayWrite(disk: Disk, path: string, mode: number, access: number): Promise<boolean> {
  if ((mode & 0o222) === 0) return false
  return disk.access(path, access).then(
    () => true,
    () => false,
  )
}

export const isSame = (one: Found, other: Found): boolean =>
  one.is === 'file' && other.is === 'file' ? one.bytes.equals(other.bytes) : one.is === other.is
