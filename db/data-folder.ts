/** Makes the data folder, and says in a sentence why it cannot be made or written. */
import { accessSync, constants, mkdirSync } from 'node:fs'

const ANOTHER = 'choose another folder with SVC_DATA_DIR'

export function makeDataFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw dataFolderError(folder, error) ?? error
  }
}

/** Undefined for an error that has nothing to do with the folder or its disk. */
export function dataFolderError(folder: string, error: unknown): Error | undefined {
  const sentence = sentenceFor(folder, error)
  return sentence === undefined ? undefined : new Error(sentence, { cause: error })
}

function sentenceFor(folder: string, error: unknown): string | undefined {
  if (isDiskFull(error))
    return `The disk of the data folder ${folder} is full. Free some space, or ${ANOTHER}.`
  const { code } = error as NodeJS.ErrnoException
  switch (code ?? '') {
    case 'EEXIST':
      return `The data folder ${folder} is a file. Move it away, or ${ANOTHER}.`
    case 'ENOTDIR':
      return `The data folder ${folder} cannot be made: a part of its path is a file. Move it away, or ${ANOTHER}.`
    case 'ENOENT':
      return `The data folder ${folder} cannot be made: a link in its path leads nowhere. Mend it, or ${ANOTHER}.`
    case 'EACCES':
    case 'EPERM':
      return `The data folder ${folder} cannot be written by this user (uid ${process.getuid?.()}). Change its owner, or ${ANOTHER}.`
    case 'EROFS':
      return `The data folder ${folder} is on a read-only file system. Make it writable, or ${ANOTHER}.`
    default:
      return undefined
  }
}

/** Of the file system, of SQLite (SQLITE_FULL), and of Postgres (53100: disk_full). */
const DISK_FULL_CODES: readonly unknown[] = ['ENOSPC', 'EDQUOT', '53100']
const SQLITE_FULL = 13

/** However deep: the engine reports it as the reason why a database could not be opened. */
export function isDiskFull(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, errcode } = at as { code?: unknown; errcode?: unknown }
    if (DISK_FULL_CODES.includes(code) || errcode === SQLITE_FULL) return true
    if (/no space left on device|disk quota exceeded/i.test(at.message)) return true
  }
  return false
}
