/** One process per data folder: the embedded database has no lock of its own, and two writers would destroy it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { dataFolderError, makeDataFolder } from './data-folder.ts'

const SQLITE_BUSY = 5

export type DataFolderLock = { readonly release: () => void }

/** Another process holds the lock; every other reason is an ordinary error. */
export class DataFolderInUse extends Error {
  override readonly name = 'DataFolderInUse'
}

/** A handle that nobody refers to any more is closed when memory is cleaned up, and its lock ends with it. */
const held = new Set<DatabaseSync>()

/**
 * Uses the lock of an empty SQLite file. The kernel holds it, so it ends with the process however the process ends, and
 * of two processes that start together one is refused. Nothing else in this process may open that file: closing any
 * handle of it would release the lock, which is why the holder is named in a separate file.
 */
export function lockDataFolder(folder: string): DataFolderLock {
  makeDataFolder(folder)
  const holder = join(folder, 'lock-holder.txt')
  let file: DatabaseSync | undefined
  try {
    file = new DatabaseSync(join(folder, 'lock'))
    file.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (error) {
    file?.close()
    throw refusal(folder, holder, error)
  }
  writeFileSync(holder, `process ${process.pid} on ${hostname()} since ${new Date().toISOString()}\n`, {
    mode: 0o600,
  })
  held.add(file)
  return {
    release() {
      rmSync(holder, { force: true })
      held.delete(file)
      file.close()
    },
  }
}

function refusal(folder: string, holder: string, error: unknown): Error {
  const { errcode, message } = error as { errcode?: number; message?: string }
  if (errcode !== SQLITE_BUSY) {
    const known = dataFolderError(folder, error)
    if (known) return known
    return new Error(`The data folder ${folder} cannot be locked (${message}). Put it on a local disk.`, {
      cause: error,
    })
  }
  return new DataFolderInUse(
    `The data folder ${folder} is in use by ${readHolder(holder)}. Stop that process, choose another folder with SVC_DATA_DIR, or set DATABASE_URL to a Postgres server, which any number of processes can share.`,
  )
}

function readHolder(holder: string): string {
  try {
    return readFileSync(holder, 'utf8').trim()
  } catch {
    // It has the lock, but has not written the file yet.
    return 'another process'
  }
}
