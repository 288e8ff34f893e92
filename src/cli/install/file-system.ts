/** The file system calls of the installer, so that a test can make them fail or change files in between. */
import * as fs from 'node:fs/promises'

export type FileSystem = Pick<
  typeof fs,
  | 'access'
  | 'lstat'
  | 'mkdir'
  | 'open'
  | 'readdir'
  | 'readlink'
  | 'realpath'
  | 'rename'
  | 'rmdir'
  | 'stat'
  | 'unlink'
>

export const NODE_FS: FileSystem = fs

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

const DESCRIPTIONS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EFBIG: 'the file is too large',
  EIO: 'disk error',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'the path is too long',
}

/** Not the system's message, which contains absolute paths. */
export function describeFsError(error: unknown): string {
  const code = codeOf(error)
  if (code === undefined) return 'unexpected error'
  return DESCRIPTIONS[code] ?? `error ${code}`
}
