/** Makes the data folder, and says in a sentence why it cannot be made or written. */
import { accessSync, constants, existsSync, lstatSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const ANOTHER = 'choose another folder with SVC_DATA_DIR'

export function makeDataFolder(folder: string): void {
  try {
    makeWithParents(folder)
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw dataFolderError(folder, error) ?? error
  }
}

/** Not `recursive` of Node: where a parent exists and takes no folders, as in /proc, that tries for ever. */
function makeWithParents(folder: string): void {
  for (const path of missingParts(folder).toReversed()) {
    try {
      mkdirSync(path, { mode: 0o700 })
    } catch (error) {
      // Another process was faster, or it is a link that leads nowhere.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      statSync(path)
    }
  }
  if (!statSync(folder).isDirectory())
    throw Object.assign(new Error(`${folder} is a file`), { code: 'EEXIST' })
}

/** The folder and its parents, as far as they do not exist, the folder first. */
function missingParts(folder: string): string[] {
  const missing: string[] = []
  let at = resolve(folder)
  // On Windows even the root may be missing.
  while (!existsSync(at) && missing.at(-1) !== at) {
    missing.push(at)
    at = dirname(at)
  }
  return missing
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
      return hasLink(folder)
        ? `The data folder ${folder} cannot be made: a link in its path leads nowhere. Repair it, or ${ANOTHER}.`
        : `The data folder ${folder} cannot be made: its file system takes no folders. Choose another one with SVC_DATA_DIR.`
    case 'EACCES':
    case 'EPERM':
      return existsSync(folder)
        ? `The data folder ${folder} cannot be written by ${thisUser()}. Change its owner, or ${ANOTHER}.`
        : `The data folder ${folder} cannot be made by ${thisUser()}. Make it and give it to this user, or ${ANOTHER}.`
    case 'EROFS':
      return `The data folder ${folder} is on a read-only file system. Make it writable, or ${ANOTHER}.`
    default:
      return undefined
  }
}

/** Whether a part of its path is a link that leads nowhere. */
const hasLink = (folder: string): boolean =>
  missingParts(folder).some((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())

/** Windows has no numbers for them. */
function thisUser(): string {
  const uid = process.getuid?.()
  return uid === undefined ? 'this user' : `this user (uid ${uid})`
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
