/** The file system as the installer uses it: every touch goes through here, so that a test can let it fail or be swapped. */
import * as fs from 'node:fs/promises'

export type Disk = Pick<
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

export const DISK: Disk = fs

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

const SENTENCES: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than allowed',
  EIO: 'the disk reports an error',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'the path is too long',
}

/** Our own words, because the system's name paths of this machine in full. */
export function sentenceFor(error: unknown): string {
  const code = codeOf(error)
  if (code === undefined) return 'an unexpected error'
  return SENTENCES[code] ?? `the system says ${code}`
}
